"""The feature tape: four integers for every pair of words, from a graph that grows word by word (paper, section 3.3).

Once a word has its arcs, it is the current one, and every word so far has, as the current one sees it,

    degree      10 for each of its dependents, and 1 for each of its heads
    distance    of the cheapest path from the current word to it: a step to a dependent costs 10, to a head 1;
                0 for itself, and for what cannot be reached
    depth       in steps, whatever their direction, from the first word of its component ("paper")
    subgraph    1, 2, 3, ... for the words without a head, from right to left; 0 for words with a head. The paper counts
                subgraphs; that is the same where each subgraph has exactly one word without a head

with values above 150 cut to 150. For 3 words with the arcs 2->1 and 2->3 (ROOT's left out), after the last word:

    >>> tape = tapes(Graph.of(3, [(2, 1), (2, 3)]))
    >>> tape.shape, tape[3, :, 1:].tolist()
    ((4, 4, 4), [[1, 20, 1], [11, 1, 0], [0, 1, 2], [0, 1, 0]])

A tape has a row for each current word, and row 0 for the beginning; its columns are ROOT's and the words'. An arc of
ROOT counts in degrees, and a word that has one has a head; paths do not lead through ROOT. There is another reading of
depth, that of the published code ("root"): ROOT has depth 1, its dependents 2, and so on, and what cannot be reached
from ROOT has 0; but as long as ROOT has no dependent, each component begins with 1.

`add` and `look` are all there is, in training and in a search: a search has a row of `Growing` for each hypothesis. A
new arc costs O(1); a look costs O(words + arcs), for two passes from word to word.
"""

from typing import NamedTuple

import numpy as np

from dtglib.basics.jit import njit
from dtglib.basics.shapes import Bool, Int
from dtgpapers.gilt.graphs import Graph

FEATURES = ("degree", "distance", "depth", "subgraph")
DEGREE, DISTANCE, DEPTH, SUBGRAPH = range(len(FEATURES))
TO_DEPENDENT, TO_HEAD = 10, 1
MOST = 150  # the largest value of a feature
DEPTHS = {"paper": False, "root": True}  # whether depth is counted from ROOT

NOTHING = -1


class Growing(NamedTuple):
    """Many graphs that grow, a row each. Arc a is two half-arcs: 2a leaves its head, and 2a + 1 its dependent."""

    arc: Int[np.ndarray, "B A 2"]  # head and dependent
    following: Int[np.ndarray, "B H"]  # the half-arc that left the same node before this one
    latest: Int[np.ndarray, "B N"]  # the last half-arc that leaves each node
    count: Int[np.ndarray, " B"]  # type: ignore[assignment]  # of arcs
    degree: Int[np.ndarray, "B N"]
    has_head: Bool[np.ndarray, "B N"]


def growing(rows: int, words: int, arcs: int) -> Growing:
    """Graphs without arcs, with room for so many words and arcs."""
    nodes = rows, words + 1
    return Growing(
        arc=np.zeros((rows, arcs, 2), np.int32),
        following=np.zeros((rows, 2 * arcs), np.int32),
        latest=np.full(nodes, NOTHING, np.int32),
        count=np.zeros(rows, np.int32),
        degree=np.zeros(nodes, np.int32),
        has_head=np.zeros(nodes, np.bool_),
    )


def tapes(graph: Graph, depth: str = "paper") -> Int[np.ndarray, "N F N"]:
    """The tape of a whole sentence."""
    nodes = graph.words + 1
    out = np.zeros((nodes, len(FEATURES), nodes), np.int16)
    _fill(growing(1, graph.words, len(graph.arcs)), 0, graph.arcs, DEPTHS[depth], out)
    return out


@njit
def _fill(graphs, row, arcs, depth_from_root, out):
    added = 0
    for word in range(out.shape[2]):
        while added < len(arcs) and max(arcs[added, 0], arcs[added, 1]) == word:
            add(graphs, row, arcs[added, 0], arcs[added, 1])
            added += 1
        look(graphs, row, word, depth_from_root, out[word])


@njit
def add(graphs, row, head, dependent):
    """Add an arc to the graph of a row."""
    arc = graphs.count[row]
    graphs.count[row] = arc + 1
    graphs.arc[row, arc, 0], graphs.arc[row, arc, 1] = head, dependent
    for half, node in ((2 * arc, head), (2 * arc + 1, dependent)):
        graphs.following[row, half] = graphs.latest[row, node]
        graphs.latest[row, node] = half
    graphs.degree[row, head] += TO_DEPENDENT
    graphs.degree[row, dependent] += TO_HEAD
    graphs.has_head[row, dependent] = True


@njit
def look(graphs, row, word, depth_from_root, out):
    """Write the features of ROOT and all words up to the current one; `out` has a row for each feature."""
    for node in range(word + 1):
        out[DEGREE, node] = min(graphs.degree[row, node], MOST)
        out[DISTANCE, node] = out[DEPTH, node] = out[SUBGRAPH, node] = 0
    if word > 0:
        _distances(graphs, row, word, out[DISTANCE])
    _depths(graphs, row, word, depth_from_root, out[DEPTH])
    without_head = 0
    for node in range(word, 0, -1):
        if not graphs.has_head[row, node]:
            without_head += 1
            out[SUBGRAPH, node] = min(without_head, MOST)


@njit
def _distances(graphs, row, word, out):
    """Dijkstra's algorithm with a bucket for each cost; words in buckets are linked."""
    nodes, halves = word + 1, 2 * graphs.count[row]
    cost = np.full(nodes, -1, np.int32)  # of words that are done
    waiting, link = np.empty(halves + 1, np.int32), np.empty(halves + 1, np.int32)
    buckets = np.full(TO_DEPENDENT + 1, NOTHING, np.int32)
    waiting[0], link[0], buckets[0] = word, NOTHING, 0
    entries, left, now = 1, 1, 0
    while left > 0:
        bucket = now % len(buckets)
        while buckets[bucket] != NOTHING:
            entry = buckets[bucket]
            buckets[bucket] = link[entry]
            left -= 1
            node = waiting[entry]
            if cost[node] >= 0:
                continue
            cost[node] = now
            out[node] = min(now, MOST)
            half = graphs.latest[row, node]
            while half != NOTHING:
                other = graphs.arc[row, half // 2, 1 - half % 2]
                if other > 0 and cost[other] < 0:
                    to = (now + (TO_HEAD if half % 2 else TO_DEPENDENT)) % len(buckets)
                    waiting[entries], link[entries], buckets[to] = other, buckets[to], entries
                    entries, left = entries + 1, left + 1
                half = graphs.following[row, half]
        now += 1


@njit
def _depths(graphs, row, word, depth_from_root, out):
    """Breadth-first search from the first word of each component, or from ROOT if it has dependents."""
    begin = 1 if depth_from_root else 0
    queue, seen = np.empty(word + 1, np.int32), np.zeros(word + 1, np.bool_)
    through_root = depth_from_root and graphs.latest[row, 0] != NOTHING
    out[0] = begin
    for start in range(0 if through_root else 1, 1 if through_root else word + 1):
        if seen[start]:
            continue
        queue[0], seen[start], out[start] = start, True, begin
        first, behind = 0, 1
        while first < behind:
            node = queue[first]
            first += 1
            half = graphs.latest[row, node]
            while half != NOTHING:
                other = graphs.arc[row, half // 2, 1 - half % 2]
                if (other > 0 or through_root) and not seen[other]:
                    queue[behind], seen[other], out[other] = other, True, min(out[node] + 1, MOST)
                    behind += 1
                half = graphs.following[row, half]
