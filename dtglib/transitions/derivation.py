"""One derivation, step by step: the legal actions, the state after each, and the oracle's actions of a tree.

    >>> from dtglib.transitions import SYSTEMS
    >>> state = START
    >>> for action in oracle(SYSTEMS["arc-eager"], (2, 0))[:3]:            # There is
    ...     print(*legal(SYSTEMS["arc-eager"], state), "->", action)
    ...     state = take(SYSTEMS["arc-eager"], state, action)
    GEN -> GEN
    GEN RIGHTARC -> GEN
    GEN LEFTARC RIGHTARC -> LEFTARC
    >>> state
    State(stack=(0,), front=2, heads=(2, -1), done=False)

The rules are those of the systems on rows (rows.py): arcs reach at most MOST_REACH words, enough for all treebanks.
"""

from collections.abc import Sequence
from types import ModuleType

import numpy as np

from dtglib.basics.errors import UserError, require
from dtglib.basics.jit import njit
from dtglib.transitions.batch import States, start, step
from dtglib.transitions.batch import legal as legal_bits
from dtglib.transitions.change import apply_action
from dtglib.transitions.protocol import OPEN, START, Action, IllegalAction, Kind, State, Tree, why_no_tree
from dtglib.transitions.rows import MAY_END, MAY_GENERATE, MAY_POP, MOST_REACH, find_dependents, row_after, row_of
from dtglib.transitions.rules import number_of, wanted_row


def legal(system: ModuleType, state: State) -> tuple[Action, ...]:
    """Return the actions that may come next."""
    may, left, right = (int(bits[0]) for bits in legal_bits(system, _as_rows(state)))
    actions = [Action(Kind.GEN)] if may & MAY_GENERATE else []
    for reach in range(1, max(left, right).bit_length() + 1):
        bit = 1 << (reach - 1)
        actions += [Action(kind, reach) for kind, bits in ((Kind.LEFTARC, left), (Kind.RIGHTARC, right)) if bits & bit]
    actions += [Action(kind) for bit, kind in ((MAY_POP, Kind.POP), (MAY_END, Kind.END)) if may & bit]
    return tuple(actions)


def take(system: ModuleType, state: State, action: Action) -> State:
    """Return the state after an action, which must be legal. An arc may have any label."""
    allowed = legal(system, state)
    if (action._replace(label=None) if action.is_arc else action) not in allowed:
        names = ", ".join(map(str, allowed)) or "none"
        raise IllegalAction(f"{system.NAME}: {action} is not legal in {state}; legal are {names}")
    states = _as_rows(state)
    step(system, states, np.array([action.kind]), np.array([action.reach]))
    return as_state(states, 0)


def _as_rows(state: State) -> States:
    """Return a batch of this one state, with room for another word."""
    words = len(state.heads)
    states = start(1, words + 1)
    states.stack[0, : len(state.stack)] = state.stack
    states.heads[0, 1 : words + 1] = state.heads
    if 0 in state.heads:
        states.heads[0, 0] = state.heads.index(0) + 1  # see rows.py
    states.depth[0], states.front[0], states.count[0], states.done[0] = len(state.stack), state.front, words, state.done
    return states


def as_state(states: States, row: int) -> State:
    """Return one state of a batch."""
    stack, heads = states.stack[row, : states.depth[row]], states.heads[row, 1 : states.count[row] + 1]
    return State(tuple(stack.tolist()), int(states.front[row]), tuple(heads.tolist()), bool(states.done[row]))


def oracle(system: ModuleType, heads: Sequence[int], labels: Sequence[str] | None = None) -> list[Action]:
    """Return the actions that write a tree, with the preference LEFTARC/RIGHTARC > GEN > POP (paper, section 2)."""
    if why := why_no_tree(heads):
        raise UserError(why)
    tree = Tree(np.array([OPEN, *heads], np.int32), *np.zeros((2, len(heads) + 1), np.int32))
    find_dependents(tree)
    actions = [Action(Kind.END)]
    for kind, reach, dependent in _oracle(number_of(system), tree).tolist()[::-1]:
        require(reach <= MOST_REACH, f"{system.NAME} needs an arc beyond [{MOST_REACH}]; take another system")
        label = labels[dependent - 1] if labels is not None and dependent > 0 else None
        actions.append(Action(Kind(kind), reach, label))
    return actions[::-1]


@njit
def _oracle(system, tree):
    """Return the kind, the reach and the dependent of each action before END."""
    words = len(tree.heads) - 1
    row = row_of(np.zeros(words + 1, np.int32), 1, 0, np.full(words + 1, OPEN, np.int32), 0)
    actions = np.zeros((3 * words + 1, 3), np.int32)  # each word has a GEN, an arc and perhaps a POP, as has ROOT
    for number in range(len(actions) + 1):
        kind, reach = wanted_row(system, row, tree)
        if kind == Kind.END:
            break
        change = apply_action(system, row, kind.value, reach)
        actions[number, 0], actions[number, 1], actions[number, 2] = kind.value, reach, change.dependent
        row = row_after(row, change.after)
    return actions[:number]


def replay(system: ModuleType, actions: Sequence[Action]) -> tuple[int, ...]:
    """Return the heads of the tree that a sequence of actions writes."""
    state = START
    for action in actions:
        state = take(system, state, action)
    if not state.done:
        raise IllegalAction(f"{system.NAME}: the actions stop before END, in {state}")
    return state.heads
