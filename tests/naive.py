"""The paper's definitions on a real stack (Algorithm 1, section 3.4, appendix B): what each position sees.

The doubled sequence is played on a stack of entries. An entry holds the positions that stand for one word: its pieces,
or the one COMPOSE position that took its place. This is slow and literal: the columns of `compile` and the masks of
`structure` are tested against it. It shares the names of the actions with them, but no rule.

"There is a difference" in arc-standard, from the word "is" on (paper, figure 2):

    2 is              STACK    the stack is [0] [1] [2]; sees 0 1 2, which stand 2 1 0 words below the topmost
    3 LEFTARC + is    COMPOSE  takes [1] and [2] off and sees them, the head "is" at 0, "There" at -1; [3] is pushed
    4 LEFTARC2 + is   STACK    sees 0 3 and itself, at 1 0 0; it is never pushed

    >>> actions = map(Action, (Kind.GEN, Kind.GEN, Kind.LEFTARC))
    >>> seen = simulate("arc-standard", list(actions), [1, 1])
    >>> seen.relpos[4]
    [1, None, None, 0, 0]
"""

import itertools
from collections.abc import Sequence
from typing import Literal, NamedTuple

from dtglib.transitions import Action, Kind

STACK, COMPOSE = "STACK", "COMPOSE"


class Input(NamedTuple):
    """The input of a position: a piece of a word, or an arc with the last piece of its head, or only POP."""

    action: str  # as the paper writes it, LEFTARC2[1] for the doubled copy in arc-swift; "" for a generated piece
    word: int | None  # from 1; 0 is ROOT, None is POP's
    piece: int | None  # of that word, from 0


class Naive(NamedTuple):
    """The structure of a sequence; row i of `visible` and `relpos` is what position i sees."""

    kind: list[str]  # STACK or COMPOSE
    visible: list[list[bool]]
    relpos: list[list[int | None]]  # None where not visible
    inputs: list[Input]
    predicts: list["Predicted"]


class StackEntry(NamedTuple):
    """A word on the stack or in the buffer."""

    word: int
    positions: list[int]


Stack = list[StackEntry]  # from the bottom
Predicted = Action | Literal["piece"] | None  # "piece": a further piece of the same word; None: nothing


class Position(NamedTuple):
    kind: str
    relpos: dict[int, int]  # of the positions that this one sees, itself included
    input: Input
    predicts: Predicted


def simulate(system_name: str, actions: Sequence[Action], pieces: Sequence[int]) -> Naive:
    """Play legal actions on a stack; they may stop anywhere. `pieces` counts the pieces of each word."""
    generated = sum(action.kind is Kind.GEN for action in actions)
    if len(pieces) != generated or min(pieces, default=1) < 1:
        raise ValueError(f"{generated} words are generated, each in 1 piece or more, but pieces is {list(pieces)}")
    arc = ARCS[system_name]
    last_piece = [0, *(count - 1 for count in pieces)]  # ROOT's first
    stack, buffer, word = [StackEntry(0, [0])], [], 0
    played: list[Position] = []

    def look_at_the_stack(taken: Input, predicts: Predicted) -> None:
        played.append(_stack_position(len(played), stack + buffer, taken, predicts))

    look_at_the_stack(Input("", 0, 0), actions[0] if actions else None)
    for action, following in itertools.pairwise([*actions, None]):
        if action.kind is Kind.GEN:
            word += 1
            entry = _push(system_name, stack, buffer, word)
            for piece in range(last_piece[word] + 1):
                entry.positions.append(len(played))
                look_at_the_stack(Input("", word, piece), following if piece == last_piece[word] else "piece")
        elif action.kind is Kind.POP:
            stack.pop()
            look_at_the_stack(Input("POP", None, None), following)
        elif action.kind is not Kind.END:
            head, others = arc(stack, buffer, action, len(played))
            reach = f"[{action.reach}]" if system_name == "arc-swift" else ""
            label = f":{action.label}" if action.label is not None else ""
            taken = Input(f"{action.kind.name}{reach}{label}", head.word, last_piece[head.word])
            played.append(_compose_position(len(played), head, others, taken))
            look_at_the_stack(taken._replace(action=f"{action.kind.name}2{reach}{label}"), following)
    return _as_naive(played)


def _stack_position(here: int, entries: Stack, taken: Input, predicts: Predicted) -> Position:
    """See all entries (given from the bottom), each at its distance in words from the topmost, and itself at 0."""
    seen = {j: len(entries) - 1 - height for height, entry in enumerate(entries) for j in entry.positions}
    return Position(STACK, seen | {here: 0}, taken, predicts)


def _compose_position(here: int, head: StackEntry, others: Stack, taken: Input) -> Position:
    """See the words that an arc joins: the head at 0, the dependent (and what lies between, in arc-swift) at -1."""
    seen = {j: -1 for entry in others for j in entry.positions} | dict.fromkeys(head.positions, 0)
    return Position(COMPOSE, seen | {here: 0}, taken, None)


def _as_naive(played: list[Position]) -> Naive:
    everywhere = range(len(played))
    return Naive(
        kind=[position.kind for position in played],
        visible=[[j in position.relpos for j in everywhere] for position in played],
        relpos=[[position.relpos.get(j) for j in everywhere] for position in played],
        inputs=[position.input for position in played],
        predicts=[position.predicts for position in played],
    )


def _push(system_name: str, stack: Stack, buffer: Stack, word: int) -> StackEntry:
    """Put a new word onto the stack in arc-standard, else into the buffer, whose word settles on the stack."""
    entry = StackEntry(word, [])
    if system_name == "arc-standard":
        stack.append(entry)
    else:
        _shift(stack, buffer)
        buffer.append(entry)
    return entry


def _shift(stack: Stack, buffer: Stack) -> None:
    stack += buffer
    buffer.clear()


# These functions apply an arc to stack and buffer. `here` is the COMPOSE position, which takes the head's place. Each
# returns the entry of the head and the other entries that the COMPOSE position sees.


def _arc_standard(stack: Stack, buffer: Stack, action: Action, here: int) -> tuple[StackEntry, Stack]:
    """Algorithm 1: take two words off the stack, and push the COMPOSE position."""
    upper, lower = stack.pop(), stack.pop()
    head, dependent = (upper, lower) if action.kind is Kind.LEFTARC else (lower, upper)
    stack.append(StackEntry(head.word, [here]))
    return head, [dependent]


def _left_arc_of_the_front(stack: Stack, buffer: Stack, here: int) -> tuple[StackEntry, Stack]:
    """LEFTARC of arc-hybrid and arc-eager: the front takes the top of the stack."""
    head, dependent = buffer.pop(), stack.pop()
    buffer.append(StackEntry(head.word, [here]))
    return head, [dependent]


def _arc_hybrid(stack: Stack, buffer: Stack, action: Action, here: int) -> tuple[StackEntry, Stack]:
    """A RIGHTARC joins two words of the stack, so a word that waits in the buffer is shifted first."""
    if action.kind is Kind.LEFTARC:
        return _left_arc_of_the_front(stack, buffer, here)
    _shift(stack, buffer)
    return _arc_standard(stack, buffer, action, here)


def _arc_eager(stack: Stack, buffer: Stack, action: Action, here: int) -> tuple[StackEntry, Stack]:
    """Section 3.4: RIGHTARC does not pop its dependent, which settles above the composed head."""
    if action.kind is Kind.LEFTARC:
        return _left_arc_of_the_front(stack, buffer, here)
    dependent, head = buffer.pop(), stack.pop()
    stack += [StackEntry(head.word, [here]), dependent]
    return head, [dependent]


def _arc_swift(stack: Stack, buffer: Stack, action: Action, here: int) -> tuple[StackEntry, Stack]:
    """Join the front and the k-th word of the stack; the k - 1 words between are seen, too, and popped.

    A doubt: section 3.4 says of both arcs, "we mask all these k + 1 tokens for subsequent positions". Here the
    dependent of a RIGHTARC[k] is kept, because Table 1 leaves it on the stack (as in arc-eager).
    """
    front = buffer.pop()
    *between, reached = [stack.pop() for _ in range(action.reach)]
    if action.kind is Kind.LEFTARC:
        buffer.append(StackEntry(front.word, [here]))
        return front, [*between, reached]
    stack += [StackEntry(reached.word, [here]), front]
    return reached, [*between, front]


ARCS = {"arc-standard": _arc_standard, "arc-hybrid": _arc_hybrid, "arc-eager": _arc_eager, "arc-swift": _arc_swift}
