"""Exact inference over projective trees with one root, from arc scores: sums, the best trees, samples with and without
replacement.

`scores[h, d]` is the score of the arc from head h to word d; 0 is ROOT, column 0 and the diagonal are ignored. A tree's
score is the sum of its arcs' scores, and its probability is proportional to the exponential of its score.

All functions use one chart (Eisner 1996). A tree is built from four kinds of spans: an arc between i and j, in either
direction, with all words between them; and a head with all its descendants on one side of it. Every tree has exactly
one derivation, which chooses where each span is split in two; so to enumerate choices is to enumerate trees.

    There is a difference       the whole: the root is "is" (2); left of it [1, 2], right of it [2, 4]
                                [2, 4]: the outermost dependent is "difference" (4): arc 2 -> 4, and nothing beyond
                                arc 2 -> 4: the words from 2 to 4 are split into 2 | a difference

    >>> scores, arcs = np.zeros((5, 5)), ((2, 0, 4, 2), (1, 2, 3, 4))
    >>> round(np.exp(log_partition(scores)))    # if all scores are 0, this counts the trees
    30
    >>> scores[arcs] = 3                        # the arcs of "There is a difference"
    >>> marginals(scores)[arcs].round(2)
    array([1.  , 0.99, 0.95, 0.99])

`best_trees` and `different_samples` use the same search. A tree is a sequence of choices, from the whole sentence down
to single words. Whenever a choice is made, the other options are kept as a set of trees, with a key. For best trees, it
is the score of the best tree in the set; for samples without replacement, the largest of the Gumbel-perturbed
log-probabilities (Kool et al. 2019), which can be drawn without enumerating the trees. The set with the largest key is
opened next.
"""

import heapq
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dtglib.basics.jit import njit

# The kinds of spans: an arc from i to j or from j to i, a head with its descendants to the right or left, the sentence.
ARC_RIGHT, ARC_LEFT, DONE_RIGHT, DONE_LEFT, WHOLE = range(5)

# What is computed for a set of trees: the sum over all (and samples), or the best. These are numbers because a kernel
# that takes functions as arguments cannot be cached; see jit.py.
SUM, BEST = range(2)


class Trees(NamedTuple):
    """Trees of one sentence, one per row, with their log-probabilities in the distribution over all trees."""

    heads: np.ndarray  # (trees, words)
    log_probs: np.ndarray


def how_many(words: int) -> int:
    """The number of projective trees with one root.

    >>> [how_many(words) for words in range(1, 7)]
    [1, 2, 7, 30, 143, 728]
    """
    return math.comb(3 * words - 2, words - 1) // words


def log_partition(scores: ArrayLike) -> float:
    """The logarithm of the sum of all trees' exponentials."""
    return float(_chart(_checked(scores), SUM)[1])


def marginals(scores: ArrayLike) -> np.ndarray:
    """The probability of every arc, as an array with the layout of `scores`."""
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
    """Draw `count` trees with replacement, so the same tree may be drawn again."""
    scores = _checked(scores)
    chart, total = _chart(scores, SUM)
    if total == -np.inf:
        count = 0
    return _with_probabilities(scores, _samples(scores, chart, count, random), total)


def different_samples(scores: ArrayLike, count: int, random: np.random.Generator) -> Trees:
    """Draw `count` trees without replacement, in the order in which they are drawn; all trees, if there are fewer."""
    scores = _checked(scores)
    count = min(count, how_many(len(scores) - 1))
    chart, total = _chart(scores, SUM)
    return _with_probabilities(scores, _search(scores, chart, count, 0.0, SUM, random), total)


def best_trees(scores: ArrayLike, count: int) -> Trees:
    """The `count` trees with the highest scores, the best first; all trees, if there are fewer."""
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
    """log(sum(exp(values))) without overflow."""
    largest = values.max()
    if largest == -np.inf:
        return largest
    total = 0.0
    for value in values:
        total += np.exp(value - largest)
    return largest + np.log(total)


@njit
def _over_all(values, asked):
    """Combine the scores of several sets of trees into one."""
    return _log_sum(values) if asked == SUM else values.max()


@njit
def _options(scores, chart, kind, i, j, out):
    """Write the score of each way to split a span in two into `out`; return their number."""
    if kind == WHOLE:
        for root in range(i, j + 1):
            out[root - i] = scores[0, root] + chart[DONE_LEFT, i, root] + chart[DONE_RIGHT, root, j]
        return j - i + 1
    for n in range(j - i):
        k = i + n
        if kind == DONE_RIGHT:  # the outermost dependent is k + 1
            out[n] = chart[ARC_RIGHT, i, k + 1] + chart[DONE_RIGHT, k + 1, j]
        elif kind == DONE_LEFT:  # the outermost dependent is k
            out[n] = chart[DONE_LEFT, i, k] + chart[ARC_LEFT, k, j]
        else:  # the words up to k belong to i
            out[n] = chart[DONE_RIGHT, i, k] + chart[DONE_LEFT, k + 1, j]
            out[n] += scores[i, j] if kind == ARC_RIGHT else scores[j, i]
    return j - i


@njit
def _parts(kind, i, j, option):
    """The two spans into which an option splits a span."""
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
    """The combined score of all options of every span, and of the whole sentence. Shorter spans come first."""
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
    """From the whole downwards, every span distributes its probability among the spans into which it may be split."""
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
    """Store the arc of a span, and push its parts, except single words, on the agenda; return the agenda's depth."""
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
    """Draw an option with a probability proportional to the exponential of its score."""
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
def _gumbel_of_rest(key, rest, before, span, random):
    """The largest perturbed log-probability of the trees that were not chosen: a Gumbel variable below `key`."""
    mass = before + _log_sum(rest) - span
    # mass - log(exp(mass - key) - log(uniform)), computed so that neither exponential overflows
    first, second = mass - key, np.log(-np.log(random.random()))
    larger = max(first, second)
    return mass - larger - np.log(np.exp(first - larger) + np.exp(second - larger))


@njit
def _exclude_taken(options, opened, taken, earlier):
    """Exclude the options that the opened set lacks, because trees with them were found, or put aside, before."""
    while opened:
        options[taken[opened]] = -np.inf
        opened = earlier[opened]


@njit(nogil=True)
def _search(scores, chart, count, key_of_all, asked, random):
    """Again and again, open the set of trees with the largest key, take its first tree, and put the rest aside.

    A set has the trees that make the same choices as an earlier tree up to some place, and there choose none of the
    options that were taken before. Set 0 has all trees.
    """
    words = len(scores) - 1
    places = 2 * words - 1  # one choice for the root, two for each other word
    room = count * places + 1
    tree_of, place_of = np.zeros(room, np.int64), np.zeros(room, np.int64)
    # A set lacks the option `taken`, and the options that the set `earlier` lacks.
    taken, earlier = np.zeros(room, np.int64), np.zeros(room, np.int64)
    choices, heads = np.zeros((count, places), np.int64), np.zeros((count, words), np.int64)
    todo, out = np.empty((words + 1, 3), np.int64), np.empty(words + 1)
    whole = _options(scores, chart, WHOLE, 1, words, out)
    if out[:whole].max() == -np.inf:
        return heads[:0]
    sets, found, heap = 1, 0, [(-key_of_all, 0)]
    while heap and found < count:
        negative, opened = heapq.heappop(heap)
        key, shared = -negative, place_of[opened]
        choices[found, :shared] = choices[tree_of[opened], :shared]
        todo[0] = WHOLE, 1, words
        depth, place, log_prob = 1, 0, 0.0
        while depth:
            kind, i, j = todo[depth - 1]
            options = out[: _options(scores, chart, kind, i, j, out)]
            span = chart[kind, i, j] if kind != WHOLE else _log_sum(options)
            if place == shared:
                _exclude_taken(options, opened, taken, earlier)
            if place >= shared:
                choices[found, place] = _draw(options, random) if asked == SUM else options.argmax()
            chosen = choices[found, place]
            value = options[chosen]
            options[chosen] = -np.inf
            if place >= shared and options.max() > -np.inf:
                if asked == SUM:
                    rest = _gumbel_of_rest(key, options, log_prob, span, random)
                else:
                    rest = key - value + options.max()
                tree_of[sets], place_of[sets], taken[sets] = found, place, chosen
                earlier[sets] = opened if place == shared else 0
                heapq.heappush(heap, (-rest, sets))
                sets += 1
            log_prob += value - span
            depth = _choose(kind, i, j, chosen, heads[found], todo, depth - 1)
            place += 1
        found += 1
    return heads[:found]
