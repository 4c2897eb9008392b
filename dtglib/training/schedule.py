"""The plan of a training: the sentences of every step, and the learning rate.

The whole plan is made in advance and depends only on the seed, so that a stopped run can continue it.

    >>> config = TrainConfig(learning_rate=1.5e-4, warmup_steps=100)
    >>> [f"{config.rate(step, 1000, []):.1e}" for step in (0, 49, 99, 550, 999)]
    ['1.6e-06', '7.5e-05', '1.5e-04', '7.5e-05', '3.0e-07']
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import nn

from dtglib.basics.config import require_positive
from dtglib.basics.errors import UserError
from dtglib.training.muon import Muon


@dataclass(frozen=True)
class TrainConfig:
    """Epochs, sizes of batches, learning rates and the like; the defaults are the paper's.

    A family of models with another optimiser, schedule or clipping has a subclass with fields and methods of its own.
    """

    epochs: int = 4
    batch_positions: int = 5632  # in a batch, padding included: some 64 sentences of BLLIP
    batches_per_step: int = 1
    longest: int | None = 512  # positions of a sentence; longer ones are left out, and named
    learning_rate: float = 1.5e-4
    first_rate: float = 1e-7
    last_rate: float = 3e-7
    warmup_steps: int = 8000
    embedding_rate: float = 2.0  # of the embeddings, relative to learning_rate
    matrix_rate: float | None = None  # of the other matrices, by Muon, relative to learning_rate; null: by AdamW
    weight_decay: float = 0.0
    clip: float = 3.0
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    evaluate_every: int | None = None  # steps; null: at the end of every epoch
    patience: int | None = None  # evaluations without improvement after which training stops; null: it never does

    def __post_init__(self) -> None:
        require_positive(self, "epochs", "batch_positions", "batches_per_step", "longest", "evaluate_every", "patience")
        for name in ("learning_rate", "first_rate", "last_rate", "embedding_rate", "matrix_rate", "clip"):
            if (name, getattr(self, name)) != ("matrix_rate", None) and not 0 < getattr(self, name) < math.inf:
                raise UserError(f"{name} must be a finite number greater than 0, not {getattr(self, name)}")
        for name in ("warmup_steps", "weight_decay"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UserError(f"{name} must be a finite number, and not negative; it is {getattr(self, name)}")

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """AdamW with a group for the embeddings, which learn faster; `times` multiplies a group's learning rate.

        With `matrix_rate` the other matrices are a group, too, and their steps are Muon's.
        """
        embeddings = {p for module in model.modules() if isinstance(module, nn.Embedding) for p in module.parameters()}
        matrices = {p for p in model.parameters() if p.ndim == 2} - embeddings if self.matrix_rate else set()
        groups: list[dict[str, Any]] = [
            {"params": [p for p in model.parameters() if p not in embeddings | matrices], "times": 1.0},
            {"params": [p for p in model.parameters() if p in embeddings], "times": self.embedding_rate},
            {"params": [p for p in model.parameters() if p in matrices], "times": self.matrix_rate, "orthogonal": True},
        ]
        groups = [group for group in groups if group["params"]]
        kind = Muon if matrices else torch.optim.AdamW
        return kind(groups, betas=(0.9, 0.999), weight_decay=self.weight_decay, fused=True)

    def rate(self, step: int, steps: int, dev: Sequence[float]) -> float:
        """The learning rate of a step, counted from 0: a linear warm-up, then half a cosine.

        A subclass may use `dev`, the held-out losses of all evaluations before this step.
        """
        if step < self.warmup_steps:
            return self.first_rate + (self.learning_rate - self.first_rate) * (step + 1) / self.warmup_steps
        done = (step - self.warmup_steps) / max(1, steps - self.warmup_steps)
        return self.last_rate + (self.learning_rate - self.last_rate) * (1 + math.cos(math.pi * done)) / 2

    def size(self, lengths: np.ndarray) -> float:
        """The weight of a batch of sentences of these lengths; a step divides its loss by the mean of all steps."""
        return float(len(lengths))

    def clipped_together(self, model: nn.Module) -> list[list[nn.Parameter]]:
        """The groups of parameters whose gradients are clipped, each by its own norm."""
        return [list(model.parameters())]


# `plan(positions, random)` returns the batches of an epoch, each as the numbers of its sentences.
Plan = Callable[[int, np.random.Generator], list[np.ndarray]]


class Step(NamedTuple):
    """The batches of one step of the optimiser, and whether they are the last of their epoch."""

    epoch: int
    batches: list[np.ndarray]
    ends_epoch: bool


def all_steps(plan: Plan, config: TrainConfig, seed: int) -> list[Step]:
    """All steps of a training; every epoch has its own order."""
    steps = []
    for epoch in range(config.epochs):
        batches = plan(config.batch_positions, np.random.default_rng([seed, epoch]))
        for first in range(0, len(batches), config.batches_per_step):
            after = first + config.batches_per_step
            steps.append(Step(epoch, batches[first:after], after >= len(batches)))
    return steps
