"""The scorer of dependencies: how probable each arc of a new word is, and how many it has (section 3.1, eqs. 2, 3).

When word i comes, it may get an arc from ROOT, and one in either direction between it and each word j before it. These
are its cells, 2i - 1 of them. In a cell, both words are represented anew, as a head or as a dependent, because the
representation includes their distance and the older word's column of the tape:

    o^p  =  MLP2_p( MLP1_p(o) + W_p sinusoid(i - j) + V_p [E_1[f_1] ... E_4[f_4]] )            and o^c, of dependents
    p    =  sigmoid( [o^p; 1] W [o^c; 1] )                                                     of the arc
    pi   =  softmax( A s / sqrt(cells) + b ),   s = sum over the cells of o^p * (S o^c)        of the number of arcs

The tape is the one before the arcs of word i, as word i - 1 sees it; word i itself has 0 there. The graph gets the arcs
of those cells, as many as there are, that have the largest p.

A sentence of n words has n^2 cells, each with two vectors of 2d and more on the way through MLP2. MLP1, which is as
large, is computed once a word; W_p and V_p once a distance and once a value of a feature, so that a cell only adds up
rows. And cells are computed in parts whose intermediate vectors are made again in the backward pass.

Of W and S the published code uses the diagonals only, by a mistake in an einsum, and of pi it takes all 30 numbers as
possible for every word, so that p(x) sums to less than 1. `biaffine` and `counts` choose. The full W and S are
initialised as the code's: random on the diagonal, and 0 elsewhere.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dtglib.basics.shapes import Float, Int
from dtglib.families.gilt.attention import VALUES
from dtglib.families.gilt.config import GiltConfig
from dtglib.families.gilt.tape import FEATURES
from dtglib.network.attention import NEAREST, sinusoids

AT_ONCE = 2**23  # numbers in the vectors of 2d that are held together: of 4,096 cells at the paper's width


class Cells(NamedTuple):
    """Possible arcs, of words that are counted from 1 over all sentences; 0 is ROOT.

    A step is the coming of a word: training has all words of a batch, and a search the newest word of each hypothesis.
    """

    head: Int[Tensor, " C"]
    dependent: Int[Tensor, " C"]
    step: Int[Tensor, " C"]  # in which it may be added, from 0
    distance: Int[Tensor, " C"]
    of_head: Int[Tensor, "F C"]  # features
    of_dependent: Int[Tensor, "F C"]

    def part(self, which: slice) -> "Cells":
        """Some of the cells."""
        return Cells(*(column[..., which] for column in self))


class Matrix(nn.Module):
    """A linear map; random on the diagonal, and 0 elsewhere."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width).diag())

    def forward(self, x: Float[Tensor, "C n"]) -> Float[Tensor, "C n"]:
        return nn.functional.linear(x, self.weight)


class Diagonal(nn.Module):
    """A linear map whose matrix has a diagonal only."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x: Float[Tensor, "C n"]) -> Float[Tensor, "C n"]:
        return x * self.weight


MAPS = {"full": Matrix, "diagonal": Diagonal}
WIDTHS = {"ra": 3, "ftr": 2, "ctr": 2}  # of a word's vector, in widths of the Transformer: see model.py


class Side(nn.Module):
    """What words are as heads, or as dependents."""

    def __init__(self, config: GiltConfig) -> None:
        super().__init__()
        given, width = WIDTHS[config.word] * config.width, config.width
        self.of_word = _two_layers(given, 2 * width)
        self.of_distance = nn.Linear(width, 2 * width, bias=False)
        self.of_features = nn.Linear(len(FEATURES) * config.feature_width, 2 * width, bias=False)
        self.of_cell = _two_layers(2 * width, width)

    def rows(self, words: Float[Tensor, "N w"], places: Float[Tensor, "R d"], tables: Float[Tensor, "F V e"]) -> "Rows":
        """The vectors that a cell adds up."""
        by_feature = self.of_features.weight.unflatten(1, (len(tables), -1))  # 2d F e
        return Rows(self.of_word(words), self.of_distance(places), torch.einsum("fve,dfe->fvd", tables, by_feature))

    def forward(
        self, rows: "Rows", word: Int[Tensor, " C"], distance: Int[Tensor, " C"], features: Int[Tensor, "F C"]
    ) -> Float[Tensor, "C d"]:
        x = rows.word[word] + rows.place[distance - NEAREST]
        return self.of_cell(x + sum(table[values] for table, values in zip(rows.value, features, strict=True)))


class Rows(NamedTuple):
    """The summands of the cells' vectors, 2d wide, by word, by distance, and by the value of each feature."""

    word: Float[Tensor, "N D"]
    place: Float[Tensor, "R D"]
    value: Float[Tensor, "F V D"]


def _two_layers(given: int, width: int) -> nn.Sequential:
    layers = nn.Sequential(nn.LayerNorm(given), nn.Linear(given, given), nn.ReLU(), nn.Linear(given, width))
    nn.init.kaiming_normal_(layers[1].weight, nonlinearity="relu")
    return layers


class Scorer(nn.Module):
    """The log-odds of arcs, and the log-probabilities of their numbers."""

    def __init__(self, config: GiltConfig) -> None:
        super().__init__()
        given, width = WIDTHS[config.word] * config.width, config.width
        self.width, self.only_possible = width, config.counts == "possible"
        bound = (6 / (1 + given)) ** 0.5  # Xavier's for a matrix of one row
        self.root = nn.Parameter(torch.empty(given).uniform_(-bound, bound))
        self.tables = nn.Parameter(torch.randn(len(FEATURES), VALUES, config.feature_width))
        self.as_head, self.as_dependent = Side(config), Side(config)
        self.arc, self.mixed = MAPS[config.biaffine](width + 1), MAPS[config.biaffine](width)
        self.count = nn.Linear(width, config.most_arcs + 1)

    def forward(
        self, words: Float[Tensor, "W w"], cells: Cells, steps: int, farthest: int
    ) -> tuple[Float[Tensor, " C"], Float[Tensor, "S K"]]:
        """Of all cells, and of all steps; no distance in the cells is larger than `farthest`."""
        words = torch.cat([self.root[None].to(words.dtype), words])
        places = sinusoids(farthest, self.width, words.device)
        heads, dependents = (side.rows(words, places, self.tables) for side in (self.as_head, self.as_dependent))
        logits, s = [], words.new_zeros(steps, self.width, dtype=torch.float32)
        size = max(1, AT_ONCE // (2 * self.width))
        parts = [slice(first, first + size) for first in range(0, len(cells.head), size)]
        for part in parts:
            given = heads, dependents, cells.part(part)
            # One part needs no second computation.
            logit, mixed = checkpoint(self._part, *given, use_reentrant=False) if len(parts) > 1 else self._part(*given)
            logits.append(logit)
            s = s.index_add(0, cells.step[part], mixed.float())
        possible = torch.bincount(cells.step, minlength=steps)
        scores = self.count(s / possible.clamp(min=1).sqrt()[:, None])
        if self.only_possible:
            impossible = torch.arange(scores.shape[1], device=scores.device) > possible[:, None]
            scores = scores.masked_fill(impossible, -torch.inf)
        return torch.cat([words.new_zeros(0), *logits]), scores.log_softmax(1, dtype=torch.float32)

    def _part(self, heads: Rows, dependents: Rows, cells: Cells) -> tuple[Float[Tensor, " c"], Float[Tensor, "c d"]]:
        p = self.as_head(heads, cells.head, cells.distance, cells.of_head)
        c = self.as_dependent(dependents, cells.dependent, cells.distance, cells.of_dependent)
        one = p.new_ones(len(p), 1)
        logits = (torch.cat([p, one], 1) * self.arc(torch.cat([c, one], 1))).sum(1)
        return logits, p * self.mixed(c)
