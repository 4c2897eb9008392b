"""Arc-eager (Nivre 2003), the system of DTG-eager: arcs between the top of the stack and the front of the buffer.

GEN puts a word into the buffer, and the word that waited there settles on the stack. LEFTARC attaches the top of the
stack to the front. RIGHTARC attaches the front to the top, above which it settles: it is a right dependent, and may
still take dependents of its own until POP takes it off the stack.

    >>> from dtglib.transitions import SYSTEMS, oracle
    >>> print(*oracle(SYSTEMS["arc-eager"], (2, 0, 4, 2)))           # There is a difference (paper, figure 4)
    GEN GEN LEFTARC RIGHTARC GEN GEN LEFTARC RIGHTARC POP POP POP END

The end is as in figure 4: when all words have their heads, POP takes them off and then ROOT, and END follows. The
paper's text says only that a POP wants "the top of the stack recognized as a right dependent of some head"; only the
figure shows that ROOT is popped, too, and the released code does not contain arc-eager.
"""

from dtglib.basics.jit import njit
from dtglib.transitions.protocol import OPEN, Kind
from dtglib.transitions.rows import MAY_END, MAY_GENERATE, MAY_POP, generate_in_buffer

NAME = "arc-eager"
REACH = 1  # of its longest arcs


@njit
def legal_row(row):
    if row.depth == 0:
        return MAY_END, 0, 0
    top, heads = row.stack[row.depth - 1], row.heads
    is_closing = top == 0 and heads[0] != OPEN
    may = 0 if is_closing else MAY_GENERATE
    if is_closing or (top and heads[top] != OPEN and not (row.front and heads[top] == 0)):
        may |= MAY_POP
    left = 1 if row.front and top and heads[top] == OPEN else 0
    right = 1 if row.front and not is_closing else 0
    return may, left, right


@njit
def step_row(row, kind, reach):
    if kind == Kind.GEN:
        return generate_in_buffer(row)
    if kind == Kind.POP:
        return row.depth - 1, row.front, row.count
    top = row.stack[row.depth - 1]
    if kind == Kind.LEFTARC:
        row.heads[top] = row.front
        return row.depth - 1, row.front, row.count
    row.heads[row.front] = top
    if top == 0:
        row.heads[0] = row.front
    row.stack[row.depth] = row.front
    return row.depth + 1, 0, row.count


@njit
def wanted_row(row, tree):
    if row.front:
        top, front = row.stack[row.depth - 1], row.front
        if tree.heads[top] == front:
            return Kind.LEFTARC, 1
        if tree.heads[front] == top:
            return Kind.RIGHTARC, 1
        if tree.heads[front] < top or tree.leftmost[front] < top:
            return Kind.POP, 1
    if row.count < len(tree.heads) - 1:
        return Kind.GEN, 1
    return (Kind.POP if row.depth else Kind.END), 1
