"""The changes that an action makes to the stack and to the buffer, for training and decoding alike.

A word stands at a place: its height on the stack, counted in words from ROOT = 0, or BUFFER while it waits in the
buffer. `apply_action` steps a row (see rows.py) and returns a `Change`, from which `sequences/compile.py` fills the
columns of training sequences, and `decode/stack_rows.py` the caches of hypotheses. In arc-standard, after "There is":

    LEFTARC      the words at the places 1 <= p <= BUFFER end (There and is); the composed "is" stands at place 1
    GEN          no word ends; the new word stands at place 3

and in arc-eager, with "There" on the stack and "is" in the buffer:

    LEFTARC      the words at the places 1 <= p <= BUFFER end (There and is); the composed "is" stands in the buffer
    GEN          "is" settles at place 2; the new word stands in the buffer
"""

from typing import NamedTuple

from dtglib.basics.jit import njit
from dtglib.transitions.protocol import Kind
from dtglib.transitions.rules import step_row

BUFFER = 2**30  # the place of a word in the buffer: above every place on the stack
NOWHERE = -1


class Change(NamedTuple):
    """The changes of an action. The word that settles leaves the buffer before any word ends, so it does not end."""

    after: tuple[int, int, int]  # depth, front and count of the row after the action
    settled: int  # the place on the stack at which the word of the buffer settles; NOWHERE if it does not
    low: int  # words at places from `low` to below `high` end:
    high: int  # they are not seen any more
    head: int  # of an arc: the head
    head_place: int  # its place before the action
    dependent: int
    place: int  # the place of the new word, or, after an arc, of the composed head
    top: int  # the height of the topmost word after the action; the word of the buffer counts as topmost


@njit
def apply_action(system, row, kind, reach):
    """Take an action; the arrays of the row are changed in place."""
    low, high, head, head_place, dependent = row.depth, row.depth, 0, NOWHERE, 0
    if kind == Kind.POP:
        low, high = row.depth - 1, BUFFER
    elif kind == Kind.LEFTARC or kind == Kind.RIGHTARC:
        top = height_of_top(row)
        low, high = top - reach, BUFFER + 1
        lower, topmost = row.stack[low], row.front if row.front else row.stack[top]
        if kind == Kind.RIGHTARC:
            head, head_place, dependent = lower, low, topmost
        else:
            head, head_place, dependent = topmost, BUFFER if row.front else top, lower
    depth, front, count = step_row(system, row, kind, reach)
    has_settled = row.front > 0 and depth > 0 and row.stack[depth - 1] == row.front
    settled = depth - 1 if has_settled else NOWHERE
    place = BUFFER if front else low
    top_after = depth - 1 + (front > 0)
    return Change((depth, front, count), settled, low, high, head, head_place, dependent, place, top_after)


@njit
def go_on(row):
    """Return the change that a further piece of the topmost word makes: it stands where its word does."""
    top = height_of_top(row)
    place = BUFFER if row.front else top
    return Change((row.depth, row.front, row.count), NOWHERE, top, top, 0, NOWHERE, 0, place, top)


@njit
def height_of_top(row):
    """Return the height of the topmost word; the word of the buffer counts as topmost."""
    return row.depth - 1 + (row.front > 0)
