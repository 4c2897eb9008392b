"""The stepper of Pushdown Layers: words, and after the first piece of each the attachment of the word.

    There  SHIFT  is  SHIFT  a  SHIFT  differ  ATTACH[3]  ence

The first piece of a word takes no position yet. It waits for its attachment, which is all that may come then, and is
read with the tape after it. ATTACH[n] merges the word with the n nearest constituents, SHIFT with none. The
probabilities of attachments come from the attachment head, those of all other symbols from the body's vector.

The tape of a hypothesis is the column `level` of its cache, and the same function updates it as in training (tape.py).
The keys of the attachment head are kept in the slots of the positions that they were made of.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.jit import njit
from dtglib.basics.shapes import Bool, Float, Int
from dtglib.decode.sequence_stepper import Hypotheses
from dtglib.decode.stack_rows import Cache, Looks, read_position
from dtglib.network.transformer import Transformer
from dtglib.sequences.columns import NOTHING
from dtglib.transitions.protocol import OPEN
from dtgpapers.decisions.stepper import DecisionStepper
from dtgpapers.pushdown.tape import MOST_BESIDE, attach, attachments_of, last_of


class Attaching(NamedTuple):
    """Sentences with their attachments so far, a row each."""

    begin: np.ndarray  # (rows, MOST_BESIDE): the first position of each constituent; see tape.py
    items: np.ndarray  # (rows,): how many constituents
    reduces: np.ndarray  # (rows, room): with how many of them each word was merged
    count: np.ndarray  # type: ignore[assignment]  # words
    waiting: np.ndarray  # the first piece of a word whose attachment is not decided; NOTHING if there is none


class TapeStepper(DecisionStepper):
    """A `PushdownModel` (network.py) for one search."""

    facts = 1  # the depth of each position

    def __init__(self, model: Transformer) -> None:
        super().__init__(model)
        # The number of constituents with which each symbol merges the word; NOTHING for pieces.
        self.reduces = np.full(len(model.vocabulary), NOTHING)
        self.reduces[self.silent] = np.arange(len(self.silent))
        self.keys = model.embedding.weight.new_empty((0, 2 * model.config.width))  # by slot

    def start(self, most_words: int) -> Attaching:
        """Nothing is written."""
        zero, none = np.zeros(1, np.int32), np.full(1, NOTHING, np.int32)
        begin, reduces = np.zeros((1, MOST_BESIDE), np.int32), np.zeros((1, most_words), np.int32)
        return Attaching(begin, zero, reduces, zero.copy(), none)

    def is_pending(self, states: Attaching) -> Bool[np.ndarray, " rows"]:
        """True where the attachment of the last word is not decided."""
        return states.waiting != NOTHING

    def words(self, states: Attaching) -> Int[np.ndarray, " rows"]:
        """The number of words that have begun."""
        return states.count

    def room(self, states: Attaching) -> int:
        """The largest number of words."""
        return states.reduces.shape[1]

    def decisions(self, hypotheses: Hypotheses) -> Float[Tensor, "rows V"]:
        """The log-probabilities of the attachments of words."""
        model, states, cache = self.model, hypotheses.states, hypotheses.cache
        edge, distance = np.zeros((2, len(hypotheses), int(states.items.max())), np.int64)
        _right_edge(states.begin, states.items, cache.slot, cache.filled, edge, distance)
        query, itself = model.head.queries(hypotheses.x, model.embedding(self._there(states.waiting)))
        to_others = torch.einsum("nq,neq->ne", query, self.keys[self._there(edge)].to(query.dtype))
        if edge.shape[1]:
            to_others = to_others + model.head.by_distance(query, self._there(distance))
        scores = torch.cat([itself[:, None], to_others], dim=1)
        items, count = self._there(states.items)[:, None], torch.arange(scores.shape[1], device=self.device)
        barred = (count > items) | ((count == 0) & (items == MOST_BESIDE))
        log_probs = torch.full((len(scores), len(model.vocabulary)), -torch.inf, device=self.device, dtype=scores.dtype)
        log_probs[:, self._there(self.silent[: scores.shape[1]])] = scores.masked_fill(barred, -torch.inf)
        return log_probs.log_softmax(1)

    @torch.no_grad()
    def step(
        self, hypotheses: Hypotheses, rows: np.ndarray, symbols: np.ndarray, waiting: Sequence[Hypotheses] = ()
    ) -> Hypotheses:
        """New rows out of old ones; what was read gets a key, by which later words may attach to it."""
        stepped = super().step(hypotheses, rows, symbols, waiting)
        (moved,) = np.nonzero(self.copies(symbols))
        if len(moved):
            last = stepped.cache.filled[moved] - 1
            slot, depth = (self._there(column[moved, last]) for column in (stepped.cache.slot, stepped.cache.level))
            self.keys = self.pool.fitted(self.keys)
            keys = self.model.head.keys(stepped.x[self._there(moved)], depth)
            self.keys[slot] = keys.to(self.keys.dtype)
        return stepped

    def bias(self, token: Int[Tensor, " N"], seen: Int[Tensor, "N S"], facts: Int[Tensor, "N S F"]) -> Tensor:
        """The depths of what is seen, as the layers want them."""
        return facts[:, None, None, :, 0].long()

    def advance(self, states: Attaching, cache: Cache, symbols: np.ndarray, first: np.ndarray, looks: Looks) -> None:
        """Take the symbol of every row."""
        starts = self.model.vocabulary.starts_word[symbols]
        _advance(states, cache, symbols, starts, self.reduces[symbols], first, looks)

    def tree(self, hypotheses: Hypotheses, row: int) -> np.ndarray:
        """The word that each word attaches to."""
        states = hypotheses.states
        waits = states.waiting[row] != NOTHING
        attachments = attachments_of(states.reduces[row, : states.count[row] - waits].tolist())
        return np.array([*attachments, OPEN] if waits else attachments, np.int64)


@njit
def _right_edge(begin, items, slots, filled, edge, distance):
    """The last position of each constituent, beginning with the last one: its slot, and its distance."""
    for row in range(len(items)):
        for n in range(items[row]):
            last = last_of(begin[row], items[row], filled[row], items[row] - 1 - n)
            edge[row, n], distance[row, n] = slots[row, last], filled[row] - last


@njit
def _advance(states, cache, symbols, starts, reduces, first, looks):
    """Take the symbol of every row; `first` has the number of the first new position of each."""
    for row in range(len(first)):
        if starts[row]:
            states.waiting[row] = symbols[row]
            states.count[row] += 1
            continue
        at, place, depth, token = first[row], cache.filled[row], cache.level[row], symbols[row]
        if reduces[row] == NOTHING:
            depth[place] = depth[place - 1]
        else:
            token = states.waiting[row]
            states.waiting[row] = NOTHING
            states.reduces[row, states.count[row] - 1] = reduces[row]
            states.items[row] = attach(depth, states.begin[row], states.items[row], place, reduces[row])
        for j in range(place):
            looks.seen[at, j], looks.relpos[at, j], looks.facts[at, j, 0] = cache.slot[row, j], place - j, depth[j]
        looks.count[at], looks.facts[at, place, 0] = place, depth[place]
        read_position(looks, at, token, NOTHING)
        cache.slot[row, place] = looks.slot[at]
        cache.filled[row] += 1
