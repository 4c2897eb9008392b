"""States as rows of integers, for numba: the rules of the systems, for many states at once and for whole treebanks.

Every system has three functions on rows:

    legal_row(row)                 the legal actions, as three integers
    step_row(row, kind, reach)     takes an action: changes the arrays of the row in place, and returns depth, front and
                                   count after it
    wanted_row(row, tree)          kind and reach of the oracle's action; `tree` is a protocol.Tree

The three integers of `legal_row` are `may`, which has a bit for GEN, POP and END each, and `left` and `right`, which
have bit k - 1 for LEFTARC[k] and RIGHTARC[k]. They cover reaches up to MOST_REACH, so that they fit into 32 bits; no
tree of the UD treebanks needs half of that.

    after "There is":  arc-standard has stack [0, 1, 2], depth 3, and legal_row returns (MAY_GENERATE, 1, 1)
"""

from typing import NamedTuple

import numpy as np

from dtglib.basics.jit import njit
from dtglib.data.symbols import MOST_PAIRS
from dtglib.transitions.protocol import OPEN

MOST_REACH = MOST_PAIRS
MAY_GENERATE, MAY_CONTINUE, MAY_POP, MAY_END = 1, 2, 4, 8


class StateRow(NamedTuple):
    """One state."""

    stack: np.ndarray  # the words on the stack are stack[0 .. depth - 1], from the bottom
    depth: int
    front: int  # the word in the buffer, 0 if there is none
    heads: np.ndarray  # of each word from 1; OPEN if it has none yet. In arc-eager and arc-swift entry 0 is the word
    # that hangs on ROOT.
    count: int  # type: ignore[assignment]  # the number of words generated so far


@njit
def row_of(stack, depth, front, heads, count):
    """Make a row; integers of any width are converted, so that all rows have one type."""
    return StateRow(stack, np.int64(depth), np.int64(front), heads, np.int64(count))


@njit
def row_after(row, after):
    """Return the row after an action, of which `step_row` has returned depth, front and count."""
    depth, front, count = after
    return row_of(row.stack, depth, front, row.heads, count)


@njit
def generate_on_stack(row):
    """Take GEN in a system in which new words go onto the stack."""
    row.stack[row.depth] = row.count + 1
    row.heads[row.count + 1] = OPEN
    return row.depth + 1, 0, row.count + 1


@njit
def generate_in_buffer(row):
    """Take GEN in a system in which new words go into the buffer, whose word settles on the stack."""
    depth = row.depth
    if row.front:
        row.stack[depth] = row.front
        depth += 1
    row.heads[row.count + 1] = OPEN
    return depth, row.count + 1, row.count + 1


@njit
def find_dependents(tree):
    """Find the outermost dependents of every word, or the word itself where they lie on its other side."""
    for word in range(len(tree.heads)):
        tree.leftmost[word] = tree.rightmost[word] = word
    for word in range(1, len(tree.heads)):
        head = tree.heads[word]
        tree.leftmost[head] = min(tree.leftmost[head], word)
        tree.rightmost[head] = max(tree.rightmost[head], word)


@njit(nogil=True)
def first_without_tree(heads, lengths):
    """Return the number of the first vector of heads in which `why_no_tree` finds a fault, or -1 if there is none.

    The vectors lie end to end. The size, the first word and the last word of each subtree are found by walking from
    every word up to ROOT. A subtree without crossing arcs has no gaps; a walk in a circle takes too many steps.
    """
    longest = 0
    for number in range(len(lengths)):
        longest = max(longest, lengths[number])
    size, first, last = np.zeros((3, longest + 1), np.int64)
    start = 0
    for number in range(len(lengths)):
        words = lengths[number]
        tree = heads[start : start + words]
        start += words
        roots = 0
        for word in range(1, words + 1):
            size[word], first[word], last[word] = 0, word, word
            roots += tree[word - 1] == 0
            if not 0 <= tree[word - 1] <= words:
                return number
        if roots != 1:
            return number
        for word in range(1, words + 1):
            above, steps = word, 0
            while above:
                size[above] += 1
                first[above], last[above] = min(first[above], word), max(last[above], word)
                above, steps = tree[above - 1], steps + 1
                if steps > words:
                    return number
        for word in range(1, words + 1):
            if size[word] != last[word] - first[word] + 1:
                return number
    return -1
