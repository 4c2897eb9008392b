"""The positions that each hypothesis sees, as rows of slot numbers, and the changes that an action makes to them.

Like compile.py this folds the actions of a derivation (transitions/change.py), but it keeps only visible positions. It
handles integers only; sequence_stepper.py stores keys and values in the slots. After "There is", LEFTARC in
arc-standard makes two new positions, which are computed in one call:

    slots 0 1 2   <ROOT>  There  is        at heights 0 1 2
      COMPOSE in slot 3 sees 1 2 and itself         (the words that stand no lower than the lower operand)
    slots 0 3     <ROOT>  (There <- is)    at heights 0 1; both words have ended, and their slots are free
      STACK in slot 4 sees 0 3 and itself, and is never seen again
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dtglib.basics.jit import njit
from dtglib.sequences.columns import NOTHING
from dtglib.transitions.batch import put_row, row_at
from dtglib.transitions.change import BUFFER, NOWHERE, apply_action, go_on
from dtglib.transitions.protocol import Kind

CONTINUE = len(Kind)  # a move besides the kinds of transitions: the next piece of a word that has begun


class Cache(NamedTuple):
    """The positions that each hypothesis can see."""

    slot: np.ndarray  # (rows, room): where the keys and values of each visible position are stored,
    height: np.ndarray  # (rows, room): the place of its word, see change.py: BUFFER, or its height on the stack,
    level: np.ndarray  # (rows, room): and how deep it stands in the tree; distances are differences of levels
    filled: np.ndarray  # (rows,): the number of visible positions


class StackDerivations(NamedTuple):
    """The columns of `States` in transitions/batch.py, the tokens that arcs read again, and labels."""

    stack: np.ndarray
    depth: np.ndarray
    front: np.ndarray
    heads: np.ndarray
    count: np.ndarray  # type: ignore[assignment]
    done: np.ndarray
    token: np.ndarray  # (rows, most_words + 1): the last piece of each word,
    label: np.ndarray  # and the number of its arc's label; 0 if it has no arc yet, or arcs have no labels


class Looks(NamedTuple):
    """New positions: the input of each, its slot, the slots that it sees, and their relative positions.

    `facts` is for families with a bias of their own (`SequenceStepper.facts`); it is zero where none is written.
    """

    token: np.ndarray  # (positions,)
    arc: np.ndarray
    slot: np.ndarray
    count: np.ndarray  # type: ignore[assignment]
    seen: np.ndarray  # (positions, room): slots, the first `count` of them
    relpos: np.ndarray
    facts: np.ndarray  # (positions, room, facts): further integers about each position that is seen


def first_cache(slot: np.ndarray) -> Cache:
    """Return the cache of one hypothesis that sees only ROOT, in this slot (an array with one element)."""
    nothing = np.zeros((1, 1), np.int32)
    return Cache(slot.reshape(1, 1), nothing, nothing.copy(), np.ones(1, np.int32))


def with_room(cache: Cache, rows: np.ndarray) -> Cache:
    """Copy these rows of a cache, with room for one more position in each."""
    filled = cache.filled[rows]
    longest = int(filled.max(initial=0))
    slot, height, level = np.zeros((3, len(rows), longest + 1), np.int32)
    for new, old in ((slot, cache.slot), (height, cache.height), (level, cache.level)):
        new[:, :longest] = old[rows, :longest]
    return Cache(slot, height, level, filled)


def joined(caches: Sequence[Cache]) -> Cache:
    """Return the rows of several caches in one."""
    room = max(cache.slot.shape[1] for cache in caches)
    *columns, filled = zip(*caches, strict=True)
    wide = ([np.pad(part, ((0, 0), (0, room - part.shape[1]))) for part in parts] for parts in columns)
    return Cache(*map(np.concatenate, [*wide, filled]))


@njit
def mark(taken, slot, filled):
    """Mark the slots that are visible in some row."""
    for row in range(len(filled)):
        for place in range(filled[row]):
            taken[slot[row, place]] = True


@njit
def advance_stack(system, states, cache, moves, first, looks):
    """Take the move of every row: write what its new positions see, and update what is visible.

    `first` has the number of the first new position of every row.
    """
    for row in range(len(first)):
        at, change = first[row], _take(system, states, row, moves)
        token, arc = _read_by(moves, row)
        is_word = token != NOTHING
        if is_word:
            states.token[row, states.count[row]] = token
        is_arc = change.head_place != NOWHERE
        if is_arc:
            token = states.token[row, change.head]
            _look_at_operands(looks, at, cache, row, change)
            read_position(looks, at, token, arc)
        _leave(cache, row, change)
        if is_arc:
            _stand(cache, row, looks.slot[at], change)
            at += 1
        _look_at_stack(looks, at, cache, row, change)
        read_position(looks, at, token, arc)
        if is_word:
            _stand(cache, row, looks.slot[at], change)


@njit
def advance_growing(system, states, cache, moves, first, looks):
    """Take the move of every row in a model that sees all earlier symbols, of which an arc is one."""
    for row in range(len(first)):
        at = first[row]
        _take(system, states, row, moves)
        for place in range(cache.filled[row]):
            looks.seen[at, place], looks.relpos[at, place] = cache.slot[row, place], cache.filled[row] - place
        looks.count[at] = cache.filled[row]
        token, arc = _read_by(moves, row)
        read_position(looks, at, token, arc)
        cache.slot[row, cache.filled[row]] = looks.slot[at]
        cache.filled[row] += 1


@njit
def _take(system, states, row, moves):
    """Take the move of a row by the rules of the system, and note the label of an arc."""
    before, kind = row_at(states, row), np.int64(moves.kind[row])
    change = go_on(before) if kind == CONTINUE else apply_action(system, before, kind, np.int64(moves.reach[row]))
    put_row(states, row, change.after)
    if change.head_place != NOWHERE:
        states.label[row, change.dependent] = moves.label[row]
    return change


@njit
def _read_by(moves, row):
    """Return the piece and the transition that a move reads: the symbol is one of the two."""
    symbol = np.int64(moves.symbol[row])
    if moves.kind[row] == Kind.GEN or moves.kind[row] == CONTINUE:
        return symbol, NOTHING
    return NOTHING, symbol


@njit
def _look_at_operands(looks, at, cache, row, change):
    """Let a COMPOSE position see the words that its arc takes: the head at 0, all others at -1."""
    looks.count[at] = 0
    for place in range(cache.filled[row]):
        if cache.height[row, place] >= change.low:
            looks.seen[at, looks.count[at]] = cache.slot[row, place]
            looks.relpos[at, looks.count[at]] = 0 if cache.height[row, place] == change.head_place else -1
            looks.count[at] += 1


@njit
def _look_at_stack(looks, at, cache, row, change):
    """Let a STACK position see all that is visible, at its distance from the topmost word."""
    for place in range(cache.filled[row]):
        waits = cache.height[row, place] == BUFFER
        looks.seen[at, place] = cache.slot[row, place]
        looks.relpos[at, place] = 0 if waits else change.top - cache.level[row, place]
    looks.count[at] = cache.filled[row]


@njit
def read_position(looks, at, token, arc):
    """Write the input of a position, and add the position itself to what it sees."""
    looks.token[at], looks.arc[at] = token, arc
    looks.seen[at, looks.count[at]], looks.relpos[at, looks.count[at]] = looks.slot[at], 0
    looks.count[at] += 1


@njit
def _leave(cache, row, change):
    """Settle the word of the buffer if a change settles it, and forget the words that the change ends."""
    left = 0
    for place in range(cache.filled[row]):
        height, level = cache.height[row, place], cache.level[row, place]
        if height == BUFFER and change.settled != NOWHERE:
            height = level = change.settled
        elif change.low <= height < change.high:
            continue
        cache.slot[row, left], cache.height[row, left], cache.level[row, left] = cache.slot[row, place], height, level
        left += 1
    cache.filled[row] = left


@njit
def _stand(cache, row, slot, change):
    """Let a new position stand for the new word or the composed head."""
    place = cache.filled[row]
    cache.slot[row, place] = slot
    cache.height[row, place] = cache.level[row, place] = change.place
    cache.filled[row] += 1
