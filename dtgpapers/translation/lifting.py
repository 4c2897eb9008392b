"""Lifting of arcs, which makes a tree projective."""

from collections.abc import Sequence

from dtglib.data.projectivity import Arc, is_projective


def projectivize(heads: Sequence[int]) -> tuple[int, ...]:
    """Lift arcs of a tree until none cross: again and again, the shortest offending arc h->d becomes head(h)->d.

    Nivre and Nilsson (2005), section 2, without their encoding of the lifts in the labels; among equally short arcs the
    leftmost is taken. A projective tree is returned unchanged, and the root of a tree stays its root. (In a tree with
    several roots a word can be lifted up to ROOT and become another root.)

    "A hearing is scheduled on the issue today": "on" moves up from "hearing" to "is", then "today" from "scheduled".

    >>> projectivize((2, 3, 0, 3, 2, 7, 5, 4))
    (2, 3, 0, 3, 3, 7, 5, 3)
    """
    lifted = list(heads)
    while not is_projective(lifted):
        head, word = _shortest_offending_arc(lifted)
        lifted[word - 1] = lifted[head - 1]
    return tuple(lifted)


def _shortest_offending_arc(heads: Sequence[int]) -> Arc:
    """The shortest arc that spans a word which does not descend from the arc's head."""
    arcs = (Arc(head, word) for word, head in enumerate(heads, start=1))
    by_length = sorted(arcs, key=lambda arc: (abs(arc.head - arc.dependent), min(arc)))
    return next(
        arc for arc in by_length if not all(_descends(heads, word, arc.head) for word in range(min(arc) + 1, max(arc)))
    )


def _descends(heads: Sequence[int], word: int, ancestor: int) -> bool:
    while word not in (ancestor, 0):
        word = heads[word - 1]
    return word == ancestor
