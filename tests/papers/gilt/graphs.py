"""Sentences with dependency graphs."""

from collections.abc import Iterable, Sequence

from dtglib.data.conllu import Edge
from dtglib.data.treebank import Sentence


def with_graph(words: Sequence[str], arcs: Iterable[tuple[int, int]], name: str = "") -> Sentence:
    heads = [tuple(Edge(str(h), "x") for h, d in arcs if d == word) for word in range(1, len(words) + 1)]
    return Sentence(tuple(words), id=name, enhanced=tuple(heads))
