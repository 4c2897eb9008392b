"""How tight the bound is: what is said of a sentence, against sums over all its trees and the functions it is made of.

The sentence is "There is a difference", with 30 trees; the arcs' scores are random, as if a parser knew nothing.
"""

import math
from functools import cache

import numpy as np
import pytest
import torch

from dtglib.evaluate.tightness import FLATTENED, Tightness, tightness
from dtglib.model import Model, ModelConfig
from dtglib.proposals.projective import best_trees, different_samples, samples
from dtglib.readings import SYSTEM_OF
from dtglib.scores import Estimate, all_trees, importance_estimate, score_trees
from dtglib.vocab import Vocabulary

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = ["There", "is", "a", "difference"]
LONGER = ["There", "is", "a", "difference", "."]  # 143 trees

of_every_model = pytest.mark.parametrize("name", SYSTEM_OF)


@cache
def model(name: str, reach: int = 31) -> Model:
    torch.manual_seed(3)
    vocabulary = Vocabulary.of_words([LONGER], reach)
    return Model(ModelConfig(model=name, layers=2, width=16, heads=2, inner=32), vocabulary).eval()


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


@of_every_model
def test_with_all_trees_both_bounds_are_the_exact_value(name):
    here = found(name, WORDS, 40)
    assert len(here.best) == len(here.sampled) == 30
    assert here.exact == pytest.approx(exact(name, tuple(WORDS)), abs=1e-5)
    assert here.best[-1] == pytest.approx(here.exact, abs=1e-9)
    assert here.sampled[-1] == pytest.approx(here.exact, abs=1e-9)


@of_every_model
def test_with_fewer_trees_they_stay_below_it_and_grow_with_each(name):
    here = found(name, LONGER, 60)
    for bounds in (here.best, here.sampled):
        assert len(bounds) == 60
        assert (np.diff(bounds) > 0).all()
        assert bounds[-1] < here.exact
    assert here.exact == pytest.approx(exact(name, tuple(LONGER)), abs=1e-5)


@of_every_model
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
    assert here.best[-1] == here.exact == pytest.approx(np.logaddexp.reduce(of_each[possible]))
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


@of_every_model
@pytest.mark.parametrize("spread", [1.0, 8.0])
def test_the_estimate_is_that_of_trees_drawn_with_replacement_from_the_mixture(spread, name):
    scores = arc_scores(WORDS, spread)
    here = tightness(model(name), WORDS, scores, 50, np.random.default_rng(1))
    drawn, q = draws(scores, 50, np.random.default_rng(1)), mixture(scores)
    assert len(drawn) == 51 > len(set(drawn))
    log_p = score_trees(model(name), WORDS, np.array(drawn)).log_probs
    expected = importance_estimate(log_p, np.log([q[heads] for heads in drawn]))
    np.testing.assert_allclose(here.estimate, expected, rtol=1e-4)


def test_the_first_third_is_drawn_as_the_parser_would_and_the_others_are_ever_flatter():
    assert FLATTENED[0] == 1
    assert list(FLATTENED) == sorted(set(FLATTENED), reverse=True)
    assert FLATTENED[-1] > 0


@of_every_model
def test_its_interval_holds_the_exact_value_in_most_runs(name):
    """Not in 95 of 100: a tree that is likelier by the model than by the parser comes seldom, and then weighs much."""
    scores = arc_scores(WORDS, spread=0.3)
    runs = [tightness(model(name), WORDS, scores, 3000, np.random.default_rng(n)).estimate for n in range(60)]
    truth = exact(name, tuple(WORDS))
    assert np.mean([each.low <= truth <= each.high for each in runs]) >= 0.85
    assert abs(np.mean([each.log_prob for each in runs]) - truth) < 0.02
    assert all(each.high - each.low < 1 for each in runs)


def test_an_estimate_from_trees_that_are_all_impossible_is_minus_infinity():
    """As a sure parser and a short reach may have it; the interval then says nothing."""
    chain = np.full((5, 5), -50.0)
    chain[0, 1] = chain[1, 2] = chain[2, 3] = chain[1, 4] = 50.0  # RIGHTARC[3]
    with np.errstate(all="raise"):
        here = tightness(model("dtg-swift", reach=1), WORDS, chain, 5, np.random.default_rng(1))
    assert here.estimate == Estimate(-np.inf, -np.inf, -np.inf, 0.0)
    assert np.isfinite(here.seen), "among the best ones and the different ones there is one that is possible"
    assert here.best[0] == here.sampled[0] == -np.inf


@pytest.mark.parametrize(("count", "drawn"), [(1, 3), (2, 3), (3, 3), (4, 6), (10, 12)])
def test_as_many_are_drawn_of_each_distribution(count, drawn):
    """One word has one tree: all draws are worth the same."""
    assert found("dtg", ["There"], count).estimate.effective_samples == pytest.approx(drawn)


# ---- What else is said


def test_beyond_a_few_words_nothing_is_exact_and_all_else_is_the_same():
    short, long = found("dtg", WORDS, 20), found("dtg", WORDS, 20, all_of=3)
    assert long.exact is None
    assert short.exact is not None
    np.testing.assert_allclose(long.best, short.best, atol=1e-5)
    np.testing.assert_allclose(long.sampled, short.sampled, atol=1e-5)
    np.testing.assert_allclose(long.estimate, short.estimate, rtol=1e-4)
    assert found("dtg", WORDS, 20, all_of=4).exact == pytest.approx(short.exact, abs=1e-5)
    assert found("dtg", ["There"] * 7, 20).exact is None


@of_every_model
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


@of_every_model
def test_seen_is_a_bound_and_none_of_the_others_is_above_it(name):
    for seed in range(5):
        here = found(name, LONGER, 20, seed, all_of=0)
        assert max(here.best[-1], here.sampled[-1]) < here.seen < exact(name, tuple(LONGER))
    all_of_them = found(name, LONGER, 20)
    assert all_of_them.seen == pytest.approx(all_of_them.exact)


@pytest.mark.parametrize("count", [2, 5, 29, 30, 100])
def test_unseen_is_what_the_parser_gives_to_all_trees_but_the_best_ones(count):
    """By the definition: a tree has the exponential of the sum of its arcs, divided by that of all."""
    scores, trees = arc_scores(WORDS), all_trees(4)
    q = np.exp(scores[trees, np.arange(1, 5)].sum(axis=1))
    q = np.sort(q / q.sum())[::-1]
    assert found("dtg", WORDS, count).unseen == pytest.approx(q[count:].sum(), abs=1e-12)
    assert found("dtg", WORDS, count).unseen >= 0


def test_one_word_has_one_tree_and_no_doubt():
    here = found("dtg", ["There"], 10)
    assert here.best.tolist() == here.sampled.tolist() == [here.exact]
    assert here.exact == pytest.approx(exact("dtg", ("There",)), abs=1e-5)
    assert (here.estimate.low, here.estimate.log_prob, here.estimate.high) == (pytest.approx(here.exact),) * 3
    assert here.estimate.effective_samples == pytest.approx(12)
    assert (here.seen, here.entropy, here.unseen) == (here.exact, 0, 0)


def test_the_same_generator_gives_the_same_and_another_draws_other_trees():
    first, again, other = (found("dtg", LONGER, 30, seed=seed) for seed in (1, 1, 2))
    assert first.sampled.tolist() == again.sampled.tolist()
    assert first.estimate == again.estimate != other.estimate
    np.testing.assert_allclose(first.best, other.best, atol=1e-5)
    assert abs(first.sampled - other.sampled).max() > 1e-3


# ---- A parser that is sure of itself


@of_every_model
def test_where_a_sure_parser_draws_one_tree_again_and_again_the_mixture_draws_what_the_model_likes(name):
    """The model knows nothing of the parser. Drawn from the parser alone, an estimate is nats too low, and sure of it;
    from the mixture it is near the truth, though often by more than the half of its interval."""
    scores, truth = arc_scores(LONGER, spread=4.0), exact(name, tuple(LONGER))
    plain, mixed = [], []
    for seed in range(12):
        random = np.random.default_rng(seed)
        mixed.append(tightness(model(name), LONGER, scores, 3000, random).estimate)
        drawn = samples(scores, 3000, random)
        different, place = np.unique(drawn.heads, axis=0, return_inverse=True)
        log_p = score_trees(model(name), LONGER, different).log_probs[place.reshape(-1)]
        plain.append(importance_estimate(log_p, drawn.log_probs))
    assert np.median([each.log_prob for each in plain]) < truth - 2.5
    assert sum(each.high < truth for each in plain) >= 11
    assert all(abs(each.log_prob - truth) < 1.3 for each in mixed)
    assert abs(np.mean([each.log_prob for each in mixed]) - truth) < 0.4
    assert sum(each.low <= truth <= each.high for each in mixed) >= 6


def test_what_no_draw_can_talk_away_is_seen():
    """All draws of the parser are one tree here, and 60 draws of the mixture miss what the model likes, too: its
    estimate is surely wrong, and the bound of the 60 best trees shows it. Which is why both are reported."""
    here = tightness(model("dtg"), LONGER, arc_scores(LONGER, spread=8.0), 60, np.random.default_rng(0), all_of=0)
    assert here.unseen < 1e-6
    assert here.estimate.high > here.estimate.low + 1, "though its interval is no longer a point"
    assert here.estimate.high < here.best[-1] - 1 < here.seen < exact("dtg", tuple(LONGER))
