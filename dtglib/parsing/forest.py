"""Exact inference over forests: sums, the best trees, samples with and without replacement.

A forest has nodes, and each node a set of trees. A node has options; an option has a score, and at most two nodes that
come before it in the forest. A tree of a node is one of its options, with a tree of each of the option's nodes; its
score is the sum of its options' scores, and its probability is proportional to the exponential of its score. The trees
of the forest are those of the last node. Different choices must be different trees, so that choices can be enumerated
instead of trees. projective.py makes forests of dependency trees. A small forest has
two options for the whole, of which the second has a node with two options, so it has three trees:

    >>> forest = Forest(np.array([0, 2, 4]), np.log([1.0, 2.0, 3.0, 4.0]), np.array([-1, -1, -1, 0]), np.full(4, -1))
    >>> round(float(np.exp(log_partition(forest))))       # 3 + 4 * (1 + 2)
    15
    >>> best_trees(forest, 9).tolist()                    # the options of each tree, the best tree first
    [[3, 1], [3, 0], [2, -1]]

`best_trees` and `different_samples` use the same search. A tree is a sequence of choices, from the last node down.
Whenever a choice is made, the other options are kept as a set of trees, with a key. For best trees, it is the score of
the best tree in the set; for samples without replacement, the largest of the Gumbel-perturbed log-probabilities (Kool
et al. 2019), which can be drawn without enumerating the trees. The set with the largest key is opened next.
"""

import heapq
from typing import NamedTuple

import numpy as np

from dtglib.basics.jit import njit

NOTHING = -1  # in place of a node, or of a choice

# The value of a node: the sum over its trees (also for samples), or the best of them. These are numbers because a
# kernel with functions as arguments cannot be cached; see jit.py.
SUM, BEST = range(2)


class Forest(NamedTuple):
    """Nodes and their options; the nodes of an option come before its own node."""

    first: np.ndarray  # node n has the options first[n] up to first[n + 1]
    score: np.ndarray  # of each option
    left: np.ndarray  # the nodes of each option, or NOTHING
    right: np.ndarray


def log_partition(forest: Forest) -> float:
    """The logarithm of the sum of all trees' exponentials."""
    return float(_chart(forest, SUM)[-1])


def log_partition_and_marginals(forest: Forest) -> tuple[float, np.ndarray]:
    """`log_partition`, and the probability of every option, which is its gradient by the scores."""
    chart = _chart(forest, SUM)
    shares = _marginals(forest, chart) if chart[-1] > -np.inf else np.zeros_like(forest.score)
    return float(chart[-1]), shares


def samples(forest: Forest, count: int, random: np.random.Generator) -> np.ndarray:
    """Draw `count` trees with replacement, so the same tree may be drawn again; none, if no tree is possible."""
    chart = _chart(forest, SUM)
    return _samples(forest, chart, count if chart[-1] > -np.inf else 0, random)


def different_samples(forest: Forest, count: int, random: np.random.Generator) -> np.ndarray:
    """Draw `count` trees without replacement, in the order in which they are drawn; all trees, if there are fewer."""
    return _search(forest, _chart(forest, SUM), count, 0.0, SUM, random)


def best_trees(forest: Forest, count: int) -> np.ndarray:
    """The `count` trees with the highest scores, the best first; all trees, if there are fewer."""
    chart = _chart(forest, BEST)
    return _search(forest, chart, count, chart[-1], BEST, np.random.default_rng(0))


def scores_of(forest: Forest, choices: np.ndarray) -> np.ndarray:
    """The score of each tree, given as a row of options."""
    return np.where(choices == NOTHING, 0.0, forest.score[choices]).sum(axis=1)


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
def _options(forest, chart, node, out):
    """Write the score of each option of a node, including the nodes below, into `out`; return their number."""
    first, last = forest.first[node], forest.first[node + 1]
    for option in range(first, last):
        value = forest.score[option]
        for below in (forest.left[option], forest.right[option]):
            if below != NOTHING:
                value += chart[below]
        out[option - first] = value
    return last - first


@njit
def _room(forest):
    """The largest number of options of a node."""
    most = 0
    for node in range(len(forest.first) - 1):
        most = max(most, forest.first[node + 1] - forest.first[node])
    return most


@njit(nogil=True)
def _chart(forest, kind):
    """The combined score of all trees of every node."""
    nodes = len(forest.first) - 1
    chart, out = np.full(nodes, -np.inf), np.empty(_room(forest))
    for node in range(nodes):
        values = out[: _options(forest, chart, node, out)]
        if len(values):
            chart[node] = _log_sum(values) if kind == SUM else values.max()
    return chart


@njit(nogil=True)
def _marginals(forest, chart):
    """From the last node downwards, every node distributes its probability among its options."""
    nodes = len(forest.first) - 1
    inner, shares, out = np.zeros(nodes), np.zeros(len(forest.score)), np.empty(_room(forest))
    inner[-1] = 1.0
    for node in range(nodes - 1, -1, -1):
        if inner[node] == 0:
            continue
        count = _options(forest, chart, node, out)
        for number in range(count):
            option = forest.first[node] + number
            shares[option] = inner[node] * np.exp(out[number] - chart[node])
            for below in (forest.left[option], forest.right[option]):
                if below != NOTHING:
                    inner[below] += shares[option]
    return shares


@njit
def _places(forest):
    """The largest number of choices in a tree."""
    most = np.zeros(len(forest.first) - 1, np.int64)
    for node in range(len(most)):
        for option in range(forest.first[node], forest.first[node + 1]):
            choices = 1
            for below in (forest.left[option], forest.right[option]):
                if below != NOTHING:
                    choices += most[below]
            most[node] = max(most[node], choices)
    return most[-1]


@njit
def _go_on(forest, option, todo, depth):
    """Push the nodes of an option on the agenda; return the agenda's depth."""
    for below in (forest.left[option], forest.right[option]):
        if below != NOTHING:
            todo[depth] = below
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
def _samples(forest, chart, count, random):
    places = _places(forest)
    choices = np.full((count, places), NOTHING)
    todo, out = np.empty(places + 1, np.int64), np.empty(_room(forest))
    for number in range(count):
        todo[0] = len(chart) - 1
        depth, place = 1, 0
        while depth:
            node = todo[depth - 1]
            chosen = forest.first[node] + _draw(out[: _options(forest, chart, node, out)], random)
            choices[number, place] = chosen
            depth = _go_on(forest, chosen, todo, depth - 1)
            place += 1
    return choices


@njit
def _gumbel_of_rest(key, rest, before, span, random):
    """The largest perturbed log-probability of the trees that were not chosen: a Gumbel variable below `key`."""
    mass = before + _log_sum(rest) - span
    # mass - log(exp(mass - key) - log(uniform)), computed so that neither exponential overflows
    first, second = mass - key, np.log(-np.log(random.random()))
    larger = max(first, second)
    return mass - larger - np.log(np.exp(first - larger) + np.exp(second - larger))


@njit
def _exclude_taken(values, first, opened, taken, earlier):
    """Exclude the options that the opened set lacks, because earlier trees and sets have them."""
    while opened:
        values[taken[opened] - first] = -np.inf
        opened = earlier[opened]


@njit(nogil=True)
def _search(forest, chart, count, key_of_all, kind, random):
    """Repeatedly open the set of trees with the largest key, return its first tree, and divide the rest into sets.

    A set has the trees that make the same choices as an earlier tree up to some place, and there choose none of the
    options that were chosen before. Set 0 has all trees.
    """
    places = _places(forest)
    room = count * places + 1
    tree_of, place_of = np.zeros(room, np.int64), np.zeros(room, np.int64)
    # A set lacks the option `taken`, and the options that the set `earlier` lacks.
    taken, earlier = np.zeros(room, np.int64), np.zeros(room, np.int64)
    choices = np.full((count, places), NOTHING)
    todo, out = np.empty(places + 1, np.int64), np.empty(_room(forest))
    if chart[-1] == -np.inf:
        return choices[:0]
    sets, done, heap = 1, 0, [(-key_of_all, 0)]
    while heap and done < count:
        negative, opened = heapq.heappop(heap)
        key, shared = -negative, place_of[opened]
        for place in range(shared):
            choices[done, place] = choices[tree_of[opened], place]
        todo[0] = len(chart) - 1
        depth, place, log_prob = 1, 0, 0.0
        while depth:
            node = todo[depth - 1]
            first = forest.first[node]
            values = out[: _options(forest, chart, node, out)]
            span = chart[node]
            if place == shared:
                _exclude_taken(values, first, opened, taken, earlier)
            if place >= shared:
                choices[done, place] = first + (_draw(values, random) if kind == SUM else values.argmax())
            chosen = choices[done, place]
            value = values[chosen - first]
            values[chosen - first] = -np.inf
            if place >= shared and values.max() > -np.inf:
                if kind == SUM:
                    rest = _gumbel_of_rest(key, values, log_prob, span, random)
                else:
                    rest = key - value + values.max()
                tree_of[sets], place_of[sets], taken[sets] = done, place, chosen
                earlier[sets] = opened if place == shared else 0
                heapq.heappush(heap, (-rest, sets))
                sets += 1
            log_prob += value - span
            depth = _go_on(forest, chosen, todo, depth - 1)
            place += 1
        done += 1
    return choices[:done]
