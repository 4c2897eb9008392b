"""The two formulas that all masks and relative positions follow from, for what columns.py holds.

    visible(i, j)  =  j <= i <= last[j]  and  (height[j] >= floor[i]  or  j == i)
    relpos(i, j)   =  0 if j == i or i < settled[j], else top[i] - level[j]      for a STACK position
                      0 if j is i or inside the head word, else -1               for a COMPOSE position

They use operators only, so that the same code works on tensors, on NumPy arrays, and inside a kernel of FlexAttention.
`last_j` is last[j], and so on: dense masks look the values up for all i and j at once, FlexAttention for a block.
`height` is a place on the stack and decides what is seen; `level` is a depth in the tree and decides how far away it
is. In dependency systems the two are equal.

    >>> sees(i=3, j=1, last_j=3, height_j=1, floor_i=1)             # "There is", LEFTARC: There (1) is seen by it (3)
    True
    >>> distance(i=3, j=1, kind_i=1, top_i=1, level_j=1, settled_j=1, head_first_i=2, head_last_i=2)
    -1
"""

from typing import Any

Numbers = Any  # Tensor, np.ndarray or int: integers, or truth values


def sees(i: Numbers, j: Numbers, last_j: Numbers, height_j: Numbers, floor_i: Numbers) -> Numbers:
    """Return true if position i sees position j."""
    return (j <= i) & (i <= last_j) & ((height_j >= floor_i) | (j == i))


def distance(
    i: Numbers,
    j: Numbers,
    kind_i: Numbers,
    top_i: Numbers,
    level_j: Numbers,
    settled_j: Numbers,
    head_first_i: Numbers,
    head_last_i: Numbers,
) -> Numbers:
    """Return the relative position of j as seen from i."""
    on_stack = (top_i - level_j) * ((j != i) & (i >= settled_j))
    is_no_head = (j != i) & ((j < head_first_i) | (head_last_i < j))
    # A kind is STACK = 0 or COMPOSE = 1.
    return (1 - kind_i) * on_stack - kind_i * is_no_head
