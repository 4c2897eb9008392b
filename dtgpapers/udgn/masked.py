"""Masked language models: their batches, their loss, and their scores.

    There  <mask>  a  <mask>        is = argmax p(word 2 | these),  difference = argmax p(word 4 | these)

A share `mask_rate` of the words is hidden, always behind <mask>; unknown words never are. Which ones is drawn anew in
every step, from PyTorch's generator on the CPU, which training seeds by step and batch (training/loop.py): so the masks
do not depend on the device, on the number of processes, or on whether a run was stopped in between. In evaluation five
maskings are drawn, which the same seeding makes the same ones every time.

The loss of a batch is its hidden words' nats, divided by `mask_rate` (and the number of maskings): an estimate of the
nats of all its words, if each was hidden at that rate.
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dtglib.basics.shapes import Bool, Float, Int
from dtglib.data.symbols import Symbols
from dtglib.data.vocabulary import PAD, UNKNOWN, Vocabulary
from dtglib.network.dropout import Dropout
from dtglib.network.saved import Saved
from dtglib.network.transformer import LossPart
from dtgpapers.udgn.config import MaskedConfig
from dtgpapers.udgn.parser import SPREAD

MASK_NAME = "<mask>"
SYMBOLS = Symbols("masked words", (), (), (MASK_NAME,))
MASKINGS = 5  # of held-out sentences


class MaskedBatch(NamedTuple):
    """Padded sentences."""

    token: Int[Tensor, "B T"]
    length: Int[Tensor, " B"]  # on the CPU
    heads: Int[Tensor, "B T"] | None = None  # the treebank's, counted from 0; -1 for ROOT and padding

    @property
    def positions(self) -> int:
        """The number of positions, padding included."""
        return self.token.numel()

    @property
    def there(self) -> Bool[Tensor, "B T"]:
        """True for words, false for padding."""
        places = torch.arange(self.token.shape[1], device=self.token.device)
        return places < self.length.to(self.token.device)[:, None]


class MaskedModel(Saved, ABC):
    """A masked language model; a subclass has `vectors`, and begins with its own weights."""

    def __init__(self, config: MaskedConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.mask = vocabulary.transition(MASK_NAME)
        self.embedding = nn.Embedding(len(vocabulary), config.width)
        self.output_bias = nn.Parameter(torch.zeros(len(vocabulary)))
        self.norm = nn.LayerNorm(config.width)
        self.dropout = Dropout(config.dropout)
        self.positions: Any = None  # a module whose vectors are added to those of words
        nn.init.uniform_(self.embedding.weight, -SPREAD, SPREAD)

    @abstractmethod
    def vectors(self, batch: MaskedBatch) -> Float[Tensor, "B T d"]:
        """The vectors of all words after the last layer, before the last norm."""

    def heads(self, batch: MaskedBatch) -> Float[Tensor, "B T T"] | None:
        """The probability of each head of each word, if the model has a parser."""
        return None

    def first(self, batch: MaskedBatch) -> Float[Tensor, "B T d"]:
        """The vectors that the first layer reads."""
        x = self.embedding(batch.token)
        return self.dropout(x if self.positions is None else x + self.positions(x.shape[1]))

    def forward(self, batch: MaskedBatch) -> Float[Tensor, "B T d"]:
        """The vectors that words are told from."""
        return self.dropout(self.norm(self.vectors(batch)))

    def hidden(self, batch: MaskedBatch, asked: Bool[Tensor, "B T"]) -> MaskedBatch:
        """The batch with these words hidden."""
        return batch._replace(token=batch.token.masked_fill(asked, self.mask))

    def log_probs(self, batch: MaskedBatch, asked: Bool[Tensor, "B T"]) -> Float[Tensor, " N"]:
        """The log-probability of every word that is asked, if all of these are hidden."""
        x = self(self.hidden(batch, asked))[asked]
        scores = nn.functional.linear(x, self.embedding.weight, self.output_bias).float()
        return scores.log_softmax(1).gather(1, batch.token[asked][:, None])[:, 0]

    def may_be_asked(self, batch: MaskedBatch) -> Bool[Tensor, "B T"]:
        """All words but unknown ones."""
        return (batch.token != PAD) & (batch.token != UNKNOWN)

    def drawn(self, batch: MaskedBatch) -> Bool[Tensor, "B T"]:
        """Words at random, at the rate of the config."""
        chosen = torch.rand(batch.token.shape) < self.config.mask_rate
        return chosen.to(batch.token.device) & self.may_be_asked(batch)

    def loss(self, batch: MaskedBatch) -> tuple[Float[Tensor, ""], dict[str, LossPart]]:
        """The estimated nats of all words, and the nats of the hidden words alone."""
        maskings = 1 if self.training else MASKINGS
        # All are drawn before anything is computed: dropout draws from the same generator on a CPU.
        asked = [self.drawn(batch) for _ in range(maskings)]
        nats: Any = -sum(self.log_probs(batch, one).sum() for one in asked)
        part = LossPart(nats.detach(), sum(int(one.sum()) for one in asked))
        return nats / (maskings * self.config.mask_rate), {"mask": part}
