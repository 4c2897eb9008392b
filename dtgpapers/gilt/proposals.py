"""The arcs that may come with the newest words of hypotheses, as cells of the scorer.

In training, examples.py lists the cells of whole sentences; this is the same for the last word of each graph that
grows. Hypotheses have most of their words in common, so that their words are numbered together.
"""

from typing import NamedTuple

import numpy as np

from dtglib.basics.jit import njit
from dtglib.basics.shapes import Int
from dtgpapers.gilt.tape import FEATURES, Growing, look


class Proposed(NamedTuple):
    """The cells of some hypotheses, one after the other: the columns of scorer.py's `Cells`, as arrays."""

    sizes: Int[np.ndarray, " R"]  # the number of cells of each hypothesis
    arc: Int[np.ndarray, "2 C"]  # head and dependent, as words of the hypothesis
    columns: Int[np.ndarray, "4 C"]  # head and dependent, as words that are numbered over all of them; step, distance
    features: Int[np.ndarray, "2 F C"]


class NewestWords(NamedTuple):
    """The hypotheses whose newest words are scored."""

    rows: np.ndarray
    begin: np.ndarray  # where the words of each begin in `node`
    node: np.ndarray  # the number of every word among those that the scorer is given, from 1
    words: np.ndarray  # the number of words of each
    first: int  # 1 if ROOT has no arcs


def proposed(graphs: Growing, asked: NewestWords, depth_from_root: bool) -> Proposed:
    """The cells of the newest word of each hypothesis."""
    sizes = 2 * asked.words.astype(np.int64) - 1 - asked.first
    arc, columns = np.zeros((2, sizes.sum()), np.int64), np.zeros((4, sizes.sum()), np.int64)
    features = np.zeros((2, len(FEATURES), sizes.sum()), np.int64)
    _list_cells(graphs, asked, depth_from_root, arc, columns, features)
    return Proposed(sizes, arc, columns, features)


@njit
def _list_cells(graphs, asked, depth_from_root, arc, columns, features):
    tape = np.zeros((features.shape[1], graphs.latest.shape[1]), np.int16)
    filled = 0
    for step in range(len(asked.rows)):
        begin, word = asked.begin[step], asked.words[step]
        look(graphs, asked.rows[step], word - 1, depth_from_root, tape)
        for old in range(asked.first, word):
            for side in range(2 if old else 1):  # the older word is the head, or the dependent
                head, dependent = (old, word) if side == 0 else (word, old)
                arc[0, filled], arc[1, filled] = head, dependent
                columns[0, filled] = asked.node[begin + head - 1] if head else 0
                columns[1, filled] = asked.node[begin + dependent - 1]
                columns[2, filled], columns[3, filled] = step, word - old
                for feature in range(len(tape)):
                    features[side, feature, filled] = tape[feature, old]
                filled += 1
