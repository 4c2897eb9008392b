"""The settings of a model of masked words that is tuned for similarity: those of the model, and a few more.

The paper says nothing of the training; batches, rates and the number of epochs are those of its published code. That
code trains on STS Benchmark and SICK together; the paper says on STS Benchmark, and so it is here.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from dtgpapers.udgn.config import MaskedTraining, MaskedTransformerConfig, UdgnConfig


@dataclass(frozen=True)
class TunedUdgnConfig(UdgnConfig):
    """UDGN, whose parser may stay as it is."""

    highest: float = 5.0  # the largest score
    parser_learns: bool = True


@dataclass(frozen=True)
class TunedBagConfig(UdgnConfig):
    """The embeddings of a UDGN."""

    highest: float = 5.0


@dataclass(frozen=True)
class TunedTransformerConfig(MaskedTransformerConfig):
    """The Transformer beside it."""

    highest: float = 5.0


@dataclass(frozen=True)
class PairTraining(MaskedTraining):
    """AdamW, and a rate that is halved where the correlation on the held-out pairs stands still."""

    epochs: int = 50
    batch_positions: int = 2800  # words: some 128 pairs
    longest: int | None = None
    learning_rate: float = 3e-4
    weight_decay: float = 1e-6
    clip: float = 5.0

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """AdamW over all that learns."""
        learns = [parameter for parameter in model.parameters() if parameter.requires_grad]
        return torch.optim.AdamW([{"params": learns, "times": 1.0}], weight_decay=self.weight_decay)

    def size(self, lengths: np.ndarray) -> float:
        """The number of pairs."""
        return float(len(lengths))
