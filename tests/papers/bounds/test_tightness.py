"""How tight the bound is: what is said of a sentence, against sums over all its trees and the functions it is made of.

The sentence is "There is a difference", with 30 trees; the arcs' scores are random, as if a parser knew nothing.
"""

import math
from functools import cache

import numpy as np
import pytest
import torch
from toys import SYSTEM_OF, by_kind, by_model

from dtglib.data.symbols import arcs
from dtglib.data.vocabulary import Vocabulary
from dtglib.evaluate.likelihood import all_trees, score_trees
from dtglib.families.base import build
from dtglib.network.transformer import Transformer, TransformerConfig
from dtglib.parsing.projective import best_trees, different_samples, samples
from dtgpapers.bounds.estimate import Estimate
from dtgpapers.bounds.tightness import Tightness, tightness

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = ["There", "is", "a", "difference"]
LONGER = ["There", "is", "a", "difference", "."]  # 143 trees

of_every_kind_of_model = pytest.mark.parametrize("name", by_kind(SYSTEM_OF))


@cache
def model(name: str, reach: int = 31) -> Transformer:
    torch.manual_seed(3)
    vocabulary = Vocabulary.of_words([LONGER], arcs(reach))
    return build(TransformerConfig(model=name, layers=2, width=16, heads=2, inner=32), vocabulary).eval()


def arc_scores(words: list[str], spread: float = 1.0) -> np.ndarray:
    return np.random.default_rng(len(words)).normal(scale=spread, size=(len(words) + 1, len(words) + 1))


def found(name: str, words: list[str], count: int, seed: int = 1, **other) -> Tightness:
    return tightness(model(name), words, arc_scores(words), count, np.random.default_rng(seed), **other)


@cache
def exact(name: str, words: tuple[str, ...]) -> float:
    return score_trees(model(name), words, all_trees(len(words))).bound


def bound(name: str, words: list[str], heads: np.ndarray) -> float:
    return score_trees(model(name), words, heads).bound


# ---- Bounds


@pytest.mark.parametrize("name", by_model(SYSTEM_OF))
def test_with_all_trees_both_bounds_are_the_exact_value(name):
    here = found(name, WORDS, 40)
    assert len(here.best) == len(here.sampled) == 30
    assert here.exact == pytest.approx(exact(name, tuple(WORDS)), abs=1e-5)
    assert here.best[-1] == pytest.approx(here.exact, abs=1e-9)
    assert here.sampled[-1] == pytest.approx(here.exact, abs=1e-9)


@of_every_kind_of_model
def test_bounds_grow_with_each_tree_and_stay_below_the_exact_value(name):
    here = found(name, LONGER, 60)
    for bounds in (here.best, here.sampled):
        assert len(bounds) == 60
        assert (np.diff(bounds) > 0).all()
        assert bounds[-1] < here.exact
    assert here.exact == pytest.approx(exact(name, tuple(LONGER)), abs=1e-5)


@of_every_kind_of_model
def test_the_bound_of_k_trees_is_that_of_the_k_best_trees_and_of_k_that_are_drawn(name):
    here = found(name, LONGER, 60)
    for count in (1, 2, 17, 60):
        best = best_trees(arc_scores(LONGER), count).heads
        # The generator's first numbers go to these.
        drawn = different_samples(arc_scores(LONGER), count, np.random.default_rng(1)).heads
        assert here.best[count - 1] == pytest.approx(bound(name, LONGER, best), abs=1e-4)
        assert here.sampled[count - 1] == pytest.approx(bound(name, LONGER, drawn), abs=1e-4)


def test_a_tree_that_reaches_too_far_adds_nothing_to_any_bound():
    """With no arc beyond [1], arc-swift lacks 9 of the 30 trees; the others have what they have."""
    near, words = model("dtg-swift", reach=1), tuple(WORDS)
    here = tightness(near, words, arc_scores(WORDS), 40, np.random.default_rng(1))
    of_each = score_trees(near, words, best_trees(arc_scores(WORDS), 40).heads).log_probs
    possible = np.isfinite(of_each)
    assert 0 < possible.sum() < 30
    first = int(np.argmax(possible))
    assert (np.diff(here.best[first:]) > 0).tolist() == possible[first + 1 :].tolist()
    assert here.best[-1] == pytest.approx(here.exact)
    assert here.exact == pytest.approx(np.logaddexp.reduce(of_each[possible]))
    assert np.isfinite(here.estimate).all()


# ---- The estimate


def draws(scores: np.ndarray, count: int, random: np.random.Generator) -> list[tuple[int, ...]]:
    """What is drawn with replacement, after so many different trees: of each distribution a third."""
    different_samples(scores, count, random)
    each = math.ceil(count / 3)
    return [
        tuple(heads) for scale in (1, 1 / 2, 1 / 4) for heads in samples(scores * scale, each, random).heads.tolist()
    ]


def mixture(scores: np.ndarray) -> dict[tuple[int, ...], float]:
    """The probability of each tree by definition, in the middle between the three distributions."""
    trees = all_trees(len(scores) - 1)
    arcs = scores[trees, np.arange(1, len(scores))].sum(axis=1)
    q = np.mean([np.exp(scale * arcs) / np.exp(scale * arcs).sum() for scale in (1, 1 / 2, 1 / 4)], axis=0)
    assert q.sum() == pytest.approx(1)
    return dict(zip(map(tuple, trees.tolist()), q, strict=True))


def known(scores: np.ndarray, count: int, seed: int) -> set[tuple[int, ...]]:
    """The best and the sampled trees."""
    drawn = different_samples(scores, count, np.random.default_rng(seed)).heads.tolist()
    return set(map(tuple, [*best_trees(scores, count).heads.tolist(), *drawn]))


@of_every_kind_of_model
@pytest.mark.parametrize(("count", "spread"), [(4, 1.0), (10, 1.0), (30, 0.3), (30, 2.0)])
def test_the_estimate_adds_the_draws_outside_to_the_known_trees(count, spread, name):
    scores = arc_scores(LONGER, spread)
    here = tightness(model(name), LONGER, scores, count, np.random.default_rng(2))
    inside, drawn, q = known(scores, count, 2), draws(scores, count, np.random.default_rng(2)), mixture(scores)
    trees = all_trees(5)
    p = dict(zip(map(tuple, trees.tolist()), np.exp(score_trees(model(name), LONGER, trees).log_probs), strict=True))
    weights = np.array([0.0 if heads in inside else p[heads] / q[heads] for heads in drawn])
    assert len(drawn) == 3 * math.ceil(count / 3)
    assert here.outside == np.count_nonzero(weights) > 0
    total = sum(p[heads] for heads in inside) + weights.mean()
    assert here.estimate.log_prob == pytest.approx(np.log(total), abs=1e-4)
    margin = 1.96 * weights.std(ddof=1) / np.sqrt(len(drawn)) / total
    assert here.estimate.high - here.estimate.log_prob == pytest.approx(margin, rel=1e-3)
    assert here.estimate.log_prob - here.estimate.low == pytest.approx(margin, rel=1e-3)
    assert here.estimate.effective_samples == pytest.approx(weights.sum() ** 2 / (weights**2).sum(), rel=1e-3)


@of_every_kind_of_model
@pytest.mark.parametrize("spread", [0.3, 1.0, 4.0])
def test_the_estimate_is_never_below_the_bounds(spread, name):
    for seed in range(5):
        here = tightness(model(name), LONGER, arc_scores(LONGER, spread), 10, np.random.default_rng(seed), all_of=0)
        assert here.estimate.log_prob >= max(here.best[-1], here.sampled[-1])


@pytest.mark.parametrize("name", by_model(["dtg", "dtg-eager"]))
def test_the_estimate_is_unbiased_and_two_of_three_intervals_contain_the_exact_value(name):
    """Not in 95 of 100 with 30 draws: a tree that is likelier by the model than by the parser comes seldom, and then
    weighs much. Those that miss are too low more often than too high."""
    scores, truth = arc_scores(LONGER, spread=0.3), exact(name, tuple(LONGER))
    runs = [tightness(model(name), LONGER, scores, 30, np.random.default_rng(n), all_of=0) for n in range(100)]
    assert min(each.outside for each in runs) > 5
    share = np.exp([each.estimate.log_prob - truth for each in runs])
    error = share.std(ddof=1) / np.sqrt(len(share))
    assert error < 0.1
    assert abs(share.mean() - 1) < 3 * error
    assert 0.6 <= np.mean([each.estimate.low <= truth <= each.estimate.high for each in runs]) <= 0.9
    assert sum(each.estimate.high < truth for each in runs) > sum(each.estimate.low > truth for each in runs)
    # What is known for certain is far from it: the draws do the work.
    assert np.exp(max(each.best[-1] for each in runs) - truth) < 0.5


def certain_of_a_chain() -> np.ndarray:
    """The arcs of the tree 0 1 2 1, of which a parser is so sure that it draws no other."""
    chain = np.full((5, 5), -50.0)
    chain[0, 1] = chain[1, 2] = chain[2, 3] = chain[1, 4] = 50.0  # RIGHTARC[3]
    return chain


def test_without_draws_outside_the_estimate_is_the_known_sum():
    with np.errstate(all="raise"):
        here = tightness(model("dtg"), WORDS, certain_of_a_chain(), 5, np.random.default_rng(1))
    inside = np.array(sorted(known(certain_of_a_chain(), 5, 1)))
    of_these = bound("dtg", WORDS, inside)
    assert here.outside == 0
    assert here.estimate == Estimate(*[pytest.approx(of_these, abs=1e-5)] * 3, 0.0)
    assert here.estimate.low == here.estimate.high
    assert here.estimate.log_prob < here.exact - 0.1, "a width of zero means nothing"


def test_an_estimate_from_impossible_trees_is_minus_infinity():
    """As a sure parser and a short reach may have it; the interval then says nothing."""
    with np.errstate(all="raise"):
        here = tightness(model("dtg-swift", reach=1), WORDS, certain_of_a_chain(), 1, np.random.default_rng(1))
    assert here.estimate == Estimate(-np.inf, -np.inf, -np.inf, 0.0)
    assert here.best[0] == here.sampled[0] == -np.inf
    assert np.isfinite(here.exact), "among all trees there are some that are possible"


def test_draws_that_are_impossible_fall_outside_and_add_nothing():
    """With no arc beyond [1], some of the trees that are drawn have no probability; all are counted as draws."""
    near, words, scores = model("dtg-swift", reach=1), tuple(WORDS), arc_scores(WORDS, 0.3)
    here = tightness(near, words, scores, 6, np.random.default_rng(0))
    drawn, inside, q = draws(scores, 6, np.random.default_rng(0)), known(scores, 6, 0), mixture(scores)
    p = np.exp(score_trees(near, words, np.array(drawn)).log_probs)
    beyond = np.array([heads not in inside for heads in drawn])
    assert here.outside == beyond.sum() > (p[beyond] > 0).sum() > 0
    weights = [p_of * is_beyond / q[heads] for p_of, is_beyond, heads in zip(p, beyond, drawn, strict=True)]
    of_these = math.exp(score_trees(near, words, np.array(sorted(inside))).bound)
    assert here.estimate.log_prob == pytest.approx(math.log(of_these + np.mean(weights)), abs=1e-4)


# ---- What else is said


def test_longer_sentences_have_no_exact_value():
    short, long = found("dtg", WORDS, 20), found("dtg", WORDS, 20, all_of=3)
    assert long.exact is None
    assert short.exact is not None
    np.testing.assert_allclose(long.best, short.best, atol=1e-5)
    np.testing.assert_allclose(long.sampled, short.sampled, atol=1e-5)
    np.testing.assert_allclose(long.estimate, short.estimate, rtol=1e-4)
    assert found("dtg", WORDS, 20, all_of=4).exact == pytest.approx(short.exact, abs=1e-5)
    assert found("dtg", ["There"] * 7, 20).exact is None


@of_every_kind_of_model
def test_the_entropy_is_that_of_the_posterior_over_all_trees_that_were_looked_at(name):
    log_probs = score_trees(model(name), WORDS, all_trees(4)).log_probs
    posterior = np.exp(log_probs) / np.exp(log_probs).sum()
    assert found(name, WORDS, 5).entropy == pytest.approx(-(posterior * np.log(posterior)).sum(), abs=1e-4)

    random = np.random.default_rng(1)
    seen = {tuple(heads) for heads in best_trees(arc_scores(WORDS), 5).heads.tolist()}
    seen |= {tuple(heads) for heads in different_samples(arc_scores(WORDS), 5, np.random.default_rng(1)).heads.tolist()}
    seen |= set(draws(arc_scores(WORDS), 5, random))
    assert 5 < len(seen) < 17
    log_probs = score_trees(model(name), WORDS, np.array(sorted(seen))).log_probs
    posterior = np.exp(log_probs) / np.exp(log_probs).sum()
    looked_at = found(name, WORDS, 5, all_of=0)
    assert looked_at.entropy == pytest.approx(-(posterior * np.log(posterior)).sum(), abs=1e-4)
    assert looked_at.seen == pytest.approx(np.logaddexp.reduce(log_probs), abs=1e-4)


@of_every_kind_of_model
def test_seen_is_the_highest_bound(name):
    for seed in range(5):
        here = found(name, LONGER, 20, seed, all_of=0)
        assert max(here.best[-1], here.sampled[-1]) < here.seen < exact(name, tuple(LONGER))
    all_of_them = found(name, LONGER, 20)
    assert all_of_them.seen == pytest.approx(all_of_them.exact)


@pytest.mark.parametrize("count", [2, 5, 29, 30, 100])
def test_unseen_is_the_parsers_probability_of_all_but_its_best_trees(count):
    """By the definition: a tree has the exponential of the sum of its arcs, divided by that of all."""
    scores, trees = arc_scores(WORDS), all_trees(4)
    q = np.exp(scores[trees, np.arange(1, 5)].sum(axis=1))
    q = np.sort(q / q.sum())[::-1]
    assert found("dtg", WORDS, count).unseen == pytest.approx(q[count:].sum(), abs=1e-12)
    assert found("dtg", WORDS, count).unseen >= 0


def test_a_single_word_has_one_tree_and_an_exact_estimate():
    here = found("dtg", ["There"], 10)
    assert here.best.tolist() == here.sampled.tolist() == [here.exact]
    assert here.exact == pytest.approx(exact("dtg", ("There",)), abs=1e-5)
    assert (here.estimate.low, here.estimate.log_prob, here.estimate.high) == (pytest.approx(here.exact),) * 3
    assert (here.outside, here.estimate.effective_samples) == (0, 0)
    assert (here.seen, here.entropy, here.unseen) == (here.exact, 0, 0)


def test_the_seed_decides_the_draws():
    first, again, other = (found("dtg", LONGER, 30, seed=seed) for seed in (1, 1, 2))
    assert first.sampled.tolist() == again.sampled.tolist()
    assert first.estimate == again.estimate != other.estimate
    np.testing.assert_allclose(first.best, other.best, atol=1e-5)
    assert abs(first.sampled - other.sampled).max() > 1e-3


# ---- A parser that is sure of itself


@pytest.mark.parametrize("name", by_model(["dtg", "dtg-eager"]))
def test_with_a_confident_parser_the_estimate_is_mostly_too_low_and_its_interval_too_narrow(name):
    """The model knows nothing of the parser. The mixture finds more than the parser alone would, and seldom enough."""
    scores, truth = arc_scores(LONGER, spread=4.0), exact(name, tuple(LONGER))
    runs = [tightness(model(name), LONGER, scores, 30, np.random.default_rng(n), all_of=0) for n in range(60)]
    assert np.mean([each.estimate.low <= truth <= each.estimate.high for each in runs]) < 0.5
    assert np.mean([each.estimate.high < truth for each in runs]) > 0.5
    assert np.median([each.estimate.log_prob for each in runs]) < truth - 1
    # Drawn from the parser alone, nearly nothing would be outside.
    alone = [
        sum(tuple(heads) not in known(scores, 30, n) for heads in samples(scores, 30, np.random.default_rng(n)).heads)
        for n in range(20)
    ]
    assert np.mean([each.outside for each in runs]) > 1 > 5 * np.mean(alone)


def test_the_known_sum_is_a_lower_limit_of_the_estimate():
    """60 draws of the mixture find nothing outside, though much of what the model thinks probable is there: its
    interval is a point below the truth. That nothing was outside is said, and what was seen is a bound."""
    here = tightness(model("dtg"), LONGER, arc_scores(LONGER, spread=8.0), 60, np.random.default_rng(0), all_of=0)
    assert here.unseen < 1e-6
    assert (here.outside, here.estimate.effective_samples) == (0, 0)
    assert here.estimate.low == here.estimate.high == pytest.approx(here.seen)
    assert here.seen < exact("dtg", tuple(LONGER)) - 0.3
