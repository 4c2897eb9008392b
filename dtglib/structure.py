"""Who sees whom, and how far apart: masks and relative positions from the vectors of compile.py.

    visible(i, j)  =  j <= i <= last[j]  and  (height[j] >= floor[i]  or  j == i)
    relpos(i, j)   =  0 if j == i or i < settled[j], else top[i] - height[j]     for a STACK position
                      0 if j is i or inside the head word, else -1               for a COMPOSE position

`dense` writes both out for a batch, O(T^2). `flex` gives FlexAttention the same two lines as functions of i and j, so
that attention stores nothing of that size (finding out which blocks are empty takes one such mask, once a batch).
The structure of a plain Transformer-XL is the same two lines, given other vectors: readings.py. What the lines mean, as
literal stack operations, is in naive.py, against which all of this is tested.

In "There is a difference", position 3 (COMPOSE) sees There, is and itself; There at -1, the others at 0:

    >>> from dtglib.batches import pad
    >>> from dtglib.readings import READINGS
    >>> from dtglib.vocab import Vocabulary
    >>> words = ["There", "is", "a", "difference"]
    >>> sequences = READINGS["dtg"](Vocabulary.of_words([words]), [(words, (2, 0, 4, 2))])
    >>> visible, relpos = dense(vectors_of(pad(sequences, [0])))
    >>> visible[0, 3].nonzero()[:, 0].tolist(), relpos[0, 3][visible[0, 3]].tolist()
    ([1, 2, 3], [-1, 0, 0])
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask

from dtglib.compile import COMPOSE, Compiled
from dtglib.shapes import Bool, Int


class Structure(NamedTuple):
    """What attention needs to know of a batch; relative positions mean nothing where nothing is visible."""

    visible: Bool[Tensor, "B T T"]
    relpos: Int[Tensor, "B T T"]


class Shared(NamedTuple):
    """The same where rows look at positions of any row: the s-th that row b looks at is `keys[b, s]`.

    Positions are counted over all rows. decode/trie.py makes these.
    """

    visible: Bool[Tensor, "B T S"]
    relpos: Int[Tensor, "B T S"]
    keys: Int[Tensor, "B S"]


class Vectors(NamedTuple):
    """The columns of a batch that attention reads, as tensors on the device of the model."""

    kind: Int[Tensor, "B T"]
    last: Int[Tensor, "B T"]
    height: Int[Tensor, "B T"]
    settled: Int[Tensor, "B T"]
    top: Int[Tensor, "B T"]
    floor: Int[Tensor, "B T"]
    head_first: Int[Tensor, "B T"]
    head_last: Int[Tensor, "B T"]


def vectors_of(batch: Compiled, device: torch.device | str = "cpu") -> Vectors:
    """A batch's columns as tensors."""
    return Vectors(*(torch.as_tensor(getattr(batch, name), device=device) for name in Vectors._fields))


# The two lines. `last_j` is last[j], and so on: dense looks them up for all i and j at once, flex for a block of them.


def sees(i: Tensor, j: Tensor, last_j: Tensor, height_j: Tensor, floor_i: Tensor) -> Tensor:
    """Whether position i sees position j."""
    return (j <= i) & (i <= last_j) & ((height_j >= floor_i) | (j == i))


def distance(
    i: Tensor,
    j: Tensor,
    kind_i: Tensor,
    top_i: Tensor,
    height_j: Tensor,
    settled_j: Tensor,
    head_first_i: Tensor,
    head_last_i: Tensor,
) -> Tensor:
    """The relative position of j as i sees it."""
    is_near = (j == i) | (i < settled_j)
    on_stack = (top_i - height_j).masked_fill(is_near, 0)
    is_head = (j == i) | ((head_first_i <= j) & (j <= head_last_i))
    return torch.where(kind_i == COMPOSE, is_head.to(on_stack.dtype) - 1, on_stack)


def dense(v: Vectors) -> Structure:
    """Masks and relative positions, written out."""
    place = torch.arange(v.kind.shape[1], device=v.kind.device)
    i, j = place[:, None], place[None, :]

    def at_i(column: Tensor) -> Tensor:
        return column[:, :, None]

    def at_j(column: Tensor) -> Tensor:
        return column[:, None, :]

    visible = sees(i, j, at_j(v.last), at_j(v.height), at_i(v.floor))
    relpos = distance(
        i, j, at_i(v.kind), at_i(v.top), at_j(v.height), at_j(v.settled), at_i(v.head_first), at_i(v.head_last)
    )
    return Structure(visible, relpos)


class Flex(NamedTuple):
    """The same structure for FlexAttention."""

    block_mask: BlockMask
    mask_mod: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
    relpos: Callable[[Tensor, Tensor, Tensor], Tensor]


def flex(v: Vectors) -> Flex:
    """The two lines as functions of (row, i, j), and the blocks in which anything is visible."""

    def mask_mod(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return sees(i, j, v.last[b, j], v.height[b, j], v.floor[b, i])

    def relpos(b: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return distance(
            i, j, v.kind[b, i], v.top[b, i], v.height[b, j], v.settled[b, j], v.head_first[b, i], v.head_last[b, i]
        )

    rows, size = v.kind.shape
    block_mask = create_block_mask(mask_mod, rows, None, size, size, device=v.kind.device)
    return Flex(block_mask, mask_mod, relpos)
