"""Comparison of the bound, a sum over K trees chosen in several ways, with log p(words) (section 4.1).

    result = tightness(model, words, arc_scores, 3000, random)
    result.best[299], result.sampled[299]       the bound of the 300 best trees, and of 300 drawn without replacement
    result.estimate                             log p(words), with an interval
    result.exact                                log p(words) over all trees, if they are few enough

The paper asks whether 300 trees are enough, and leaves it open: "it requires nontrivial work". The bounds for all K
come from one run, because the first K of more trees, best or drawn, are the trees that a run for K would give.

The estimate is the sum over these trees, which is exact, plus an importance-sampling estimate, from draws with
replacement, of the sum over all other trees. It is an unbiased estimate of p(words), and never less than the bound.
Trees that the model prefers may never be drawn from a confident parser; so a third of the draws come from the parser's
distribution, a third from one with half its arc scores, and a third from one with a quarter. With a very confident
parser the estimate is still too low in most cases, and its interval too narrow. `outside` counts the draws that are
not among these trees; if it is 0, nothing is known about the other trees.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dtglib.basics.errors import require
from dtglib.evaluate.likelihood import all_trees, score_trees
from dtglib.network.transformer import Transformer
from dtglib.parsing.projective import best_trees, different_samples, log_partition, samples
from dtgpapers.bounds.estimate import Estimate, importance_estimate

FLATTENED = (1.0, 0.5, 0.25)  # the factors of the arc scores in the three distributions


class Tightness(NamedTuple):
    """The bounds and the estimate for one sentence."""

    best: np.ndarray  # the bound over the K best trees, for K from 1 on
    sampled: np.ndarray  # the bound over the first K drawn trees
    estimate: Estimate
    exact: float | None
    outside: int  # the number of draws that are neither best nor sampled trees
    seen: float  # the bound over all trees that were scored
    entropy: float  # the entropy of the posterior over these trees
    unseen: float  # the parser's probability of all trees except its best ones


def tightness(
    model: Transformer,
    words: Sequence[str],
    arc_scores: np.ndarray,
    count: int,
    random: np.random.Generator,
    all_of: int = 6,
) -> Tightness:
    """Bounds of up to `count` trees, an estimate from `count` draws, and, up to `all_of` words, the exact value."""
    labelled = "all trees with one label for each arc do not sum to log p(words); use a model without labels"
    require(not model.vocabulary.symbols.labels, labelled)
    best, sampled = best_trees(arc_scores, count), different_samples(arc_scores, count, random)
    drawn, log_q = _mixed_draws(arc_scores, count, random)
    heads = [best.heads, sampled.heads, drawn]
    if len(words) <= all_of:
        heads.append(all_trees(len(words)))
    # A tree that occurs several times is scored once.
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
    """Draw trees, with replacement, from the parser's distribution and two flatter ones; also log q in the mixture."""
    each = -(-count // len(FLATTENED))
    heads = np.concatenate([samples(arc_scores * scale, each, random).heads for scale in FLATTENED])
    scores = arc_scores[heads, np.arange(1, len(arc_scores))].sum(axis=1)
    log_q = [scores * scale - log_partition(arc_scores * scale) for scale in FLATTENED]
    return heads, np.logaddexp.reduce(log_q) - math.log(len(FLATTENED))
