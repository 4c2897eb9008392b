"""UDGN by its definition, in loops over sentences, words and heads; network.py computes the same.

    vectors_by_definition(network, batch)          what `Udgn.vectors` computes, without dropout

Every sentence is read alone and without padding. The parameters are those of the network, so gradients can be compared.
"""

import math

import torch
from torch import Tensor, nn

from dtglib.basics.shapes import Float, Int
from dtgpapers.udgn.masked import MaskedBatch
from dtgpapers.udgn.network import Layer, Udgn

NONLINEAR = {
    "tanh": torch.tanh,
    "identity": lambda x: x,
    "relu": lambda x: x.clamp(min=0),
    "elu": lambda x: torch.where(x > 0, x, x.exp() - 1),
}


def vectors_by_definition(network: Udgn, batch: MaskedBatch) -> list[Float[Tensor, "n d"]]:
    """The vectors after the last layer, of each sentence."""
    vectors = []
    for row, length in enumerate(batch.length.tolist()):
        words = batch.token[row, :length]
        gold = [] if batch.heads is None else batch.heads[row, :length].tolist()
        m = edges(network, words, gold)
        h = [network.embedding.weight[word] for word in words]
        if network.config.positions:
            h = [x + network.positions.table[place] for place, x in enumerate(h)]
        for layer in network.layers:
            h = after(layer, network.config, h, m)
        vectors.append(torch.stack(h))
    return vectors


def edges(network: Udgn, words: Int[Tensor, " n"], gold: list[int]) -> list[list[Tensor]]:
    """m of one sentence."""
    n, config = len(words), network.config
    e = scores(network.parser, words)
    if config.edges == "detached":
        e = [[x.detach() for x in row] for row in e]
    if config.edges == "gold":
        q = [[torch.tensor(float(gold[i] == j)) for j in range(n)] for i in range(n)]
    else:
        chances = by_trees if config.edges == "kirchhoff" else by_words
        q = chances(e)
    return [[q[i][j] + q[j][i] - q[i][j] * q[j][i] for j in range(n)] for i in range(n)]


def scores(parser: nn.Module, words: Int[Tensor, " n"]) -> list[list[Tensor]]:
    """e of one sentence."""
    x = [parser.embedding.weight[word] for word in words]
    if parser.tags is not None:
        vectors = parser.tags.vectors.weight.T
        for i, word in enumerate(words):
            share = parser.tags.choice.weight[word].softmax(0)
            x[i] = x[i] + sum(share[tag + 1] * vectors[tag] for tag in range(len(vectors)))
    read, _ = parser.lstm(torch.stack(x)[None])
    both = [parser.out.weight @ one + parser.out.bias for one in read[0]]
    width = len(both[0]) // 2
    return [[(i[width:] * j[:width]).sum() / math.sqrt(width) for j in both] for i in both]


def by_words(e: list[list[Tensor]]) -> list[list[Tensor]]:
    """Every word chooses its head by itself; choosing itself means none."""
    q = []
    for i, row in enumerate(e):
        total = sum(x.exp() for x in row)
        q.append([x.exp() / total if j != i else x * 0 for j, x in enumerate(row)])
    return q


def by_trees(e: list[list[Tensor]]) -> list[list[Tensor]]:
    """The marginals of all trees, each listed; a word whose head is itself depends on ROOT."""
    n = len(e)
    total, q = 0, [[e[i][j] * 0 for j in range(n)] for i in range(n)]
    for number in range(n**n):
        heads = [number // n**i % n for i in range(n)]
        if not is_forest(heads):
            continue
        weight = torch.stack([e[i][heads[i]] for i in range(n)]).sum().exp()
        total = total + weight
        for i in range(n):
            if heads[i] != i:
                q[i][heads[i]] = q[i][heads[i]] + weight
    return [[x / total for x in row] for row in q]


def is_forest(heads: list[int]) -> bool:
    """True if every word leads up to one that is its own head."""
    for word in range(len(heads)):
        for _ in heads:
            word = heads[word]
        if heads[word] != word:
            return False
    return True


def after(layer: Layer, config, h: list[Tensor], m: list[list[Tensor]]) -> list[Tensor]:
    """The vectors after a layer."""
    H, D, n = config.heads, config.heads_width // config.heads, len(h)
    parts = 4 if config.gates else 3
    # The linear map gives all heads of the queries, then those of the keys, and so on.
    made = [(layer.vectors.weight @ x + layer.vectors.bias).reshape(parts, H, D) for x in h]
    vectors = []
    for i in range(n):
        o = [torch.zeros(D) for _ in range(H)]
        for j in range(n):
            e = []
            for k in range(H):
                score = (made[i][0, k] * made[j][1, k]).sum() / math.sqrt(D)
                if config.bias != "none" and i != j:
                    b = layer.bias[0 if i > j else 1, k]
                    score = score + (b / math.sqrt(D) if config.bias == "code" else b)
                e.append(score)
            if config.controller == "softmax":
                a = [x.exp() / sum(y.exp() for y in e) for x in e]
            else:
                a = [1 / (1 + (-x).exp()) for x in e]
            for k in range(H):
                c = NONLINEAR[config.nonlinearity](made[j][2, k])
                if config.gates:
                    c = c / (1 + (-made[i][3, k]).exp())
                o[k] = o[k] + a[k] * (m[i][j] + 1e-6) * c
        vectors.append(h[i] + layer.out.weight @ torch.cat(o) + layer.out.bias)
    return vectors
