"""Exact inference over labelled constituency trees, from scores of labelled spans.

`scores[i, j, l]` is the score of a constituent with label l over the words i + 1 to j; label 0 means that there is no
constituent: it scores a single word without one, and what binarisation leaves between. A label may stand for a chain of
constituents over the same words (parsers name them S+VP). A tree's score is the sum of its spans' scores, and its
probability is proportional to the exponential of its score.

Trees are binarised to the left: a constituent's children are joined from the left, and what is joined so far has label
0. So a span of several words has label 0 only as a left part, and every tree has one binarised form:

    (S (NP There) (VP is (NP a difference)))      There | [is | [a | difference]]       spans (0, 1) NP, (1, 4) VP, ...
    (NP a big difference)                         [a | big] | difference                (0, 2) has label 0

    >>> scores = np.zeros((5, 5, 2))          # four words, one label: if all scores are 0, this counts the trees
    >>> [round(np.exp(log_partition_and_marginals(scores[:n, :n])[0])) for n in (2, 3, 4, 5)]
    [1, 4, 24, 176]
    >>> scores[0, 2, 1] = 3.0
    >>> log_partition_and_marginals(scores)[1][0, 2].round(2).tolist()
    [0.04, 0.88]

The spans and their options are a forest, over which forest.py computes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dtglib.basics.jit import njit
from dtglib.parsing import forest
from dtglib.parsing.forest import NOTHING, Forest

# The kinds of nodes of a span: its splits in two, what may be a right part (or the whole), what may be a left part.
SPLIT, RIGHT, LEFT = range(3)


class Bracketings(NamedTuple):
    """Trees of one sentence, with their log-probabilities in the distribution over all trees."""

    spans: np.ndarray  # (trees, most, 3): first, last and label of each constituent, outer ones first; else NOTHING
    log_probs: np.ndarray


def binarised(spans: Sequence[tuple[int, int, int]], words: int) -> list[tuple[int, int, int]]:
    """All spans whose scores a tree's score is the sum of: its constituents, and those of label 0.

    The constituents are given from left to right, outer ones first.

    >>> binarised([(0, 4, 3), (0, 3, 1)], words=4)      # of (S (NP a big difference) matters)
    [(0, 4, 3), (0, 3, 1), (0, 1, 0), (1, 2, 0), (0, 2, 0), (2, 3, 0), (3, 4, 0)]
    """
    below = list(spans[::-1])  # the next constituent comes last

    def with_parts(span: tuple[int, int, int]) -> list[tuple[int, int, int]]:
        first, last, _ = span
        parts, at = [span], first
        while at < last and last - first > 1:
            is_constituent = below and below[-1][0] == at and below[-1][1] <= last
            child = below.pop() if is_constituent else (at, at + 1, 0)
            parts += with_parts(child)
            if first < at and child[1] < last:
                parts.append((first, child[1], 0))
            at = child[1]
        return parts

    return with_parts(below.pop())


def log_partition_and_marginals(scores: ArrayLike) -> tuple[float, np.ndarray]:
    """The logarithm of the sum of all trees' exponentials, and the probability of every labelled span.

    The probabilities have the layout of the scores, by which they are the gradient of the sum's logarithm.
    """
    scores = _checked(scores)
    of_scores = _forest(scores)
    total, shares = forest.log_partition_and_marginals(of_scores.forest)
    has_span = of_scores.span != NOTHING
    # bincount adds up several times faster than np.add.at.
    found = np.bincount(of_scores.span[has_span], shares[has_span], minlength=scores.size)
    return total, found.reshape(scores.shape)


def different_samples(scores: ArrayLike, count: int, random: np.random.Generator) -> Bracketings:
    """Draw `count` trees without replacement, in the order in which they are drawn; all trees, if there are fewer."""
    of_scores = _forest(_checked(scores))
    return _bracketings(of_scores, forest.different_samples(of_scores.forest, count, random))


def best_trees(scores: ArrayLike, count: int) -> Bracketings:
    """The `count` trees with the highest scores, the best first; all trees, if there are fewer."""
    of_scores = _forest(_checked(scores))
    return _bracketings(of_scores, forest.best_trees(of_scores.forest, count))


def _checked(scores: ArrayLike) -> np.ndarray:
    scores = np.ascontiguousarray(scores, np.float64)
    if scores.ndim != 3 or scores.shape[0] != scores.shape[1] or len(scores) < 2 or scores.shape[2] < 2:
        raise ValueError(f"scores[i, j, label] need a word and a label besides 0 at least, not {scores.shape}")
    if np.isnan(scores).any() or np.isposinf(scores).any():
        raise ValueError("a span's score must be a number, or minus infinity where there can be none")
    return scores


class _OfSpans(NamedTuple):
    """The forest of a sentence, and the labelled span of each option, as an index into the scores, or NOTHING."""

    forest: Forest
    span: np.ndarray
    shape: tuple[int, ...]


def _forest(scores: np.ndarray) -> _OfSpans:
    words, labels = len(scores) - 1, scores.shape[2]
    spans = words * (words + 1) // 2
    splits = (words - 1) * words * (words + 1) // 6
    # Right parts have a label, or are single words without one; left parts are right parts, or have label 0.
    most = splits + spans * labels + 2 * spans
    first, score = np.zeros(3 * spans, np.int64), np.empty(most)
    left, right, span = np.empty((3, most), np.int64)
    options = _fill(scores, first, score, left, right, span)
    return _OfSpans(Forest(first, score[:options], left[:options], right[:options]), span[:options], scores.shape)


def _bracketings(of_scores: _OfSpans, choices: np.ndarray) -> Bracketings:
    """The trees of rows of choices, with their log-probabilities."""
    log_probs = forest.scores_of(of_scores.forest, choices) - forest.log_partition(of_scores.forest)
    words, labels = of_scores.shape[0] - 1, of_scores.shape[2]
    return Bracketings(_spans(choices, of_scores.span, words, labels), log_probs)


@njit(nogil=True)
def _spans(choices, span, words, labels):
    """The constituents of each tree."""
    spans = np.full((len(choices), 2 * words - 1, 3), NOTHING)
    most = 0
    for tree in range(len(choices)):
        count = 0
        for option in choices[tree]:
            if option == NOTHING or span[option] == NOTHING or span[option] % labels == 0:
                continue
            place, label = divmod(span[option], labels)
            spans[tree, count, 0], spans[tree, count, 1] = place // (words + 1), place % (words + 1)
            spans[tree, count, 2] = label
            count += 1
        most = max(most, count)
    return spans[:, :most]


@njit
def _number(kind, i, j, words):
    """The number of a node; shorter spans come first."""
    width = j - i
    before = (width - 1) * words - (width - 1) * (width - 2) // 2
    return 3 * (before + i) + kind


@njit(nogil=True)
def _fill(scores, first, score, left, right, span):
    """Write the options of all spans; return their number. The last node is the whole, which must have a label."""
    words, labels, node, at = len(scores) - 1, scores.shape[2], 0, 0
    for width in range(1, words + 1):
        for i in range(words - width + 1):
            j = i + width
            for k in range(i + 1, j):
                left[at], right[at] = _number(LEFT, i, k, words), _number(RIGHT, k, j, words)
                score[at], span[at] = 0.0, NOTHING
                at += 1
            first[node + 1] = at
            inside = _number(SPLIT, i, j, words) if width > 1 else NOTHING
            for label in range(0 if width == 1 and words > 1 else 1, labels):
                left[at], right[at] = inside, NOTHING
                score[at], span[at] = scores[i, j, label], (i * (words + 1) + j) * labels + label
                at += 1
            first[node + 2] = at
            if width == words:
                break
            left[at], right[at], score[at], span[at] = _number(RIGHT, i, j, words), NOTHING, 0.0, NOTHING
            at += 1
            if width > 1:
                left[at], right[at] = inside, NOTHING
                score[at], span[at] = scores[i, j, 0], (i * (words + 1) + j) * labels
                at += 1
            node += 3
            first[node] = at
    return at
