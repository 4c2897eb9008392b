"""The base of the steppers of models with a decision about each word, such as the constituent that it attaches to.

    There  SHIFT  is  SHIFT  a  SHIFT  differ  ATTACH[3]  ence

A decision is a silent symbol after the first piece of its word. The first piece has no position yet: it waits for its
decision, which is all that may come then, and the two are read together. Nothing is ever popped.
"""

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.shapes import Bool, Float, Int
from dtglib.decode.sequence_stepper import Hypotheses, SequenceStepper
from dtglib.network.output import Legal
from dtglib.network.search_output import some_of
from dtglib.network.transformer import Transformer
from dtglib.transitions.rows import MAY_CONTINUE, MAY_END, MAY_GENERATE


class DecisionStepper(SequenceStepper):
    """A model with a decision about each word, for one search."""

    in_words = True

    def __init__(self, model: Transformer) -> None:
        super().__init__(model)
        vocabulary = model.vocabulary
        self.silent = np.array([vocabulary.transition(name) for name in vocabulary.symbols.others])

    # ---- The rules of a kind of decision

    @abstractmethod
    def is_pending(self, states: Any) -> Bool[np.ndarray, " rows"]:
        """True for the rows whose last word waits for its decision."""

    @abstractmethod
    def words(self, states: Any) -> Int[np.ndarray, " rows"]:
        """The number of words that have begun in each row."""

    @abstractmethod
    def room(self, states: Any) -> int:
        """The largest number of words of a row."""

    @abstractmethod
    def decisions(self, hypotheses: Hypotheses) -> Float[Tensor, "rows V"]:
        """The log-probabilities of decisions, for rows that all wait for one; other symbols have minus infinity."""

    # ---- Shared by all

    def legal(self, hypotheses: Hypotheses) -> Legal:
        """The classes of pieces and of the end that may come next, for rows that do not wait for a decision."""
        words = self.words(hypotheses.states)
        may = np.where(words < self.room(hypotheses.states), MAY_GENERATE, 0)
        may |= np.where(words > 0, MAY_CONTINUE | MAY_END, 0)
        bits = self._there(may)
        return Legal(bits, torch.zeros_like(bits), torch.zeros_like(bits))

    @torch.no_grad()
    def log_probs(self, hypotheses: Hypotheses) -> Float[Tensor, "rows V"]:
        """The log-probabilities of decisions where a word waits for one, and of pieces and the end elsewhere."""
        pending = self.is_pending(hypotheses.states)
        if not pending.any():
            return super().log_probs(hypotheses)
        log_probs = torch.full((len(hypotheses), len(self.model.vocabulary)), -torch.inf, device=self.device)
        for rows, of_rows in ((np.flatnonzero(~pending), super().log_probs), (np.flatnonzero(pending), self.decisions)):
            if len(rows):
                log_probs[self._there(rows)] = of_rows(self.choose(hypotheses, rows)).to(log_probs.dtype)
        return log_probs

    @torch.no_grad()
    def some_log_probs(
        self, hypotheses: Hypotheses, symbols: Int[Tensor, "rows A"]
    ) -> tuple[Float[Tensor, "rows A"], Float[Tensor, "rows 3"]]:
        """Those of `log_probs`."""
        return some_of(self.log_probs(hypotheses), symbols, self.model.output.classes)

    def leads_on(self, hypotheses: Hypotheses, to_end: np.ndarray) -> np.ndarray:
        """After a decision anything may come."""
        return np.ones((len(hypotheses), len(self.silent)), bool)

    def copies(self, symbols: np.ndarray) -> np.ndarray:
        """The first piece of a word is read together with its decision."""
        return np.where(self.model.vocabulary.starts_word[symbols], 0, 1)

    def visible(self, hypotheses: Hypotheses, row: int) -> np.ndarray:
        """All words."""
        return np.arange(1, self.words(hypotheses.states)[row] + 1)

    def most_silent(self, words: int) -> int:
        """The decision about the word before."""
        return 1
