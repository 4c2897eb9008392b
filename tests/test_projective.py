"""Projective trees from arc scores: all that is said of a few words is also found by looking at every tree.

Of up to six words (728 trees) everything is counted out; of longer sentences only what must hold of any answer is
asked, and whether supar's `DependencyCRF`, made by others, says the same.
"""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import permutations
from random import Random

import numpy as np
import pytest
from conftest import slow
from scipy.stats import chisquare
from trees import Heads, all_trees, random_tree

from dtglib.parsing import projective
from dtglib.parsing.eisner import best_heads
from dtglib.parsing.forest import log_partition_and_marginals
from dtglib.parsing.projective import (
    best_trees,
    different_samples,
    log_partition,
    samples,
)
from dtglib.transitions.protocol import why_no_tree

TREES_OF = {1: 1, 2: 2, 3: 7, 4: 30, 5: 143, 6: 728}

up_to_six_words = pytest.mark.parametrize("words", TREES_OF)


def random_scores(words: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([words, seed]).normal(0, 1, (words + 1, words + 1))


def marginals(scores: np.ndarray) -> np.ndarray:
    """The probability of every arc, as an array with the layout of `scores`."""
    of_scores, shares = projective._forest(projective._checked(scores)), np.zeros_like(scores)
    _, of_options = log_partition_and_marginals(of_scores.forest)
    has_arc = of_scores.word >= 0
    np.add.at(shares, (of_scores.head[has_arc], of_scores.word[has_arc]), of_options[has_arc])
    return shares


def confident_scores(gold: Heads, surplus: float, seed: int = 0) -> np.ndarray:
    """Random ones, but every arc of one tree has so much more."""
    scores = random_scores(len(gold), seed)
    scores[gold, np.arange(1, len(gold) + 1)] += surplus
    return scores


def only(arcs: Heads) -> np.ndarray:
    """Scores that forbid all arcs but these."""
    scores = np.full((len(arcs) + 1, len(arcs) + 1), -np.inf)
    scores[arcs, np.arange(1, len(arcs) + 1)] = 0
    return scores


def with_some_arcs_forbidden(seed: int) -> np.ndarray:
    scores = random_scores(5, seed)
    scores[np.random.default_rng(seed).random(scores.shape) < 0.45] = -np.inf
    return scores


def score_of(scores: np.ndarray, heads) -> np.ndarray:
    """The sum of the arcs of each tree."""
    return scores[np.asarray(heads), np.arange(1, len(scores))].sum(axis=-1)


def counted_out(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All trees that are not forbidden, the best first, and the probability of each."""
    trees = np.array(all_trees(len(scores) - 1))
    totals = score_of(scores, trees)
    order = np.argsort(-totals, kind="stable")
    order = order[totals[order] > -np.inf]
    weights = np.exp(totals[order] - totals[order[:1]])
    return trees[order], weights / weights.sum()


def distribution(scores: np.ndarray) -> dict[Heads, float]:
    trees, probabilities = counted_out(scores)
    return dict(zip(rows(trees), probabilities.tolist(), strict=True))


def rows(heads: np.ndarray) -> list[Heads]:
    return [tuple(row) for row in heads.tolist()]


def assert_drawn_from(expected: Mapping, drawn: Counter) -> None:
    """By a chi-square test; what should come less than five times is counted together."""
    assert set(drawn) <= set(expected)
    number = drawn.total()
    often = [what for what, probability in expected.items() if probability * number >= 5]
    seen, hoped = [drawn[what] for what in often], [expected[what] * number for what in often]
    if number - sum(hoped) >= 5:
        seen.append(number - sum(seen))
        hoped.append(number - sum(hoped))
    assert len(seen) > 1
    assert chisquare(seen, np.array(hoped) * sum(seen) / sum(hoped)).pvalue > 0.001


# The sum, the arcs and the best


@up_to_six_words
def test_the_partition_is_the_sum_over_all_trees(words):
    scores = random_scores(words)
    assert len(all_trees(words)) == TREES_OF[words]
    assert log_partition(scores) == pytest.approx(np.log(np.exp(score_of(scores, all_trees(words))).sum()), abs=1e-10)


@up_to_six_words
def test_with_equal_scores_the_partition_counts_the_trees(words):
    assert np.exp(log_partition(np.zeros((words + 1, words + 1)))) == pytest.approx(TREES_OF[words])


@up_to_six_words
def test_an_arc_is_as_probable_as_the_trees_that_have_it(words):
    scores = random_scores(words)
    by_counting = np.zeros_like(scores)
    for heads, probability in distribution(scores).items():
        by_counting[heads, np.arange(1, words + 1)] += probability
    np.testing.assert_allclose(marginals(scores), by_counting, atol=1e-12)


@up_to_six_words
def test_no_tree_is_better_than_the_best(words):
    for seed in range(20):
        scores = random_scores(words, seed)
        assert best_trees(scores, 1).heads[0].tolist() == counted_out(scores)[0][0].tolist()


@pytest.mark.parametrize("anything", [1e6, -1e6, -np.inf])
def test_the_column_of_root_and_the_diagonal_are_ignored(anything):
    scores = random_scores(5)
    other = scores.copy()
    other[:, 0] = anything
    np.fill_diagonal(other, anything)
    assert log_partition(other) == log_partition(scores)
    np.testing.assert_array_equal(marginals(other), marginals(scores))
    np.testing.assert_array_equal(best_trees(other, 50).heads, best_trees(scores, 50).heads)


def test_the_scores_are_not_changed():
    scores = random_scores(5)
    before = scores.copy()
    best_trees(scores, 9), samples(scores, 9, np.random.default_rng(0))
    different_samples(scores, 9, np.random.default_rng(0))
    np.testing.assert_array_equal(scores, before)


# The K best


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5])
def test_the_k_best_trees_are_the_first_of_all_sorted_trees(words):
    scores = random_scores(words)
    trees, probabilities = counted_out(scores)
    for count in range(1, len(trees) + 1):
        found = best_trees(scores, count)
        np.testing.assert_array_equal(found.heads, trees[:count])
        np.testing.assert_allclose(np.exp(found.log_probs), probabilities[:count], rtol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 10, 100, 500, 727, 728])
def test_the_k_best_trees_of_six_words_are_the_first_of_all_sorted_trees(count):
    scores = random_scores(6)
    trees, probabilities = counted_out(scores)
    found = best_trees(scores, count)
    np.testing.assert_array_equal(found.heads, trees[:count])
    np.testing.assert_allclose(np.exp(found.log_probs), probabilities[:count], rtol=1e-9)


@up_to_six_words
@pytest.mark.parametrize("more", [0, 1, 1000])
def test_a_count_above_the_number_of_trees_gives_each_tree_once(words, more):
    scores = random_scores(words)
    count = TREES_OF[words] + more
    for found in (best_trees(scores, count), different_samples(scores, count, np.random.default_rng(0))):
        assert sorted(rows(found.heads)) == sorted(all_trees(words))
        assert np.exp(found.log_probs).sum() == pytest.approx(1)


def test_a_count_of_0_gives_no_trees():
    scores = random_scores(4)
    for found in (
        best_trees(scores, 0),
        samples(scores, 0, np.random.default_rng(0)),
        different_samples(scores, 0, np.random.default_rng(0)),
    ):
        assert found.heads.shape == (0, 4)
        assert found.log_probs.shape == (0,)


def test_tied_trees_are_each_returned_once():
    assert sorted(rows(best_trees(np.zeros((6, 6)), 143).heads)) == sorted(all_trees(5))
    scores = np.random.default_rng(0).integers(0, 3, (6, 6)).astype(float)  # few different sums
    found = best_trees(scores, 143)
    assert sorted(rows(found.heads)) == sorted(all_trees(5))
    np.testing.assert_allclose(np.exp(found.log_probs), counted_out(scores)[1], rtol=1e-9)


# Samples with replacement


@pytest.mark.parametrize("words", [3, 4, 5, 6])
def test_samples_have_the_frequencies_of_their_probabilities(words):
    scores = random_scores(words, 1)
    found = samples(scores, 20_000, np.random.default_rng(words))
    assert_drawn_from(distribution(scores), Counter(rows(found.heads)))


def test_samples_of_a_confident_parser_have_the_frequencies_of_their_probabilities():
    scores = confident_scores((2, 0, 4, 2), 4)
    found = samples(scores, 20_000, np.random.default_rng(0))
    assert distribution(scores)[2, 0, 4, 2] > 0.7
    assert_drawn_from(distribution(scores), Counter(rows(found.heads)))


# Samples without replacement


@cache
def three_different(shift: float, surplus: float) -> tuple[list[tuple[Heads, ...]], dict[Heads, float]]:
    """The first three different samples of three words, with many seeds; and the probabilities of all seven trees."""
    scores = confident_scores((2, 0, 2), surplus) + shift
    drawn = [tuple(rows(different_samples(scores, 3, np.random.default_rng(seed)).heads)) for seed in range(4000)]
    return drawn, distribution(scores)


# A constant on all arcs changes no probability; log-probabilities of arcs, as parsers give them, are all negative.
# With a surplus, the first tree is the most probable one by far.
@pytest.mark.parametrize(("shift", "surplus"), [(50, 2), *slow([(0, 0), (-1, 2), (-50, 0)])])
@pytest.mark.parametrize("first", [1, 2, 3])
def test_the_first_different_samples_are_drawn_without_replacement(shift, surplus, first):
    drawn, probability = three_different(shift, surplus)
    expected = {}
    for order in permutations(probability, first):
        chance, left = 1.0, 1.0
        for tree in order:
            chance *= probability[tree] / left
            left -= probability[tree]
        expected[order] = chance
    assert_drawn_from(expected, Counter(trees[:first] for trees in drawn))


@pytest.mark.parametrize("shift", [-4, 4, 64])
def test_a_constant_on_all_arcs_changes_no_trees(shift):
    scores = random_scores(25)
    for take in (
        lambda of: best_trees(of, 300),
        lambda of: samples(of, 300, np.random.default_rng(0)),
        lambda of: different_samples(of, 300, np.random.default_rng(0)),
    ):
        np.testing.assert_array_equal(take(scores + shift).heads, take(scores).heads)


@pytest.mark.parametrize("words", [4, 8, 25, 60])
def test_different_samples_differ(words):
    found = different_samples(random_scores(words), 300, np.random.default_rng(0))
    assert len(found.heads) == min(300, TREES_OF.get(words, 300))
    assert len(set(rows(found.heads))) == len(found.heads)


@pytest.mark.parametrize("surplus", [14, 40, 500])
def test_a_confident_parser_still_gives_three_hundred_different_trees(surplus):
    gold = random_tree(Random(1), 25)
    scores = confident_scores(gold, surplus)
    found = different_samples(scores, 300, np.random.default_rng(0))
    assert found.log_probs[0] > np.log(0.999)
    assert rows(found.heads)[0] == gold
    assert len(set(rows(found.heads))) == 300
    assert not any(why_no_tree(heads) for heads in rows(found.heads))


def test_different_samples_of_a_confident_parser_are_mostly_good_trees():
    scores = confident_scores(random_tree(Random(1), 25), 14)
    found = different_samples(scores, 300, np.random.default_rng(0))
    best = best_trees(scores, 300)
    assert (found.log_probs <= best.log_probs[0] + 1e-9).all()
    assert len(set(rows(found.heads)) & set(rows(best.heads))) > 30


# What every answer must fulfil


@pytest.mark.parametrize("words", [1, 2, 5, 25, 60])
@pytest.mark.parametrize("surplus", [0, 8], ids=["random", "confident"])
def test_all_results_are_projective_trees_with_the_right_probability(words, surplus):
    scores = confident_scores(random_tree(Random(words), words), surplus)
    total = log_partition(scores)
    for found in (
        best_trees(scores, 100),
        samples(scores, 100, np.random.default_rng(0)),
        different_samples(scores, 100, np.random.default_rng(0)),
    ):
        assert [why for heads in rows(found.heads) if (why := why_no_tree(heads))] == []
        np.testing.assert_allclose(found.log_probs, score_of(scores, found.heads) - total, atol=1e-9)
        assert (found.log_probs < 1e-9).all()


@pytest.mark.parametrize("words", [25, 60])
@pytest.mark.parametrize("surplus", [0, 8], ids=["random", "confident"])
def test_the_300_best_trees_of_a_long_sentence_are_sorted(words, surplus):
    scores = confident_scores(random_tree(Random(2), words), surplus)
    found = best_trees(scores, 300)
    assert found.heads[0].tolist() == best_trees(scores, 1).heads[0].tolist()
    assert (np.diff(found.log_probs) < 1e-9).all()
    assert len(set(rows(found.heads))) == 300
    assert len(found.heads) == 300
    others = samples(scores, 300, np.random.default_rng(0))
    assert others.log_probs.max() < found.log_probs[0] + 1e-9
    missing = set(rows(others.heads)) - set(rows(found.heads))
    assert all(score_of(scores, heads) - log_partition(scores) < found.log_probs[-1] + 1e-9 for heads in missing)


@pytest.mark.parametrize("words", [1, 2, 25, 60])
def test_each_word_has_one_head_and_root_one_dependent(words):
    found = marginals(random_scores(words))
    np.testing.assert_allclose(found[:, 1:].sum(axis=0), 1, atol=1e-9)
    assert found[0].sum() == pytest.approx(1)
    assert (found >= 0).all()
    assert not found[:, 0].any()
    assert not found.diagonal().any()


def test_the_arcs_of_many_samples_are_as_frequent_as_their_marginals():
    scores = random_scores(25)
    heads = samples(scores, 5000, np.random.default_rng(0)).heads
    share = np.stack([(heads == head).mean(axis=0) for head in range(26)])
    expected = marginals(scores)[:, 1:]
    assert np.abs(share - expected).max() < 5 * np.sqrt(0.25 / 5000)


@pytest.mark.parametrize("kind", ["anything between", "one or the other"])
def test_scores_of_a_thousand_and_a_hundred_words_stay_finite(kind):
    random = np.random.default_rng(0)
    scores = random.uniform(-1e3, 1e3, (101, 101))
    if kind == "one or the other":
        scores = np.sign(scores) * 1e3
    arcs = marginals(scores)
    assert np.isfinite(log_partition(scores))
    np.testing.assert_allclose(arcs[:, 1:].sum(axis=0), 1, atol=1e-6)
    for found in (best_trees(scores, 20), samples(scores, 20, random), different_samples(scores, 20, random)):
        assert len(found.heads) == 20
        assert np.isfinite(found.log_probs).all()
        assert (found.log_probs < 1e-6).all()
        assert [why for heads in rows(found.heads) if (why := why_no_tree(heads))] == []
    for found in (best_trees(scores, 20), different_samples(scores, 20, random)):
        assert len(set(rows(found.heads))) == 20


def test_one_word_hangs_from_root():
    scores = np.array([[0.0, -3.5], [0.0, 0.0]])
    assert log_partition(scores) == -3.5
    assert marginals(scores).tolist() == [[0, 1], [0, 0]]
    assert best_trees(scores, 1).heads[0].tolist() == [0]
    for found in (best_trees(scores, 5), different_samples(scores, 5, np.random.default_rng(0))):
        assert (found.heads.tolist(), found.log_probs.tolist()) == ([[0]], [0])
    assert samples(scores, 5, np.random.default_rng(0)).heads.tolist() == [[0]] * 5


# Forbidden arcs and bad input


@pytest.mark.parametrize("seed", range(12))
def test_forbidden_arcs_are_never_used(seed):
    scores = with_some_arcs_forbidden(seed)
    trees, probabilities = counted_out(scores)
    found = best_trees(scores, 143)
    np.testing.assert_array_equal(found.heads, trees)
    np.testing.assert_allclose(np.exp(found.log_probs), probabilities, rtol=1e-9)
    drawn = different_samples(scores, 143, np.random.default_rng(seed))
    assert sorted(rows(drawn.heads)) == sorted(rows(trees))
    if len(trees):
        again = samples(scores, 2000, np.random.default_rng(seed))
        assert set(rows(again.heads)) <= set(rows(trees))
        arcs = marginals(scores)
        assert not arcs[np.isneginf(scores)].any()
        np.testing.assert_allclose(arcs[:, 1:].sum(axis=0), 1, atol=1e-9)


def test_forbidden_arcs_leave_many_trees_or_none():
    numbers = [len(counted_out(with_some_arcs_forbidden(seed))[0]) for seed in range(12)]
    assert min(numbers) == 0
    assert max(numbers) > 5


def test_the_only_possible_tree_has_probability_1():
    scores = only((2, 0, 4, 2))
    assert log_partition(scores) == 0
    for found in (best_trees(scores, 9), different_samples(scores, 9, np.random.default_rng(0))):
        assert (found.heads.tolist(), found.log_probs.tolist()) == ([[2, 0, 4, 2]], [0])
    assert marginals(scores).sum() == 4


no_tree_is_left = pytest.mark.parametrize(
    "scores",
    [only((2, 0, 1)), only((2, 1, 2)), only((0, 0, 2)), np.array([[0, -np.inf], [0, 0]])],
    ids=["the only one crosses", "no root", "two roots", "one word without a head"],
)


@no_tree_is_left
def test_without_a_possible_tree_no_tree_is_returned(scores):
    assert log_partition(scores) == -np.inf
    for found in (
        best_trees(scores, 3),
        samples(scores, 3, np.random.default_rng(0)),
        different_samples(scores, 3, np.random.default_rng(0)),
    ):
        assert found.heads.shape == (0, len(scores) - 1)
        assert found.log_probs.shape == (0,)


@no_tree_is_left
def test_without_a_possible_tree_all_marginals_are_0(scores):
    assert not marginals(scores).any()


EVERY_FUNCTION = {
    "log_partition": log_partition,
    "marginals": marginals,
    "best_trees": lambda scores: best_trees(scores, 3),
    "samples": lambda scores: samples(scores, 3, np.random.default_rng(0)),
    "different_samples": lambda scores: different_samples(scores, 3, np.random.default_rng(0)),
}

by_every_function = pytest.mark.parametrize("name", EVERY_FUNCTION)


@by_every_function
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_score_that_is_nan_or_infinite_is_an_error(name, bad):
    scores = random_scores(4)
    scores[2, 3] = bad
    with pytest.raises(ValueError, match="must be a number"):
        EVERY_FUNCTION[name](scores)


@by_every_function
@pytest.mark.parametrize("shape", [(), (3,), (3, 4), (4, 3), (0, 0), (1, 1), (2, 3, 3)])
def test_scores_of_the_wrong_shape_are_an_error(name, shape):
    with pytest.raises(ValueError, match="must be a square"):
        EVERY_FUNCTION[name](np.zeros(shape))


def test_scores_may_have_other_types_and_layouts():
    scores = np.random.default_rng(0).integers(-3, 4, (6, 6))
    total = log_partition(scores.astype(float))
    for same in (scores, scores.astype(np.float32), np.asfortranarray(scores.astype(float)), scores.tolist()):
        assert log_partition(same) == total


# Chance


@pytest.mark.parametrize("draw", [samples, different_samples])
def test_a_seed_repeats_the_trees_and_a_generator_continues(draw):
    scores = random_scores(12)
    random = np.random.default_rng(7)
    first, second = draw(scores, 20, random), draw(scores, 20, random)
    again = draw(scores, 20, np.random.default_rng(7))
    np.testing.assert_array_equal(first.heads, again.heads)
    assert rows(first.heads) != rows(second.heads)


def test_fewer_different_samples_of_a_seed_are_the_first_of_more():
    scores = random_scores(12)
    few, many = (different_samples(scores, count, np.random.default_rng(3)).heads for count in (20, 200))
    np.testing.assert_array_equal(few, many[:20])


def test_numpys_global_generator_is_not_used():
    scores = random_scores(8)
    before = np.random.get_state()
    for function in EVERY_FUNCTION.values():
        function(scores)
    after = np.random.get_state()
    assert all(np.array_equal(old, new) for old, new in zip(before, after, strict=True))


# What others say


def by_supar(scores: np.ndarray):
    """The same scores in supar, which writes them [dependent, head], in double precision."""
    structs = pytest.importorskip("supar.structs", reason="needs supar (pip install 'dtglib[parser]')")
    import torch

    return structs.DependencyCRF(torch.tensor(scores.T[None].copy(), requires_grad=True), multiroot=False)


@pytest.mark.parametrize("words", [1, 2, 7, 12, 25])
def test_supar_finds_the_same_sum_best_tree_and_marginals(words):
    scores = random_scores(words)
    crf = by_supar(scores)
    assert log_partition(scores) == pytest.approx(crf.log_partition.item(), abs=1e-9)
    assert best_trees(scores, 1).heads[0].tolist() == crf.argmax[0, 1:].tolist()
    np.testing.assert_allclose(marginals(scores)[:, 1:], crf.marginals[0].detach().numpy().T[:, 1:], atol=1e-9)


@pytest.mark.parametrize("words", [8, 15])
def test_supar_finds_the_same_twenty_best(words):
    scores = random_scores(words)
    found = by_supar(scores).topk(20)[0, 1:].T
    np.testing.assert_array_equal(best_trees(scores, 20).heads, found)


@pytest.mark.parametrize("words", range(1, 9))
def test_the_best_trees_of_a_batch_are_those_of_each_sentence(words):
    random = np.random.default_rng(words)
    scores, lengths = random.normal(size=(20, 10, 10)).astype(np.float32), np.full(20, words)
    lengths[0] = 9  # the longest one; the others are padded
    heads = best_heads(scores, lengths)
    for row, (of_sentence, length) in enumerate(zip(scores, lengths, strict=True)):
        expected = best_trees(of_sentence[: length + 1, : length + 1].T, 1).heads[0]
        assert heads[row].tolist() == [*expected, *[0] * (9 - length)], f"sentence {row} of {length} words"
