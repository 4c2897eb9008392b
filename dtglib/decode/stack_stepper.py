"""The stepper of models that read sequences: a cache as deep as the stack, in which each position is computed once.

A position's keys and values are written into a slot of a pool, once, and stay there until nobody can see them any more.
A row of a state holds slot numbers, each with the height at which its word stands (stack_rows.py). So to fork a
derivation is to copy integers, and what it holds does not grow with the sentence but with the stack. For a model on
whose stack nothing is popped (TXL) the rows only grow. The heights in the row after There, is and LEFTARC:

    >>> from dtglib.data.vocabulary import Vocabulary
    >>> from dtglib.families.base import build
    >>> from dtglib.network.transformer import TransformerConfig
    >>> vocabulary = Vocabulary.of_words([["There", "is"]])
    >>> model = build(TransformerConfig("dtg", layers=1, width=8, heads=1, inner=16), vocabulary)
    >>> stepper = model.stepper()
    >>> state = stepper.init(most_words=2)
    >>> for symbol in (*vocabulary.encode(["There", "is"]).ids, vocabulary.transition("LEFTARC")):
    ...     state = stepper.step(state, np.array([0]), np.array([symbol]))
    ...     print(state.cache.height[0, : state.cache.filled[0]])
    [0 1]
    [0 1 2]
    [0 1]
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.errors import require
from dtglib.basics.shapes import Float, Int
from dtglib.data.vocabulary import ROOT, Vocabulary
from dtglib.decode.stack_rows import (
    CONTINUE,
    Cache,
    Looks,
    advance_growing,
    advance_stack,
    first_cache,
    joined,
    mark,
    with_room,
)
from dtglib.network.attention import gathered, sinusoids
from dtglib.network.output import Legal
from dtglib.network.transformer import Around, Remembered, Transformer, rounded_up
from dtglib.sequences.compile import NOTHING, Arcs
from dtglib.sequences.readings import Reading
from dtglib.sequences.structure import Structure
from dtglib.transitions.batch import States, choose, closing, legal, start
from dtglib.transitions.protocol import Kind
from dtglib.transitions.rows import MAY_CONTINUE, MOST_REACH
from dtglib.transitions.rules import number_of

# How many positions are computed together. On a CPU, activations of more do not stay in the caches. The GPU's
# number was not measured; it takes a few gigabytes, because each position gathers the keys of all that it sees.
AT_ONCE = {"cpu": 512, "cuda": 2**13}


class Hypotheses(NamedTuple):
    """Derivations of one model, a row each, and the vector that its body gives to the last position of each."""

    states: States
    cache: Cache
    begun: np.ndarray  # whether the last symbol was a piece, so that its word may go on
    source: np.ndarray  # the number of the source that a row is conditioned on
    x: Float[Tensor, "rows d"]

    def __len__(self) -> int:
        return len(self.begun)


class Moves(NamedTuple):
    """The symbols of new rows, as the transition system knows them: for each its kind, reach and piece."""

    kind: np.ndarray
    reach: np.ndarray
    piece: np.ndarray  # the symbol itself, if it is a piece


class StackStepper:
    """A sequence model for one search; see decode/stepper.py. Rows that neither go on nor wait are forgotten."""

    def __init__(self, model: Transformer) -> None:
        self.model, self.device = model, model.embedding.weight.device
        self.reading: Reading = model.reading
        self.arcs = Arcs.of(model.vocabulary)
        self.kinds, self.reaches = kinds_and_reaches(model.vocabulary, self.arcs)
        self.silent = np.concatenate([self.arcs.left[1:], self.arcs.right[1:], [self.arcs.pop]])
        self.sources: list[Remembered | None] = []
        self.pool = Pool(model)
        self.positions = 0  # how many were computed

    @torch.no_grad()
    def init(self, most_words: int, source: Remembered | None = None) -> Hypotheses:
        """The beginning of every sentence of at most so many words, as one row."""
        one = np.ones(1, np.int32)
        room = most_words + 1  # without room for another word, none would be legal
        cache = first_cache(self.pool.free([], 1), room)
        self.sources.append(source)
        have_one = {one is not None for one in self.sources}
        require(len(have_one) == 1, "some of the sentences have a source and some have none")
        of_row = np.full(1, len(self.sources) - 1)
        looks = Looks(ROOT * one, NOTHING * one, cache.slot[:, 0], one, cache.slot, np.zeros((1, 1), np.int32))
        return Hypotheses(start(1, room), cache, np.zeros(1, bool), of_row, self._looked(looks, of_row))

    def legal(self, hypotheses: Hypotheses) -> Legal:
        """What may come next, as classes of symbols."""
        may, left, right = legal(self.reading.system, hypotheses.states)
        may |= np.where(hypotheses.begun, MAY_CONTINUE, 0)
        in_reach = (1 << min(self.model.vocabulary.reach, MOST_REACH)) - 1
        return Legal(*(torch.from_numpy(bits).to(self.device) for bits in (may, left & in_reach, right & in_reach)))

    def closes(self, hypotheses: Hypotheses) -> np.ndarray:
        """Which silent symbols, such as the arc from ROOT in arc-standard, would be followed by no further word."""
        may, left, right = closing(self.reading.system, hypotheses.states)
        bits = np.arange(len(self.arcs.left) - 1)
        arcs = [(reaches[:, None] >> bits & 1).astype(bool) for reaches in (left, right)]
        return np.column_stack([*arcs, may != 0])

    @torch.no_grad()
    def log_probs(self, hypotheses: Hypotheses) -> Float[Tensor, "rows V"]:
        """The log-probability of every entry of the vocabulary, after each row."""
        return self.model.output(hypotheses.x, self.model.embedding.weight, self.legal(hypotheses))

    @torch.no_grad()
    def step(
        self, hypotheses: Hypotheses, rows: np.ndarray, symbols: np.ndarray, waiting: Sequence[Hypotheses] = ()
    ) -> Hypotheses:
        """New rows out of old ones; those that wait keep their slots."""
        moves = Moves(self.kinds[symbols], self.reaches[symbols], symbols.astype(np.int32))
        states, cache = choose(hypotheses.states, rows), with_room(hypotheses.cache, rows)
        source = hypotheses.source[rows]
        is_arc = (moves.kind == Kind.LEFTARC) | (moves.kind == Kind.RIGHTARC)
        copies = np.where(is_arc & self.reading.pops, 2, 1)
        first = np.cumsum(copies) - copies
        slots = self.pool.free([cache, *(others.cache for others in waiting)], int(copies.sum()))
        looks = Looks(
            *np.empty((4, len(slots)), np.int32), *np.empty((2, len(slots), cache.slot.shape[1] + 1), np.int32)
        )
        looks.slot[:] = slots
        advance = advance_stack if self.reading.pops else advance_growing
        advance(number_of(self.reading.system), states, cache, moves, self.arcs, first, looks)
        x = self._looked(looks, np.repeat(source, copies))[torch.from_numpy(first + copies - 1).to(self.device)]
        return Hypotheses(states, cache, (moves.kind == Kind.GEN) | (moves.kind == CONTINUE), source, x)

    def choose(self, hypotheses: Hypotheses, rows: np.ndarray) -> Hypotheses:
        """These rows, copied; a row may come several times."""
        x = hypotheses.x[torch.from_numpy(rows).to(hypotheses.x.device)]
        cache = Cache(*(column[rows] for column in hypotheses.cache))
        states, begun, source = choose(hypotheses.states, rows), hypotheses.begun[rows], hypotheses.source[rows]
        return Hypotheses(states, cache, begun, source, x)

    def join(self, parts: Sequence[Hypotheses]) -> Hypotheses:
        """The rows of several states as one."""
        states = States(*map(np.concatenate, zip(*(part.states for part in parts), strict=True)))
        cache = joined([part.cache for part in parts])
        begun, source = (np.concatenate([getattr(part, name) for part in parts]) for name in ("begun", "source"))
        return Hypotheses(states, cache, begun, source, torch.cat([part.x for part in parts]))

    def heads(self, hypotheses: Hypotheses, row: int) -> np.ndarray:
        """The heads of the words so far."""
        states = hypotheses.states
        return states.heads[row, 1 : states.count[row] + 1].copy()

    def visible(self, hypotheses: Hypotheses, row: int) -> np.ndarray:
        """The words on the stack, each of which stands for its dependents too; all words where nothing is popped."""
        states = hypotheses.states
        if not self.reading.pops:
            return np.arange(1, states.count[row] + 1)
        words = np.append(states.stack[row, : states.depth[row]], states.front[row])
        return np.sort(words[words > 0])

    def most_silent(self, words: int) -> int:
        """Each word and ROOT takes at most one arc and one POP."""
        return 2 * (words + 1)

    def _looked(self, looks: Looks, source: np.ndarray) -> Float[Tensor, "positions d"]:
        """Compute new positions, and write their keys and values into the pool."""
        self.positions += len(looks.slot)
        at_once = AT_ONCE[self.device.type]
        # The parts keep their order: a STACK position sees its COMPOSE position, which may be in the part before.
        parts = [slice(first, first + at_once) for first in range(0, len(looks.slot), at_once)]
        return torch.cat([self._looked_at_once(Looks(*(x[part] for x in looks)), source[part]) for part in parts])

    def _looked_at_once(self, looks: Looks, source: np.ndarray) -> Float[Tensor, "positions d"]:
        model, pool = self.model, self.pool
        longest = int(looks.count.max())
        token, arc, slot, count = (torch.from_numpy(column).to(self.device) for column in looks[:4])
        seen, relpos = (torch.from_numpy(rows[:, :longest].copy()).to(self.device) for rows in looks[4:])
        hidden = torch.arange(longest, device=self.device) >= count[:, None]
        seen, relpos, slot = seen.masked_fill(hidden, 0).long(), relpos.masked_fill(hidden, 0), slot.long()
        x = model.embed(token[:, None], arc[:, None])  # N 1 d
        places = sinusoids(rounded_up(int(relpos.max())), x.shape[2], self.device)
        structure, bias = Structure(~hidden[:, None], relpos[:, None]), self.bias(token, seen)
        around = Around(structure, places, model.u, model.w, bias, self._memory(source))
        for block, keys, values in zip(model.blocks, pool.keys, pool.values, strict=True):
            q, k, v, r = block.project(x, around.places)
            keys[slot], values[slot] = k[:, :, 0], v[:, :, 0]
            k, v = gathered(keys, seen), gathered(values, seen)  # N H S D
            x = block.finish(x, block.attended(q, k, v, r, around))
        return x[:, 0]

    def bias(self, token: Int[Tensor, " N"], seen: Int[Tensor, "N S"]) -> Any:
        """The bias on attention scores of new positions for the slots that they see; a subclass may override it."""
        return None

    def _memory(self, source: np.ndarray) -> Remembered | None:
        """The sources of new positions, as memory."""
        if self.sources[0] is None:
            return None
        rows = torch.from_numpy(source).to(self.device)
        padded = torch.nn.utils.rnn.pad_sequence
        x = padded([one.x[0] for one in self.sources], batch_first=True)
        there = padded([one.there[0] for one in self.sources], batch_first=True)
        return Remembered(x[rows], there[rows])


def kinds_and_reaches(vocabulary: Vocabulary, arcs: Arcs) -> tuple[np.ndarray, np.ndarray]:
    """For every entry of the vocabulary the kind and the reach of its transition; other entries stand for the end."""
    kinds, reaches = np.full(len(vocabulary), Kind.END, np.int32), np.ones(len(vocabulary), np.int32)
    kinds[vocabulary.starts_word], kinds[vocabulary.continues_word] = Kind.GEN, CONTINUE
    kinds[arcs.left[1:]], kinds[arcs.right[1:]], kinds[arcs.pop] = Kind.LEFTARC, Kind.RIGHTARC, Kind.POP
    reaches[arcs.left[1:]] = reaches[arcs.right[1:]] = np.arange(1, len(arcs.left))
    return kinds, reaches


class Pool:
    """Keys and values, by layer and slot. The caches of the hypotheses tell which slots are in use."""

    def __init__(self, model: Transformer) -> None:
        device, config = model.embedding.weight.device, model.config
        # Under autocast, keys and values have its data type.
        is_autocast = torch.is_autocast_enabled(device.type)
        dtype = torch.get_autocast_dtype(device.type) if is_autocast else model.embedding.weight.dtype
        shape = (0, config.heads, config.width // config.heads)
        self.keys = [torch.empty(shape, dtype=dtype, device=device) for _ in range(config.layers)]
        self.values = [torch.empty(shape, dtype=dtype, device=device) for _ in range(config.layers)]
        self.most = 0  # the largest number of slots that were ever in use

    def free(self, caches: Sequence[Cache], count: int) -> np.ndarray:
        """The numbers of `count` slots that none of these hypotheses can see."""
        taken = np.zeros(len(self.keys[0]), bool)
        for cache in caches:
            mark(taken, cache.slot, cache.filled)
        self.most = max(self.most, int(taken.sum()) + count)
        (free,) = np.nonzero(~taken)
        if len(free) < count:
            # The pool is doubled, so that its content is rarely copied.
            more = max(count, len(taken))
            self.keys, self.values = ([_longer(x, more) for x in layers] for layers in (self.keys, self.values))
            free = np.append(free, np.arange(len(taken), len(taken) + more))
        return free[:count].astype(np.int32)


def _longer(x: Tensor, more: int) -> Tensor:
    return torch.cat([x, x.new_empty((more, *x.shape[1:]))])
