"""Trees from the probabilities of heads, where every word chooses its head by itself.

`probabilities[i, j]` is that of word j as the head of word i; the diagonal is ignored. Words count from 0 there, and
from 1 in the heads that are returned, in which 0 is ROOT.

    >>> q = np.array([[0, 0.9, 0.1], [0.45, 0, 0.45], [0.2, 0.7, 0]])
    >>> most_probable_heads(q)                          # no tree: the first two words choose each other
    [2, 1, 2]
    >>> best_arborescence(q), best_projective(q)
    ([2, 0, 2], [2, 0, 2])

The best tree is the one with the largest sum of log(q + 1e-9) over its arcs but that of ROOT. The published code of
UDGN looks for a maximum spanning arborescence (Chu and Liu 1965, Edmonds 1967) for each word as the root, and takes the
best of these. Here one search does the same: an arc of ROOT costs more than all others together can win, so that the
best tree has one.
"""

import numpy as np

from dtglib.basics.shapes import Float
from dtglib.parsing.projective import best_trees

LEAST = 1e-9  # so that a tree of arcs without any probability can be found, too

Probabilities = Float[np.ndarray, "n n"]


def most_probable_heads(probabilities: Probabilities) -> list[int]:
    """The most probable head of each word, the first of equals; a word that is alone depends on ROOT."""
    others = np.where(np.eye(len(probabilities), dtype=bool), -1.0, probabilities)
    return [0] if len(others) == 1 else (others.argmax(1) + 1).tolist()


def best_arborescence(probabilities: Probabilities) -> list[int]:
    """The best tree with one root."""
    from ufal.chu_liu_edmonds import chu_liu_edmonds  # here: every family imports this module, few search for trees

    scores = _scores(probabilities)
    scores[1:, 0] = len(scores) * (np.log(LEAST) - 1)
    np.fill_diagonal(scores, np.nan)  # which the library takes for an arc that there is not
    heads, _ = chu_liu_edmonds(scores)
    return [int(head) for head in heads[1:]]


def best_projective(probabilities: Probabilities) -> list[int]:
    """The best projective tree with one root."""
    return best_trees(_scores(probabilities).T, 1).heads[0].tolist()


def _scores(probabilities: Probabilities) -> np.ndarray:
    """The score of each head (column) of each word (row), with ROOT before both."""
    n = len(probabilities)
    scores = np.zeros((n + 1, n + 1))
    scores[1:, 1:] = np.log(np.asarray(probabilities, np.float64) + LEAST)
    return scores


DECODERS = {"argmax": most_probable_heads, "tree": best_arborescence, "projective": best_projective}
