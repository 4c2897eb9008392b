"""The four transition systems a second time, on one immutable state and in plain Python: the truth for the package's.

The package states each system once, on rows of integers for numba. Here each rule is written for a reader, without a
limit on how far an arc reaches. `legal`, `step`, `take`, `oracle` and `replay` have the arguments of those in
dtglib/transitions, and `test_transitions.py` compares the two state by state.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

from dtglib.basics.errors import UserError
from dtglib.transitions import START, Action, IllegalAction, Kind, State
from dtglib.transitions.protocol import OPEN, why_no_tree

GEN, LEFTARC, RIGHTARC, POP, END = map(Action, Kind)


class Tree(NamedTuple):
    """A tree as lists; index 0 of each belongs to ROOT."""

    heads: list[int]
    leftmost: list[int]  # the leftmost dependent of each word, or the word itself if that is further left
    rightmost: list[int]


def as_tree(heads: Sequence[int]) -> Tree:
    """The tree of heads; a UserError says why they are not a projective tree with one root."""
    if why := why_no_tree(heads):
        raise UserError(why)
    leftmost, rightmost = list(range(len(heads) + 1)), list(range(len(heads) + 1))
    for word, head in enumerate(heads, start=1):
        leftmost[head], rightmost[head] = min(leftmost[head], word), max(rightmost[head], word)
    return Tree([OPEN, *heads], leftmost, rightmost)


def visible(state: State) -> tuple[int, ...]:
    """The visible words from the bottom: the stack and, above it, the front."""
    return (*state.stack, state.front) if state.front else state.stack


def operands(state: State, action: Action) -> tuple[int, int]:
    """The head and the dependent that an arc joins."""
    lower, upper = visible(state)[-1 - action.reach], visible(state)[-1]
    return (upper, lower) if action.kind is Kind.LEFTARC else (lower, upper)


def attached(state: State, action: Action) -> tuple[int, ...]:
    """The heads after an arc."""
    head, dependent = operands(state, action)
    return (*state.heads[: dependent - 1], head, *state.heads[dependent:])


def generated_in_buffer(state: State) -> State:
    """The state after GEN where a new word waits in the buffer, and the word before it settles on the stack."""
    return State(visible(state), len(state.heads) + 1, (*state.heads, OPEN))


def words_in(tree: Tree) -> int:
    return len(tree.heads) - 1


class ArcStandard:
    @staticmethod
    def legal(state: State) -> tuple[Action, ...]:
        words = len(state.stack) - 1
        if words == 0:
            return (END,) if state.heads else (GEN,)
        return (GEN, RIGHTARC) if words == 1 else (GEN, LEFTARC, RIGHTARC)

    @staticmethod
    def step(state: State, action: Action) -> State:
        if action.kind is Kind.GEN:
            return State((*state.stack, len(state.heads) + 1), 0, (*state.heads, OPEN))
        head, _ = operands(state, action)
        return State((*state.stack[:-2], head), 0, attached(state, action))

    @staticmethod
    def wanted(state: State, tree: Tree) -> Action:
        if len(state.stack) > 1:
            lower, upper = state.stack[-2:]
            if tree.heads[lower] == upper:
                return LEFTARC
            if tree.heads[upper] == lower and tree.rightmost[upper] <= len(state.heads):
                return RIGHTARC
        return GEN if len(state.heads) < words_in(tree) else END


class ArcHybrid:
    @staticmethod
    def legal(state: State) -> tuple[Action, ...]:
        words = len(visible(state)) - 1
        if words == 0:
            return (END,) if state.heads else (GEN,)
        return (GEN, LEFTARC, RIGHTARC) if words > 1 and state.front else (GEN, RIGHTARC)

    @staticmethod
    def step(state: State, action: Action) -> State:
        if action.kind is Kind.GEN:
            return generated_in_buffer(state)
        if action.kind is Kind.LEFTARC:
            return State(state.stack[:-1], state.front, attached(state, action))
        return State(visible(state)[:-1], 0, attached(state, action))

    @staticmethod
    def wanted(state: State, tree: Tree) -> Action:
        if len(visible(state)) > 1:
            lower, upper = visible(state)[-2:]
            if state.front and tree.heads[lower] == upper:
                return LEFTARC
            if tree.heads[upper] == lower and tree.rightmost[upper] <= len(state.heads):
                return RIGHTARC
        return GEN if len(state.heads) < words_in(tree) else END


class ArcEager:
    @staticmethod
    def legal(state: State) -> tuple[Action, ...]:
        if not state.stack:
            return (END,)
        top, actions = state.stack[-1], []
        # When the one dependent of ROOT is popped, no further word could be attached.
        is_closing = top == 0 and 0 in state.heads
        if not is_closing:
            actions.append(GEN)
        if state.front and top and state.heads[top - 1] == OPEN:
            actions.append(LEFTARC)
        if state.front and not is_closing:
            actions.append(RIGHTARC)
        if is_closing or (top and state.heads[top - 1] != OPEN and not (state.front and state.heads[top - 1] == 0)):
            actions.append(POP)
        return tuple(actions)

    @staticmethod
    def step(state: State, action: Action) -> State:
        if action.kind is Kind.GEN:
            return generated_in_buffer(state)
        if action.kind is Kind.POP:
            return state._replace(stack=state.stack[:-1])
        if action.kind is Kind.LEFTARC:
            return State(state.stack[:-1], state.front, attached(state, action))
        return State(visible(state), 0, attached(state, action))

    @staticmethod
    def wanted(state: State, tree: Tree) -> Action:
        if state.front:
            top, front = state.stack[-1], state.front
            if tree.heads[top] == front:
                return LEFTARC
            if tree.heads[front] == top:
                return RIGHTARC
            # The front's head, or one of its dependents, lies deeper: the words above it must be popped first.
            if tree.heads[front] < top or tree.leftmost[front] < top:
                return POP
        if len(state.heads) < words_in(tree):
            return GEN
        return POP if state.stack else END


class ArcSwift:
    @staticmethod
    def legal(state: State) -> tuple[Action, ...]:
        actions = [GEN]
        for reach, word in enumerate(reversed(state.stack), start=1):
            if not state.front:
                break
            is_open = word > 0 and state.heads[word - 1] == OPEN
            if is_open:
                actions.append(Action(Kind.LEFTARC, reach))
            if word or 0 not in state.heads:
                actions.append(Action(Kind.RIGHTARC, reach))
            if is_open:
                break
        if state.heads and OPEN not in state.heads:
            actions.append(END)
        return tuple(actions)

    @staticmethod
    def step(state: State, action: Action) -> State:
        if action.kind is Kind.GEN:
            return generated_in_buffer(state)
        if action.kind is Kind.LEFTARC:
            return State(state.stack[: -action.reach], state.front, attached(state, action))
        below = state.stack[: len(state.stack) - action.reach + 1]
        return State((*below, state.front), 0, attached(state, action))

    @staticmethod
    def wanted(state: State, tree: Tree) -> Action:
        for reach, word in enumerate(reversed(state.stack), start=1):
            if not state.front:
                break
            if tree.heads[word] == state.front:
                return Action(Kind.LEFTARC, reach)
            if tree.heads[state.front] == word:
                return Action(Kind.RIGHTARC, reach)
            if word and state.heads[word - 1] == OPEN:
                break
        return GEN if len(state.heads) < words_in(tree) else END


class Tokens:
    """The rules of TXL (tokens), instead of a transition system: words, and an end."""

    NAME = "tokens"

    @staticmethod
    def legal(state: State) -> tuple[Action, ...]:
        return (GEN, END) if state.heads else (GEN,)

    @staticmethod
    def step(state: State, action: Action) -> State:
        return state._replace(heads=(*state.heads, OPEN))


RULES = {
    "tokens": Tokens,
    "arc-standard": ArcStandard,
    "arc-hybrid": ArcHybrid,
    "arc-eager": ArcEager,
    "arc-swift": ArcSwift,
}


# ---- The same functions for all systems; `system` is a module of the package, of which only the NAME is used


def legal(system: ModuleType | type[Tokens], state: State) -> tuple[Action, ...]:
    """The actions that may come next."""
    return () if state.done else RULES[system.NAME].legal(state)


def step(system: ModuleType | type[Tokens], state: State, action: Action) -> State:
    """The state after an action that is legal."""
    return state._replace(done=True) if action.kind is Kind.END else RULES[system.NAME].step(state, action)


def take(system: ModuleType | type[Tokens], state: State, action: Action) -> State:
    """Check an action, then `step`. An arc may have any label."""
    if (action._replace(label=None) if action.is_arc else action) not in legal(system, state):
        raise IllegalAction(f"{system.NAME}: {action} is not legal in {state}")
    return step(system, state, action)


def oracle(system: ModuleType, heads: Sequence[int]) -> list[Action]:
    """The actions that write a tree, with the preference LEFTARC/RIGHTARC > GEN > POP (paper, section 2)."""
    tree, state, actions = as_tree(heads), START, []
    while not state.done:
        actions.append(RULES[system.NAME].wanted(state, tree))
        state = take(system, state, actions[-1])
    return actions


def replay(system: ModuleType, actions: Sequence[Action]) -> tuple[int, ...]:
    """The heads of the tree that a sequence of actions writes."""
    return replay_labelled(system, actions)[0]


def replay_labelled(system: ModuleType, actions: Sequence[Action]) -> tuple[tuple[int, ...], tuple[str | None, ...]]:
    """The heads of the tree that a sequence of actions writes, and the labels of the words' arcs."""
    state, labels = START, {}
    for action in actions:
        if action.is_arc:
            labels[operands(state, action)[1]] = action.label
        state = take(system, state, action)
    assert state.done, "the actions stop before END"
    return state.heads, tuple(labels[word] for word in range(1, len(state.heads) + 1))
