"""The base of the steppers of all models over sequences: a cache in which each position is computed once.

The keys and values of a position are written into a slot of a pool, and stay there until no hypothesis can see them.
A row of a state holds slot numbers (stack_rows.py). So forking a derivation copies integers only, and a row grows with
the number of visible positions, not with the sentence.

A stepper of a kind of sequence adds the rules of its symbols, as abstract methods (some are those of `Stepper`):
stack_stepper.py does for transitions.
"""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.shapes import Float, Int
from dtglib.data.vocabulary import ROOT
from dtglib.decode.freed_memory import keep_freed_memory
from dtglib.decode.pool import MOST, RECORDERS, Pool, pool_for, rounded
from dtglib.decode.stack_rows import Cache, Looks, first_cache, joined, with_room
from dtglib.decode.stepper import Stepper
from dtglib.network.output import Legal
from dtglib.network.search_output import SearchOutput, for_search
from dtglib.network.transformer import LayerInputs, Transformer, sent
from dtglib.sequences.columns import NOTHING
from dtglib.sequences.structure import Pooled
from dtglib.transitions.batch import choose

# The largest number of positions that are computed together. On a CPU, the activations of more positions do not stay in
# the caches. The GPU's number was not measured.
POSITIONS_AT_ONCE = {"cpu": 512, "cuda": 2**13}
# The first positions of a search on a CPU use attention without compiled loops, which are slow to load. The choice
# depends on nothing but the search, because the two forms differ in rounding.
POSITIONS_UNCOMPILED = 2**13


class Hypotheses(NamedTuple):
    """Derivations of one model, a row each, and the output vector of the last position of each."""

    states: Any  # a record of arrays with a row for each derivation: its state by the rules of its symbols
    cache: Cache
    begun: np.ndarray  # true if the last symbol was a piece, so that its word may go on
    x: Float[Tensor, "rows d"]

    def __len__(self) -> int:
        return len(self.begun)


class SequenceStepper(Stepper):
    """A sequence model for one search. Rows that neither go on nor wait are forgotten."""

    silent: np.ndarray
    in_words = False
    facts = 0  # the number of integers that `advance` writes about each visible position, for `bias`

    def __init__(self, model: Transformer) -> None:
        keep_freed_memory()
        self.model, self.device = model, model.embedding.weight.device
        self.is_piece = model.vocabulary.starts_word | model.vocabulary.continues_word
        # A recording knows nothing of what a subclass keeps.
        kind, base = type(self), SequenceStepper
        self.keeps = (kind.bias, kind.keep) != (base.bias, base.keep)
        self.is_recorded = self.device.type in RECORDERS and not self.keeps
        self.positions = 0  # the number that was computed so far

    # ---- The rules of a kind of sequence

    @abstractmethod
    def start(self, most_words: int) -> Any:
        """The states of one derivation that has written nothing, with room for so many words."""

    @abstractmethod
    def legal(self, hypotheses: Hypotheses) -> Legal:
        """The symbols that may come next, as bits for their classes."""

    @abstractmethod
    def copies(self, symbols: np.ndarray) -> np.ndarray:
        """The number of positions of each symbol; after a symbol without any, a row keeps its vector."""

    @abstractmethod
    def advance(self, states: Any, cache: Cache, symbols: np.ndarray, first: np.ndarray, looks: Looks) -> None:
        """Take each row's symbol, in place, and write what its new positions see; `first` has the first of these."""

    # ---- Shared by all

    @cached_property
    def output(self) -> SearchOutput:
        """The output layer and the embeddings, arranged for a search."""
        return for_search(self.model.output, self.model.embedding.weight)

    @cached_property
    def pool(self) -> Pool:
        """Made when the search begins, because it depends on autocast."""
        return pool_for(self, self.model) if self.is_recorded else Pool(self.model)

    @torch.no_grad()
    def init(self, most_words: int) -> Hypotheses:
        """The beginning of every sentence of at most so many words, as one row."""
        single = np.ones(1, np.int32)
        cache = first_cache(self.pool.free([], 1))
        looks = Looks(
            token=ROOT * single, arc=NOTHING * single, slot=cache.slot[:, 0], count=single, seen=cache.slot,
            relpos=np.zeros((1, 1), np.int32), facts=np.zeros((1, 1, self.facts), np.int32),
        )  # fmt: skip
        # Without room for another word, none would be legal.
        states = self.start(most_words + 1)
        return Hypotheses(states, cache, np.zeros(1, bool), self._looked(looks))

    @torch.no_grad()
    def log_probs(self, hypotheses: Hypotheses) -> Float[Tensor, "rows V"]:
        """The log-probability of every entry of the vocabulary, after each row."""
        return self.model.output(hypotheses.x, self.model.embedding.weight, self.legal(hypotheses))

    @torch.no_grad()
    def some_log_probs(
        self, hypotheses: Hypotheses, symbols: Int[Tensor, "rows A"]
    ) -> tuple[Float[Tensor, "rows A"], Float[Tensor, "rows 3"]]:
        """See decode/stepper.py."""
        return self.output.some(hypotheses.x, self.legal(hypotheses), symbols, hypotheses.begun)

    @torch.no_grad()
    def step(
        self, hypotheses: Hypotheses, rows: np.ndarray, symbols: np.ndarray, waiting: Sequence[Hypotheses] = ()
    ) -> Hypotheses:
        """New rows out of old ones; those that wait keep their slots."""
        states, cache = choose(hypotheses.states, rows), with_room(hypotheses.cache, rows)
        copies = self.copies(symbols)
        first = np.cumsum(copies) - copies
        slots = self.pool.free([cache, *(others.cache for others in waiting)], int(copies.sum()))
        (token, arc, count), room = np.empty((3, len(slots)), np.int32), (len(slots), cache.slot.shape[1] + 1)
        seen, relpos = np.zeros((2, *room), np.int32)
        looks = Looks(token, arc, slots, count, seen, relpos, facts=np.zeros((*room, self.facts), np.int32))
        self.advance(states, cache, symbols, first, looks)
        x = hypotheses.x[self._there(rows)]
        if len(slots):
            (moved,) = np.nonzero(copies)
            last = self._looked(looks)[self._there((first + copies - 1)[moved])]
            x = last if len(moved) == len(rows) else x.index_copy(0, self._there(moved), last)
        return Hypotheses(states, cache, self.is_piece[symbols], x)

    def choose(self, hypotheses: Hypotheses, rows: np.ndarray) -> Hypotheses:
        """These rows, copied; a row may come several times."""
        x = hypotheses.x[self._there(rows)]
        states, cache = (choose(columns, rows) for columns in (hypotheses.states, hypotheses.cache))
        return Hypotheses(states, cache, hypotheses.begun[rows], x)

    def join(self, parts: Sequence[Hypotheses]) -> Hypotheses:
        """The rows of several states as one."""
        of_parts = [part.states for part in parts]
        states = type(of_parts[0])(*map(np.concatenate, zip(*of_parts, strict=True)))
        cache = joined([part.cache for part in parts])
        begun = np.concatenate([part.begun for part in parts])
        return Hypotheses(states, cache, begun, torch.cat([part.x for part in parts]))

    def _looked(self, looks: Looks) -> Float[Tensor, "positions d"]:
        """Compute new positions, and write their keys and values into the pool."""
        self.positions += len(looks.slot)
        at_once = POSITIONS_AT_ONCE[self.device.type]
        # The parts keep their order: a STACK position sees its COMPOSE position, which may be in the part before.
        parts = [slice(first, first + at_once) for first in range(0, len(looks.slot), at_once)]
        return torch.cat([self._looked_together(Looks(*(x[part] for x in looks))) for part in parts])

    def _looked_together(self, looks: Looks) -> Float[Tensor, "positions d"]:
        count, longest = len(looks.slot), int(looks.count.max())
        looks = Looks(*looks[:4], *(x[:, :longest] for x in looks[4:]))
        self.pool.reach(self.model, int(looks.relpos.max()))
        is_recorded = self.is_recorded and count <= MOST
        if is_recorded:
            looks = rounded(looks)
        inputs = [sent(x, self.device) for x in (looks[:4], looks[4:6], looks[6:])]
        return self.pool.replay(self.network, inputs)[:count] if is_recorded else self.network(*inputs)

    def network(
        self, columns: Int[Tensor, "4 N"], pairs: Int[Tensor, "2 N S"], facts: Int[Tensor, "1 N S F"]
    ) -> Float[Tensor, "N d"]:
        """The output vectors of N new positions, in the columns of `Looks`; it may be recorded (pool.py)."""
        model, pool, (token, arc, slot, count) = self.model, self.pool, columns
        x, (seen, relpos) = model.embed(token[:, None], arc[:, None]), pairs  # N 1 d
        structure = Pooled(seen, relpos, count)
        if self.device.type == "cpu" and self.positions <= POSITIONS_UNCOMPILED:
            structure = structure.shared
        inputs = LayerInputs(structure, pool.places, model.u, model.w, self.bias(token, seen, facts[0]))
        slot, states = slot.long(), [x]
        for block, keys, values, r in zip(model.blocks, pool.keys, pool.values, pool.tables, strict=True):
            q, k, v = block.heads_of(states[-1])
            keys[slot], values[slot] = k[:, :, 0], v[:, :, 0]
            everywhere = (x.transpose(0, 1)[None] for x in (keys, values))  # 1 H S D
            x = block.finish(states[-1], block.attended(q, *everywhere, r, inputs))
            states = [*states, x] if self.keeps else [x]
        self.keep(slot, [x[:, 0] for x in states])
        return states[-1][:, 0]

    def keep(self, slot: Int[Tensor, " N"], states: list[Float[Tensor, "N d"]]) -> None:
        """Called with the slots of N new positions and with their vectors: the inputs, and those after each layer.

        A subclass may keep vectors by slot (see `Pool.fitted`).
        """
        return None

    def bias(self, token: Int[Tensor, " N"], seen: Int[Tensor, "N S"], facts: Int[Tensor, "N S F"]) -> Any:
        """The `bias` of N new positions, one per row, for the S slots that they see (see `Transformer`).

        A subclass may compute it from the slots, and from the facts that its `advance` wrote.
        """
        return None

    def _there(self, numbers: np.ndarray) -> Tensor:
        return sent([numbers], self.device)[0]
