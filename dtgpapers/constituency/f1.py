"""Labelled F1 of constituency trees.

A constituent is right if the gold tree has one over the same words with the same label. All constituents count, the
root and those of single words included, and each of a chain for itself; tags do not. (EVALB, which is used to compare
treebank parsers, also leaves out punctuation.)

    >>> gold, found = "(S (NP (EX There)) (VP (VBZ is)))", "(S (NP (EX There)) (NP (VBZ is)))"
    >>> counted([gold], [found])
    Constituents(right=2, found=3, gold=3)
    >>> round(counted([gold], [found]).f1, 2)
    0.67
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from dtgpapers.constituency.bracketing import CHAIN, spans_of


class Constituents(NamedTuple):
    """Numbers of constituents."""

    right: int
    found: int
    gold: int

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.right / max(self.found + self.gold, 1)


def counted(gold: Sequence[str], found: Sequence[str]) -> Constituents:
    """The constituents of some trees that are right, those that were found, and those of the gold trees."""
    right = in_found = in_gold = 0
    for of_gold, of_found in zip(map(_constituents, gold), map(_constituents, found), strict=True):
        right += (of_gold & of_found).total()
        in_found, in_gold = in_found + of_found.total(), in_gold + of_gold.total()
    return Constituents(right, in_found, in_gold)


def _constituents(tree: str) -> Counter[tuple[int, int, str]]:
    return Counter((first, last, label) for first, last, chain in spans_of(tree) for label in chain.split(CHAIN))
