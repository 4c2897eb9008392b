"""Attention of single positions in a Triton kernel on a GPU, for `pooled` in attention.py.

In a search hundreds of new positions see a dozen others each. PyTorch would gather their keys and values, and compute
the scores, in some thirty small kernels, and the GPU would wait for the CPU that starts them. Here one kernel reads
keys, values and relative positions in place: one program for each position and head, whose sums are in float32.

Triton comes with PyTorch where there are GPUs; nothing else imports this module.
"""

from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

from dtglib.basics.shapes import Float
from dtglib.network.looks import NEAREST
from dtglib.sequences.structure import Pooled

KEYS = 32  # that a program reads at once


def look(
    qu: Float[Tensor, "B H 1 D"],
    qw: Float[Tensor, "B H 1 D"],
    k: Float[Tensor, "1 H S D"],
    v: Float[Tensor, "1 H S E"],
    r: Float[Tensor, "H R D"],
    structure: Pooled,
    bias: Float[Tensor, "#B #H 1 L"] | None = None,
) -> Float[Tensor, "B H 1 E"]:
    """The result of attention for each position, without gradients; see `pooled` in attention.py."""
    B, H, _, D = qu.shape
    E, (seen, relpos, count) = v.shape[3], structure
    result = v.new_empty(B, H, 1, E)
    columns = [column.contiguous() for column in (seen, relpos, count)]
    biases = qu if bias is None else bias.expand(B, H, 1, seen.shape[1])
    inputs = [x if x.stride(-1) == 1 else x.contiguous() for x in (qu, qw, k, v, r, biases)]
    strides = [stride for x in inputs[:2] for stride in x.stride()[:2]]
    strides += [stride for x in inputs[2:4] for stride in x.stride()[1:3]]
    strides += [*inputs[4].stride()[:2], *inputs[5].stride()[:2]]
    with torch.cuda.device_of(qu):  # Triton starts kernels on the current GPU
        _look[(B, H)](
            *inputs, *columns, result, *strides, seen.shape[1], D**-0.5, D, E, NEAREST, bias is not None,
            triton.next_power_of_2(D), triton.next_power_of_2(E), KEYS,
        )  # fmt: skip
    return result


@triton.jit(do_not_specialize=["longest", "bias_row", "bias_head"])
@no_type_check  # a checker of types would stand between Triton and the code
def _look(
    qu, qw, keys, values, r, bias, seen, relpos, count, result,
    qu_row, qu_head, qw_row, qw_head, key_head, key_row, value_head, value_row, r_head, r_row, bias_row, bias_head,
    longest, scale, D: tl.constexpr, E: tl.constexpr, nearest: tl.constexpr, is_biased: tl.constexpr,
    D_BLOCK: tl.constexpr, E_BLOCK: tl.constexpr, KEYS_AT_ONCE: tl.constexpr,
):  # fmt: skip
    """One position and one head; the softmax is rescaled whenever a larger score comes."""
    b, h = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    d, e = tl.arange(0, D_BLOCK), tl.arange(0, E_BLOCK)
    by_content = tl.load(qu + b * qu_row + h * qu_head + d, mask=d < D, other=0.0).to(tl.float32) * scale
    by_place = tl.load(qw + b * qw_row + h * qw_head + d, mask=d < D, other=0.0).to(tl.float32) * scale
    many = tl.load(count + b)
    largest, total = float("-inf"), 0.0
    mixed = tl.zeros([E_BLOCK], tl.float32)
    for first in range(0, many, KEYS_AT_ONCE):
        n = first + tl.arange(0, KEYS_AT_ONCE)
        is_there = n < many
        key = tl.load(seen + b * longest + n, mask=is_there, other=0).to(tl.int64)
        place = tl.load(relpos + b * longest + n, mask=is_there, other=nearest).to(tl.int64) - nearest
        mask = is_there[:, None] & (d < D)[None, :]
        content = tl.load(keys + h * key_head + key[:, None] * key_row + d[None, :], mask=mask, other=0.0)
        places = tl.load(r + h * r_head + place[:, None] * r_row + d[None, :], mask=mask, other=0.0)
        products = content.to(tl.float32) * by_content[None, :] + places.to(tl.float32) * by_place[None, :]
        scores = tl.sum(products, 1)
        if is_biased:
            scores += tl.load(bias + b * bias_row + h * bias_head + n, mask=is_there, other=0.0).to(tl.float32)
        scores = tl.where(is_there, scores, float("-inf"))
        larger = tl.maximum(largest, tl.max(scores, 0))
        # As long as a bias bars all that was read, the largest score is minus infinity.
        base = tl.where(larger == float("-inf"), 0.0, larger)
        weights, kept = tl.exp(scores - base), tl.exp(largest - base)
        mask = is_there[:, None] & (e < E)[None, :]
        value = tl.load(values + h * value_head + key[:, None] * value_row + e[None, :], mask=mask, other=0.0)
        mixed = mixed * kept + tl.sum(weights[:, None] * value.to(tl.float32), 0)
        total = total * kept + tl.sum(weights, 0)
        largest = larger
    tl.store(result + (b * tl.num_programs(1) + h) * E + e, (mixed / total).to(result.dtype.element_ty), mask=e < E)
