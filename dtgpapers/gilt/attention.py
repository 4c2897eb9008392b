"""The graph term in attention: features of the graph, as the current word sees them, added to the keys (eqs. 4 and 5).

For position i, which reads a piece of the current word, and position j with the features f_1 ... f_4 on i's tape,

    e(i, j)      =  sum over n of  W_n E_n[f_n] + b_n         E: 151 x 256, the same for all layers; W, b: a layer's own
    score(i, j)  +=  (q_i + u) . (W_k e(i, j)) / sqrt(D)      "content", as in eq. 4 and in the published code
    or           +=  (q_i + w) . (W_r e(i, j)) / sqrt(D)      "position", as in eq. 5

where W_k makes the keys and W_r those of the relative positions. Eq. 5 has misprints: h_j for h_k.

`naive` makes e(i, j) for all pairs: T x T x d numbers a layer. But a feature has only 151 values, and of these only
some occur in a batch: in `graph_term` each query is multiplied with a key for each value that occurs, and every pair
picks 4 of the products. That stores at most 604 numbers for each query and head, and 4 for each pair and head; the tape
itself, 4 integers a pair, is the same for all layers. At the paper's size, 64 sentences of 40 pieces take at most 49 MB
a layer for the products and 13 MB for the pairs; in the naive form they take 419 MB for the e(i, j), and as much for
their keys.

The b_n, which the published code has, add the same to all scores of a query, so that softmax takes no notice of them.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from dtglib.basics.shapes import Float, Int
from dtglib.network.attention import Bias, Heads
from dtglib.network.transformer import Block
from dtgpapers.gilt.config import GraphConfig
from dtgpapers.gilt.tape import MOST

VALUES = MOST + 1


class Tape(NamedTuple):
    """The features and weights from which the layers compute the graph term."""

    rows: Int[Tensor, "B F T S"]  # the embeddings of position s, as position t sees it; counted over all features
    tables: list[Float[Tensor, "_ e"]]  # of each feature, the embeddings of the values that occur
    u: Float[Tensor, "H 1 D"]
    w: Float[Tensor, "H 1 D"]


def occurring(
    features: Int[Tensor, "... F C"], tables: Float[Tensor, "F V e"]
) -> tuple[Int[Tensor, "... F C"], list[Float[Tensor, "_ e"]]]:
    """The embeddings of those values that occur, and the values as numbers of these rows, counted over all features.

    >>> rows, tables = occurring(torch.tensor([[3, 3, 0], [1, 1, 1]]), torch.rand(2, 4, 5))
    >>> rows.tolist(), [len(table) for table in tables]
    ([[1, 1, 0], [2, 2, 2]], [2, 1])
    """
    F, V = tables.shape[:2]
    numbers = features + V * torch.arange(F, device=features.device)[:, None]
    occurs = torch.bincount(numbers.flatten(), minlength=F * V) > 0
    chosen = [table[of_feature] for table, of_feature in zip(tables, occurs.view(F, V), strict=True)]
    return (occurs.cumsum(0) - 1)[numbers], chosen


def tape_of(
    features: Int[Tensor, "B F T S"],
    config: GraphConfig,
    tables: Float[Tensor, "_ V e"],
    biases: tuple[Float[Tensor, "H 1 D"], Float[Tensor, "H 1 D"]],
) -> Tape:
    """The tape of a model's layers, from all features as any type of integers; `biases` are u and w."""
    read = features[:, config.read]
    rows, occur = occurring(read.long().flatten(2), tables)
    return Tape(rows.view(read.shape), occur, *biases)


class GraphBlock(Block):
    """A layer whose attention has the graph term; the class says with which keys."""

    def __init__(self, config: GraphConfig) -> None:
        super().__init__(config)
        self.fuse = nn.ModuleList(nn.Linear(config.feature_width, config.width) for _ in config.read)

    def bias(self, qu: Heads, given: Tape) -> Bias:
        """The graph term, for the content keys."""
        width = self.qkv.in_features
        return graph_term(qu, self.fused(given.tables), self.qkv.weight[width : 2 * width], given.rows)

    def fused(self, tables: list[Float[Tensor, "_ e"]]) -> Float[Tensor, "V d"]:
        """The vector that each value of each feature adds to a key, before the keys' own linear map."""
        return torch.cat([linear(table) for linear, table in zip(self.fuse, tables, strict=True)])


class PositionGraphBlock(GraphBlock):
    """The same for the keys of relative positions."""

    def bias(self, qu: Heads, given: Tape) -> Bias:
        """The graph term, for the positional keys."""
        return graph_term(qu - given.u + given.w, self.fused(given.tables), self.places.weight, given.rows)


BLOCKS = {"content": GraphBlock, "position": PositionGraphBlock}


def graph_term(
    q: Heads, fused: Float[Tensor, "V d"], to_keys: Float[Tensor, "d d"], rows: Int[Tensor, "B F T S"]
) -> Float[Tensor, "B H T S"]:
    """The addition to the scores."""
    (B, H, T, D), (_, F, _, S) = q.shape, rows.shape
    keys = nn.functional.linear(fused, to_keys).unflatten(1, (H, D)).permute(1, 2, 0)  # H D V
    # One product for all rows of the batch: a product per row would copy the keys for each of them.
    of_values = torch.bmm(q.transpose(0, 1).flatten(1, 2), keys * D**-0.5)  # H B*T V
    # One gather for all features, because the backward pass of each fills a tensor of the size of the products.
    picked = rows.transpose(1, 2).reshape(1, B * T, F * S).expand(H, -1, -1)
    return of_values.gather(2, picked).view(H, B, T, F, S).sum(3).transpose(0, 1)


def naive(
    q: Heads, fused: Float[Tensor, "V d"], to_keys: Float[Tensor, "d d"], rows: Int[Tensor, "B F T S"]
) -> Float[Tensor, "B H T S"]:
    """The definition: a vector for each pair of positions."""
    H, D = q.shape[1], q.shape[3]
    e = fused[rows].sum(1)  # B T S d
    keys = nn.functional.linear(e, to_keys).unflatten(3, (H, D))  # B T S H D
    return torch.einsum("bhtd,btshd->bhts", q, keys) * D**-0.5
