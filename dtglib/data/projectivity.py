"""Crossing arcs of dependency trees.

A tree is a vector of heads, one per word, counted from 1; 0 is ROOT. "There is a difference" has heads (2, 0, 4, 2):

    ROOT There is a difference         arcs, head->dependent: 2->1  0->2  4->3  2->4
     0     1    2 3     4              no two cross, so the tree is projective

ROOT stands left of the first word, and its arc counts like any other: in (2, 0, 1) the arc 1->3 spans the root word 2
and so crosses 0->2. The oracles follow this convention (ROOT lies at the bottom of the stack). A looser convention,
which ignores the arcs of ROOT, calls up to 2 % more sentences of a treebank projective.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Arc(NamedTuple):
    head: int
    dependent: int


def crossing_arcs(heads: Sequence[int]) -> tuple[Arc, Arc] | None:
    """The first two arcs that cross, with the one that begins further left first; None if the tree is projective.

    >>> crossing_arcs((2, 0, 1))
    (Arc(head=0, dependent=2), Arc(head=1, dependent=3))
    """
    # Arcs are sorted by left end, then from long to short. Arcs that do not cross then nest like brackets, and a stack
    # finds every crossing.
    places = enumerate(heads, start=1)
    spans = sorted([(head, -word, word) if head < word else (word, -head, word) for word, head in places])
    enclosing: list[tuple[int, int]] = []  # the right end of an arc, and its dependent
    for left, minus_right, word in spans:
        while enclosing and enclosing[-1][0] <= left:
            enclosing.pop()
        if enclosing and enclosing[-1][0] < -minus_right:
            first = enclosing[-1][1]
            return Arc(heads[first - 1], first), Arc(heads[word - 1], word)
        enclosing.append((-minus_right, word))
    return None


def is_projective(heads: Sequence[int]) -> bool:
    """True if no two arcs cross, including the arcs of ROOT."""
    return crossing_arcs(heads) is None
