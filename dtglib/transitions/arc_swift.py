"""Arc-swift (Qi and Manning 2017), the system of DTG-swift: arcs from the front of the buffer to any word in reach.

LEFTARC[k] and RIGHTARC[k] join the front and the k-th word of the stack from the top; the words between already have
their heads and are popped. RIGHTARC[k] does what k - 1 POPs and a RIGHTARC do in arc-eager.

    >>> from dtglib.transitions import SYSTEMS, oracle
    >>> print(*oracle(SYSTEMS["arc-swift"], (2, 0, 4, 2, 2)))        # There is a difference . (paper, figure 5)
    GEN GEN LEFTARC RIGHTARC GEN GEN LEFTARC RIGHTARC GEN RIGHTARC[2] END

A doubt: the paper says of both arcs that "we mask all these k + 1 tokens for subsequent positions". Taken literally,
this would hide the dependent of a RIGHTARC[k], which by the paper's own Table 1 is on the stack and may take dependents
next. Here it stays visible, as in arc-eager; the words between and the old head are not visible any more.
"""

from dtglib.basics.jit import njit
from dtglib.transitions.protocol import OPEN, Kind
from dtglib.transitions.rows import MAY_END, MAY_GENERATE, MOST_REACH, generate_in_buffer

NAME = "arc-swift"
REACH = MOST_REACH  # of its longest arcs


@njit
def legal_row(row):
    left, right = 0, 0
    if row.front:
        for reach in range(1, min(row.depth, MOST_REACH) + 1):
            word = row.stack[row.depth - reach]
            is_open = word > 0 and row.heads[word] == OPEN
            if is_open:
                left |= 1 << (reach - 1)
            if word or row.heads[0] == OPEN:
                right |= 1 << (reach - 1)
            if is_open:
                break
        return MAY_GENERATE, left, right
    # This loop looks at the whole stack, so it is the only step here that takes longer when the stack is deep.
    for place in range(1, row.depth):
        if row.heads[row.stack[place]] == OPEN:
            return MAY_GENERATE, left, right
    return MAY_GENERATE | (MAY_END if row.count else 0), left, right


@njit
def step_row(row, kind, reach):
    if kind == Kind.GEN:
        return generate_in_buffer(row)
    place = row.depth - reach
    other = row.stack[place]
    if kind == Kind.LEFTARC:
        row.heads[other] = row.front
        return place, row.front, row.count
    row.heads[row.front] = other
    if other == 0:
        row.heads[0] = row.front
    row.stack[place + 1] = row.front
    return place + 2, 0, row.count


@njit
def wanted_row(row, tree):
    front = row.front
    if front and min(tree.heads[front], tree.leftmost[front]) < front:
        for reach in range(1, row.depth + 1):
            word = row.stack[row.depth - reach]
            if tree.heads[word] == front:
                return Kind.LEFTARC, reach
            if tree.heads[front] == word:
                return Kind.RIGHTARC, reach
            if word and row.heads[word] == OPEN:
                break
    return (Kind.GEN if row.count < len(tree.heads) - 1 else Kind.END), 1
