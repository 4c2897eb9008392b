"""Relative-position attention over a structure (Transformer-XL, Dai et al. 2019; the paper, sections 3.1 and 3.2).

Position i gives to each j that it sees the weight softmax_j of

    score(i, j)  =  ( (q_i + u) . k_j  +  (q_i + w) . r(relpos(i, j)) ) / sqrt(D)

where u and w are learned and r(n) is the projected sinusoid of the relative position n. What is seen, and how far away
it is, comes in the structure; nothing here knows of trees or stacks.

There are three forms with one signature. `naive` is the formula in loops; `dense` writes all scores out and is what
runs on a CPU; `flex` gives the two rules of the structure to FlexAttention, which on CUDA skips the blocks where
nothing is visible and writes no T x T tensor (on a CPU PyTorch runs it forwards only). A fourth, `shared`, gathers keys
and values, and is `dense` from there on. All take

    qu, qw    (B, H, T, D)    q + u and q + w
    k         (B, H, S, D)    of the S positions that are looked at: mostly the T that look
    v         (B, H, S, E)    (mostly as wide as the keys)
    r         (H, R, D)       row n belongs to the relative position n + NEAREST
    bias      (B, H, T, L)    added to the scores, where a model has more to say than a structure can; L is S, or for
                              `shared` what a row gathers

and return (B, H, T, E). Where all keys are alike and no place is preferred, the values that are seen are averaged:

    >>> alike, nowhere = torch.ones(1, 1, 3, 2), torch.zeros(1, 4, 2)
    >>> causal = Structure(torch.ones(1, 3, 3).tril().bool(), torch.zeros(1, 3, 3, dtype=torch.long))
    >>> v = torch.tensor([1.0, 2.0, 6.0]).view(1, 1, 3, 1)
    >>> attend(alike, alike, alike, v, nowhere, causal).flatten().round(decimals=2)
    tensor([1.0000, 1.5000, 3.0000])
"""

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention.flex_attention import flex_attention

from dtglib.shapes import Float, Int
from dtglib.structure import Flex, Shared, Structure

NEAREST = -1  # no relative position is smaller: it is the dependent's, as a COMPOSE position sees it

AnyStructure = Structure | Shared | Flex

Heads = Float[Tensor, "B H T D"]
Keys = Float[Tensor, "B H S D"]
Values = Float[Tensor, "B H S E"]
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
    """The fast form for the structure at hand."""
    form = FORMS[type(structure)]
    return form(qu, qw, k, v, r, structure, bias)


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
                    scores = scores + bias.expand(B, H, T, T)[b, h, i, seen]
                rows.append(scores.softmax(0) @ v[b, h, seen])
    return torch.stack(rows).view(B, H, T, -1)


def dense(
    qu: Heads, qw: Heads, k: Keys, v: Values, r: Table, structure: Structure | Shared, bias: Bias | None = None
) -> Attended:
    """All scores at once. A position's R possible scores for places are few, and each j picks one of them."""
    B, H, T, D = qu.shape
    R = r.shape[1]
    # All rows at once, as if they were one: r would be copied for each of them otherwise.
    by_place = torch.bmm(qw.transpose(0, 1).flatten(1, 2), (r * D**-0.5).transpose(1, 2))  # H B*T R
    # What is not seen picks one more, minus infinity: so that the mask costs nothing of its own.
    by_place = functional.pad(by_place.unflatten(1, (B, T)).transpose(0, 1), (0, 1), value=-torch.inf)  # B H T R+1
    pick = torch.where(structure.visible, structure.relpos - NEAREST, R).long()  # B T S
    scores = by_place.gather(3, pick[:, None].expand(B, H, T, k.shape[2]))
    if bias is not None:
        scores = scores + bias
    by_content = qu.flatten(0, 1), k.flatten(0, 1).transpose(1, 2)
    scores = torch.baddbmm(scores.flatten(0, 1), *by_content, alpha=D**-0.5)  # B*H T S
    return (scores.softmax(2) @ v.flatten(0, 1)).unflatten(0, (B, H))


def shared(qu: Heads, qw: Heads, k: Keys, v: Values, r: Table, structure: Shared, bias: Bias | None = None) -> Attended:
    """`dense`, once each row has gathered the positions that it looks at from wherever they stand."""
    k, v = (gathered(x.transpose(1, 2).flatten(0, 1), structure.keys) for x in (k, v))
    return dense(qu, qw, k, v, r, structure, bias)


def gathered(rows: Float[Tensor, "N H D"], which: Int[Tensor, "B S"]) -> Float[Tensor, "B H S D"]:
    """Some of the rows, head by head: as the products want them, so that they are copied once."""
    H = rows.shape[1]
    of_heads = which[:, None] * H + torch.arange(H, device=which.device)[:, None]  # B H S
    return rows.flatten(0, 1).index_select(0, of_heads.flatten()).unflatten(0, of_heads.shape)


def flex(qu: Heads, qw: Heads, k: Keys, v: Values, r: Table, structure: Flex, bias: Bias | None = None) -> Attended:
    """The same through FlexAttention: the scores for places are looked up where they are needed."""
    by_place = qw @ (r * qw.shape[3] ** -0.5).transpose(1, 2)  # B H T R
    bias = None if bias is None else bias.expand(*qu.shape[:3], k.shape[2])

    def score_mod(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        # FlexAttention asks about pairs that are not visible, too, and their relative position may be anything.
        place = (structure.relpos(b, i, j) - NEAREST).clamp(0, by_place.shape[3] - 1)
        score = score + by_place[b, h, i, place]
        return score if bias is None else score + bias[b, h, i, j]

    # Uncompiled it would write all scores out. Under autocast q + u is float32, and the keys are not.
    compiled = qu.is_cuda and not torch.compiler.is_compiling()
    kernel = _compiled_flex_attention() if compiled else flex_attention
    return kernel(qu.to(k.dtype), k, v, score_mod=score_mod, block_mask=structure.block_mask)


@cache
def _compiled_flex_attention() -> Callable[..., Tensor]:
    return torch.compile(flex_attention)


FORMS = {Structure: dense, Shared: shared, Flex: flex}
