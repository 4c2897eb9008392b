"""Words without a tree: after a word comes another one, or the end. The rules of models that read no transitions."""

from dtglib.jit import njit
from dtglib.transitions.rows import MAY_END, MAY_GENERATE

NAME = "words"


@njit
def legal_row(stack, depth, front, heads, count):
    return MAY_GENERATE | (MAY_END if count else 0), 0, 0


@njit
def step_row(stack, depth, front, heads, count, kind, reach):
    return depth, front, count + 1
