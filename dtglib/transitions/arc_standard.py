"""Arc-standard (Nivre 2004), the system of DTG: every arc joins the two topmost words of the stack.

A word is attached only when it has all its own dependents, so trees grow from the bottom up. The last arc is
RIGHTARC from ROOT, when one word is left; after it only END is legal.

    >>> from dtglib.transitions import SYSTEMS, oracle
    >>> print(*oracle(SYSTEMS["arc-standard"], (2, 0, 4, 2)))        # There is a difference
    GEN GEN LEFTARC GEN GEN LEFTARC RIGHTARC RIGHTARC END
"""

from dtglib.basics.jit import njit
from dtglib.transitions.protocol import Kind
from dtglib.transitions.rows import MAY_END, MAY_GENERATE, generate_on_stack

NAME = "arc-standard"
REACH = 1  # of its longest arcs


@njit
def legal_row(row):
    if row.depth == 1:
        return (MAY_END if row.count else MAY_GENERATE), 0, 0
    return MAY_GENERATE, (1 if row.depth > 2 else 0), 1


@njit
def step_row(row, kind, reach):
    if kind == Kind.GEN:
        return generate_on_stack(row)
    lower, upper = row.stack[row.depth - 2], row.stack[row.depth - 1]
    if kind == Kind.LEFTARC:
        row.heads[lower] = upper
        row.stack[row.depth - 2] = upper
    else:
        row.heads[upper] = lower
    return row.depth - 1, 0, row.count


@njit
def wanted_row(row, tree):
    if row.depth > 1:
        lower, upper = row.stack[row.depth - 2], row.stack[row.depth - 1]
        if tree.heads[lower] == upper:
            return Kind.LEFTARC, 1
        if tree.heads[upper] == lower and tree.rightmost[upper] <= row.count:
            return Kind.RIGHTARC, 1
    return (Kind.GEN if row.count < len(tree.heads) - 1 else Kind.END), 1
