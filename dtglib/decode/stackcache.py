"""A cache as deep as the stack: many hypotheses advanced together, each position computed once.

A position's keys and values are written into a slot of a pool, once, and stay there until nobody can see them any more.
What a hypothesis knows of them is a row of slot numbers, each with the height at which its word stands. So to fork a
hypothesis is to copy integers, and what it holds does not grow with the sentence but with the stack. After "There is",
LEFTARC in arc-standard:

    row      <ROOT>  There  is      at heights 0 1 2       two new positions, computed in one call:
      COMPOSE looks at  There  is  itself                  (what stands no lower than the lower operand)
    row      <ROOT>  (There <- is)  at heights 0 1         both words are gone, and their slots are free
      STACK looks at    <ROOT>  (There <- is)  itself      and is never seen again

This is the fold of compile.py, over what is alive, with the same `step_row` of the transition systems. On a model on
whose stack nothing is popped (TXL) the rows only grow. The heights in the row after There, is and LEFTARC:

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
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numba import njit
from torch import Tensor

from dtglib.attention import dense, sinusoids
from dtglib.compile import NOTHING, Arcs
from dtglib.model import Model, rounded_up
from dtglib.output import Legal
from dtglib.readings import SYSTEM_OF
from dtglib.shapes import Float
from dtglib.structure import Structure
from dtglib.transitions import SYSTEMS
from dtglib.transitions.batch import States, choose, legal, start
from dtglib.transitions.protocol import Kind
from dtglib.transitions.rows import MAY_CONTINUE, MAY_END, MAY_GENERATE, MOST_REACH
from dtglib.vocab import ROOT

CONTINUE = len(Kind)  # besides the kinds of transitions: the next piece of a word that has begun
WAITS = np.int32(2**30)  # the height of a word in the buffer; it has none before it settles
# Positions that are computed together. What a layer makes of more of them does not stay in a processor's cache. For a
# GPU, on which nothing was measured, it is what takes a few gigabytes: each gathers the keys of all that it sees.
AT_ONCE = {"cpu": 512, "cuda": 2**13}


class Cache(NamedTuple):
    """What each hypothesis can see, and what its arcs re-use."""

    slot: np.ndarray  # (rows, room): where the keys and values of a position are,
    height: np.ndarray  # (rows, room): and how high its word stands on the stack
    filled: np.ndarray  # (rows,): how many there are
    token: np.ndarray  # (rows, most_words + 1): the last piece of each word


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
        self.rules = SYSTEMS[SYSTEM_OF[name]] if name in SYSTEM_OF else Words
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
        states, cache = choose(hypotheses.states, moves.row), chosen(hypotheses.cache, moves.row)
        is_arc = (moves.kind == Kind.LEFTARC) | (moves.kind == Kind.RIGHTARC)
        copies = np.where(is_arc & self.pops, 2, 1)
        first = np.cumsum(copies) - copies
        slots = self.pool.free([cache, *(others.cache for others in waiting)], int(copies.sum()))
        looks = Looks(
            *np.empty((4, len(slots)), np.int32), *np.empty((2, len(slots), cache.slot.shape[1] + 1), np.int32)
        )
        looks.slot[:] = slots
        advance = _advance_stack if self.pops else _advance_growing
        advance(self.rules.step_row, *states, *cache, *moves[1:], *self.arcs, first, *looks)
        x = self._looked(looks)[torch.from_numpy(first + copies - 1).to(self.device)]
        return Hypotheses(states, cache, (moves.kind == Kind.GEN) | (moves.kind == CONTINUE), x)

    def _looked(self, looks: "Looks") -> Float[Tensor, "positions d"]:
        """Compute new positions, and write their keys and values into the pool."""
        self.positions += len(looks.slot)
        at_once = AT_ONCE[self.device.type]
        # In their order: a STACK position sees its COMPOSE position, of the same part or of the one before.
        starts = range(0, len(looks.slot), at_once)
        return torch.cat([self._looked_at_once(Looks(*(x[i : i + at_once] for x in looks))) for i in starts])

    def _looked_at_once(self, looks: "Looks") -> Float[Tensor, "positions d"]:
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
            k, v = keys[seen].transpose(1, 2), values[seen].transpose(1, 2)  # N H S D
            x = block.finish(x, dense(q + model.u, q + model.w, k, v, r, structure))
        return x[:, 0]


class Looks(NamedTuple):
    """New positions: what each reads, the slot that it is written into, whom it sees, and how far away."""

    token: np.ndarray  # (positions,)
    arc: np.ndarray
    slot: np.ndarray
    count: np.ndarray
    seen: np.ndarray  # (positions, room): slots, the first `count` of them
    relpos: np.ndarray


class Words:
    """The rules where there are no trees: a word, and after it another one or the end."""

    @njit
    def legal_row(stack, depth, front, heads, count):
        return MAY_GENERATE | (MAY_END if count else 0), 0, 0

    @njit
    def step_row(stack, depth, front, heads, count, kind, reach):
        return depth, front, count + 1


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
            _mark(taken, cache.slot, cache.filled)
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


def chosen(cache: Cache, rows: np.ndarray) -> Cache:
    """These rows of a cache, copied, with room for one more position each."""
    filled = cache.filled[rows]
    longest = int(filled.max(initial=0))
    slot, height = np.zeros((2, len(rows), longest + 1), np.int32)
    slot[:, :longest], height[:, :longest] = cache.slot[rows, :longest], cache.height[rows, :longest]
    return Cache(slot, height, filled, cache.token[rows])


@njit
def _mark(taken, slot, filled):
    for row in range(len(filled)):
        for place in range(filled[row]):
            taken[slot[row, place]] = True


@njit
def _advance_stack(
    step_row, stack, depth, front, heads, count, done, slot, height, filled, token, kinds, reaches, pieces,
    left_ids, right_ids, pop_id, first, tokens, arcs, slots, counts, seen, relpos,
):  # fmt: skip
    """Take the move of every row: whom its new positions see, and what can be seen from then on."""
    for row in range(len(kinds)):
        kind, reach, at = kinds[row], reaches[row], first[row]
        top = depth[row] - 1 + (front[row] > 0)
        is_arc = kind == Kind.LEFTARC or kind == Kind.RIGHTARC
        upper = front[row] if front[row] else stack[row, depth[row] - 1]
        low, head = top - reach, upper
        if is_arc:
            if kind == Kind.RIGHTARC:
                head = stack[row, low]
            # A front waits, whatever its height will be.
            height_of_upper = WAITS if front[row] else top
            height_of_head = low if kind == Kind.RIGHTARC else height_of_upper
            tokens[at] = tokens[at + 1] = token[row, head]
            arcs[at] = arcs[at + 1] = left_ids[reach] if kind == Kind.LEFTARC else right_ids[reach]
            counts[at] = 0
            for place in range(filled[row]):
                if height[row, place] >= low:
                    seen[at, counts[at]] = slot[row, place]
                    relpos[at, counts[at]] = 0 if height[row, place] == height_of_head else -1
                    counts[at] += 1
            _add_itself(at, slots, counts, seen, relpos)
        elif kind == Kind.GEN and front[row]:
            _settle(height[row], filled[row], WAITS, depth[row])
        if kind != CONTINUE:
            depth[row], front[row], count[row] = step_row(
                stack[row], depth[row], front[row], heads[row], count[row], kind, reach
            )
        top = depth[row] - 1 + (front[row] > 0)
        if kind == Kind.POP:
            tokens[at], arcs[at] = NOTHING, pop_id
            filled[row] = _drop(slot[row], height[row], filled[row], depth[row], WAITS)
        elif is_arc:
            # All from the lower operand on is gone, but for a right dependent that is on the stack now: it settles.
            settles = head != upper and stack[row, depth[row] - 1] == upper and depth[row] - 1 > low
            if settles:
                _settle(height[row], filled[row], height_of_upper, -1)
            filled[row] = _drop(slot[row], height[row], filled[row], low, WAITS + 1)
            if settles:
                _settle(height[row], filled[row], -1, depth[row] - 1)
            slot[row, filled[row]], height[row, filled[row]] = slots[at], WAITS if front[row] else low
            filled[row] += 1
            at += 1
        else:
            token[row, count[row]] = tokens[at] = pieces[row]
            arcs[at] = NOTHING
        # STACK: all that is there, and itself.
        for place in range(filled[row]):
            seen[at, place] = slot[row, place]
            relpos[at, place] = 0 if height[row, place] == WAITS else top - height[row, place]
        counts[at] = filled[row]
        _add_itself(at, slots, counts, seen, relpos)
        if kind == Kind.GEN or kind == CONTINUE:
            slot[row, filled[row]], height[row, filled[row]] = slots[at], WAITS if front[row] else top
            filled[row] += 1


@njit
def _advance_growing(
    step_row, stack, depth, front, heads, count, done, slot, height, filled, token, kinds, reaches, pieces,
    left_ids, right_ids, pop_id, first, tokens, arcs, slots, counts, seen, relpos,
):  # fmt: skip
    """The same where an arc is one symbol among others, and all that came before is seen from where it stands."""
    for row in range(len(kinds)):
        kind, at = kinds[row], first[row]
        if kind != CONTINUE:
            depth[row], front[row], count[row] = step_row(
                stack[row], depth[row], front[row], heads[row], count[row], kind, reaches[row]
            )
        is_word = kind == Kind.GEN or kind == CONTINUE
        tokens[at], arcs[at] = (pieces[row], NOTHING) if is_word else (NOTHING, NOTHING)
        if kind == Kind.LEFTARC:
            arcs[at] = left_ids[reaches[row]]
        elif kind == Kind.RIGHTARC:
            arcs[at] = right_ids[reaches[row]]
        elif kind == Kind.POP:
            arcs[at] = pop_id
        for place in range(filled[row]):
            seen[at, place], relpos[at, place] = slot[row, place], filled[row] - place
        counts[at] = filled[row]
        _add_itself(at, slots, counts, seen, relpos)
        slot[row, filled[row]] = slots[at]
        filled[row] += 1


@njit
def _add_itself(at, slots, counts, seen, relpos):
    seen[at, counts[at]], relpos[at, counts[at]] = slots[at], 0
    counts[at] += 1


@njit
def _settle(height, filled, where, now):
    for place in range(filled):
        if height[place] == where:
            height[place] = now


@njit
def _drop(slot, height, filled, low, high):
    """Forget what stands from `low` to below `high`; returns how much is left."""
    left = 0
    for place in range(filled):
        if not low <= height[place] < high:
            slot[left], height[left] = slot[place], height[place]
            left += 1
    return left
