"""States as rows of integers: the same rules for many states at once, and for whole treebanks.

A row is `stack[0 .. depth - 1]` from the bottom, `front` (0: none), `heads` of the words generated so far (OPEN: none
yet; in arc-eager and arc-swift `heads[0]` is the one dependent of ROOT) and `count`, how many those are. What is legal
comes as three integers: `may` has a bit for GEN, POP and END each, `left` and `right` have bit k - 1 for LEFTARC[k] and
RIGHTARC[k]. They speak of reaches up to MOST_REACH, so that they fit into 32 bits; no tree of the UD treebanks needs
half of that.

    after "There is":  arc-standard has stack [0, 1, 2], depth 3, and legal_row gives (MAY_GENERATE, 1, 1)
"""

import numpy as np

from dtglib.jit import njit
from dtglib.transitions.protocol import OPEN

MOST_REACH = 31
MAY_GENERATE, MAY_CONTINUE, MAY_POP, MAY_END = 1, 2, 4, 8


@njit
def generate_on_stack(stack, depth, heads, count):
    """GEN where words go onto the stack at once. Returns depth, front and count."""
    stack[depth] = count + 1
    heads[count + 1] = OPEN
    return depth + 1, 0, count + 1


@njit
def generate_in_buffer(stack, depth, front, heads, count):
    """GEN where a word waits in the buffer, and the one that waited settles on the stack."""
    if front:
        stack[depth] = front
        depth += 1
    heads[count + 1] = OPEN
    return depth, count + 1, count + 1


@njit(nogil=True)
def first_without_tree(heads, lengths):
    """The first of many vectors of heads, end to end, that `why_no_tree` has something to say about; -1 if none.

    Of each word's subtree the size, the first word and the last are found by walking up from all that is in it. Where
    no two arcs cross, the words of a subtree stand together. A circle never comes to ROOT.
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
