"""Projective trees with one root, made without a transition system: all of a few words, and random ones of many.

A tree over a span of words is its root word and, on either side of it, a row of trees that hang from the root. So the
trees of two words are (0, 1) and (2, 0), and of n words there are 1, 2, 7, 30, 143, 728, ...
"""

from collections.abc import Callable
from functools import cache
from itertools import product
from random import Random

from hypothesis import strategies as st

Heads = tuple[int, ...]

THERE_IS_A_DIFFERENCE: Heads = (2, 0, 4, 2)


def all_trees(words: int) -> list[Heads]:
    """Every projective tree of so many words."""
    return _trees(1, words, head=0)


@cache
def _trees(first: int, last: int, head: int) -> list[Heads]:
    """The heads of the words first..last: one tree, hanging from `head`."""
    return [
        (*left, head, *right)
        for root in range(first, last + 1)
        for left, right in product(_rows(first, root - 1, root), _rows(root + 1, last, root))
    ]


@cache
def _rows(first: int, last: int, head: int) -> list[Heads]:
    """The same for a row of trees, none for an empty span, all of them hanging from `head`."""
    if first > last:
        return [()]
    return [
        (*tree, *others)
        for end in range(first, last + 1)
        for tree, others in product(_trees(first, end, head), _rows(end + 1, last, head))
    ]


def random_tree(random: Random, words: int) -> Heads:
    """A projective tree of so many words; not all are equally likely, but all may come."""
    return _grow(random.randint, words)


@st.composite
def projective_trees(draw, most_words: int = 60) -> Heads:
    """Projective trees for hypothesis, which makes a failing one small."""
    return _grow(lambda low, high: draw(st.integers(low, high)), draw(st.integers(1, most_words)))


def _grow(choose: Callable[[int, int], int], words: int) -> Heads:
    """Choose the root of a span, then where the first tree of the row on each side ends, and so on."""
    heads = [0] * words
    spans = [(1, words, 0, True)]
    while spans:
        first, last, head, is_one_tree = spans.pop()
        if first > last:
            continue
        if not is_one_tree:
            end = choose(first, last)
            spans.append((end + 1, last, head, False))
            first, last = first, end
        root = choose(first, last)
        heads[root - 1] = head
        spans += [(first, root - 1, root, False), (root + 1, last, root, False)]
    return tuple(heads)
