"""Masks and relative positions of a batch, computed from columns.py by the formulas of visibility.py.

`dense` evaluates the two formulas for all pairs of positions, O(T^2). `flex` gives them to FlexAttention as functions
of i and j, so that attention stores nothing of that size; the lifetimes say which blocks are empty. A plain
Transformer-XL uses the same formulas with other columns (readings.py). The tests compare both with literal stack
operations (tests/naive.py).

In "There is a difference", position 3 (COMPOSE) sees There, is and itself; There at -1, the others at 0:

    >>> from dtglib.sequences.batches import pad
    >>> from dtglib.sequences.readings import on_a_stack
    >>> from dtglib.data.vocabulary import Vocabulary
    >>> words = ["There", "is", "a", "difference"]
    >>> sequences = on_a_stack("arc-standard").compile(Vocabulary.of_words([words]), [(words, (2, 0, 4, 2))])
    >>> visible, relpos = dense(vectors_of(pad(sequences, [0])))
    >>> visible[0, 3].nonzero()[:, 0].tolist(), relpos[0, 3][visible[0, 3]].tolist()
    ([1, 2, 3], [-1, 0, 0])
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask

from dtglib.basics.shapes import Bool, Int
from dtglib.sequences.columns import Compiled
from dtglib.sequences.visibility import distance, sees


class Structure(NamedTuple):
    """The mask and the relative positions of a batch; a relative position has no meaning where nothing is visible.

    The T positions look at S positions, which are mostly the same.
    """

    visible: Bool[Tensor, "B T S"]
    relpos: Int[Tensor, "B T S"]


class Shared(NamedTuple):
    """A structure in which a row looks at positions of any row: the s-th position that row b looks at is `keys[b, s]`.

    Positions are counted over all rows. decode/trie.py makes these structures.
    """

    visible: Bool[Tensor, "B T S"]
    relpos: Int[Tensor, "B T S"]
    keys: Int[Tensor, "B S"]


class Pooled(NamedTuple):
    """A structure of single positions: each sees some keys of a pool, the first `count[b]` of the list `keys[b]`.

    The pool is the keys of all rows, as in `Shared`. decode/sequence_stepper.py makes these structures.
    """

    keys: Int[Tensor, "B S"]
    relpos: Int[Tensor, "B S"]
    count: Int[Tensor, " B"]  # type: ignore[assignment]

    @property
    def shared(self) -> Shared:
        """The same as rows of one position each."""
        visible = torch.arange(self.keys.shape[1], device=self.keys.device) < self.count[:, None]
        return Shared(visible[:, None], self.relpos[:, None], self.keys)


class Vectors(NamedTuple):
    """The columns of a batch that attention reads, as tensors on the device of the model."""

    kind: Int[Tensor, "B T"]
    last: Int[Tensor, "B T"]
    height: Int[Tensor, "B T"]
    level: Int[Tensor, "B T"]
    settled: Int[Tensor, "B T"]
    top: Int[Tensor, "B T"]
    floor: Int[Tensor, "B T"]
    head_first: Int[Tensor, "B T"]
    head_last: Int[Tensor, "B T"]


def vectors_of(batch: Compiled) -> Vectors:
    """Return as tensors the columns of a batch that attention reads."""
    return Vectors(*(torch.as_tensor(getattr(batch, name)) for name in Vectors._fields))


def dense(v: Vectors) -> Structure:
    """Evaluate masks and relative positions for all pairs of positions."""
    place = torch.arange(v.kind.shape[1], device=v.kind.device)
    i, j = place[:, None], place[None, :]

    def at_i(column: Tensor) -> Tensor:
        return column[:, :, None]

    def at_j(column: Tensor) -> Tensor:
        return column[:, None, :]

    visible = sees(i, j, at_j(v.last), at_j(v.height), at_i(v.floor))
    relpos = distance(
        i, j, at_i(v.kind), at_i(v.top), at_j(v.level), at_j(v.settled), at_i(v.head_first), at_i(v.head_last)
    )
    return Structure(visible, relpos)


class Flex(NamedTuple):
    """The structure in the form that FlexAttention takes."""

    block_mask: BlockMask
    mask_mod: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
    relpos: Callable[[Tensor, Tensor, Tensor], Tensor]


def flex(v: Vectors) -> Flex:
    """Return the two formulas as functions of (row, i, j), and the blocks in which anything is visible."""

    def mask_mod(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return sees(i, j, v.last[b, j], v.height[b, j], v.floor[b, i])

    def relpos(b: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return distance(
            i, j, v.kind[b, i], v.top[b, i], v.level[b, j], v.settled[b, j], v.head_first[b, i], v.head_last[b, i]
        )

    size = v.kind.shape[1]
    needed = blocks(v)[:, None]  # for all heads
    counts, indices = _listed(needed)
    counts_back, indices_back = _listed(needed.transpose(2, 3))
    # `from_kv_blocks` is avoided: it annotates graphs that another thread may be tracing (see training/prefetch.py).
    block_mask = BlockMask(
        seq_lengths=(size, size), kv_num_blocks=counts, kv_indices=indices, full_kv_num_blocks=None,
        full_kv_indices=None, q_num_blocks=counts_back, q_indices=indices_back, full_q_num_blocks=None,
        full_q_indices=None, BLOCK_SIZE=(BLOCK, BLOCK), mask_mod=mask_mod,
    )  # fmt: skip
    return Flex(block_mask, mask_mod, relpos)


def _listed(needed: Bool[Tensor, "B 1 Q K"]) -> tuple[Int[Tensor, "B 1 Q"], Int[Tensor, "B 1 Q K"]]:
    """Return how many blocks each row of blocks needs, and the numbers of all blocks, with the needed ones first."""
    indices = needed.int().argsort(dim=3, descending=True, stable=True)
    return needed.sum(3, dtype=torch.int32), indices.int().contiguous()


BLOCK = 128  # positions: the side of the squares that FlexAttention computes or skips


def blocks(v: Vectors) -> Bool[Tensor, "B Q K"]:
    """Return true for the squares of BLOCK x BLOCK positions in which anything may be visible.

    The lifetimes suffice: a position is visible from itself to the end of its lifetime. This is exact for STACK
    positions, which look down to the bottom. A COMPOSE position sees less, but its STACK copy is beside it.
    """
    rows, size = v.last.shape
    count = -(-size // BLOCK)
    place = torch.arange(count, device=v.last.device)
    last = torch.nn.functional.pad(v.last, (0, count * BLOCK - size))
    reach = last.view(rows, 1, count, BLOCK).amax(3) // BLOCK  # the last block that looks at any of a block's positions
    return (place <= place[:, None]) & (place[:, None] <= reach)
