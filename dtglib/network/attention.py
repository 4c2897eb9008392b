"""Relative-position attention over a structure (Transformer-XL, Dai et al. 2019; the paper, sections 3.1 and 3.2).

Position i gives to each j that it sees the weight softmax_j of

    score(i, j)  =  ( (q_i + u) . k_j  +  (q_i + w) . r(relpos(i, j)) ) / sqrt(D)

where u and w are learned and r(n) is the projected sinusoid of the relative position n. The structure has the mask and
the relative positions; nothing in this module depends on trees or stacks.

There are five forms with one signature. `naive` is the formula in loops. `dense` stores all scores; it runs on CPUs.
`flex` gives the two rules of the structure to FlexAttention, which on CUDA skips the blocks where nothing is visible
and stores no T x T tensor (on a CPU PyTorch has no backward pass for it). `shared` gathers keys and values and then
continues as `dense`; `pooled` reads them in place, a position at a time. The arguments are

    qu, qw    (B, H, T, D)    q + u and q + w
    k         (B, H, S, D)    of the S positions that may be seen: mostly the same T positions. A pool has one row
    v         (B, H, S, E)    mostly as wide as the keys
    r         (H, R, D)       row n belongs to the relative position n + NEAREST
    structure                 the mask and the relative positions
    bias      (B, H, T, L)    a model's own addition to the scores; L is S, or the number of keys in each row's list

and the result is (B, H, T, E).
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention.flex_attention import flex_attention

from dtglib.basics.shapes import Float, Int
from dtglib.network.looks import NEAREST, look_in_threads
from dtglib.sequences.structure import Flex, Pooled, Shared, Structure

AnyStructure = Structure | Shared | Pooled | Flex

Heads = Float[Tensor, "B H T D"]
Keys = Float[Tensor, "#B H S D"]
Values = Float[Tensor, "#B H S E"]
Attended = Float[Tensor, "B H T E"]
Table = Float[Tensor, "H R D"]
Bias = Float[Tensor, "#B #H T L"]


def sinusoids(farthest: int, width: int, device: torch.device | str = "cpu") -> Float[Tensor, "R d"]:
    """The sinusoids of the relative positions from NEAREST to `farthest`: all sines, then all cosines."""
    places = torch.arange(NEAREST, farthest + 1, dtype=torch.float32, device=device)
    frequencies = 10000 ** (-torch.arange(0, width, 2, dtype=torch.float32, device=device) / width)
    angles = places[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def attend(
    qu: Heads, qw: Heads, k: Keys, v: Values, r: Table, structure: AnyStructure, bias: Bias | None = None
) -> Attended:
    """Attention in the fast form that belongs to the type of the structure."""
    return FORMS[type(structure)](qu, qw, k, v, r, structure, bias)


def naive(
    qu: Heads, qw: Heads, k: Keys, v: Values, r: Table, structure: Structure, bias: Bias | None = None
) -> Attended:
    """The definition: for each position a softmax over what it sees."""
    B, H, T, D = qu.shape
    rows = []
    for b in range(B):
        for h in range(H):
            for i in range(T):
                seen = structure.visible[b, i].nonzero()[:, 0]
                places = r[h, structure.relpos[b, i, seen].long() - NEAREST]
                scores = (k[b, h, seen] @ qu[b, h, i] + places @ qw[b, h, i]) / D**0.5
                if bias is not None:
                    scores = scores + bias.expand(B, H, T, -1)[b, h, i, seen]
                rows.append(scores.softmax(0) @ v[b, h, seen])
    return torch.stack(rows).view(B, H, T, -1)


def dense(
    qu: Heads, qw: Heads, k: Keys, v: Values, r: Table, structure: Structure | Shared, bias: Bias | None = None
) -> Attended:
    """Compute all scores at once. A position has only R different scores for relative positions; each j picks one."""
    B, H, T, D = qu.shape
    R = r.shape[1]
    # One product for all rows of the batch: a product per row would copy r for each of them.
    by_place = torch.bmm(qw.transpose(0, 1).flatten(1, 2), (r * D**-0.5).transpose(1, 2))  # H B*T R
    # A position that is not seen picks an extra column of minus infinity, so the mask needs no pass of its own.
    by_place = functional.pad(by_place.unflatten(1, (B, T)).transpose(0, 1), (0, 1), value=-torch.inf)  # B H T R+1
    pick = torch.where(structure.visible, structure.relpos - NEAREST, R).long()  # B T S
    scores = by_place.gather(3, pick[:, None].expand(B, H, T, k.shape[2]))
    if bias is not None:
        scores = scores + bias
    by_content = qu.flatten(0, 1), k.flatten(0, 1).transpose(1, 2)
    scores = torch.baddbmm(scores.flatten(0, 1), *by_content, alpha=D**-0.5)  # B*H T S
    return (scores.softmax(2) @ v.flatten(0, 1)).unflatten(0, (B, H))


def shared(qu: Heads, qw: Heads, k: Keys, v: Values, r: Table, structure: Shared, bias: Bias | None = None) -> Attended:
    """`dense` over the keys and values that each row gathers by their indices."""
    k, v = (gathered(x.transpose(1, 2).flatten(0, 1), structure.keys) for x in (k, v))
    return dense(qu, qw, k, v, r, structure, bias)


def gathered(rows: Float[Tensor, "N H D"], which: Int[Tensor, "B S"]) -> Float[Tensor, "B H S D"]:
    """Gather rows with the heads first, which is the layout of the products, so that they are copied only once."""
    H = rows.shape[1]
    of_heads = which[:, None] * H + torch.arange(H, device=which.device)[:, None]  # B H S
    return rows.flatten(0, 1).index_select(0, of_heads.flatten()).unflatten(0, of_heads.shape)


def pooled(qu: Heads, qw: Heads, k: Keys, v: Values, r: Table, structure: Pooled, bias: Bias | None = None) -> Attended:
    """`shared` for single positions, read where they stand: by a compiled loop on CPUs, by a Triton kernel on GPUs."""
    if qu.is_cuda and v.dtype != torch.float64:
        from dtglib.network.looks_on_gpu import look  # Triton comes with PyTorch for GPUs alone

        return look(qu, qw, k, v, r, structure, bias)
    if qu.is_cuda or k.dtype != qu.dtype or k.dtype != r.dtype:
        return shared(qu, qw, k, v, r, structure.shared, bias)
    keys, values = (x.transpose(1, 2).flatten(0, 1) for x in (k, v))
    result = v.new_empty(len(qu), v.shape[1], 1, v.shape[3])
    if bias is not None:
        bias = bias.expand(*qu.shape[:3], structure.keys.shape[1])[:, :, 0].contiguous().numpy()
    queries, pool, looks, (table,) = (
        tuple(x.contiguous().numpy() for x in tensors)
        for tensors in ((qu[:, :, 0], qw[:, :, 0]), (keys, values), structure, (r.transpose(0, 1),))
    )
    look_in_threads(queries, pool, table, looks, bias, result[:, :, 0].numpy(), torch.get_num_threads())
    return result


def flex(qu: Heads, qw: Heads, k: Keys, v: Values, r: Table, structure: Flex, bias: Bias | None = None) -> Attended:
    """Attention by FlexAttention, which looks up the scores of relative positions where they are needed."""
    by_place = qw @ (r * qw.shape[3] ** -0.5).transpose(1, 2)  # B H T R
    bias = None if bias is None else bias.expand(*qu.shape[:3], k.shape[2])

    def score_mod(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        # FlexAttention also calls this for pairs that are not visible, whose relative position may be out of range.
        place = (structure.relpos(b, i, j) - NEAREST).clamp(0, by_place.shape[3] - 1)
        score = score + by_place[b, h, i, place]
        return score if bias is None else score + bias[b, h, i, j]

    # Without compilation it would store all scores. Under autocast q + u is float32, but the keys are not.
    compiled = qu.is_cuda and not torch.compiler.is_compiling()
    kernel: Any = _compiled_flex_attention() if compiled else flex_attention
    return kernel(qu.to(k.dtype), k, v, score_mod, block_mask=structure.block_mask)


@cache
def _compiled_flex_attention() -> Callable[..., Tensor]:
    return torch.compile(flex_attention)


FORMS: dict[type, Callable[..., Tensor]] = {Structure: dense, Shared: shared, Pooled: pooled, Flex: flex}
