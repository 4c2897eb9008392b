"""How tight is the bound? The sum over K trees against log p(words), and which K trees (the paper's section 4.1).

    found = tightness(model, words, arc_scores, 3000, random)
    found.best[299], found.sampled[299]         the bound of the 300 best trees, and of 300 drawn without replacement
    found.estimate                              log p(words), with an interval
    found.exact                                 log p(words) over all trees, where they are few enough

The paper asks whether 300 trees are enough, and leaves it open: "it requires nontrivial work". The bounds of all K
come from one run, because the first K of more trees, best or drawn, are what one would get if one asked for K.

The estimate adds to the sum over these trees, which is certain, what draws with replacement find outside of them. It is
right on average, and no less than the bound. A parser that is sure of itself would never draw what the model may like
better; so a third of the draws come from the parser's distribution, a third from one with half its arc scores, a third
from one with a quarter. For a very sure parser it is too low all the same, mostly, and its interval too narrow. Where
no draw falls outside, nothing is known of what is there: `outside` says how many did.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dtglib.model import Model
from dtglib.proposals.projective import best_trees, different_samples, log_partition, samples
from dtglib.scores import Estimate, all_trees, importance_estimate, score_trees

FLATTENED = (1.0, 0.5, 0.25)  # by what the arc scores are multiplied


class Tightness(NamedTuple):
    """Of one sentence."""

    best: np.ndarray  # the bound of the first K trees, for K from 1 on
    sampled: np.ndarray
    estimate: Estimate
    exact: float | None
    outside: int  # draws that are none of the best and of the sampled trees
    seen: float  # the bound of all trees that were looked at
    entropy: float  # of the posterior among these
    unseen: float  # what the parser itself gives to all trees but its best ones


def tightness(
    model: Model, words: Sequence[str], arc_scores: np.ndarray, count: int, random: np.random.Generator, all_of: int = 6
) -> Tightness:
    """Bounds of up to `count` trees, an estimate of so many draws, and, up to `all_of` words, the exact value."""
    best, sampled = best_trees(arc_scores, count), different_samples(arc_scores, count, random)
    drawn, log_q = _mixed_draws(arc_scores, count, random)
    heads = [best.heads, sampled.heads, drawn]
    if len(words) <= all_of:
        heads.append(all_trees(len(words)))
    # A tree that several ways have is scored once.
    different, place = np.unique(np.concatenate(heads), axis=0, return_inverse=True)
    scored = score_trees(model, words, different)
    places = np.split(place.reshape(-1), np.cumsum([len(rows) for rows in heads])[:-1])
    log_p = [scored.log_probs[numbers] for numbers in places]
    inside = np.union1d(places[0], places[1])
    outside = ~np.isin(places[2], inside)
    known = float(np.logaddexp.reduce(scored.log_probs[inside]))
    return Tightness(
        np.logaddexp.accumulate(log_p[0]),
        np.logaddexp.accumulate(log_p[1]),
        importance_estimate(np.where(outside, log_p[2], -np.inf), log_q, known),
        float(np.logaddexp.reduce(log_p[3])) if len(words) <= all_of else None,
        int(outside.sum()),
        scored.bound,
        scored.entropy,
        max(0.0, 1 - math.fsum(np.exp(best.log_probs))),
    )


def _mixed_draws(arc_scores: np.ndarray, count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Trees drawn with replacement from the parser's distribution and two flatter ones, and log q of each by all."""
    each = -(-count // len(FLATTENED))
    heads = np.concatenate([samples(arc_scores * scale, each, random).heads for scale in FLATTENED])
    scores = arc_scores[heads, np.arange(1, len(arc_scores))].sum(axis=1)
    log_q = [scores * scale - log_partition(arc_scores * scale) for scale in FLATTENED]
    return heads, np.logaddexp.reduce(log_q) - math.log(len(FLATTENED))
