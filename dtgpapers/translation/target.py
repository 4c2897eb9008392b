"""The target of a translation as symbols: its pieces and the labelled transitions that write its tree; and its graph.

    John put the coals out                heads 2 0 4 2 2, John cut in two
    0 Jo  1 hn  2 put  3 L:nsubj  4 the  5 coals  6 L:det  7 R:obj  8 out  9 R:compound:prt
                       2 -> 0, 1                  5 -> 4   2 -> 5          2 -> 8

The transitions are those of arc-standard (transitions/) without ROOT: a sentence of n words has n - 1 of them, and ends
when one word is left on the stack. L makes the topmost word the head of the one below it, R the other way round; the
dependent leaves the stack. A transition x that makes `head` the head of `dependent` adds three kinds of edges, for all
pieces of both words (section 3 of the paper), all with x's label: head -> dependent, x -> dependent, and head -> x.

    >>> symbols = read([2, 1, 1, 1, 1], [2, 0, 4, 2, 2], ["nsubj", "root", "det", "obj", "compound:prt"])
    >>> [edge[:3] for edge in edges_of(symbols) if edge.made_at == 3]
    [(3, 2, 0), (3, 2, 1), (3, 3, 0), (3, 3, 1), (3, 2, 3)]
    >>> [sorted(keys) for keys in parent_keys(edges_of(symbols), len(symbols))[:3]]
    [[0, 2, 3], [1, 2, 3], [2]]

`grow` adds a symbol to a prefix. Training and decoding both build the graph with it, so that they agree.
What a model writes need not be a tree: an arc for which there are not two words adds nothing, and is counted.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from dtglib.transitions import SYSTEMS, oracle
from dtglib.transitions.protocol import OPEN, Kind

ARC_STANDARD = SYSTEMS["arc-standard"]


class Does(IntEnum):
    """The effect of a symbol."""

    STARTS = 0  # a word
    GOES_ON = 1  # with the word before it
    LEFT = 2
    RIGHT = 3


class Symbol(NamedTuple):
    """A symbol of a target; transitions have a label."""

    does: Does
    label: str = ""

    @property
    def name(self) -> str:
        """The name of a transition in a vocabulary, such as L:nsubj."""
        return f"{self.does.name[0]}:{self.label}"


def named(name: str) -> Symbol:
    """The transition with this name."""
    side, _, label = name.partition(":")
    return Symbol(Does.LEFT if side == "L" else Does.RIGHT, label)


def transitions_after(heads: Sequence[int], labels: Sequence[str]) -> list[list[Symbol]]:
    """For each word of a projective tree, the transitions that follow it."""
    after: list[list[Symbol]] = []
    for action in oracle(ARC_STANDARD, heads, labels)[:-2]:  # the last two are the arc of ROOT, and END
        if action.kind is Kind.GEN:
            after.append([])
        else:
            after[-1].append(Symbol(Does.LEFT if action.kind is Kind.LEFTARC else Does.RIGHT, action.label or ""))
    return after


def read(pieces: Sequence[int], heads: Sequence[int], labels: Sequence[str]) -> list[Symbol]:
    """The symbols of a sentence whose words have so many pieces."""
    symbols = []
    for count, transitions in zip(pieces, transitions_after(heads, labels), strict=True):
        symbols += [Symbol(Does.STARTS), *[Symbol(Does.GOES_ON)] * (count - 1), *transitions]
    return symbols


# ---- The graph of a prefix


class TargetEdge(NamedTuple):
    """An edge between two positions, with the label of the arc that it belongs to."""

    made_at: int  # the position of the transition that made it
    origin: int
    goal: int
    label: str = ""

    @property
    def is_of_words(self) -> bool:
        """True if it leads from word to word, False if from or to a transition."""
        return self.made_at not in (self.origin, self.goal)


class TargetState(NamedTuple):
    """The state of a prefix."""

    length: int = 0  # symbols
    stack: tuple[int, ...] = ()  # words, from 0
    spans: tuple[tuple[int, int], ...] = ()  # the positions of each word
    heads: tuple[int, ...] = ()  # from 1, as in a Sentence; OPEN where a word has none
    labels: tuple[str, ...] = ()
    odd: int = 0  # symbols that cannot stand where they do in any tree

    @property
    def may_go_on(self) -> bool:
        """True if the last symbol is a piece, so that its word may have another one."""
        return bool(self.spans) and self.spans[-1][1] == self.length

    @property
    def is_tree(self) -> bool:
        """True if this is a whole tree."""
        return not self.odd and len(self.stack) == 1


NOTHING_YET = TargetState()


def grow(known: TargetState, symbol: Symbol) -> tuple[TargetState, list[TargetEdge]]:
    """The prefix with one symbol more, and the edges that this symbol adds."""
    x, longer = known.length, known._replace(length=known.length + 1)
    if symbol.does is Does.GOES_ON and known.may_go_on:
        return longer._replace(spans=(*known.spans[:-1], (known.spans[-1][0], x + 1))), []
    if symbol.does in (Does.STARTS, Does.GOES_ON):  # a piece that goes on with no word starts one
        new = longer._replace(
            stack=(*known.stack, len(known.spans)),
            spans=(*known.spans, (x, x + 1)),
            heads=(*known.heads, OPEN),
            labels=(*known.labels, "root"),
            odd=known.odd + (symbol.does is Does.GOES_ON),
        )
        return new, []
    if len(known.stack) < 2:
        return longer._replace(odd=known.odd + 1), []
    lower, top = known.stack[-2:]
    head, dependent = (top, lower) if symbol.does is Does.LEFT else (lower, top)
    new = longer._replace(
        stack=(*known.stack[:-2], head),
        heads=(*known.heads[:dependent], head + 1, *known.heads[dependent + 1 :]),
        labels=(*known.labels[:dependent], symbol.label, *known.labels[dependent + 1 :]),
    )
    return new, list(_edges(x, range(*known.spans[head]), range(*known.spans[dependent]), symbol.label))


def _edges(x: int, head: range, dependent: range, label: str) -> Iterable[TargetEdge]:
    """The edges of one transition, in the order of the paper."""
    yield from (TargetEdge(x, one, other, label) for one in head for other in dependent)
    yield from (TargetEdge(x, x, other, label) for other in dependent)
    yield from (TargetEdge(x, one, x, label) for one in head)


def grown(symbols: Iterable[Symbol]) -> tuple[TargetState, list[TargetEdge]]:
    """The state after these symbols, and all their edges in the order in which they are made."""
    known, edges = NOTHING_YET, []
    for symbol in symbols:
        known, new = grow(known, symbol)
        edges += new
    return known, edges


def edges_of(symbols: Iterable[Symbol]) -> list[TargetEdge]:
    """All edges of these symbols, in the order in which they are made."""
    return grown(symbols)[1]


def tree_of(known: TargetState) -> tuple[tuple[int, ...], tuple[str, ...]] | None:
    """Heads and labels, if the prefix is a whole tree."""
    if not known.is_tree:
        return None
    return tuple(0 if head == OPEN else head for head in known.heads), known.labels


def parent_keys(edges: Iterable[TargetEdge], length: int) -> list[set[int]]:
    """The positions that each position attends to in PARENT's head: itself, and the origins of its edges."""
    keys = [{position} for position in range(length)]
    for edge in edges:
        if edge.made_at < length:
            keys[edge.goal].add(edge.origin)
    return keys
