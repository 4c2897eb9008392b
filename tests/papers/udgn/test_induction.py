"""Trees that nobody taught: decoding against brute force, DDA and UDA by hand, trivial trees, labels of heads."""

import itertools
from functools import cache

import numpy as np
import pytest
from trees import all_trees as all_projective

from dtglib.basics.errors import UserError
from dtglib.data.conllu import find_cycle
from dtglib.data.treebank import Sentence
from dtgpapers.udgn.decoding import DECODERS, LEAST, best_arborescence, best_projective, most_probable_heads
from dtgpapers.udgn.induction import TRIVIAL, Belief, agreement, agreement_rows, induced, trivial_rows
from dtgpapers.udgn.labels import best_heads, correlations, values_at_arcs, without_subtypes

SIZES = range(1, 7)


def drawn(n: int, random: np.random.Generator) -> np.ndarray:
    """Probabilities of heads, some of them 0, with a diagonal that must not matter."""
    q = random.dirichlet(np.full(n, 0.3), size=n)
    q[random.random((n, n)) < 0.1] = 0.0
    np.fill_diagonal(q, random.random(n))
    return q


def score(q: np.ndarray, heads: tuple[int, ...]) -> float:
    return sum(float(np.log(q[word, head - 1] + LEAST)) for word, head in enumerate(heads) if head)


@cache
def all_trees(n: int) -> list[tuple[int, ...]]:
    tried = itertools.product(range(n + 1), repeat=n)
    return [heads for heads in tried if heads.count(0) == 1 and find_cycle(heads) is None]


def test_there_are_as_many_trees_as_there_should_be():
    """n to the power of n - 1 (Cayley)."""
    assert [len(all_trees(n)) for n in SIZES] == [n ** (n - 1) for n in SIZES]


@pytest.mark.parametrize("n", SIZES)
def test_the_best_tree_is_the_best_of_all_trees(n):
    """500 distributions over heads in all."""
    random, trees = np.random.default_rng(n), np.array(all_trees(n))
    for _ in range({1: 5, 6: 45}.get(n, 113)):
        q = drawn(n, random)
        scores = np.log(np.hstack([np.ones((n, 1)), q]) + LEAST)
        scores[:, 0] = 0.0
        best = scores[np.arange(n), trees].sum(1).max()
        found = best_arborescence(q)
        assert tuple(found) in all_trees(n) and score(q, tuple(found)) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_best_projective_tree_is_the_best_of_those(n):
    random = np.random.default_rng(n)
    for _ in range(30):
        q = drawn(n, random)
        best = max(score(q, heads) for heads in all_projective(n))
        assert score(q, tuple(best_projective(q))) == pytest.approx(best, abs=1e-6)


GOLD = [(2, 0, 2)]
Q = np.array([[0, 0.9, 0.1], [0.45, 0, 0.45], [0.2, 0.7, 0]])


def test_three_words_of_which_two_choose_each_other():
    tree = agreement(GOLD, [best_arborescence(Q)])
    assert best_arborescence(Q) == [2, 0, 2] and (tree.dda, tree.uda) == (1, 1)
    heads = agreement(GOLD, [most_probable_heads(Q)])
    assert most_probable_heads(Q) == [2, 1, 2] and (heads.dda, heads.uda) == (2 / 3, 2 / 3)


def test_a_word_alone_is_the_root():
    assert [decode(np.array([[0.3]])) for decode in DECODERS.values()] == [[0], [0], [0]]


def test_all_words_count_alike_whatever_their_sentence():
    gold, found = [(2, 0), (0, 1, 2, 3)], [(0, 1), (0, 1, 2, 3)]
    scored = agreement(gold, found)
    assert (scored.dda, scored.uda) == (4 / 6, 5 / 6)


def test_the_root_is_a_pair_of_its_own():
    assert agreement([(2, 0)], [(0, 1)]).uda == 0.5


def test_no_words_have_no_agreement_and_that_is_said():
    with pytest.raises(UserError, match="no word"):
        agreement([], [])


def test_trees_that_know_nothing():
    random = np.random.default_rng(1)
    found = {name: tree(4, random) for name, tree in TRIVIAL.items()}
    assert found.pop("random projective trees") in [list(heads) for heads in all_projective(4)]
    assert found == {
        "left neighbour": [2, 1, 2, 3],
        "right neighbour": [2, 3, 4, 3],
        "right-branching chain": [0, 1, 2, 3],
        "left-branching chain": [2, 3, 4, 0],
    }
    assert {name: tree(1, random) for name, tree in TRIVIAL.items()} == {name: [0] for name in TRIVIAL}


def test_random_trees_are_all_alike_probable():
    random, tree = np.random.default_rng(1), TRIVIAL["random projective trees"]
    drawn = [tuple(tree(3, random)) for _ in range(700)]
    counts = [drawn.count(heads) for heads in all_projective(3)]
    assert sum(counts) == 700 and min(counts) > 65


def test_rows_are_over_sentences_that_have_a_tree():
    known, raw = Sentence(("a", "b", "c"), GOLD[0]), Sentence(("a", "b", "c"))
    found = list(induced([Belief(one, Q, {}) for one in (known, raw)], DECODERS))
    rows = agreement_rows(found)
    assert [row["DDA"] for row in rows] == [2 / 3, 1, 1] and rows[0]["trees"] == "argmax"
    assert trivial_rows(GOLD)[2] == {"trees": "right-branching chain", "DDA": 1 / 3, "UDA": 2 / 3}
    with pytest.raises(UserError, match="no sentence has a tree"):
        agreement_rows(found[1:])


def test_a_model_without_a_parser_has_no_trees():
    with pytest.raises(UserError, match="no parser"):
        list(induced([Belief(Sentence(("a",)), None, {})], DECODERS))


# ---- Labels


NAMES = ["det", "nsubj", "obj:x", "case"]


def beliefs(random: np.random.Generator, planted: str, sentences: int = 300) -> list[Belief]:
    """Chains of 21 words; head number n of two layers is 1 at arcs of label n, in the planted direction alone."""
    found = []
    for _ in range(sentences):
        labels = ["root", *random.choice(NAMES, 20)]
        heard = np.zeros((2, 2, 21, 21))
        for word in range(1, 21):
            layer, head = divmod(NAMES.index(labels[word]), 2)
            ends = (word - 1, word) if planted == "child to parent" else (word, word - 1)
            heard[(layer, head, *ends)] = 1.0
        sentence = Sentence(tuple("w" * 21), tuple(range(21)), tuple(labels))
        found.append(Belief(sentence, None, {"before": heard, "after": heard / 2}))
    return found


@pytest.mark.parametrize("planted", ["child to parent", "parent to child"])
def test_planted_heads_are_found_in_their_direction(planted):
    values, labels, heads = values_at_arcs(beliefs(np.random.default_rng(1), planted))
    assert len(labels) == 6000 and heads == 2
    for (_, direction), of_heads in values.items():
        found = correlations(of_heads, labels)
        if direction == planted:
            assert [found.loc[name, number] for number, name in enumerate(NAMES)] == pytest.approx([1] * 4)
            rows = best_heads(found, labels, heads)
            assert all(row["every head"] == found.loc[row["label"]].round(3).tolist() for row in rows)
            places = {row["label"]: (row["head"], row["r"]) for row in rows}
            assert {label: head for label, (head, _) in places.items()} == dict(
                zip(NAMES, ("1.1", "1.2", "2.1", "2.2"), strict=True)
            )
        else:
            assert not found.to_numpy().any()
    permuted = np.random.default_rng(2).permutation(labels).tolist()
    assert np.abs(correlations(values["before", planted], permuted)).to_numpy().max() < 0.05


def test_labels_come_by_frequency_and_correlate_as_numpy_says():
    random = np.random.default_rng(1)
    values, labels = random.random((50, 3)), random.choice(["a", "b", "b"], 50).tolist()
    found = correlations(values, labels)
    assert list(found.index) == ["b", "a"]
    expected = np.corrcoef(values[:, 2], [label == "a" for label in labels])[0, 1]
    assert found.loc["a", 2] == pytest.approx(expected)
    assert without_subtypes(["nmod:poss", "det"]) == ["nmod", "det"]


def test_a_sentence_of_one_word_adds_no_arc():
    some = beliefs(np.random.default_rng(1), "child to parent", 2)
    one_word = Belief(Sentence(("w",), (0,), ("root",)), None, {"before": np.ones((2, 2, 1, 1))})
    found, expected = values_at_arcs([some[0], one_word, some[1]]), values_at_arcs(some)
    assert found.labels == expected.labels
    for key, values in expected.values.items():
        assert np.array_equal(found.values[key], values)


def test_without_labels_there_is_nothing_to_correlate():
    with pytest.raises(UserError, match="no arc has a label"):
        values_at_arcs([Belief(Sentence(("a", "b"), (0, 1)), None, {})])
