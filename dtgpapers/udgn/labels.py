"""The attention head that goes with each dependency label: correlations over the arcs of a treebank.

For every arc that is not of ROOT, the value of a head is how much one end hears of the other, and the value of a label
is 1 if it is the arc's, otherwise 0. The paper of UDGN (section 4.3) takes Pearson's correlation of the two, in either
direction: what the parent hears of the child ("child to parent"), and what the child hears of the parent.

    >>> values, labels = np.array([[0.9, 0.1], [0.8, 0.1], [0.2, 0.6]]), ["det", "det", "nsubj"]
    >>> correlations(values, labels).round(2).to_dict("index")
    {'det': {0: 0.99, 1: -1.0}, 'nsubj': {0: -0.99, 1: 1.0}}
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from dtglib.basics.errors import require
from dtgpapers.udgn.induction import Belief

# What is looked up in a matrix of what row i hears of column j, given child and parent.
DIRECTIONS = {
    "child to parent": lambda child, parent: (parent, child),
    "parent to child": lambda child, parent: (child, parent),
}


class AtArcs(NamedTuple):
    """The weights of L * H attention heads at the arcs of a treebank."""

    values: dict[tuple[str, str], np.ndarray]  # by kind and direction: (arcs, L * H)
    labels: list[str]  # of the arcs
    heads: int  # H, in each layer


def values_at_arcs(beliefs: Iterable[Belief]) -> AtArcs:
    """Of all sentences that have a tree with labels."""
    values: dict[tuple[str, str], list[np.ndarray]] = {}
    labels: list[str] = []
    heads = 0
    for belief in beliefs:
        sentence = belief.sentence
        if sentence.heads is None or sentence.labels is None:
            continue
        arcs = [(word, head - 1) for word, head in enumerate(sentence.heads) if head]
        labels += [sentence.labels[word] for word, _ in arcs]
        child, parent = np.array(arcs, int).reshape(-1, 2).T
        for kind, heard in belief.attention.items():
            layers, heads, *_ = heard.shape
            for direction, ends in DIRECTIONS.items():
                i, j = ends(child, parent)
                values.setdefault((kind, direction), []).append(heard[:, :, i, j].reshape(layers * heads, -1).T)
    require(labels, "no arc has a label; take a treebank with labels")
    return AtArcs({key: np.concatenate(parts) for key, parts in values.items()}, labels, heads)


def without_subtypes(labels: Sequence[str]) -> list[str]:
    """Labels of Universal Dependencies without what specialises them: nmod for nmod:poss."""
    return [label.partition(":")[0] for label in labels]


def correlations(values: np.ndarray, labels: Sequence[str]) -> pd.DataFrame:
    """Pearson's correlation of every label (row, the most frequent first) with every head (column).

    A head whose value is the same everywhere is correlated with nothing: 0.
    """
    names = [name for name, _ in Counter(labels).most_common()]
    is_label = np.array([[label == name for name in names] for label in labels], float)
    x, y = (part - part.mean(0) for part in (np.asarray(values, np.float64), is_label))
    scale = np.sqrt((y**2).sum(0))[:, None] * np.sqrt((x**2).sum(0))[None]
    found = np.divide(y.T @ x, scale, out=np.zeros_like(scale), where=scale > 1e-12)
    return pd.DataFrame(found, index=names, columns=range(found.shape[1]))


def best_heads(found: pd.DataFrame, labels: Sequence[str], heads: int, most: int = 8) -> list[dict[str, object]]:
    """A row for each of the most frequent labels: the head that is correlated most with it, by layer and number.

    "every head" has the correlations of all heads, layer by layer.
    """
    counts, rows = Counter(labels), []
    for name in found.index[:most]:
        of_label = found.loc[name].to_numpy()
        best = int(of_label.argmax())
        layer, head = divmod(best, heads)
        row = {"label": name, "arcs": counts[name], "head": f"{layer + 1}.{head + 1}", "r": float(of_label[best])}
        rows.append(row | {"every head": of_label.round(3).tolist()})
    return rows
