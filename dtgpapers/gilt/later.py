"""The steppers of GiLT's other two representations of words, for which the pieces must have been read (section 3.1).

    FTR    There  ARCS=0  is  ARCS=2  a  ARCS=0  differ  ARCS=2  ence         after the first piece
    CTR    There  ARCS=0  is  ARCS=2  a  ARCS=0  differ  ence  ARCS=2         after the last piece

The pieces are read with the tape of the words before. With FTR the number of arcs comes right after the first piece.
With CTR it comes when the word is over, and no symbol says so: that the next symbol is the first piece of another word,
or the end, does. So this is decided first. After the pieces so far, with p as the model has it for the next symbol,

    another piece                p(piece)
    so many arcs                 p(over) * pi(arcs)           p(over) = p(first pieces) + p(end)
    and then a word or the end   p(it) / p(over)

whose product is p(it) * pi(arcs), the joint probability of the parallel form.
"""

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.shapes import Bool, Float, Int
from dtglib.data.vocabulary import END
from dtglib.decode.sequence_stepper import Hypotheses, SequenceStepper
from dtglib.network.transformer import Transformer
from dtgpapers.gilt.stepper import GraphStepper


class FirstPieceStepper(GraphStepper):
    """The first token's representation: a word is its first piece."""

    def copies(self, symbols: np.ndarray) -> np.ndarray:
        """Pieces take positions."""
        return self.is_piece[symbols].astype(np.int64)

    def represented(self, slot: Int[Tensor, " W"], piece: Int[Tensor, " W"]) -> Float[Tensor, "W w"]:
        """The vectors of the slots."""
        return self.read[slot]


class WholeWordStepper(FirstPieceStepper):
    """The complete token representation: a word is the mean over its pieces.

    What is kept in the slot of a piece is the mean over the word's pieces up to it.
    """

    in_words = False

    def __init__(self, model: Transformer) -> None:
        super().__init__(model)
        follows = model.vocabulary.starts_word.copy()
        follows[END] = True
        self.follows = self._there(follows)  # the symbols that may follow a word that is over

    def asks(self, symbols: np.ndarray) -> Bool[np.ndarray, " rows"]:
        """After each piece, because the word may be over."""
        return self.is_piece[symbols]

    def propose(self, hypotheses: Hypotheses, rows: np.ndarray) -> None:
        """Take the mean over the pieces, before the arcs are scored."""
        cache, words = hypotheses.cache, hypotheses.states.words[rows]
        last = cache.filled[rows] - 1
        slot, before = (self._there(cache.slot[rows, place]).long() for place in (last, last - 1))
        is_of_word = (cache.level[rows] == words[:, None]) & (np.arange(cache.level.shape[1]) <= last[:, None])
        share = self._there(1 / is_of_word.sum(1).astype(np.float32))[:, None].to(self.read.dtype)
        self.read[slot] = torch.lerp(self.read[before], self.read[slot], share)
        super().propose(hypotheses, rows)

    @torch.no_grad()
    def log_probs(self, hypotheses: Hypotheses) -> Float[Tensor, "rows V"]:
        """Those of the table at the top of this file."""
        log_probs = SequenceStepper.log_probs(self, hypotheses).float()
        states = hypotheses.states
        pending = self._there(states.pending)[:, None]
        is_over = self._there((states.words > 0) & ~states.pending)[:, None]
        over = log_probs.masked_fill(~self.follows, -torch.inf).logsumexp(1, keepdim=True)
        barred = torch.where(self.follows, pending, is_over)
        log_probs = (log_probs - over.where(is_over, 0.0)).masked_fill(barred, -torch.inf)
        log_probs[:, self._there(self.silent)] = (over + self._numbers(hypotheses)).masked_fill(~pending, -torch.inf)
        return log_probs


STEPPERS = {"ra": GraphStepper, "ftr": FirstPieceStepper, "ctr": WholeWordStepper}
