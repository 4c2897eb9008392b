"""The settings of UDGN and of the Transformer beside it, and how both are trained (the paper's section 4 and Table 6).

Every ablation of Tables 4 and 8 and of Figures 4 and 6 is a setting:

    - Gates                gates=False               - Nonlinear             nonlinearity="identity"
    - Competition          controller="sigmoid"      + Kirchhoff             edges="kirchhoff"
    - relative pos bias    bias="none"               + pos encoding          bias="none", positions=True
    number of heads        heads=1, 2, 4, ...        mask rate               mask_rate=0.1, ..., 0.9

Where the paper and its published code differ, the defaults are the code's, and the paper's reading is a setting.
Dropout alone has no such setting: it is where the code has it.
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
class MaskedConfig:
    """The settings that all masked language models have."""

    model: str = "udgn"
    layers: int = 8
    width: int = 512
    heads: int = 8
    dropout: float = 0.2
    attention_dropout: float = 0.1  # of the weights between two words
    mask_rate: float = 0.3  # the share of the words that are hidden in training
    rarest: int = 5  # words that occur less often in the training part are unknown
    counted_in: str | None = None  # the corpus whose training part is counted; None: the run's own

    def __post_init__(self) -> None:
        require_positive(self, "layers", "width", "heads", "rarest")
        for name in ("dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 0 and less than 1, not {getattr(self, name)}")
        if not 0 < self.mask_rate < 1:
            raise UserError(f"mask_rate must be above 0 and below 1, not {self.mask_rate}")


@dataclass(frozen=True)
class UdgnConfig(MaskedConfig):
    """The parser, the layers, and what may be taken out of them."""

    heads_width: int = 1024  # of all heads together, which share it, however many they are
    parser_layers: int = 3  # of the LSTM
    tags: int = 0  # the paper's Table 6 has 5 that are trained; the published code gave them up later
    # How the head of a word is chosen: by the parser, whose gradient may be cut off, or as the treebank says.
    edges: Literal["softmax", "kirchhoff", "detached", "gold"] = "softmax"
    controller: Literal["softmax", "sigmoid"] = "softmax"  # do heads compete for a pair of words?
    # The bias of a direction: in the published code it is divided by the root of the head's width, as scores are.
    bias: Literal["code", "paper", "none"] = "code"
    nonlinearity: Literal["tanh", "identity", "relu", "elu"] = "tanh"
    gates: bool = True
    positions: bool = False  # whether words are told their number in the sentence

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "heads_width", "parser_layers")
        if self.heads_width % self.heads:
            raise UserError(f"heads_width must be a multiple of heads, but {self.heads} share {self.heads_width}")
        if self.tags < 0:
            raise UserError(f"tags must not be below 0, as {self.tags} is")


@dataclass(frozen=True)
class MaskedTransformerConfig(MaskedConfig):
    """The paper's baseline (Table 6)."""

    model: str = "udgn-transformer"
    inner: int = 2048  # width of the layer between the two linear maps
    dropout: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "inner")
        if self.width % self.heads:
            raise UserError(f"width must be a multiple of heads, but {self.heads} share {self.width}")


@dataclass(frozen=True)
class StructFormerConfig(MaskedTransformerConfig):
    """The Transformer with a parser of distances and heights; UDGN's tables do not name the sizes of this parser."""

    model: str = "structformer"
    parser_layers: int = 3  # convolutions; the published code of StructFormer has 4, that of UDGN 3
    convolution: int = 9  # words that each of them reads
    positions: bool = True  # whether words are told their number in the sentence

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "parser_layers", "convolution")
        if self.convolution % 2 == 0:
            raise UserError(f"convolution must be odd, so that it has a middle, and not {self.convolution}")


@dataclass(frozen=True)
class MaskedTraining(TrainConfig):
    """Adam with L2, a rate that is halved where the held-out loss stands still, all gradients clipped together.

    Batches are counted in words, without padding, and a step's loss is divided by its words: as `loss` (masked.py)
    divides by the mask rate, it is the mean over the hidden words, but for the chance in their number.
    """

    epochs: int = 100
    batch_positions: int = 4096
    longest: int | None = 500  # words; tables of positions have no more
    learning_rate: float = 1e-3
    embedding_rate: float = 1.0  # not read: all parameters have one rate
    weight_decay: float = 1.2e-6  # L2: it is added to the gradient, not to the step as in AdamW
    clip: float = 0.25
    slowed_by: float = 0.5  # what the rate is multiplied by
    slowed_after: int = 2  # evaluations without improvement, and one more

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.slowed_by <= 1:
            raise UserError(f"slowed_by must be above 0 and at most 1, not {self.slowed_by}")
        if self.slowed_after < 0:
            raise UserError(f"slowed_after must not be below 0, as {self.slowed_after} is")

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """Adam over all parameters alike."""
        groups = [{"params": list(model.parameters()), "times": 1.0}]
        return torch.optim.Adam(groups, eps=1e-9, weight_decay=self.weight_decay)

    def rate(self, step: int, steps: int, dev: Sequence[float]) -> float:
        """As PyTorch's ReduceLROnPlateau with threshold=0, computed from all held-out losses so far."""
        best, waited, falls = np.inf, 0, 0
        for loss in dev:
            best, waited = (loss, 0) if loss < best else (best, waited + 1)
            if waited > self.slowed_after:
                falls, waited = falls + 1, 0
        return self.learning_rate * self.slowed_by**falls

    def size(self, lengths: np.ndarray) -> float:
        """The number of words."""
        return float(lengths.sum())


@dataclass(frozen=True)
class MaskedTransformerTraining(MaskedTraining):
    """The same with the paper's rate for the Transformer and for StructFormer."""

    learning_rate: float = 3e-4
