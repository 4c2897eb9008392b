"""Targets of translations: the worked example, trees that come back whole, and what is no tree."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import all_trees, projective_trees, random_tree

from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtglib.data.corpora import load
from dtglib.data.symbols import Symbols
from dtglib.data.treebank import trees_only
from dtglib.data.vocabulary import Vocabulary
from dtgpapers.translation.examples import Meanings
from dtgpapers.translation.target import (
    NOTHING_YET,
    Does,
    Symbol,
    TargetEdge,
    edges_of,
    grow,
    grown,
    named,
    parent_keys,
    read,
    transitions_after,
    tree_of,
)

HEADS, PIECES = (2, 0, 4, 2, 2), (2, 1, 1, 1, 1)
LABELS = ("nsubj", "root", "det", "obj", "compound:prt")
PUT_OUT = ["--words", "John put the coals out", "--heads", "2 0 4 2 2", "--labels", " ".join(LABELS)]

# What each transition adds (specification: the paper's section 3), and what each position sees when all are known.
EDGES = {
    3: {(2, 3), (2, 0), (2, 1), (3, 0), (3, 1)},
    6: {(5, 6), (5, 4), (6, 4)},
    7: {(2, 7), (2, 5), (7, 5)},
    9: {(2, 9), (2, 8), (9, 8)},
}
KEYS = [{0, 2, 3}, {1, 2, 3}, {2}, {2, 3}, {4, 5, 6}, {2, 5, 7}, {5, 6}, {2, 7}, {2, 8, 9}, {2, 9}]


def test_the_worked_example():
    symbols = read(PIECES, HEADS, LABELS)
    names = [symbol.name if symbol.does in (Does.LEFT, Does.RIGHT) else symbol.does.name for symbol in symbols]
    assert names == [
        *("STARTS", "GOES_ON", "STARTS", "L:nsubj", "STARTS", "STARTS", "L:det", "R:obj", "STARTS", "R:compound:prt")
    ]
    edges = edges_of(symbols)
    assert {at: {edge[1:3] for edge in edges if edge.made_at == at} for at in EDGES} == EDGES
    assert {edge.made_at for edge in edges} == set(EDGES) and len(edges) == sum(map(len, EDGES.values()))
    assert parent_keys(edges, 10) == KEYS
    assert parent_keys(edges, 3) == [{0}, {1}, {2}]


def test_all_edges_of_a_transition_have_its_label():
    edges = edges_of(read(PIECES, HEADS, LABELS))
    between_words = {(edge.origin, edge.goal): edge.label for edge in edges if edge.is_of_words}
    assert between_words == {
        **{(2, 0): "nsubj", (2, 1): "nsubj", (5, 4): "det", (2, 5): "obj", (2, 8): "compound:prt"},
    }
    by_transition = {3: "nsubj", 6: "det", 7: "obj", 9: "compound:prt"}
    assert {(edge.made_at, edge.label) for edge in edges} == set(by_transition.items())


def test_a_setting_gives_labels_to_the_edges_between_words_alone():
    edges = edges_of(read(PIECES, HEADS, LABELS))
    names = [f"{side}:{label}" for label in sorted({*LABELS} - {"root"}) for side in "LR"]
    speaks = Vocabulary.of_words([["John"]], Symbols("labelled arcs", (), (), tuple(names)))
    of_all, of_words = (Meanings(speaks, labelled).rows(edges)[:, 3] for labelled in ("all", "words"))
    assert of_all.all()
    assert of_words.tolist() == [label * edge.is_of_words for label, edge in zip(of_all.tolist(), edges, strict=True)]


def test_the_command_prints_it(capsys):
    assert main(["target", *PUT_OUT, "--pieces", "2 1 1 1 1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["symbols"] == [
        *("John/1", "John/2", "put", "L:nsubj", "the", "coals", "L:det", "R:obj", "out", "R:compound:prt")
    ]
    assert [tuple(edge) for edge in found["edges"]] == sorted((at, *edge) for at in EDGES for edge in EDGES[at])
    assert [set(keys) for keys in found["parent_keys"]] == KEYS
    assert set(found) == {"symbols", "edges", "parent_keys"}


def test_the_command_prints_a_table(capsys):
    assert main(["target", *PUT_OUT]) == 0
    table = capsys.readouterr().out.splitlines()
    assert len(table) == 1 + 9 and table[3].split() == ["2", "L:nsubj", "1->0", "1->2", "2->0", "1", "2"]


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"--heads": "2 0 4 2"}, "5 words, but 4 heads"),
        ({"--labels": "nsubj root"}, "5 words, but 2 labels"),
        ({"--heads": "3 0 5 2 2"}, "not projective"),
        ({"--heads": "2 0 0 2 2"}, "all have head 0"),
        ({"--pieces": "1 1 1 1 0"}, "at least one piece"),
    ],
)
def test_what_is_no_labelled_tree_is_refused(changed, message, capsys):
    options = {**dict(zip(PUT_OUT[::2], PUT_OUT[1::2], strict=True)), **changed}
    assert main(["target", *[part for option in options.items() for part in option]]) == 2
    assert message in capsys.readouterr().err


# ---- There and back


def back_and_forth(heads, labels, pieces) -> None:
    symbols = read(pieces, heads, labels)
    known, edges = grown(symbols)
    assert len(symbols) == sum(pieces) + len(heads) - 1
    assert known.is_tree and tree_of(known) == (tuple(heads), tuple(labels))
    starts = [sum(pieces[:word]) for word in range(len(heads))]
    at = [place for place, symbol in enumerate(symbols) if symbol.does in (Does.STARTS, Does.GOES_ON)]
    words = [set(at[start : start + count]) for start, count in zip(starts, pieces, strict=True)]
    of_arcs = {(edge.origin, edge.goal) for edge in edges if edge.is_of_words}
    assert of_arcs == {(h, d) for word, head in enumerate(heads) if head for h in words[head - 1] for d in words[word]}


@pytest.mark.parametrize("words", range(1, 6))
def test_all_small_trees_come_back(words):
    for heads in all_trees(words):
        back_and_forth(heads, ["x" if head else "root" for head in heads], [1 + word % 2 for word in range(words)])


@given(projective_trees(most_words=25), st.data())
def test_trees_come_back(heads, data):
    labels = [data.draw(st.sampled_from("abc")) if head else "root" for head in heads]
    back_and_forth(heads, labels, [data.draw(st.integers(1, 3)) for _ in heads])


def test_the_trees_of_a_treebank_come_back(data):
    """Trees with another label than root on ROOT's arc are left out: this arc is not written."""
    treebank = trees_only(load("UD_English-EWT", "dev"))
    assert treebank.excluded["non-projective"] > 0
    for sentence in treebank.sentences:
        assert sentence.labels[sentence.heads.index(0)] == "root"
        back_and_forth(sentence.heads, sentence.labels, [1] * len(sentence.words))
    assert len(treebank.sentences) > 1500


@pytest.mark.slow
def test_all_projective_trees_of_a_german_treebank_come_back(all_data):
    """The verb at the end makes longer arcs than English has."""
    sentences = trees_only(load("UD_German-GSD", "test")).sentences
    assert len(sentences) > 800
    for sentence in sentences:
        back_and_forth(sentence.heads, sentence.labels, [1] * len(sentence.words))


def test_a_crossing_tree_is_refused():
    with pytest.raises(UserError, match="not projective: arc 0->2 crosses 1->3"):
        transitions_after((2, 0, 1), ("x", "root", "x"))


# ---- What a model may write


def test_an_arc_without_two_words_adds_nothing_and_is_counted():
    known, edges = grown([Symbol(Does.STARTS), named("L:det"), Symbol(Does.STARTS), named("R:obj")])
    assert (known.odd, known.is_tree, tree_of(known)) == (1, False, None)
    assert edges == [TargetEdge(3, 0, 2, "obj"), TargetEdge(3, 3, 2, "obj"), TargetEdge(3, 0, 3, "obj")]


def test_a_piece_that_goes_on_with_no_word_starts_one_and_is_counted():
    known, _ = grown([Symbol(Does.GOES_ON), Symbol(Does.STARTS), named("L:x"), Symbol(Does.GOES_ON)])
    assert (known.odd, known.spans) == (2, ((0, 1), (1, 2), (3, 4)))


def test_words_that_are_left_over_are_no_tree():
    known, _ = grown([Symbol(Does.STARTS), Symbol(Does.STARTS)])
    assert known.odd == 0 and not known.is_tree


def test_edges_of_a_prefix_are_a_prefix_of_the_edges():
    random = Random(4)
    for _ in range(20):
        heads = random_tree(random, 12)
        symbols = read([1] * 12, heads, ["x"] * 12)
        edges, known, so_far = edges_of(symbols), NOTHING_YET, []
        for place, symbol in enumerate(symbols):
            known, new = grow(known, symbol)
            so_far += new
            assert all(edge.made_at == place and max(edge[1:3]) <= place for edge in new)
            assert so_far == edges[: len(so_far)] == [edge for edge in edges if edge.made_at <= place]
