"""Estimates that are right as often as they claim."""

from functools import cache

import numpy as np
import pytest
from test_scores import WORDS, model

from dtglib.basics.errors import UserError
from dtglib.evaluate.likelihood import all_trees, score_trees
from dtglib.parsing.projective import samples
from dtgpapers.bounds.estimate import Estimate, importance_estimate

pytestmark = pytest.mark.usefixtures("one_thread")


def proposed(seed: int) -> np.ndarray:
    """Arc scores that have nothing to do with the model."""
    return np.random.default_rng(seed).normal(size=(5, 5))


@cache
def log_joint() -> dict[tuple[int, ...], float]:
    scored = score_trees(model("dtg"), WORDS, all_trees(4))
    return dict(zip(map(tuple, scored.trees.tolist()), scored.log_probs, strict=True))


def estimate(seed: int, count: int) -> Estimate:
    drawn = samples(proposed(0), count, np.random.default_rng(seed))
    log_p = log_joint()
    return importance_estimate(np.array([log_p[tuple(heads)] for heads in drawn.heads.tolist()]), drawn.log_probs)


def test_estimates_are_unbiased_and_95_of_100_intervals_contain_the_true_value():
    truth = score_trees(model("dtg"), WORDS, all_trees(4)).bound
    found = [estimate(seed, 400) for seed in range(200)]
    means = np.exp([each.log_prob for each in found])
    assert abs(means.mean() - np.exp(truth)) < 3 * means.std(ddof=1) / np.sqrt(len(means))
    held = np.mean([each.low <= truth <= each.high for each in found])
    assert 0.9 <= held <= 0.99


def test_more_samples_make_narrower_intervals():
    few, many = estimate(1, 100), estimate(1, 6400)
    assert (many.high - many.low) < 0.3 * (few.high - few.low)


def test_samples_from_the_posterior_have_an_interval_of_width_0():
    scored = score_trees(model("dtg"), WORDS, all_trees(4))
    found = importance_estimate(scored.log_probs, np.log(scored.posterior))
    assert found.log_prob == pytest.approx(scored.bound)
    assert found.effective_samples == pytest.approx(30)
    assert found.high - found.low == pytest.approx(0, abs=1e-9)


def test_the_known_sum_is_added_to_the_estimate():
    """A sum of 0.3 is certain; of four draws one is of it, and three weigh 0.1, 0.2 and 0.1: their mean is 0.1."""
    log_p, log_q = np.log([0.05, 0.1, 0.05, 1.0]), np.log([0.5, 0.5, 0.5, 0.2])
    log_p[3] = -np.inf
    found = importance_estimate(log_p, log_q, known=np.log(0.3))
    assert found.log_prob == pytest.approx(np.log(0.4))
    error = 1.96 * np.std([0.1, 0.2, 0.1, 0], ddof=1) / np.sqrt(4)
    assert (found.low, found.high) == pytest.approx((np.log(0.4) - error / 0.4, np.log(0.4) + error / 0.4))
    assert found.effective_samples == pytest.approx(0.4**2 / (0.1**2 + 0.2**2 + 0.1**2))


def test_draws_of_known_trees_alone_add_nothing():
    with np.errstate(all="raise"):
        found = importance_estimate(np.full(5, -np.inf), np.zeros(5), known=-900.0)
    assert found == Estimate(-900.0, -900.0, -900.0, 0.0)
    assert importance_estimate(np.full(5, -np.inf), np.zeros(5)) == Estimate(-np.inf, -np.inf, -np.inf, 0.0)


def test_an_estimate_from_one_sample_is_an_error():
    with pytest.raises(UserError, match="two samples"):
        importance_estimate(np.array([-1.0]), np.array([-2.0]))
