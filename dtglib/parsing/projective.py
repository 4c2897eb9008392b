"""Exact inference over projective trees with one root, from arc scores: sums, the best trees, samples with and without
replacement.

`scores[h, d]` is the score of the arc from head h to word d; 0 is ROOT, column 0 and the diagonal are ignored. A tree's
score is the sum of its arcs' scores, and its probability is proportional to the exponential of its score.

All functions use one chart (Eisner 1996). A tree is built from four kinds of spans: an arc between i and j, in either
direction, with all words between them; and a head with all its descendants on one side of it. Every tree has exactly
one derivation, which chooses where each span is split in two, so that choices can be enumerated instead of trees.

    There is a difference       the whole: the root is "is" (2); left of it [1, 2], right of it [2, 4]
                                [2, 4]: the outermost dependent is "difference" (4): arc 2 -> 4, and no word after it
                                arc 2 -> 4: the words from 2 to 4 are split into 2 | a difference

    >>> scores, arcs = np.zeros((5, 5)), ((2, 0, 4, 2), (1, 2, 3, 4))
    >>> round(np.exp(log_partition(scores)))    # if all scores are 0, this counts the trees
    30
    >>> scores[arcs] = 3                        # the arcs of "There is a difference"
    >>> best_trees(scores, 1).heads.tolist()
    [[2, 0, 4, 2]]

The spans and their options are a forest, over which forest.py computes.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dtglib.basics.jit import njit
from dtglib.parsing import forest
from dtglib.parsing.forest import NOTHING, Forest

# The kinds of spans: an arc from i to j or from j to i, a head with its descendants to the right or left. The whole
# sentence comes last.
ARC_RIGHT, ARC_LEFT, DONE_RIGHT, DONE_LEFT = range(4)


class DependencyTrees(NamedTuple):
    """Trees of one sentence, one per row, with their log-probabilities in the distribution over all trees.

    If a parser labels arcs, each arc has its best label.
    """

    heads: np.ndarray  # (trees, words)
    log_probs: np.ndarray
    labels: np.ndarray | None = None  # (trees, words): the number of each arc's label
    names: Sequence[str] = ()  # of the labels

    @property
    def fills(self) -> str:
        """The field of a sentence that such trees belong to."""
        return "heads"

    def written(self, words: Sequence[str]) -> list[list[int]]:
        """The heads of each tree."""
        return self.heads.tolist()


class OverTrees(NamedTuple):
    """The distribution over the trees of one sentence, a `Distribution` (propose.py)."""

    scores: np.ndarray
    labels: np.ndarray | None = None  # labels[d, h]: the number of the best label of the arc from h to d
    names: Sequence[str] = ()

    def best_trees(self, count: int) -> DependencyTrees:
        """The trees of the function `best_trees`, with labels."""
        return self.labelled(best_trees(self.scores, count))

    def different_samples(self, count: int, random: np.random.Generator) -> DependencyTrees:
        """The trees of the function `different_samples`, with labels."""
        return self.labelled(different_samples(self.scores, count, random))

    def labelled(self, trees: DependencyTrees) -> DependencyTrees:
        """The same trees with the best label of each arc."""
        if self.labels is None:
            return trees
        words = np.arange(1, len(self.scores))
        return trees._replace(labels=self.labels[words, trees.heads], names=self.names)


def how_many(words: int) -> int:
    """The number of projective trees with one root.

    >>> [how_many(words) for words in range(1, 7)]
    [1, 2, 7, 30, 143, 728]
    """
    return math.comb(3 * words - 2, words - 1) // words


def log_partition(scores: ArrayLike) -> float:
    """The logarithm of the sum of all trees' exponentials."""
    return forest.log_partition(_forest(_checked(scores)).forest)


def samples(scores: ArrayLike, count: int, random: np.random.Generator) -> DependencyTrees:
    """Draw `count` trees with replacement, so the same tree may be drawn again."""
    of_scores = _forest(_checked(scores))
    return _trees(of_scores, forest.samples(of_scores.forest, count, random))


def different_samples(scores: ArrayLike, count: int, random: np.random.Generator) -> DependencyTrees:
    """Draw `count` trees without replacement, in the order in which they are drawn; all trees, if there are fewer."""
    of_scores = _forest(_checked(scores))
    count = min(count, how_many(of_scores.words))
    return _trees(of_scores, forest.different_samples(of_scores.forest, count, random))


def best_trees(scores: ArrayLike, count: int) -> DependencyTrees:
    """The `count` trees with the highest scores, the best first; all trees, if there are fewer."""
    of_scores = _forest(_checked(scores))
    return _trees(of_scores, forest.best_trees(of_scores.forest, min(count, how_many(of_scores.words))))


def _checked(scores: ArrayLike) -> np.ndarray:
    scores = np.ascontiguousarray(scores, np.float64)
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1] or len(scores) < 2:
        raise ValueError(f"scores[head, word] must be a square with ROOT and a word at least, not {scores.shape}")
    if np.isnan(scores).any() or np.isposinf(scores).any():
        raise ValueError("an arc's score must be a number, or minus infinity where there can be no arc")
    return scores


class _OfArcs(NamedTuple):
    """The forest of a sentence, and the arc of each option, or NOTHING."""

    forest: Forest
    head: np.ndarray
    word: np.ndarray
    words: int


def _forest(scores: np.ndarray) -> _OfArcs:
    words = len(scores) - 1
    # For each pair of words i < j, four nodes with j - i options each; and the whole, with an option for each root.
    spans = words * (words - 1) // 2
    options = 4 * ((words - 1) * words * (words + 1) // 6) + words
    first, score = np.zeros(4 * spans + 2, np.int64), np.empty(options)
    left, right, head, word = np.empty((4, options), np.int64)
    _fill(scores, first, score, left, right, head, word)
    return _OfArcs(Forest(first, score, left, right), head, word, words)


def _trees(of_scores: _OfArcs, choices: np.ndarray) -> DependencyTrees:
    """The trees of rows of choices, with their log-probabilities."""
    log_probs = forest.scores_of(of_scores.forest, choices) - forest.log_partition(of_scores.forest)
    return DependencyTrees(_heads(choices, of_scores.head, of_scores.word, of_scores.words), log_probs)


@njit(nogil=True)
def _heads(choices, head, word, words):
    heads = np.zeros((len(choices), words), np.int64)
    for tree in range(len(choices)):
        for option in choices[tree]:
            if option != NOTHING and word[option] != NOTHING:
                heads[tree, word[option] - 1] = head[option]
    return heads


@njit
def _number(kind, i, j, words):
    """The number of a span's node; shorter spans come first. A single word has none: nothing is chosen in it."""
    if i == j:
        return NOTHING
    width = j - i  # before it come, for each smaller width w, words - w spans
    before = (width - 1) * words - width * (width - 1) // 2
    return 4 * (before + i - 1) + kind


@njit(nogil=True)
def _fill(scores, first, score, left, right, head, word):
    """Write the options of all spans."""
    words, node, at = len(scores) - 1, 0, 0
    for width in range(1, words):
        for i in range(1, words - width + 1):
            j = i + width
            for kind in (ARC_RIGHT, ARC_LEFT, DONE_RIGHT, DONE_LEFT):
                for k in range(i, j):
                    score[at], head[at], word[at] = 0.0, NOTHING, NOTHING
                    if kind == DONE_RIGHT:  # the outermost dependent is k + 1
                        left[at], right[at] = _number(ARC_RIGHT, i, k + 1, words), _number(DONE_RIGHT, k + 1, j, words)
                    elif kind == DONE_LEFT:  # the outermost dependent is k
                        left[at], right[at] = _number(DONE_LEFT, i, k, words), _number(ARC_LEFT, k, j, words)
                    else:  # the words up to k belong to i
                        left[at], right[at] = _number(DONE_RIGHT, i, k, words), _number(DONE_LEFT, k + 1, j, words)
                        head[at], word[at] = (i, j) if kind == ARC_RIGHT else (j, i)
                        score[at] = scores[head[at], word[at]]
                    at += 1
                node += 1
                first[node] = at
    for root in range(1, words + 1):
        left[at], right[at] = _number(DONE_LEFT, 1, root, words), _number(DONE_RIGHT, root, words, words)
        score[at], head[at], word[at] = scores[0, root], 0, root
        at += 1
    first[node + 1] = at
