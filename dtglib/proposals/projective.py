"""Projective trees with one root, from arc scores, exactly: sums, the best, samples, and many different ones.

`scores[h, d]` is the score of the arc from head h to word d; 0 is ROOT, column 0 and the diagonal mean nothing. A tree
scores the sum of its arcs, and a distribution over trees gives each its exponential, divided by that of all.

All of this stands on one chart (Eisner 1996). A tree is built of four kinds of spans: an arc between i and j with what
lies between them, to either side, and a head with all that hangs from it on one side of it. Every tree is put together
in just one way, by choosing where each span falls into two; so to enumerate choices is to enumerate trees.

    There is a difference       the whole: the root is "is" (2); left of it [1, 2], right of it [2, 4]
                                [2, 4]: the outermost dependent is "difference" (4): arc 2 -> 4, and nothing beyond
                                arc 2 -> 4: between 2 and 4 the words fall into 2 | a difference

    >>> scores, arcs = np.zeros((5, 5)), ((2, 0, 4, 2), (1, 2, 3, 4))
    >>> round(np.exp(log_partition(scores)))    # where all scores are 0, trees are counted
    30
    >>> scores[arcs] = 3                        # the arcs of "There is a difference"
    >>> marginals(scores)[arcs].round(2)
    array([1.  , 0.99, 0.95, 0.99])

`best_trees` and `different_samples` are one search. A tree is a row of choices, from the whole down to single words.
Whenever a choice is made, what was not chosen is put aside as a set of trees, with a number: for the best trees the
score of the best of them; for samples without replacement the largest of their Gumbel-perturbed log-probabilities
(Kool et al. 2019), which can be drawn without looking at them. The set with the largest number is opened next.
"""

import heapq
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dtglib.jit import njit

# The kinds of spans: an arc from i to j or from j to i, a head with what hangs to its right or left, and the whole.
ARC_RIGHT, ARC_LEFT, DONE_RIGHT, DONE_LEFT, WHOLE = range(5)

# What is asked of a set of trees: the sum of all, and samples by it, or the best. (Numbers, since a kernel that is
# handed functions could not be kept; see jit.py.)
SUM, BEST = range(2)


class Trees(NamedTuple):
    """Trees of one sentence, a row each, and the log-probability of each among all trees."""

    heads: np.ndarray  # (trees, words)
    log_probs: np.ndarray


def how_many(words: int) -> int:
    """How many trees there are.

    >>> [how_many(words) for words in range(1, 7)]
    [1, 2, 7, 30, 143, 728]
    """
    return math.comb(3 * words - 2, words - 1) // words


def log_partition(scores: ArrayLike) -> float:
    """The logarithm of the sum of all trees' exponentials."""
    return float(_chart(_checked(scores), SUM)[1])


def marginals(scores: ArrayLike) -> np.ndarray:
    """The probability of every arc, in the places of `scores`."""
    scores = _checked(scores)
    chart, total = _chart(scores, SUM)
    return _marginals(scores, chart, total) if total > -np.inf else np.zeros_like(scores)


def best_tree(scores: ArrayLike) -> np.ndarray:
    """The heads of the tree with the highest score."""
    found = best_trees(scores, 1).heads
    if not len(found):
        raise ValueError("the scores leave no projective tree with one root: too many arcs are minus infinity")
    return found[0]


def samples(scores: ArrayLike, count: int, random: np.random.Generator) -> Trees:
    """So many trees, each drawn by itself: the same one may come again."""
    scores = _checked(scores)
    chart, total = _chart(scores, SUM)
    if total == -np.inf:
        count = 0
    return _with_probabilities(scores, _samples(scores, chart, count, random), total)


def different_samples(scores: ArrayLike, count: int, random: np.random.Generator) -> Trees:
    """So many different trees, drawn without replacement, in the order in which they come; all, if there are fewer."""
    scores = _checked(scores)
    count = min(count, how_many(len(scores) - 1))
    chart, total = _chart(scores, SUM)
    return _with_probabilities(scores, _search(scores, chart, count, 0.0, SUM, random), total)


def best_trees(scores: ArrayLike, count: int) -> Trees:
    """The so many trees with the highest scores, the best first; all, if there are fewer."""
    scores = _checked(scores)
    count = min(count, how_many(len(scores) - 1))
    total = log_partition(scores)
    chart, best = _chart(scores, BEST)
    nothing_random = np.random.default_rng(0)
    found = _search(scores, chart, count, best, BEST, nothing_random)
    return _with_probabilities(scores, found, total)


def _checked(scores: ArrayLike) -> np.ndarray:
    scores = np.ascontiguousarray(scores, np.float64)
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1] or len(scores) < 2:
        raise ValueError(f"scores[head, word] must be a square with ROOT and a word at least, not {scores.shape}")
    if np.isnan(scores).any() or np.isposinf(scores).any():
        raise ValueError("an arc's score must be a number, or minus infinity where there can be no arc")
    return scores


def _with_probabilities(scores: np.ndarray, heads: np.ndarray, total: float) -> Trees:
    words = np.arange(1, len(scores))
    return Trees(heads, scores[heads, words].sum(axis=1) - total)


@njit
def _log_sum(values):
    """log(sum(exp(values))), whatever their size."""
    largest = values.max()
    if largest == -np.inf:
        return largest
    total = 0.0
    for value in values:
        total += np.exp(value - largest)
    return largest + np.log(total)


@njit
def _over_all(values, asked):
    """The score of several sets of trees together."""
    return _log_sum(values) if asked == SUM else values.max()


@njit
def _options(scores, chart, kind, i, j, out):
    """The score of each way in which a span falls into two; returns how many there are."""
    if kind == WHOLE:
        for root in range(i, j + 1):
            out[root - i] = scores[0, root] + chart[DONE_LEFT, i, root] + chart[DONE_RIGHT, root, j]
        return j - i + 1
    for n in range(j - i):
        k = i + n
        if kind == DONE_RIGHT:  # the outermost dependent is k + 1
            out[n] = chart[ARC_RIGHT, i, k + 1] + chart[DONE_RIGHT, k + 1, j]
        elif kind == DONE_LEFT:  # it is k
            out[n] = chart[DONE_LEFT, i, k] + chart[ARC_LEFT, k, j]
        else:  # words up to k hang from i
            out[n] = chart[DONE_RIGHT, i, k] + chart[DONE_LEFT, k + 1, j]
            out[n] += scores[i, j] if kind == ARC_RIGHT else scores[j, i]
    return j - i


@njit
def _parts(kind, i, j, option):
    """The two spans into which a span falls."""
    k = i + option
    if kind == WHOLE:
        return (DONE_LEFT, i, k), (DONE_RIGHT, k, j)
    if kind == DONE_RIGHT:
        return (ARC_RIGHT, i, k + 1), (DONE_RIGHT, k + 1, j)
    if kind == DONE_LEFT:
        return (DONE_LEFT, i, k), (ARC_LEFT, k, j)
    return (DONE_RIGHT, i, k), (DONE_LEFT, k + 1, j)


@njit(nogil=True)
def _chart(scores, asked):
    """For every span the score of all its options together, and the same for the whole. Shorter spans come first."""
    size = len(scores)
    chart = np.full((4, size, size), -np.inf)
    out = np.empty(size)
    for i in range(1, size):
        chart[DONE_RIGHT, i, i] = chart[DONE_LEFT, i, i] = 0.0
    for width in range(1, size - 1):
        for i in range(1, size - width):
            for kind in (ARC_RIGHT, ARC_LEFT, DONE_RIGHT, DONE_LEFT):
                count = _options(scores, chart, kind, i, i + width, out)
                chart[kind, i, i + width] = _over_all(out[:count], asked)
    count = _options(scores, chart, WHOLE, 1, size - 1, out)
    return chart, _over_all(out[:count], asked)


@njit(nogil=True)
def _marginals(scores, chart, total):
    """From the whole downwards, every span hands its probability on to the spans into which it may fall."""
    size = len(scores)
    inner = np.zeros((4, size, size))
    arcs = np.zeros((size, size))
    out = np.empty(size)
    count = _options(scores, chart, WHOLE, 1, size - 1, out)
    for option in range(count):
        share = np.exp(out[option] - total)
        arcs[0, option + 1] = share
        for kind, i, j in _parts(WHOLE, 1, size - 1, option):
            inner[kind, i, j] += share
    for width in range(size - 2, 0, -1):
        for i in range(1, size - width):
            j = i + width
            for kind in (DONE_LEFT, DONE_RIGHT, ARC_LEFT, ARC_RIGHT):
                if inner[kind, i, j] == 0:
                    continue
                count = _options(scores, chart, kind, i, j, out)
                for option in range(count):
                    share = inner[kind, i, j] * np.exp(out[option] - chart[kind, i, j])
                    for part, first, last in _parts(kind, i, j, option):
                        inner[part, first, last] += share
            arcs[i, j], arcs[j, i] = inner[ARC_RIGHT, i, j], inner[ARC_LEFT, i, j]
    return arcs


@njit
def _choose(kind, i, j, option, heads, todo, depth):
    """Note the arc of a span, and put its parts on the agenda, unless they are single words; returns its new depth."""
    if kind == WHOLE:
        heads[i + option - 1] = 0
    elif kind == ARC_RIGHT:
        heads[j - 1] = i
    elif kind == ARC_LEFT:
        heads[i - 1] = j
    for part, first, last in _parts(kind, i, j, option):
        if first < last:
            todo[depth] = part, first, last
            depth += 1
    return depth


@njit
def _draw(values, random):
    """An option with a probability in proportion to the exponential of its score."""
    largest = values.max()
    left = 0.0
    for value in values:
        left += np.exp(value - largest)
    left *= random.random()
    chosen = 0
    for option in range(len(values)):
        if values[option] > -np.inf:
            chosen = option
            left -= np.exp(values[option] - largest)
            if left < 0:
                break
    return chosen


@njit(nogil=True)
def _samples(scores, chart, count, random):
    words = len(scores) - 1
    heads = np.zeros((count, words), np.int64)
    todo, out = np.empty((words + 1, 3), np.int64), np.empty(words + 1)
    for number in range(count):
        todo[0] = WHOLE, 1, words
        depth = 1
        while depth:
            kind, i, j = todo[depth - 1]
            options = _options(scores, chart, kind, i, j, out)
            chosen = _draw(out[:options], random)
            depth = _choose(kind, i, j, chosen, heads[number], todo, depth - 1)
    return heads


@njit
def _gumbel_of_rest(number, rest, before, span, random):
    """The largest perturbed log-probability of the trees that were not chosen: a Gumbel variable below `number`."""
    mass = before + _log_sum(rest) - span
    # mass - log(exp(mass - number) - log(uniform)), with neither exponential too large
    first, second = mass - number, np.log(-np.log(random.random()))
    larger = max(first, second)
    return mass - larger - np.log(np.exp(first - larger) + np.exp(second - larger))


@njit(nogil=True)
def _search(scores, chart, count, number_of_all, asked, random):
    """Open the set of trees with the largest number, take its first tree, put aside what remains; again and again.

    A set is: the choices of an earlier tree up to some place, and the options there that were taken before.
    """
    words = len(scores) - 1
    places = 2 * words - 1  # a choice for the root, two for each other word
    room = count * places + 1
    tree_of, place_of = np.zeros(room, np.int64), np.zeros(room, np.int64)
    earlier, taken = np.full(room, -1), np.full(room, -1)  # the set of which this is the rest, and what it lacks
    choices = np.zeros((count, places), np.int64)
    heads = np.zeros((count, words), np.int64)
    todo, out = np.empty((words + 1, 3), np.int64), np.empty(words + 1)
    start = _options(scores, chart, WHOLE, 1, words, out)
    if out[:start].max() == -np.inf:
        return heads[:0]
    sets, found = 1, 0
    heap = [(-number_of_all, 0)]
    while heap and found < count:
        negative, opened = heapq.heappop(heap)
        number = -negative
        choices[found, : place_of[opened]] = choices[tree_of[opened], : place_of[opened]]
        todo[0] = WHOLE, 1, words
        depth, place, log_prob = 1, 0, 0.0
        while depth:
            kind, i, j = todo[depth - 1]
            options = _options(scores, chart, kind, i, j, out)
            span = chart[kind, i, j] if kind != WHOLE else _log_sum(out[:options])
            if place < place_of[opened]:
                chosen = choices[found, place]
                log_prob += out[chosen] - span
            else:
                lacking = -1
                if place == place_of[opened]:
                    lacking = opened
                    at = opened
                    while taken[at] >= 0:
                        out[taken[at]] = -np.inf
                        at = earlier[at]
                chosen = _draw(out[:options], random) if asked == SUM else out[:options].argmax()
                value = out[chosen]
                out[chosen] = -np.inf
                if out[:options].max() > -np.inf:
                    if asked == SUM:
                        rest = _gumbel_of_rest(number, out[:options], log_prob, span, random)
                    else:
                        rest = number - value + out[:options].max()
                    tree_of[sets], place_of[sets], taken[sets] = found, place, chosen
                    earlier[sets] = lacking
                    heapq.heappush(heap, (-rest, sets))
                    sets += 1
                choices[found, place] = chosen
                log_prob += value - span
            depth = _choose(kind, i, j, chosen, heads[found], todo, depth - 1)
            place += 1
        found += 1
    return heads[:found]
