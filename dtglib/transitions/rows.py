"""States as rows of integers: the same rules for many states at once, and for whole treebanks.

A row is `stack[0 .. depth - 1]` from the bottom, `front` (0: none), `heads` of the words generated so far (OPEN: none
yet; in arc-eager and arc-swift `heads[0]` is the one dependent of ROOT) and `count`, how many those are. What is legal
comes as three integers: `may` has a bit for GEN, POP and END each, `left` and `right` have bit k - 1 for LEFTARC[k] and
RIGHTARC[k]. They speak of reaches up to MOST_REACH, so that they fit into 32 bits; no tree of the UD treebanks needs
half of that.

    after "There is":  arc-standard has stack [0, 1, 2], depth 3, and legal_row gives (MAY_GENERATE, 1, 1)
"""

from numba import njit

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
