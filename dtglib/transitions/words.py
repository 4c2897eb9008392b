"""The rules of models without transitions: after a word comes another word or the end."""

from dtglib.basics.jit import njit
from dtglib.transitions.rows import MAY_END, MAY_GENERATE

NAME = "words"


@njit
def legal_row(row):
    return MAY_GENERATE | (MAY_END if row.count else 0), 0, 0


@njit
def step_row(row, kind, reach):
    return row.depth, row.front, row.count + 1
