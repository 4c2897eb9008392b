"""Many states at once: the rules of a system over arrays, for beams of hundreds and for tests.

    states = start(batch=300, most_words=40)
    may, left, right = legal(system, states)         # what each state allows, see rows.py
    step(system, states, kinds, reaches)             # advance each, in place; KEEP leaves a state as it is

The rules are `legal_row` and `step_row` of the system, the very ones that compile training sequences.
"""

from types import ModuleType
from typing import NamedTuple

import numpy as np

from dtglib.jit import njit
from dtglib.transitions.protocol import OPEN, Action, IllegalAction, Kind, State
from dtglib.transitions.rows import MAY_END, MAY_GENERATE, MAY_POP
from dtglib.transitions.rules import legal_row, number_of, step_row

KEEP = -1


class States(NamedTuple):
    """A row for each state; `done` states allow nothing."""

    stack: np.ndarray  # (batch, most_words + 1)
    depth: np.ndarray  # (batch,)
    front: np.ndarray
    heads: np.ndarray  # (batch, most_words + 1)
    count: np.ndarray
    done: np.ndarray


def start(batch: int, most_words: int) -> States:
    """Fresh derivations with ROOT on the stack."""
    rows = (batch, most_words + 1)
    zeros = np.zeros(batch, np.int32)
    depth = np.ones(batch, np.int32)
    return States(np.zeros(rows, np.int32), depth, zeros, np.full(rows, OPEN, np.int32), zeros.copy(), zeros != 0)


def choose(states: States, rows: np.ndarray) -> States:
    """The states in these rows, copied; a row may come several times, as when a beam forks."""
    return States(*(column[rows] for column in states))


def legal(system: ModuleType, states: States) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What each state allows: `may`, and the reaches of its left and right arcs as bits.

    A row that is full allows no GEN. In arc-eager and arc-swift it may then be stuck, with a word that only a later one
    could be the head of: leave more room than the sentences need.
    """
    found = np.zeros((3, len(states.depth)), np.int64)
    _legal(number_of(system), *states, found)
    return found[0], found[1], found[2]


def step(system: ModuleType, states: States, kinds: np.ndarray, reaches: np.ndarray) -> None:
    """Advance every state by its action, in place. Not checked: the actions come from `legal`, or see `take`."""
    _step(number_of(system), *states, kinds, reaches)


def take(system: ModuleType, states: States, kinds: np.ndarray, reaches: np.ndarray) -> None:
    """`step`, for actions that are checked first; nothing is changed if one of them is not legal."""
    may, left, right = legal(system, states)
    for row, (kind, reach) in enumerate(zip(kinds, reaches, strict=True)):
        allowed = as_actions(may[row], left[row], right[row])
        if kind != KEEP and Action(Kind(kind), int(reach)) not in allowed:
            action = Action(Kind(kind), int(reach))
            raise IllegalAction(f"{system.NAME}: row {row}: {action} is not legal in {as_state(states, row)}")
    step(system, states, kinds, reaches)


@njit
def _legal(system, stack, depth, front, heads, count, done, found):
    for row in range(len(depth)):
        if not done[row]:
            may, left, right = legal_row(system, stack[row], depth[row], front[row], heads[row], count[row])
            if count[row] + 1 == stack.shape[1]:
                may &= ~MAY_GENERATE  # the row is full
            found[0, row], found[1, row], found[2, row] = may, left, right


@njit
def _step(system, stack, depth, front, heads, count, done, kinds, reaches):
    for row in range(len(depth)):
        if kinds[row] == Kind.END:
            done[row] = True
        elif kinds[row] != KEEP:
            depth[row], front[row], count[row] = step_row(
                system, stack[row], depth[row], front[row], heads[row], count[row], kinds[row], reaches[row]
            )


def as_actions(may: int | np.integer, left: int | np.integer, right: int | np.integer) -> set[Action]:
    """What `legal` says of one state, as actions."""
    bits = {MAY_GENERATE: Kind.GEN, MAY_POP: Kind.POP, MAY_END: Kind.END}
    actions = {Action(kind) for bit, kind in bits.items() if may & bit}
    for kind, reaches in ((Kind.LEFTARC, left), (Kind.RIGHTARC, right)):
        actions |= {Action(kind, bit + 1) for bit in range(int(reaches).bit_length()) if reaches >> bit & 1}
    return actions


def as_state(states: States, row: int) -> State:
    """One row as the State that it stands for."""
    count = int(states.count[row])
    return State(
        tuple(map(int, states.stack[row, : states.depth[row]])),
        int(states.front[row]),
        tuple(map(int, states.heads[row, 1 : count + 1])),
        bool(states.done[row]),
    )
