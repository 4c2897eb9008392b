"""A cache as deep as the stack: many hypotheses advanced together, each position computed once.

A position's keys and values are written into a slot of a pool, once, and stay there until nobody can see them any more.
What a hypothesis knows of them is a row of slot numbers, each with the height at which its word stands (alive.py). So
to fork a hypothesis is to copy integers, and what it holds does not grow with the sentence but with the stack. On a
model on whose stack nothing is popped (TXL) the rows only grow. The heights in the row after There, is and LEFTARC:

    >>> from dtglib.model import ModelConfig
    >>> from dtglib.vocab import Vocabulary
    >>> vocabulary = Vocabulary.of_words([["There", "is"]])
    >>> stepper = StackStepper(Model(ModelConfig(layers=1, width=8, heads=1, inner=16), vocabulary))
    >>> one, (there, verb) = stepper.init(most_words=2), vocabulary.encode(["There", "is"]).ids
    >>> for kind, piece in ((Kind.GEN, there), (Kind.GEN, verb), (Kind.LEFTARC, NOTHING)):
    ...     one = stepper.step(one, Moves(*np.array([[0], [kind], [1], [piece]], np.int32)))
    ...     print(one.cache.height[0, : one.cache.filled[0]])
    [0 1]
    [0 1 2]
    [0 1]
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from dtglib.attention import dense, gathered, sinusoids
from dtglib.compile import NOTHING, Arcs
from dtglib.decode.alive import CONTINUE, Cache, Looks, advance_growing, advance_stack, mark, with_room
from dtglib.model import Model, rounded_up
from dtglib.output import Legal
from dtglib.readings import SYSTEM_OF
from dtglib.shapes import Float
from dtglib.structure import Structure
from dtglib.transitions import SYSTEMS, words
from dtglib.transitions.batch import States, choose, legal, start
from dtglib.transitions.protocol import Kind
from dtglib.transitions.rows import MAY_CONTINUE, MOST_REACH
from dtglib.transitions.rules import number_of
from dtglib.vocab import ROOT

# Positions that are computed together. What a layer makes of more of them does not stay in a processor's cache. For a
# GPU, on which nothing was measured, it is what takes a few gigabytes: each gathers the keys of all that it sees.
AT_ONCE = {"cpu": 512, "cuda": 2**13}


class Hypotheses(NamedTuple):
    """Derivations of one model, a row each, and what its body makes of the last position of each."""

    states: States
    cache: Cache
    begun: np.ndarray  # whether the last symbol was a piece, so that its word may go on
    x: Float[Tensor, "rows d"]

    def __len__(self) -> int:
        return len(self.begun)


def fork(hypotheses: Hypotheses, rows: np.ndarray) -> Hypotheses:
    """These rows, copied; a row may come several times."""
    x = hypotheses.x[torch.from_numpy(rows).to(hypotheses.x.device)]
    cache = Cache(*(column[rows] for column in hypotheses.cache))
    return Hypotheses(choose(hypotheses.states, rows), cache, hypotheses.begun[rows], x)


def together(parts: Sequence[Hypotheses]) -> Hypotheses:
    """Several sets of hypotheses as one."""
    room = max(part.cache.slot.shape[1] for part in parts)

    def as_wide(column: np.ndarray) -> np.ndarray:
        return np.pad(column, ((0, 0), (0, room - column.shape[1])))

    states = States(*map(np.concatenate, zip(*(part.states for part in parts), strict=True)))
    caches = [part.cache._replace(slot=as_wide(part.cache.slot), height=as_wide(part.cache.height)) for part in parts]
    cache = Cache(*map(np.concatenate, zip(*caches, strict=True)))
    begun, x = np.concatenate([part.begun for part in parts]), torch.cat([part.x for part in parts])
    return Hypotheses(states, cache, begun, x)


class Moves(NamedTuple):
    """For each new hypothesis the row that it comes from, what it does, and the piece that it takes, if any."""

    row: np.ndarray
    kind: np.ndarray
    reach: np.ndarray
    piece: np.ndarray


@runtime_checkable
class Stepper(Protocol):
    """What decoding needs of a model, whatever it keeps of the past. No move is END: after it there is nothing."""

    def init(self, most_words: int) -> Hypotheses: ...
    def legal(self, hypotheses: Hypotheses) -> Legal: ...
    def log_probs(self, hypotheses: Hypotheses) -> Float[Tensor, "rows V"]: ...
    def step(self, hypotheses: Hypotheses, moves: Moves, waiting: Sequence[Hypotheses] = ()) -> Hypotheses: ...


class StackStepper:
    """The Stepper of the five models, for one search: what no move comes from, and what does not wait, is forgotten."""

    def __init__(self, model: Model) -> None:
        self.model, self.device = model, model.embedding.weight.device
        name = model.config.model
        self.rules = SYSTEMS[SYSTEM_OF[name]] if name in SYSTEM_OF else words
        self.pops = name.startswith("dtg")
        self.arcs = Arcs.of(model.vocabulary)
        self.pool = Pool(model)
        self.positions = 0  # that were computed

    @torch.no_grad()
    def init(self, most_words: int) -> Hypotheses:
        """The beginning of every sentence of at most so many words."""
        one = np.ones(1, np.int32)
        room = most_words + 1  # where there is none for another word, none would be legal
        cache = Cache(*np.zeros((2, 1, 1), np.int32), one, np.full((1, room + 1), ROOT, np.int32))
        cache.slot[:] = self.pool.free([], 1)
        looks = Looks(ROOT * one, NOTHING * one, cache.slot[:, 0], one, cache.slot, np.zeros((1, 1), np.int32))
        return Hypotheses(start(1, room), cache, np.zeros(1, bool), self._looked(looks))

    def legal(self, hypotheses: Hypotheses) -> Legal:
        """What may come next."""
        may, left, right = legal(self.rules, hypotheses.states)
        may |= np.where(hypotheses.begun, MAY_CONTINUE, 0)
        in_reach = (1 << min(self.model.vocabulary.reach, MOST_REACH)) - 1
        return Legal(*(torch.from_numpy(bits).to(self.device) for bits in (may, left & in_reach, right & in_reach)))

    @torch.no_grad()
    def log_probs(self, hypotheses: Hypotheses) -> Float[Tensor, "rows V"]:
        """Of every entry of the vocabulary, after each hypothesis."""
        return self.model.output(hypotheses.x, self.model.embedding.weight, self.legal(hypotheses))

    @torch.no_grad()
    def step(self, hypotheses: Hypotheses, moves: Moves, waiting: Sequence[Hypotheses] = ()) -> Hypotheses:
        """New hypotheses out of old ones; those that wait keep their slots."""
        states, cache = choose(hypotheses.states, moves.row), with_room(hypotheses.cache, moves.row)
        is_arc = (moves.kind == Kind.LEFTARC) | (moves.kind == Kind.RIGHTARC)
        copies = np.where(is_arc & self.pops, 2, 1)
        first = np.cumsum(copies) - copies
        slots = self.pool.free([cache, *(others.cache for others in waiting)], int(copies.sum()))
        looks = Looks(
            *np.empty((4, len(slots)), np.int32), *np.empty((2, len(slots), cache.slot.shape[1] + 1), np.int32)
        )
        looks.slot[:] = slots
        advance = advance_stack if self.pops else advance_growing
        advance(number_of(self.rules), *states, *cache, *moves[1:], *self.arcs, first, *looks)
        x = self._looked(looks)[torch.from_numpy(first + copies - 1).to(self.device)]
        return Hypotheses(states, cache, (moves.kind == Kind.GEN) | (moves.kind == CONTINUE), x)

    def _looked(self, looks: Looks) -> Float[Tensor, "positions d"]:
        """Compute new positions, and write their keys and values into the pool."""
        self.positions += len(looks.slot)
        at_once = AT_ONCE[self.device.type]
        # In their order: a STACK position sees its COMPOSE position, of the same part or of the one before.
        starts = range(0, len(looks.slot), at_once)
        return torch.cat([self._looked_at_once(Looks(*(x[i : i + at_once] for x in looks))) for i in starts])

    def _looked_at_once(self, looks: Looks) -> Float[Tensor, "positions d"]:
        model, pool = self.model, self.pool
        longest = int(looks.count.max())
        token, arc, slot, count = (torch.from_numpy(column).to(self.device) for column in looks[:4])
        seen, relpos = (torch.from_numpy(rows[:, :longest].copy()).to(self.device) for rows in looks[4:])
        hidden = torch.arange(longest, device=self.device) >= count[:, None]
        seen, relpos, slot = seen.masked_fill(hidden, 0).long(), relpos.masked_fill(hidden, 0), slot.long()
        structure = Structure(~hidden[:, None], relpos[:, None])
        x = model.embed(token[:, None], arc[:, None])  # N 1 d
        places = sinusoids(rounded_up(int(relpos.max())), x.shape[2], self.device)
        for block, keys, values in zip(model.blocks, pool.keys, pool.values, strict=True):
            q, k, v, r = block.project(x, places)
            keys[slot], values[slot] = k[:, :, 0], v[:, :, 0]
            k, v = gathered(keys, seen), gathered(values, seen)  # N H S D
            x = block.finish(x, dense(q + model.u, q + model.w, k, v, r, structure))
        return x[:, 0]


class Pool:
    """Keys and values, by layer and slot. Which slots are taken is asked of the hypotheses."""

    def __init__(self, model: Model) -> None:
        device, config = model.embedding.weight.device, model.config
        # As the products come out under autocast, if that is on.
        is_autocast = torch.is_autocast_enabled(device.type)
        dtype = torch.get_autocast_dtype(device.type) if is_autocast else model.embedding.weight.dtype
        shape = (0, config.heads, config.width // config.heads)
        self.keys = [torch.empty(shape, dtype=dtype, device=device) for _ in range(config.layers)]
        self.values = [torch.empty(shape, dtype=dtype, device=device) for _ in range(config.layers)]
        self.most = 0  # slots that were ever taken at once

    def free(self, caches: Sequence[Cache], count: int) -> np.ndarray:
        """So many slots that none of these hypotheses can see."""
        taken = np.zeros(len(self.keys[0]), bool)
        for cache in caches:
            mark(taken, cache.slot, cache.filled)
        self.most = max(self.most, int(taken.sum()) + count)
        (free,) = np.nonzero(~taken)
        if len(free) < count:
            # As many again, so that this is seldom: it is the only time that what was written is copied.
            more = max(count, len(taken))
            self.keys, self.values = ([_longer(x, more) for x in layers] for layers in (self.keys, self.values))
            free = np.append(free, np.arange(len(taken), len(taken) + more))
        return free[:count].astype(np.int32)


def _longer(x: Tensor, more: int) -> Tensor:
    return torch.cat([x, x.new_empty((more, *x.shape[1:]))])
