"""The stack tape of Pushdown Layers (Murty et al. 2023, section 3): how deep every position stands in the tree so far.

Every word is a constituent of its own at first. It may then attach to one of the constituents to its left that are not
inside of another one: it is merged with the nearest of them, the result with the next one, and so on, up to the one
that it attaches to. Each merge adds 1 to the depths of all that is merged, the word included. A constituent is named by
its last word, and a word that attaches to none (it shifts) by itself. "There (is (a difference))":

     word         attaches to       the tape when it is read
     There        1 (shifts)        0
     is           2 (shifts)        0 0
     a            3 (shifts)        0 0 0
     difference   1                 1 2 3 3          merged with a, with is, and with There

    >>> reduces_of([1, 2, 3, 1]).tolist(), attachments_of([0, 0, 0, 3])
    ([0, 0, 0, 3], [1, 2, 3, 1])
    >>> tapes([1, 2, 3, 1])[-1]
    [1, 2, 3, 3]

Words inside of a constituent are closed: nothing attaches to them any more. So the words that may be attached to are
the last words of the constituents that stand side by side, the right edge, and there are never more than MOST_BESIDE.
Since a word on the right edge has not been merged again, its depth is the one that it had when it was read itself.

**Words of several pieces.** In the paper every piece attaches. Here a word does: its attachment is decided when its
first piece is known, before that is read, and all of its pieces have the depth of the word. For words of one piece this
is the paper's rule. A word is never torn, and its tree is the same however words are cut; but a word of several pieces
is attached by its first piece alone.

<ROOT> is before all constituents, at depth 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dtglib.basics.errors import UserError
from dtglib.basics.jit import njit
from dtglib.sequences.columns import Compiled

# Constituents side by side. In minilang there are at most 31, in GUM at most 46.
MOST_BESIDE = 64


@njit
def attach(depth, begin, items, at, reduces):
    """Read a word whose first piece is at position `at`, and merge it with the `reduces` nearest constituents.

    `depth` has the depth of each position, and `begin` the first position of each of the `items` constituents. Both are
    changed in place; returned is the number of constituents afterwards.
    """
    depth[at] = reduces
    stop, first = at, items - reduces
    for item in range(items - 1, first - 1, -1):
        for position in range(begin[item], stop):
            depth[position] += item - first + 1
        stop = begin[item]
    if reduces == 0:
        begin[items] = at
    return first + 1


@njit
def last_of(begin, items, at, item):
    """The last position of a constituent, where `at` is the next position to be read."""
    return at - 1 if item == items - 1 else begin[item + 1] - 1


@njit
def reductions(begin, items, at, to):
    """The number of constituents that the word at `at` merges with if it attaches to the one that ends at `to`, or -1.

    `to` is `at` itself where the word shifts.
    """
    if to == at:
        return 0 if items < len(begin) else -1
    for item in range(items - 1, -1, -1):
        if last_of(begin, items, at, item) == to:
            return items - item
    return -1


@njit
def _reduces_of(attachments, begin, reduces):
    depth = np.zeros(len(attachments), np.int32)
    items = 0
    for at in range(len(attachments)):
        reduces[at] = reductions(begin, items, at, attachments[at] - 1)
        if reduces[at] < 0:
            return at + 1
        items = attach(depth, begin, items, at, reduces[at])
    return 0


def reduces_of(attachments: Sequence[int]) -> np.ndarray:
    """With how many constituents each word is merged, given the word that it attaches to, counted from 1."""
    to = np.asarray(attachments, np.int64)
    reduces = np.empty(len(to), np.int64)
    if wrong := _reduces_of(to, np.zeros(MOST_BESIDE, np.int64), reduces):
        what = f"word {wrong} attaches to word {to[wrong - 1]}"
        raise UserError(
            f"no attachments: {what}, which is not the last word of a constituent that is not inside of another one "
            f"(of at most {MOST_BESIDE}), nor the word itself"
        )
    return reduces


def attachments_of(reduces: Sequence[int]) -> list[int]:
    """The word that each word attaches to, given with how many constituents it is merged."""
    ends: list[int] = []  # the last word of each constituent
    attachments = []
    for word, count in enumerate(reduces, start=1):
        attachments.append(ends[-count] if count else word)
        del ends[len(ends) - count :]
        ends.append(word)
    return attachments


def tapes(attachments: Sequence[int]) -> list[list[int]]:
    """The tape when each word is read, without <ROOT>."""
    depth, begin, items, rows = np.zeros(len(attachments), np.int32), np.zeros(MOST_BESIDE, np.int64), 0, []
    for at, count in enumerate(reduces_of(attachments)):
        items = attach(depth, begin, items, at, count)
        rows.append(depth[: at + 1].tolist())
    return rows


class Taped(NamedTuple):
    """The tapes of B padded sentences of up to T positions and W words; words are counted from 0 here."""

    depth: np.ndarray  # (B, T, T): the depth of position j on the tape of position i
    first: np.ndarray  # (B, W): the first position of each word; 1 where there is no word
    last: np.ndarray  # (B, W): its last position
    to: np.ndarray  # (B, W): the word that it attaches to
    may: np.ndarray  # (B, W, W): whether word k may attach to word j
    asked: np.ndarray  # (B, W): whether it has a choice


def taped(compiled: Compiled) -> Taped:
    """Replay the attachments of padded sentences, which reading.py has put into the columns of the head."""
    B, T = compiled.word.shape
    W = max(int(compiled.word.max(initial=0)), 1)
    words = np.tile(np.arange(W), (B, 1))
    # Where there is no word, something is attached to itself with probability 1.
    may = np.tile(np.eye(W, dtype=bool), (B, 1, 1))
    depth, first, last = np.zeros((B, T, T), np.int64), np.ones((B, W), np.int64), np.ones((B, W), np.int64)
    tape = Taped(depth, first, last, words, may, np.zeros((B, W), bool))
    if wrong := _replay(compiled.word, compiled.head_last, np.zeros(MOST_BESIDE, np.int64), tape):
        raise ValueError(f"sentence {wrong} of the batch attaches a word to none of at most {MOST_BESIDE} constituents")
    return tape


@njit(nogil=True)
def _replay(words, head_last, begin, found):
    """Fill in the tapes; return the number of the first sentence that has no legal attachments, from 1, or 0."""
    most, length = len(begin), words.shape[1]
    depth = np.zeros(length, np.int64)
    for row in range(len(words)):
        items = 0
        depth[:] = 0
        for at in range(1, length):
            word = words[row, at] - 1
            if word < 0:
                break
            if words[row, at - 1] == words[row, at]:
                depth[at] = depth[at - 1]
            else:
                found.first[row, word], found.asked[row, word] = at, items > 0
                found.may[row, word, word] = items < most
                for item in range(items):
                    found.may[row, word, words[row, last_of(begin, items, at, item)] - 1] = True
                # Where it shifts, the head is the word itself, whose last position need not be this one.
                to = words[row, head_last[row, at]] - 1
                found.to[row, word] = to
                reduces = reductions(begin, items, at, at if to == word else head_last[row, at])
                if reduces < 0:
                    return row + 1
                items = attach(depth, begin, items, at, reduces)
            found.last[row, word] = at
            for earlier in range(at + 1):
                found.depth[row, at, earlier] = depth[earlier]
    return 0
