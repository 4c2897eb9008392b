"""Many states at once: the rules of a system over arrays, for beams with hundreds of hypotheses.

    states = start(batch=300, most_words=40)
    may, left, right = legal(system, states)         # what each state allows, see rows.py
    step(system, states, kinds, reaches)             # advance each state in place

The rules are `legal_row` and `step_row` of the system, the same ones that compile training sequences.
"""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple, TypeVar

import numpy as np

from dtglib.basics.jit import njit
from dtglib.transitions.protocol import OPEN, Kind
from dtglib.transitions.rows import MAY_GENERATE, MAY_POP, MOST_REACH, row_after, row_of
from dtglib.transitions.rules import legal_row, number_of, step_row

Arrays = TypeVar("Arrays", bound=tuple)  # a NamedTuple of arrays with a row for each derivation, such as States


class States(NamedTuple):
    """One row for each state; a state that is `done` allows nothing."""

    stack: np.ndarray  # (batch, most_words + 1)
    depth: np.ndarray  # (batch,)
    front: np.ndarray
    heads: np.ndarray  # (batch, most_words + 1)
    count: np.ndarray  # type: ignore[assignment]
    done: np.ndarray


def start(batch: int, most_words: int) -> States:
    """Begin derivations, with only ROOT on each stack."""
    rows = (batch, most_words + 1)
    zeros = np.zeros(batch, np.int32)
    depth = np.ones(batch, np.int32)
    return States(np.zeros(rows, np.int32), depth, zeros, np.full(rows, OPEN, np.int32), zeros.copy(), zeros != 0)


def choose(states: Arrays, rows: np.ndarray) -> Arrays:
    """Copy these rows of a record of arrays; a row may come several times, as when a beam forks."""
    return type(states)(*(column[rows] for column in states))


def legal(system: ModuleType, states: States) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the legal actions of each state: `may`, and the reaches of its left and right arcs as bits (see rows.py).

    A full row allows no GEN. In arc-eager and arc-swift such a row may be stuck, because one of its words can only be
    attached to a later word: leave more room than the sentences need.
    """
    return _bits_by(_legal, system, states)


def closing(system: ModuleType, states: States) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return those legal actions of each state after which no further word can come, as `legal` returns all of them.

    In arc-standard this is the arc from ROOT, in arc-eager the POP that leaves ROOT alone with its dependent gone.
    """
    return _bits_by(_closing, system, states)


def _bits_by(kernel: Callable, system: ModuleType, states: States) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    bits = np.zeros((3, len(states.depth)), np.int64)
    kernel(number_of(system), states, bits)
    return bits[0], bits[1], bits[2]


def step(system: ModuleType, states: States, kinds: np.ndarray, reaches: np.ndarray) -> None:
    """Advance every state by its action, in place. The actions are not checked."""
    _step(number_of(system), states, kinds, reaches)


@njit
def row_at(states, number):
    """Return one state; its arrays are views."""
    return row_of(
        states.stack[number], states.depth[number], states.front[number], states.heads[number], states.count[number]
    )


@njit
def put_row(states, number, after):
    """Store the depth, front and count of a state, as `step_row` returns them."""
    states.depth[number], states.front[number], states.count[number] = after


@njit
def _legal(system, states, bits):
    for number in range(len(states.depth)):
        if not states.done[number]:
            row = row_at(states, number)
            may, left, right = legal_row(system, row)
            if row.count + 1 == len(row.stack):
                may &= ~MAY_GENERATE  # the row is full
            bits[0, number], bits[1, number], bits[2, number] = may, left, right


@njit
def _step(system, states, kinds, reaches):
    for number in range(len(states.depth)):
        if kinds[number] == Kind.END:
            states.done[number] = True
        else:
            kind, reach = np.int64(kinds[number]), np.int64(reaches[number])
            put_row(states, number, step_row(system, row_at(states, number), kind, reach))


@njit
def _closing(system, states, bits):
    for number in range(len(states.depth)):
        row = row_at(states, number)
        may, left, right = legal_row(system, row)
        if may & MAY_POP and _closes(system, row, Kind.POP, 1):
            bits[0, number] = MAY_POP
        for bit in range(MOST_REACH):
            if left >> bit & 1 and _closes(system, row, Kind.LEFTARC, bit + 1):
                bits[1, number] |= 1 << bit
            if right >> bit & 1 and _closes(system, row, Kind.RIGHTARC, bit + 1):
                bits[2, number] |= 1 << bit


@njit
def _closes(system, row, kind, reach):
    """True if no word can be generated after an action."""
    copy = row_of(row.stack.copy(), row.depth, row.front, row.heads.copy(), row.count)
    may, _, _ = legal_row(system, row_after(copy, step_row(system, copy, kind, reach)))
    return may & MAY_GENERATE == 0
