"""Labelled trees in integers: the heads of all words, and then the number of each label among those of the vocabulary.

    There is a difference       2 0 4 2  1 3 0 2        with the labels det, expl, nsubj and root

>>> from dtglib.data.symbols import arcs
>>> symbols = arcs(1, ("det", "expl", "nsubj", "root"))
>>> tree = with_labels(symbols, (2, 0, 4, 2), ("expl", "root", "det", "nsubj"))
>>> tree, labels_of(symbols, tree)
([2, 0, 4, 2, 1, 3, 0, 2], ['expl', 'root', 'det', 'nsubj'])

A tree without labels is its heads alone. So the first numbers are always the heads, one per word. A label that the
vocabulary lacks has the number NO_LABEL, and no symbols can write its tree.
"""

from collections.abc import Sequence

import numpy as np

from dtglib.data.symbols import Symbols

NO_LABEL = -1


def with_labels(symbols: Symbols, heads: Sequence[int], labels: Sequence[str]) -> list[int]:
    """A tree in integers."""
    return [*heads, *numbers_of(symbols, labels).tolist()]


def numbers_of(symbols: Symbols, labels: Sequence[str]) -> np.ndarray:
    """The numbers of labels."""
    known = {label: number for number, label in enumerate(symbols.labels)}
    return np.array([known.get(label, NO_LABEL) for label in labels], np.int64)


def heads_of(symbols: Symbols, tree: Sequence[int]) -> Sequence[int]:
    """The heads of a tree in integers."""
    return tree[: len(tree) // 2] if symbols.labels else tree


def labels_of(symbols: Symbols, tree: Sequence[int]) -> list[str] | None:
    """The labels of a tree in integers, "_" for NO_LABEL; None if the symbols have none."""
    names = (*symbols.labels, "_")
    return [names[number] for number in tree[len(tree) // 2 :]] if symbols.labels else None
