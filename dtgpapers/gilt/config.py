"""The settings of GiLT, and how it is trained.

Where the paper and the published code differ, the defaults are the paper's, and the code's reading is a setting: see
attention.py (`graph_keys`), tape.py (`depth`), scorer.py (`biaffine`, `counts`) and model.py (`word`). The exception is
the loss (`weighting`): by default it has sums, as the code, but the weights of the paper's equation 6, because models
with its means were worse (results/2026-11-28-mini-gilt-letter). The released model has the code's `graph_keys:
content`.
"""

from dataclasses import dataclass
from typing import Literal

from torch import nn

from dtglib.basics.config import require_positive
from dtglib.basics.errors import UserError
from dtglib.network.transformer import TransformerConfig
from dtglib.training.schedule import TrainConfig
from dtgpapers.gilt.tape import FEATURES


@dataclass(frozen=True)
class GraphConfig(TransformerConfig):
    """The sizes of the Transformer, and of the graph term in its layers."""

    graph_keys: Literal["position", "content"] = "position"  # the keys that the graph term goes through
    depth: Literal["paper", "root"] = "paper"
    features: str = " ".join(FEATURES)  # those of the tape that are read, by attention and by the scorer
    feature_width: int = 256  # of a feature's embedding

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "feature_width")
        if not self.features.split() or not set(self.features.split()) <= set(FEATURES):
            raise UserError(
                f"features must be some of {', '.join(FEATURES)}, with blanks between, not {self.features!r}"
            )

    @property
    def read(self) -> list[int]:
        """The places of the features that are read, among those of the tape."""
        return [place for place, name in enumerate(FEATURES) if name in self.features.split()]


@dataclass(frozen=True)
class GiltConfig(GraphConfig):
    """The same, and the scorer of dependencies."""

    model: str = "gilt"
    root_arcs: bool = True  # whether arcs of ROOT are part of the graph
    word: Literal["ra", "ftr", "ctr"] = "ra"  # what the scorer reads of a word (section 3.1)
    biaffine: Literal["full", "diagonal"] = "full"
    counts: Literal["possible", "all"] = "possible"  # which numbers of arcs share the probability
    most_arcs: int = 29  # of a word; the paper has no number, the published code this one
    weighting: Literal["means", "sums", "code"] = "sums"
    words_weight: float = 5 / 6  # beta, the share of the words in the loss

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "most_arcs")
        if not 0 < self.words_weight < 1:
            raise UserError(f"words_weight must be above 0 and below 1, not {self.words_weight}")


@dataclass(frozen=True)
class GiltTraining(TrainConfig):
    """As for the other models, but the scorer's gradient is clipped by itself."""

    def clipped_together(self, model: nn.Module) -> list[list[nn.Parameter]]:
        """The language model, and the scorer of dependencies."""
        of_scorer = {id(parameter) for parameter in model.scorer.parameters()}
        language = [parameter for parameter in model.parameters() if id(parameter) not in of_scorer]
        return [language, list(model.scorer.parameters())]
