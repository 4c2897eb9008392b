"""Inference over labelled constituency trees is what an enumeration of all trees says."""

import math
import time
from collections import Counter
from functools import cache

import numpy as np
import pytest

from dtglib.parsing.forest import NOTHING
from dtgpapers.constituency.spans import best_trees, different_samples, log_partition_and_marginals


@cache
def all_trees(i: int, j: int, labels: int) -> list[frozenset]:
    """Every constituent over the words i + 1 to j, as a set of labelled spans, those with label 0 among them."""
    found = []
    for inside in [frozenset()] if j - i == 1 else joined(i, j, labels):
        found += [inside | {(i, j, label)} for label in range(1, labels)]
    return found


def parts(i: int, j: int, labels: int) -> list[frozenset]:
    """All that can be a child over these words: a constituent, or a bare word."""
    return all_trees(i, j, labels) + ([frozenset({(i, j, 0)})] if j - i == 1 else [])


def joined(i: int, j: int, labels: int) -> list[frozenset]:
    """Two children or more, joined from the left; what is joined before the last one has label 0."""
    found = []
    for k in range(i + 1, j):
        before = parts(i, k, labels) + [
            several | {(i, k, 0)} for several in (joined(i, k, labels) if k - i > 1 else [])
        ]
        found += [first | last for first in before for last in parts(k, j, labels)]
    return found


def trees_of(words: int, labels: int) -> list[frozenset]:
    return all_trees(0, words, labels)


def score_of(scores: np.ndarray, tree: frozenset) -> float:
    return sum(scores[span] for span in tree)


def constituents(tree: frozenset) -> frozenset:
    return frozenset(span for span in tree if span[2])


def as_sets(spans: np.ndarray) -> list[frozenset]:
    return [frozenset(tuple(span) for span in tree.tolist() if span[0] != NOTHING) for tree in spans]


def some_scores(words: int, labels: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(words + 1, words + 1, labels)) * 1.5


SIZES = [(1, 2), (1, 4), (2, 2), (2, 3), (3, 3), (4, 2), (4, 3), (5, 2)]


def test_there_are_as_many_trees_as_counted():
    assert [len(trees_of(words, 2)) for words in (1, 2, 3, 4)] == [1, 4, 24, 176]
    assert len({constituents(tree) for tree in trees_of(4, 3)}) == len(trees_of(4, 3)), "a binarised form each"


@pytest.mark.parametrize(("words", "labels"), SIZES)
def test_sums_and_marginals_are_those_of_all_trees(words, labels):
    scores, trees = some_scores(words, labels), trees_of(words, labels)
    log_p = np.array([score_of(scores, tree) for tree in trees])
    total = np.logaddexp.reduce(log_p)
    found, marginals = log_partition_and_marginals(scores)
    assert found == pytest.approx(total)
    expected = np.zeros_like(scores)
    for tree, value in zip(trees, log_p, strict=True):
        for span in tree:
            expected[span] += math.exp(value - total)
    np.testing.assert_allclose(marginals, expected, atol=1e-12)


@pytest.mark.parametrize(("words", "labels"), SIZES)
def test_the_best_trees_are_the_best_of_all_in_order(words, labels):
    scores, trees = some_scores(words, labels, 2), trees_of(words, labels)
    trees.sort(key=lambda tree: -score_of(scores, tree))
    for count in (1, 7, 10**5):
        found = best_trees(scores, min(count, len(trees) + 3))
        assert as_sets(found.spans) == [constituents(tree) for tree in trees[:count]]
        expected = [score_of(scores, tree) - log_partition_and_marginals(scores)[0] for tree in trees[:count]]
        np.testing.assert_allclose(found.log_probs, expected, atol=1e-9)


def test_different_samples_are_different_and_the_first_one_is_a_sample():
    scores, first = some_scores(3, 2, 4), Counter()
    for seed in range(4000):
        found = as_sets(different_samples(scores, 5, np.random.default_rng(seed)).spans)
        assert len(set(found)) == 5
        first[found[0]] += 1
    log_partition, _ = log_partition_and_marginals(scores)
    for tree in trees_of(3, 2):
        p = math.exp(score_of(scores, tree) - log_partition)
        assert abs(first[constituents(tree)] - 4000 * p) < 5 * math.sqrt(4000 * p) + 5
    every = as_sets(different_samples(scores, 30, np.random.default_rng(1)).spans)
    assert set(every) == {constituents(tree) for tree in trees_of(3, 2)} and len(every) == 24


def test_what_is_impossible_is_never_chosen():
    scores = np.full((4, 4, 3), -np.inf)
    for span in ((0, 3, 1), (0, 1, 2), (1, 3, 1), (1, 2, 0), (2, 3, 0)):
        scores[span] = 0.5
    (only,) = as_sets(best_trees(scores, 10).spans)
    assert only == {(0, 3, 1), (0, 1, 2), (1, 3, 1)}
    assert as_sets(different_samples(scores, 10, np.random.default_rng(1)).spans) == [only]
    scores[0, 3, 1] = -np.inf
    assert len(best_trees(scores, 3).spans) == len(different_samples(scores, 3, np.random.default_rng(1)).spans) == 0
    assert not log_partition_and_marginals(scores)[1].any()


@pytest.mark.parametrize("scores", [np.zeros((3, 3)), np.zeros((1, 1, 2)), np.zeros((3, 2, 2)), np.zeros((3, 3, 1))])
def test_scores_of_another_shape_are_refused(scores):
    with pytest.raises(ValueError, match="need a word and a label"):
        log_partition_and_marginals(scores)


def test_scores_that_are_no_numbers_are_refused():
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match="must be a number"):
            log_partition_and_marginals(np.full((3, 3, 2), wrong))


# Slow: it measures a time, beside which nothing may run.
@pytest.mark.alone
def test_300_different_trees_of_25_words_take_a_tenth_of_a_second():
    """With 100 labels, which is more than GUM has with its chains; it was measured as 30 ms beside other work."""
    scores = some_scores(25, 100)
    different_samples(scores, 300, np.random.default_rng(1))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        found = different_samples(scores, 300, np.random.default_rng(1))
        times.append(time.perf_counter() - start)
    assert len(set(as_sets(found.spans))) == 300
    assert min(times) < 0.1
