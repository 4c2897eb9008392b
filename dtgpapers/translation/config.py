"""The settings of the encoder-decoders, and their training (the paper's section 5, and where it is silent its code).

Defaults are the paper's "medium" models. It says neither how wide the inner layer is (here four times the width), nor
whether labels are smoothed (here by 0.1, for all systems), nor how rates fall after the warm-up (here with the inverse
root, the only one of the schedules in its code that fits "1e-4 with 4,000 steps of warm-up"). By the paper's section 3,
all three edges of a transition have its label; by its code, and in the records of 25 and 26 November 2026, only that
between the two words (`labelled: words`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import nn

from dtglib.basics.config import require_positive
from dtglib.basics.errors import UserError
from dtglib.training.schedule import TrainConfig


@dataclass(frozen=True)
class TranslationConfig:
    """The system, and the sizes of encoder and decoder."""

    model: str = "vanilla"
    layers: int = 4  # of the encoder, and of the decoder
    width: int = 256
    heads: int = 8
    inner: int = 1024
    dropout: float = 0.1
    smoothing: float = 0.1  # of the targets in training: this share goes to all entries alike
    graph_layers: int = 2  # of systems with a graph network
    labelled: Literal["all", "words"] = "all"  # the edges that the graph network reads labels of
    # Of the prefixes of each target, this share is drawn in a step; a system learns from the symbols that follow them.
    prefixes: float = 1.0
    # This share of the pairs of training, the same in all epochs, are wrong: each is learned with the source of the
    # next one of its batch (a batch of one pair has no other).
    noise: float = 0.0

    def __post_init__(self) -> None:
        require_positive(self, "layers", "width", "heads", "inner", "graph_layers")
        if self.width % (2 * self.heads):
            raise UserError(f"width must be an even number per head, but {self.width} is shared by {self.heads} heads")
        if not 0 < self.prefixes <= 1:
            raise UserError(f"prefixes is a share, more than 0 and at most 1, not {self.prefixes}; 1.0 means all")
        for name in ("dropout", "smoothing", "noise"):
            if not 0 <= getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 0 and less than 1, not {getattr(self, name)}")


@dataclass(frozen=True)
class TranslationTraining(TrainConfig):
    """Adam, a linear warm-up and then the inverse root; the mean over the symbols of all targets is minimised.

    Batches are counted in pieces of the source, without padding, so that a system that writes transitions takes as many
    steps as one that does not.
    """

    epochs: int = 30
    batch_positions: int = 3200  # some 128 sentences
    longest: int | None = 40  # pieces of the target
    learning_rate: float = 1e-4
    warmup_steps: int = 4000
    embedding_rate: float = 1.0  # not read: all parameters have one rate
    clip: float = 1.0

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """Adam over all parameters alike."""
        groups = [{"params": list(model.parameters()), "times": 1.0}]
        return torch.optim.Adam(groups, eps=1e-8, weight_decay=self.weight_decay, fused=True)

    def rate(self, step: int, steps: int, dev: Sequence[float]) -> float:
        """The rate of a step, counted from 0."""
        warm = max(1, self.warmup_steps)
        return self.learning_rate * min((step + 1) / warm, (warm / (step + 1)) ** 0.5)

    def size(self, lengths: np.ndarray) -> float:
        """The number of symbols."""
        return float(lengths.sum())
