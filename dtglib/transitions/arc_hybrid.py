"""Arc-hybrid (Kuhlmann et al. 2011): LEFTARC from the front of the buffer, RIGHTARC within the stack.

Generated words wait in the buffer; the next GEN shifts them, and so does a RIGHTARC, which joins words of the stack.
So a word takes its left dependents before its right ones. The oracle does so in arc-standard too, and there the two
systems write every tree by the same actions (paper, section 3.4); arc-standard merely allows other orders besides.

    >>> from dtglib.transitions import SYSTEMS, oracle
    >>> hybrid, standard = (oracle(SYSTEMS[name], (2, 0, 4, 2)) for name in ("arc-hybrid", "arc-standard"))
    >>> hybrid == standard                                           # There is a difference
    True
"""

from dtglib.basics.jit import njit
from dtglib.transitions.protocol import Kind
from dtglib.transitions.rows import MAY_END, MAY_GENERATE, generate_in_buffer

NAME = "arc-hybrid"
REACH = 1  # of its longest arcs


@njit
def legal_row(row):
    words = row.depth - 1 + (row.front > 0)
    if words == 0:
        return (MAY_END if row.count else MAY_GENERATE), 0, 0
    return MAY_GENERATE, (1 if words > 1 and row.front else 0), 1


@njit
def step_row(row, kind, reach):
    if kind == Kind.GEN:
        return generate_in_buffer(row)
    stack, depth = row.stack, row.depth
    if kind == Kind.LEFTARC:
        row.heads[stack[depth - 1]] = row.front
        return depth - 1, row.front, row.count
    if row.front:
        stack[depth] = row.front
        depth += 1
    row.heads[stack[depth - 1]] = stack[depth - 2]
    return depth - 1, 0, row.count


@njit
def wanted_row(row, tree):
    upper = row.front if row.front else row.stack[row.depth - 1]
    lower = row.stack[row.depth - 1] if row.front else row.stack[max(row.depth - 2, 0)]
    if upper:
        if row.front and tree.heads[lower] == upper:
            return Kind.LEFTARC, 1
        if tree.heads[upper] == lower and tree.rightmost[upper] <= row.count:
            return Kind.RIGHTARC, 1
    return (Kind.GEN if row.count < len(tree.heads) - 1 else Kind.END), 1
