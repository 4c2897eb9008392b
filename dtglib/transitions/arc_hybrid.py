"""Arc-hybrid (Kuhlmann et al. 2011): LEFTARC from the front of the buffer, RIGHTARC within the stack.

Generated words wait in the buffer; the next GEN shifts them, and so does a RIGHTARC, which joins words of the stack.
So a word takes its left dependents before its right ones. The oracle does so in arc-standard too, and there the two
systems write every tree by the same actions (paper, section 3.4); arc-standard merely allows other orders besides.

    >>> from dtglib.transitions import SYSTEMS, oracle
    >>> hybrid, standard = (oracle(SYSTEMS[name], (2, 0, 4, 2)) for name in ("arc-hybrid", "arc-standard"))
    >>> hybrid == standard                                           # There is a difference
    True
"""

from dtglib.jit import njit
from dtglib.transitions.protocol import (
    END,
    GEN,
    LEFTARC,
    OPEN,
    RIGHTARC,
    Action,
    Kind,
    State,
    Tree,
    operands,
    with_head,
)
from dtglib.transitions.rows import MAY_END, MAY_GENERATE, generate_in_buffer

NAME = "arc-hybrid"


def legal(state: State) -> tuple[Action, ...]:
    words = len(state.visible) - 1
    if state.done:
        return ()
    if words == 0:
        return (END,) if state.heads else (GEN,)
    return (GEN, LEFTARC, RIGHTARC) if words > 1 and state.front else (GEN, RIGHTARC)


def step(state: State, action: Action) -> State:
    match action.kind:
        case Kind.GEN:
            return State(state.visible, len(state.heads) + 1, (*state.heads, OPEN))
        case Kind.END:
            return state._replace(done=True)
    head, dependent = operands(state, action)
    heads = with_head(state.heads, dependent, head)
    if action.kind is Kind.LEFTARC:
        return State(state.stack[:-1], state.front, heads)
    return State(state.visible[:-1], 0, heads)


def wanted(state: State, tree: Tree) -> Action:
    if len(state.visible) > 1:
        lower, upper = state.visible[-2:]
        if state.front and tree.heads[lower] == upper:
            return LEFTARC
        if tree.heads[upper] == lower and tree.rightmost[upper] <= len(state.heads):
            return RIGHTARC
    return GEN if len(state.heads) < tree.size else END


@njit
def legal_row(stack, depth, front, heads, count):
    words = depth - 1 + (front > 0)
    if words == 0:
        return (MAY_END if count else MAY_GENERATE), 0, 0
    return MAY_GENERATE, (1 if words > 1 and front else 0), 1


@njit
def step_row(stack, depth, front, heads, count, kind, reach):
    if kind == Kind.GEN:
        return generate_in_buffer(stack, depth, front, heads, count)
    if kind == Kind.LEFTARC:
        heads[stack[depth - 1]] = front
        return depth - 1, front, count
    if front:
        stack[depth] = front
        depth += 1
    heads[stack[depth - 1]] = stack[depth - 2]
    return depth - 1, 0, count


@njit
def wanted_row(stack, depth, front, heads, count, tree, leftmost, rightmost):
    upper = front if front else stack[depth - 1]
    lower = stack[depth - 1] if front else stack[max(depth - 2, 0)]
    if upper:
        if front and tree[lower] == upper:
            return Kind.LEFTARC, 1
        if tree[upper] == lower and rightmost[upper] <= count:
            return Kind.RIGHTARC, 1
    return (Kind.GEN if count < len(tree) - 1 else Kind.END), 1
