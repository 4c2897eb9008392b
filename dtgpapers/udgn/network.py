"""UDGN: a parser, and layers in which words hear only of words that the parser joins them with (section 3.3).

    q, k, v, g = W h + b                                 for every word and each of H heads, D numbers each
    e_ijk = (q_ik . k_jk + b_k) / sqrt(D)                b_k: one number for j before i, another for j after i
    a^_ijk = softmax over k of e_ijk                     the heads compete for each pair of words
    a_ijk = a^_ijk * (m_ij + 1e-6)                       m: the parser's mask; 0 where j is padding
    o_ik = sum_j a_ijk * tanh(v_jk) * sigmoid(g_ik)
    h <- h + W' o + b'

The gate of i is a factor of the whole sum. So a layer is two products of matrices for each head, and holds B H T^2
numbers, as other attention does; never a vector for each pair of words and head. `naive.py` is the definition in loops.

The root of D is that of a head's width, as in the published code; the paper writes D for the width of the model, too.
There is no norm between layers, and none of them has a second part as the layers of a Transformer.

At the paper's size, with 10,798 entries, there are 49,928,878 parameters. (A vocabulary of ours with as many words has
two entries more, <ROOT> and <END>, which are never read: 2,050 parameters.)
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dtglib.basics.errors import UserError
from dtglib.basics.shapes import Float
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.dropout import Dropout
from dtgpapers.udgn.beliefs import own_metrics
from dtgpapers.udgn.config import UdgnConfig
from dtgpapers.udgn.masked import MaskedBatch, MaskedModel
from dtgpapers.udgn.parser import EDGES, SPREAD, Parser, Probabilities, mask_of

LEAST = 1e-6  # of a mask
MOST_POSITIONS = 500  # of a table of positions

Scores = Float[Tensor, "B H T T"]

# How heads share a pair of words, from their scores.
CONTROLLERS: dict[str, Callable[[Scores], Scores]] = {"softmax": lambda e: e.softmax(1), "sigmoid": torch.sigmoid}
# What the bias of a direction is multiplied by, from a head's width. Without a bias there is nothing to multiply.
BIASES: dict[str, Callable[[int], float]] = {"code": lambda width: width**-0.5, "paper": lambda width: 1.0}
NONLINEARITIES: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "identity": lambda v: v,
    "relu": torch.relu,
    "elu": nn.functional.elu,
}


class Layer(nn.Module):
    """Gated heads that compete for each pair of words."""

    def __init__(self, config: UdgnConfig) -> None:
        super().__init__()
        self.heads, self.head_width = config.heads, config.heads_width // config.heads
        self.vectors = nn.Linear(config.width, (3 + config.gates) * config.heads_width)
        self.out = nn.Linear(config.heads_width, config.width)
        self.controller, self.nonlinearity = CONTROLLERS[config.controller], NONLINEARITIES[config.nonlinearity]
        self.bias: Any = None if config.bias == "none" else nn.Parameter(torch.empty(2, config.heads))
        self.scaled = 0.0 if self.bias is None else BIASES[config.bias](self.head_width)
        self.attention_dropout, self.dropout = Dropout(config.attention_dropout), Dropout(config.dropout)
        self.initialise()

    @torch.no_grad()
    def initialise(self) -> None:
        """Draw all weights."""
        for linear in (self.vectors, self.out):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
        if self.bias is not None:
            self.bias.uniform_(-SPREAD, SPREAD)

    def project(self, h: Float[Tensor, "B T d"]) -> tuple[Float[Tensor, "B H T D"], ...]:
        """Queries, keys, values and, if there are any, gates."""
        B, T, _ = h.shape
        return self.vectors(h).view(B, T, -1, self.heads, self.head_width).permute(2, 0, 3, 1, 4).unbind(0)

    def shared(self, q: Float[Tensor, "B H T D"], k: Float[Tensor, "B H T D"]) -> Scores:
        """a^: the share of each head in what i hears of j."""
        e = q @ k.transpose(2, 3) / math.sqrt(self.head_width)
        if self.bias is not None:
            e = e + self.scaled * self.directions(e.shape[3])
        return self.controller(e)

    def directions(self, T: int) -> Float[Tensor, "H T T"]:
        """The bias of each pair of words: 0 for a word itself."""
        before, after = (self.bias[side][:, None, None].expand(-1, T, T) for side in (0, 1))
        return before.tril(-1) + after.triu(1)

    def forward(self, h: Float[Tensor, "B T d"], weight: Float[Tensor, "B 1 T T"]) -> Float[Tensor, "B T d"]:
        q, k, v, *gates = self.project(h)
        a = self.attention_dropout(self.shared(q, k) * weight)
        o = a @ self.nonlinearity(v)
        for g in gates:
            o = o * g.sigmoid()
        return h + self.dropout(self.out(self.dropout(o.transpose(1, 2).flatten(2))))


class Weights(NamedTuple):
    """The weights of heads in one layer, for i (first) that hears of j (second)."""

    shared: Scores  # a^, before the mask
    masked: Scores  # a, after it


class Udgn(MaskedModel):
    """The whole network."""

    def __init__(self, config: UdgnConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.parser = Parser(len(vocabulary), config)
        self.positions = Positions(config.width) if config.positions else None
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.edges = EDGES[config.edges]

    def heads(self, batch: MaskedBatch) -> Probabilities:
        """q: the probability of each head of each word."""
        return self.edges(self.parser(batch.token, batch.length), batch.there, batch.heads)

    own_metrics = own_metrics  # the parser's output at an evaluation during training

    def weight(self, batch: MaskedBatch) -> Float[Tensor, "B 1 T T"]:
        """The factor of the shares of heads: the mask, a little more than 0, and 0 for padding."""
        return ((mask_of(self.heads(batch)) + LEAST) * batch.there[:, None])[:, None]

    def vectors(self, batch: MaskedBatch) -> Float[Tensor, "B T d"]:
        """The vectors after the last layer."""
        h, weight = self.first(batch), self.weight(batch)
        for layer in self.layers:
            h = layer(h, weight)
        return h

    @torch.no_grad()
    def weights(self, batch: MaskedBatch) -> list[Weights]:
        """The weights of all heads in each layer."""
        h, weight, of_layers = self.first(batch), self.weight(batch), []
        for layer in self.layers:
            q, k, *_ = layer.project(h)
            shared = layer.shared(q, k)
            of_layers.append(Weights(shared, shared * weight))
            h = layer(h, weight)
        return of_layers


class Positions(nn.Module):
    """A vector for each place in a sentence."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(MOST_POSITIONS, width).uniform_(-SPREAD, SPREAD))

    def forward(self, T: int) -> Float[Tensor, "T d"]:
        if T > MOST_POSITIONS:
            raise UserError(f"a sentence has {T} words, and this model knows {MOST_POSITIONS} places; leave it out")
        return self.table[:T]
