"""How tight is the bound? The sum over K trees against log p(words), and which K trees (the paper's section 4.1).

    found = tightness(model, words, arc_scores, 3000, random)
    found.best[299], found.sampled[299]         the bound of the 300 best trees, and of 300 drawn without replacement
    found.estimate                              log p(words) by importance sampling, with its interval
    found.exact                                 log p(words) over all trees, where they are few enough

The paper asks whether 300 trees are enough, and leaves it open: "it requires nontrivial work". The bounds of all K
come from one run, because the first K of more trees, best or drawn, are what one would get if one asked for K.

Where a bound is compared with an estimate, mind the estimate's interval: a draw from a parser that is sure of itself
may miss trees that the model likes, and is then too low. `unseen`, what the parser gives to all trees but the best
ones that were looked at, says how much of its own mass there is left to be found.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dtglib.model import Model
from dtglib.proposals.projective import best_trees, different_samples, samples
from dtglib.scores import Estimate, all_trees, importance_estimate, score_trees


class Tightness(NamedTuple):
    """Of one sentence."""

    best: np.ndarray  # the bound of the first K trees, for K from 1 on
    sampled: np.ndarray
    estimate: Estimate
    exact: float | None
    entropy: float  # of the posterior, over all trees that were looked at
    unseen: float


def tightness(
    model: Model, words: Sequence[str], arc_scores: np.ndarray, count: int, random: np.random.Generator, all_of: int = 6
) -> Tightness:
    """Bounds of up to `count` trees, an estimate of so many draws, and, up to `all_of` words, the exact value."""
    ways = [
        best_trees(arc_scores, count),
        different_samples(arc_scores, count, random),
        samples(arc_scores, count, random),
    ]
    heads = [way.heads for way in ways]
    if len(words) <= all_of:
        heads.append(all_trees(len(words)))
    # A tree that several ways have is scored once.
    different, place = np.unique(np.concatenate(heads), axis=0, return_inverse=True)
    scored = score_trees(model, words, different)
    log_p = np.split(scored.log_probs[place.reshape(-1)], np.cumsum([len(rows) for rows in heads])[:-1])
    return Tightness(
        np.logaddexp.accumulate(log_p[0]),
        np.logaddexp.accumulate(log_p[1]),
        importance_estimate(log_p[2], ways[2].log_probs),
        float(np.logaddexp.reduce(log_p[3])) if len(words) <= all_of else None,
        scored.entropy,
        max(0.0, 1 - math.fsum(np.exp(ways[0].log_probs))),
    )
