"""Dependency graphs of sentences, and the tape of features that attention reads of them."""

import numpy as np
import pytest

from dtglib.data.conllu import Edge, TreebankError
from dtglib.data.corpora import load
from dtglib.data.sdp import read_sdp
from dtglib.data.treebank import Sentence, read_conllu
from dtglib.families.gilt.graphs import OF_EMPTY_NODES, TO_ITSELF, TWICE, Graph, graph_of, tree_of

# ---- Graphs


def sentence(*heads: str, tree=None) -> Sentence:
    """A sentence from the heads of each word, as in "2 4.1"."""
    edges = tuple(tuple(Edge(head, "x") for head in of_word.split()) for of_word in heads)
    return Sentence(tuple(f"w{n}" for n in range(len(heads))), tree, id="mine", enhanced=edges)


def test_an_arc_belongs_to_the_later_of_its_words():
    graph, dropped = graph_of(sentence("2 4", "0", "", "2 1"))
    assert graph.arcs.tolist() == [[0, 2], [2, 1], [1, 4], [2, 4], [4, 1]]
    assert graph.counts.tolist() == [0, 2, 0, 3] and not dropped
    assert graph.without_root().counts.tolist() == [0, 1, 0, 3]


def test_what_cannot_be_an_arc_is_dropped_and_counted():
    graph, dropped = graph_of(sentence("2 2 2.1", "0 2", "2.1"))
    assert graph.arcs.tolist() == [[0, 2], [2, 1]]
    assert dropped == {OF_EMPTY_NODES: 2, TO_ITSELF: 1, TWICE: 1}


def test_arcs_into_empty_nodes_are_counted_too(tmp_path):
    path = tmp_path / "mine.conllu"
    fields = "\t{}\t_\t_\t_\t_\t{}\tx\t{}\t_\n"
    path.write_text(
        "1" + fields.format("I", 2, "2:x") + "2" + fields.format("ate", 0, "0:x")
        + "2.1\tate\t_\t_\t_\t_\t_\t_\t2:conj|0:x\t_\n" + "3" + fields.format("it", 2, "2.1:obj") + "\n"
    )  # fmt: skip
    (one,) = read_conllu(path).sentences
    graph, dropped = graph_of(one)
    assert graph.arcs.tolist() == [[0, 2], [2, 1]] and dropped == {OF_EMPTY_NODES: 3}


def test_a_tree_is_a_graph_in_which_every_word_has_one_head():
    graph, dropped = tree_of(Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2)))
    assert graph.arcs.tolist() == [[0, 2], [2, 1], [2, 4], [4, 3]] and not dropped


def test_a_sentence_without_a_graph_says_so():
    with pytest.raises(TreebankError, match="sentence 'mine' has no graph"):
        graph_of(Sentence(("No",), (0,), id="mine"))
    with pytest.raises(TreebankError, match="has no tree"):
        tree_of(Sentence(("No",)))


def test_in_minilang_the_graph_holds_more_than_the_tree():
    """But a relative pronoun depends on its antecedent there, and no longer on the verb."""
    several = 0
    for one in load("minilang", "train", 300).sentences:
        (graph, dropped), (tree, _) = graph_of(one), tree_of(one)
        assert graph.counts.sum() >= len(one.words) == tree.counts.sum() and not dropped[OF_EMPTY_NODES]
        several += len(graph.arcs) > len(tree.arcs)
    assert several > 30


def test_tops_are_arcs_of_root(tmp_path):
    path = tmp_path / "mine.sdp"
    path.write_text("#1\n1\tIt\tit\tPRP\t-\t-\t_\tARG1\n2\trains\train\tVBZ\t+\t+\tv\t_\n\n")
    graph, _ = graph_of(read_sdp(path).sentences[0])
    assert graph.arcs.tolist() == [[0, 2], [2, 1]]


def test_a_graph_without_arcs():
    graph = Graph.of(2, [])
    assert graph.arcs.shape == (0, 2) and graph.arcs.dtype == np.int32 and graph.counts.tolist() == [0, 0]
