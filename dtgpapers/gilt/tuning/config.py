"""The settings of a Transformer-XL that is tuned for a task, with graphs in some of its layers or in none.

The paper puts the graph term into 4 of 16 layers. Its learning rate is constant, 3e-6, with batches of 64 items, which
are some 2,560 positions of STS Benchmark. By its code there are 45 epochs for STS-B, 15 for MRPC, 5 for SST-2 and RTE.

In the last layer of all, the graph changes no answer: the answer is that of the last position, which belongs to the
prompt and has no tape, and nobody reads the vectors that this layer gives to other positions. So of the paper's four
layers three do something, and one layer would do nothing.
"""

from dataclasses import dataclass
from typing import Literal

from dtglib.basics.errors import UserError
from dtglib.training.schedule import TrainConfig
from dtgpapers.gilt.config import GraphConfig


@dataclass(frozen=True)
class TunedConfig(GraphConfig):
    """The sizes of the trained model, and what is added to it."""

    model: str = "gilt-txl"
    graph_layers: int = 4  # so many layers, the last ones, have the graph term
    answers: Literal["score", "label"] = "score"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.graph_layers == 1 or not 0 <= self.graph_layers <= self.layers:
            raise UserError(
                f"graph_layers must be 0, or from 2 to {self.layers}, the number of layers, not {self.graph_layers}; "
                f"in the last layer alone the graph changes no answer"
            )


@dataclass(frozen=True)
class TunedTraining(TrainConfig):
    """The paper's schedule: a constant rate, because the last one is no lower, and no faster embeddings."""

    epochs: int = 45
    batch_positions: int = 2560
    learning_rate: float = 3e-6
    last_rate: float = 3e-6
    warmup_steps: int = 0
    embedding_rate: float = 1.0
