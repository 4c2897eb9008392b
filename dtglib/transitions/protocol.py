"""What all transition systems share: actions, states, and how a tree becomes actions and actions a tree.

A generative transition system is a stack machine that writes a sentence and its tree at once. Words are numbered from
1 in the order in which they are generated; 0 is ROOT, at the bottom of the stack. In arc-standard, "There is a
difference" with heads (2, 0, 4, 2) is written by

    GEN GEN LEFTARC GEN GEN LEFTARC RIGHTARC RIGHTARC END        (paper, figure 1; END is `<END>`)

A system is a module with three functions that define it, and three more that do the same on arrays:

    legal(state)              the actions that may come next
    step(state, action)       the state after it
    wanted(state, tree)       the action that the oracle takes on its way to a tree
    legal_row, step_row, wanted_row        the same for numba, on rows of integers (rows.py)

and with two constants, its NAME and its REACH: how far its arcs reach at most.

In every system an arc joins the topmost word and the one `reach` words below it. The topmost word is the front of the
buffer where a system has one that holds a word, else the top of the stack. LEFTARC makes the topmost word the head,
RIGHTARC the lower one; only arc-swift reaches further than 1.

An arc may have a label. No system looks at it: what is legal, and what a transition does, is the same for all labels.
With labels the tree above is written by

    GEN GEN LEFTARC:expl GEN GEN LEFTARC:det RIGHTARC:nsubj RIGHTARC:root END
"""

from collections.abc import Sequence
from enum import IntEnum
from types import ModuleType
from typing import NamedTuple

from dtglib.basics.errors import UserError
from dtglib.data.projectivity import crossing_arcs

OPEN = -1  # the head of a word that has none yet


class Kind(IntEnum):
    GEN = 0
    LEFTARC = 1
    RIGHTARC = 2
    POP = 3
    END = 4


class Action(NamedTuple):
    """One transition. It does not say which word a GEN generates."""

    kind: Kind
    reach: int = 1
    label: str | None = None  # of an arc

    def __str__(self) -> str:
        name = self.kind.name if self.reach == 1 else f"{self.kind.name}[{self.reach}]"
        return name if self.label is None else f"{name}:{self.label}"

    @property
    def is_arc(self) -> bool:
        return self.kind in (Kind.LEFTARC, Kind.RIGHTARC)


GEN, LEFTARC, RIGHTARC, POP, END = map(Action, Kind)


class State(NamedTuple):
    """The state of a derivation."""

    stack: tuple[int, ...] = (0,)  # from the bottom
    front: int = 0  # the word in the one-place buffer, 0 if there is none
    heads: tuple[int, ...] = ()  # of the words generated so far
    done: bool = False

    @property
    def visible(self) -> tuple[int, ...]:
        """Return the visible words from the bottom: the stack and, above it, the front."""
        return (*self.stack, self.front) if self.front else self.stack

    @property
    def has_root(self) -> bool:
        return 0 in self.heads


START = State()


class IllegalAction(ValueError):
    """The caller took an action that its state does not allow."""


def operands(state: State, action: Action) -> tuple[int, int]:
    """Return the head and the dependent that an arc joins."""
    lower, upper = state.visible[-1 - action.reach], state.visible[-1]
    return (upper, lower) if action.kind is Kind.LEFTARC else (lower, upper)


def with_head(heads: tuple[int, ...], dependent: int, head: int) -> tuple[int, ...]:
    return (*heads[: dependent - 1], head, *heads[dependent:])


def take(system: ModuleType, state: State, action: Action) -> State:
    """Check an action, then `step`. An arc may have any label."""
    if (action._replace(label=None) if action.is_arc else action) not in system.legal(state):
        legal = ", ".join(map(str, system.legal(state))) or "none"
        raise IllegalAction(f"{system.NAME}: {action} is not legal in {state}; legal are {legal}")
    return system.step(state, action)


class Tree(NamedTuple):
    """A projective tree with what the oracles need; in kernels, of arrays. Index 0 of each list belongs to ROOT."""

    heads: list[int]
    leftmost: list[int]  # of each word, its leftmost dependent, or itself where that lies to its right
    rightmost: list[int]

    @property
    def size(self) -> int:
        return len(self.heads) - 1


def as_tree(heads: Sequence[int]) -> Tree:
    """Make a tree of heads; a UserError says why they are not a projective tree with one root."""
    why = why_no_tree(heads)
    if why:
        raise UserError(why)
    leftmost, rightmost = list(range(len(heads) + 1)), list(range(len(heads) + 1))
    for word, head in enumerate(heads, start=1):
        leftmost[head], rightmost[head] = min(leftmost[head], word), max(rightmost[head], word)
    return Tree([OPEN, *heads], leftmost, rightmost)


def why_no_tree(heads: Sequence[int]) -> str | None:
    """Return why heads are not a projective tree with one root, as a sentence, or None if they are one."""
    if len(heads) == 0:
        return "a tree needs at least one word"
    for word, head in enumerate(heads, start=1):
        if not 0 <= head <= len(heads):
            return f"word {word}: head {head} is out of range (there are {len(heads)} words)"
        if head == word:
            return f"word {word} is its own head"
    roots = [str(word) for word, head in enumerate(heads, start=1) if head == 0]
    if len(roots) != 1:
        return "no word has head 0 (ROOT)" if not roots else f"words {' and '.join(roots)} all have head 0; one may"
    reaches_root = {0}
    for word in range(1, len(heads) + 1):
        path, above = [], word
        while above not in reaches_root:
            if above in path:
                return f"word {above} is above itself: its heads go round in a circle"
            path.append(above)
            above = int(heads[above - 1])
        reaches_root.update(path)
    if crossing := crossing_arcs(heads):
        first, second = crossing
        return f"not projective: arc {first[0]}->{first[1]} crosses {second[0]}->{second[1]}"
    return None


def oracle(system: ModuleType, heads: Sequence[int], labels: Sequence[str] | None = None) -> list[Action]:
    """Return the actions that write a tree, with the preference LEFTARC/RIGHTARC > GEN > POP (paper, section 2)."""
    tree, state, actions = as_tree(heads), START, []
    while not state.done:
        action = system.wanted(state, tree)
        if labels is not None and action.is_arc:
            action = action._replace(label=labels[operands(state, action)[1] - 1])
        actions.append(action)
        state = take(system, state, action)
    return actions


def replay(system: ModuleType, actions: Sequence[Action]) -> tuple[int, ...]:
    """Return the heads of the tree that a sequence of actions writes."""
    return replay_labelled(system, actions)[0]


def replay_labelled(system: ModuleType, actions: Sequence[Action]) -> tuple[tuple[int, ...], tuple[str | None, ...]]:
    """Return the heads of the tree that a sequence of actions writes, and the labels of the words' arcs."""
    state, labels = START, {}
    for action in actions:
        before, state = state, take(system, state, action)
        if action.is_arc:
            labels[operands(before, action)[1]] = action.label
    if not state.done:
        raise IllegalAction(f"{system.NAME}: the actions stop before END, in {state}")
    return state.heads, tuple(labels[word] for word in range(1, len(state.heads) + 1))
