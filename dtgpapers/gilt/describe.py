"""The tape of a sentence whose arcs are written down, for people to read.

>>> shown = show("There is a difference", "0->2 2->1 4->3 2->4")
>>> shown.counts, shown.prefixes[1]
([0, 2, 0, 2], {'degree': [1, 11], 'distance': [10, 0], 'depth': [0, 1], 'subgraph': [0, 0]})
>>> as_rows(shown)[1]
{'word': 'is', 'arcs': 2, 'degree': '1 11', 'distance': '10 0', 'depth': '0 1', 'subgraph': '0 0'}
"""

import re
from typing import NamedTuple

from dtglib.basics.errors import UserError
from dtgpapers.gilt.graphs import Graph
from dtgpapers.gilt.tape import FEATURES, tapes


class ShownTape(NamedTuple):
    """A sentence with an entry per word."""

    words: list[str]
    counts: list[int]  # how many arcs it completes
    prefixes: list[dict[str, list[int]]]  # the features of the words up to it, as seen from it


def show(words: str, arcs: str, depth: str = "paper", root: bool = True) -> ShownTape:
    """The tape of words with arcs such as "0->2 2->1"; 0 is ROOT, whose arcs can be left out."""
    spelled = words.split()
    graph = graph_in(arcs, len(spelled))
    graph = graph if root else graph.without_root()
    tape = tapes(graph, depth)
    prefixes = [
        {name: tape[word, place, 1 : word + 1].tolist() for place, name in enumerate(FEATURES)}
        for word in range(1, len(spelled) + 1)
    ]
    return ShownTape(spelled, graph.counts.tolist(), prefixes)


def graph_in(arcs: str, words: int) -> Graph:
    """The graph that is written as "0->2 2->1"."""
    pairs = []
    for arc in arcs.split():
        match = re.fullmatch(r"(\d+)->(\d+)", arc)
        if not match:
            raise UserError(f"{arc!r} is no arc; write it from head to dependent, as in 2->1 or, from ROOT, 0->2")
        head, dependent = map(int, match.groups())
        if max(head, dependent) > words or dependent == 0 or head == dependent:
            raise UserError(
                f"there is no arc {arc} over {words} words: it leads from a word, or from 0, to another word"
            )
        pairs.append((head, dependent))
    return Graph.of(words, pairs)


def as_rows(shown: ShownTape) -> list[dict[str, object]]:
    """A row for each word."""
    return [
        {"word": word, "arcs": count, **{name: " ".join(map(str, values)) for name, values in prefix.items()}}
        for word, count, prefix in zip(*shown, strict=True)
    ]
