"""An estimate of log p(words) by importance sampling.

Trees drawn with replacement from a distribution q give an unbiased estimate of p(words): the mean of
p(words, tree) / q(tree).
"""

import math
from typing import NamedTuple

import numpy as np

from dtglib.basics.errors import require


class Estimate(NamedTuple):
    """An estimate of log p(words), with an interval of 1.96 standard errors.

    The interval would cover the true value in 95 of 100 cases if the weights p / q had no heavy tail. Mostly they have
    one, because some trees that are probable under p are seldom drawn from q, and a tree that is not drawn cannot widen
    the interval: for small models and short sentences it covered the true value in 60 to 75 of 100 cases. If all draws
    are the same tree, the width is 0 and means nothing.
    """

    log_prob: float
    low: float
    high: float
    effective_samples: float  # the number of samples from the posterior (of the rest) that would be as good


def importance_estimate(log_p: np.ndarray, log_q: np.ndarray, known: float = -math.inf) -> Estimate:
    """Estimate log p(words) from trees drawn with replacement from q, by their log p(words, tree) and log q(tree).

    `known` is the logarithm of an exact sum over some of the trees. Draws of these trees must have log p = -inf, so
    that only the rest is estimated; if all draws are such trees, nothing is known about the rest.
    """
    require(len(log_p) == len(log_q) > 1, "an estimate needs two samples at least, and both probabilities of each")
    ratios = np.asarray(log_p, np.float64) - log_q
    largest = max(float(ratios.max()), known)
    if largest == -np.inf:
        return Estimate(-math.inf, -math.inf, -math.inf, 0.0)
    weights = np.exp(ratios - largest)
    total = weights.mean() + math.exp(known - largest)
    # The standard error of the logarithm is that of the mean, divided by the mean.
    margin = float(1.96 * weights.std(ddof=1) / math.sqrt(len(weights)) / total)
    log_prob = float(largest + np.log(total))
    effective = float(weights.sum() ** 2 / (weights**2).sum()) if weights.any() else 0.0
    return Estimate(log_prob, log_prob - margin, log_prob + margin, effective)
