"""Dependency graphs: a sentence's arcs between words, and from ROOT, in the order in which words complete them.

    There is a difference     0->2 2->1 | - | 4->3 2->4        the tree; an enhanced graph or a semantic one may have
     1    2  3     4          by word 2   3   by word 4        words with several heads or with none, and cycles

An arc belongs to the later of its two words, because a model that reads from left to right cannot know it sooner.
Labels are not used; two arcs that differ in their label only are one. Arcs of empty nodes ("8.1") and arcs from a word
to itself are dropped, and counted.

    >>> from dtglib.data.conllu import Edge
    >>> there, difference = (Edge("2", "expl"),), (Edge("2", "nsubj"), Edge("4.1", "orphan"))
    >>> enhanced = there, (Edge("0", "root"),), (Edge("4", "det"),), difference
    >>> graph, dropped = graph_of(Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2), enhanced=enhanced))
    >>> graph.arcs.tolist(), graph.counts.tolist(), dropped
    ([[0, 2], [2, 1], [2, 4], [4, 3]], [0, 2, 0, 2], Counter({'arcs of empty nodes': 1}))
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from dtglib.basics.shapes import Int
from dtglib.data.conllu import DEPS, TreebankError, edges
from dtglib.data.statistics import empty_node_rows
from dtglib.data.treebank import Sentence

OF_EMPTY_NODES, TO_ITSELF, TWICE = "arcs of empty nodes", "arcs of a word to itself", "second labels of arcs"


class Graph(NamedTuple):
    """The arcs over so many words, as head and dependent; sorted by the later of the two. 0 is ROOT."""

    words: int
    arcs: Int[np.ndarray, "A 2"]

    @classmethod
    def of(cls, words: int, arcs: Iterable[tuple[int, int]]) -> "Graph":
        """The graph with these arcs, each of them once."""
        in_order = sorted(set(arcs), key=lambda arc: (max(arc), arc))
        return cls(words, np.array(in_order, np.int32).reshape(-1, 2))

    @property
    def counts(self) -> Int[np.ndarray, " W"]:
        """The number of arcs that each word completes: arcs between it and ROOT or the words before it."""
        return np.bincount(self.arcs.max(1), minlength=self.words + 1)[1:]

    def without_root(self) -> "Graph":
        """The graph without ROOT's arcs."""
        return Graph(self.words, self.arcs[self.arcs[:, 0] > 0])


# Reads the graph of a sentence and counts the arcs that it drops; a TreebankError if the sentence has no graph.
Reader = Callable[[Sentence], tuple[Graph, Counter[str]]]


def graph_of(sentence: Sentence) -> tuple[Graph, Counter[str]]:
    """The enhanced graph of a sentence."""
    if sentence.enhanced is None:
        raise TreebankError(f"sentence {sentence.id!r} has no graph", "without a graph")
    arcs, dropped = [], Counter()
    for word, incoming in enumerate(sentence.enhanced, start=1):
        for edge in incoming:
            if not edge.head.isdecimal():
                dropped[OF_EMPTY_NODES] += 1
            elif int(edge.head) == word:
                dropped[TO_ITSELF] += 1
            else:
                arcs.append((int(edge.head), word))
    dropped[OF_EMPTY_NODES] += sum(len(edges(row[DEPS])) for row in empty_node_rows(sentence))
    graph = Graph.of(len(sentence.words), arcs)
    dropped[TWICE] += len(arcs) - len(graph.arcs)
    return graph, +dropped


def tree_of(sentence: Sentence) -> tuple[Graph, Counter[str]]:
    """The tree of a sentence as a graph: what GiLT-DP reads."""
    if sentence.heads is None:
        raise TreebankError(f"sentence {sentence.id!r} has no tree", "no tree")
    return Graph.of(len(sentence.words), ((head, word) for word, head in enumerate(sentence.heads, 1))), Counter()
