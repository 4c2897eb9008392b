"""Who is alive: what a hypothesis can see, as rows of slots, and how a move changes them.

This is the fold of compile.py once more, over what is alive instead of over all that there was, with the same
`step_row` of the transition systems. It knows of integers only: what is in a slot is the business of stackcache.py.
After "There is", LEFTARC in arc-standard makes two new positions, which are computed in one call:

    slots 0 1 2   <ROOT>  There  is        at heights 0 1 2
      COMPOSE in slot 3 looks at 1 2 and itself     (what stands no lower than the lower operand)
    slots 0 3     <ROOT>  (There <- is)    at heights 0 1: both words are gone, and their slots are free
      STACK in slot 4 looks at 0 3 and itself, and is never seen again
"""

from typing import NamedTuple

import numpy as np

from dtglib.compile import NOTHING
from dtglib.jit import njit
from dtglib.transitions.protocol import Kind
from dtglib.transitions.rules import step_row

CONTINUE = len(Kind)  # besides the kinds of transitions: the next piece of a word that has begun
WAITS = np.int32(2**30)  # the height of a word in the buffer; it has none before it settles


class Cache(NamedTuple):
    """What each hypothesis can see, and what its arcs re-use."""

    slot: np.ndarray  # (rows, room): where the keys and values of a position are,
    height: np.ndarray  # (rows, room): and how high its word stands on the stack
    filled: np.ndarray  # (rows,): how many there are
    token: np.ndarray  # (rows, most_words + 1): the last piece of each word


class Looks(NamedTuple):
    """New positions: what each reads, the slot that it is written into, whom it sees, and how far away."""

    token: np.ndarray  # (positions,)
    arc: np.ndarray
    slot: np.ndarray
    count: np.ndarray
    seen: np.ndarray  # (positions, room): slots, the first `count` of them
    relpos: np.ndarray


def with_room(cache: Cache, rows: np.ndarray) -> Cache:
    """These rows of a cache, copied, with room for one more position each."""
    filled = cache.filled[rows]
    longest = int(filled.max(initial=0))
    slot, height = np.zeros((2, len(rows), longest + 1), np.int32)
    slot[:, :longest], height[:, :longest] = cache.slot[rows, :longest], cache.height[rows, :longest]
    return Cache(slot, height, filled, cache.token[rows])


@njit
def mark(taken, slot, filled):
    for row in range(len(filled)):
        for place in range(filled[row]):
            taken[slot[row, place]] = True


@njit
def advance_stack(
    system, stack, depth, front, heads, count, done, slot, height, filled, token, kinds, reaches, pieces,
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
                system, stack[row], depth[row], front[row], heads[row], count[row], kind, reach
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
def advance_growing(
    system, stack, depth, front, heads, count, done, slot, height, filled, token, kinds, reaches, pieces,
    left_ids, right_ids, pop_id, first, tokens, arcs, slots, counts, seen, relpos,
):  # fmt: skip
    """The same where an arc is one symbol among others, and all that came before is seen from where it stands."""
    for row in range(len(kinds)):
        kind, at = kinds[row], first[row]
        if kind != CONTINUE:
            depth[row], front[row], count[row] = step_row(
                system, stack[row], depth[row], front[row], heads[row], count[row], kind, reaches[row]
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
