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
rows. MLP2 begins with a normalisation and a linear map M. So the rows are centred, and M is computed once a row, too:

    M norm(x)  =  (sum of M (row - its mean)) / spread + bias,     spread^2 = mean square of the sum of (row - its mean)

The square of a sum is the sum of the products of its summands, each pair of which is multiplied once, too. At d = 256
that leaves 0.39 of 0.92 million products for each cell. Cells are computed in parts; if there are many,
their intermediate vectors are not kept, but computed again in the backward pass.

Of W and S the published code uses the diagonals only, by a mistake in an einsum, and of pi it takes all 30 numbers as
possible for every word, so that p(x) sums to less than 1. `biaffine` and `counts` choose. The full W and S are
initialised as the code's: random on the diagonal, and 0 elsewhere.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dtglib.basics.shapes import Float, Int
from dtglib.network.attention import NEAREST, sinusoids
from dtgpapers.gilt.attention import VALUES, occurring
from dtgpapers.gilt.config import GiltConfig

# Numbers in the vectors of 2d that are computed together. On a CPU, more of them do not stay in its caches.
AT_ONCE = {"cpu": 2**20, "cuda": 2**23}
HELD = 2**23  # such numbers for which intermediate vectors are kept: those of 4,096 cells at the paper's width


class Cells(NamedTuple):
    """Possible arcs, of words that are counted from 1 over all sentences; 0 is ROOT.

    A step is the coming of a word: training has all words of a batch, and a search the newest word of each hypothesis.
    """

    head: Int[Tensor, " C"]
    dependent: Int[Tensor, " C"]
    step: Int[Tensor, " C"]  # in which it may be added, from 0
    distance: Int[Tensor, " C"]
    of_head: Int[Tensor, "F C"]  # all features
    of_dependent: Int[Tensor, "F C"]


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


class Product(Matrix):
    """[p; 1] W [c; 1]; without the two ones, of which copies of all vectors would be made."""

    def forward(self, p: Float[Tensor, "C n"], c: Float[Tensor, "C n"]) -> Float[Tensor, " C"]:
        W = self.weight
        return (p * nn.functional.linear(c, W[:-1, :-1], W[:-1, -1])).sum(1) + c @ W[-1, :-1] + W[-1, -1]


class DiagonalProduct(Diagonal):
    """The same for a matrix with a diagonal only."""

    def forward(self, p: Float[Tensor, "C n"], c: Float[Tensor, "C n"]) -> Float[Tensor, " C"]:
        return (p * c) @ self.weight[:-1] + self.weight[-1]


MAPS: dict[str, type[nn.Module]] = {"full": Matrix, "diagonal": Diagonal}
PRODUCTS: dict[str, type[nn.Module]] = {"full": Product, "diagonal": DiagonalProduct}
WIDTHS = {"ra": 3, "ftr": 2, "ctr": 2}  # of a word's vector, in widths of the Transformer: see model.py


class Side(nn.Module):
    """Two linear maps that represent words as heads, or as dependents."""

    def __init__(self, config: GiltConfig) -> None:
        super().__init__()
        given, width = WIDTHS[config.word] * config.width, config.width
        self.of_word = _two_layers(given, 2 * width)
        self.of_distance = nn.Linear(width, 2 * width, bias=False)
        self.of_features = nn.Linear(len(config.read) * config.feature_width, 2 * width, bias=False)
        self.of_cell = _two_layers(2 * width, width)

    def rows(self, words: Float[Tensor, "N w"], places: Float[Tensor, "R d"], tables: Sequence[Tensor]) -> "Summands":
        """The summands of cells: of all words, distances and values of features, in this order."""
        by_feature = self.of_features.weight.chunk(len(tables), dim=1)
        of_values = [table @ matrix.T for table, matrix in zip(tables, by_feature, strict=True)]
        summands = torch.cat([self.of_word(words), self.of_distance(places), *of_values]).float()
        centred = summands - summands.mean(1, keepdim=True)
        norm, first = self.of_cell[:2]
        with torch.autocast(words.device.type, enabled=False):  # the products of a cell must not lose its spread
            products = centred @ centred[len(words) :].T / centred.shape[1]
        mapped = nn.functional.linear(centred, first.weight * norm.weight).float()
        return Summands(mapped, centred.square().mean(1), products)

    def forward(self, rows: "Summands", which: Int[Tensor, "C n"]) -> Float[Tensor, "C d"]:
        """The vectors of cells; `which` names the summands of each of them, its word first."""
        norm, first, _, second = self.of_cell
        mapped = nn.functional.embedding_bag(which, rows.mapped, mode="sum")
        spread = (rows.square(which)[:, None] + norm.eps).rsqrt()
        return second(torch.addcmul(first(norm.bias), mapped, spread).relu_())


class Summands(NamedTuple):
    """The summands of the vectors that enter MLP2, of which the first are words; without their means."""

    mapped: Float[Tensor, "R D"]  # after the normalisation's scale and the linear map
    squares: Float[Tensor, " R"]  # the mean square of each,
    products: Float[Tensor, "R S"]  # and the mean product with each that is no word

    def square(self, which: Int[Tensor, "C n"]) -> Float[Tensor, " C"]:
        """The mean square of sums, each of a word and of others."""
        words = self.products.shape[0] - self.products.shape[1]
        one, other = torch.triu_indices(which.shape[1], which.shape[1], 1, device=which.device)
        pairs = which[:, one] * self.products.shape[1] + which[:, other] - words
        of_pairs = self.products.flatten().gather(0, pairs.flatten()).view(pairs.shape)
        of_each = self.squares.gather(0, which.flatten()).view(which.shape)
        return (of_each.sum(1) + 2 * of_pairs.sum(1)).clamp(min=0)


def _two_layers(given: int, width: int) -> nn.Sequential:
    layers = nn.Sequential(nn.LayerNorm(given), nn.Linear(given, given), nn.ReLU(), nn.Linear(given, width))
    nn.init.kaiming_normal_(layers[1].weight, nonlinearity="relu")
    return layers


class ArcScorer(nn.Module):
    """The log-odds of arcs, and the log-probabilities of their numbers."""

    def __init__(self, config: GiltConfig) -> None:
        super().__init__()
        given, width = WIDTHS[config.word] * config.width, config.width
        self.width, self.features, self.only_possible = width, config.read, config.counts == "possible"
        bound = (6 / (1 + given)) ** 0.5  # Xavier's for a matrix of one row
        self.root = nn.Parameter(torch.empty(given).uniform_(-bound, bound))
        self.tables = nn.Parameter(torch.randn(len(config.read), VALUES, config.feature_width))
        self.as_head, self.as_dependent = Side(config), Side(config)
        self.arc, self.mixed = PRODUCTS[config.biaffine](width + 1), MAPS[config.biaffine](width)
        self.count = nn.Linear(width, config.most_arcs + 1)

    def forward(
        self, words: Float[Tensor, "W w"], cells: Cells, steps: int, farthest: int
    ) -> tuple[Float[Tensor, " C"], Float[Tensor, "S K"]]:
        """Of all cells, and of all steps; no distance in the cells is larger than `farthest`."""
        sides = self._sides(words, cells, farthest)
        logits, s = [], words.new_zeros(steps, self.width, dtype=torch.float32)
        size = max(1, AT_ONCE[words.device.type] // (2 * self.width))
        parts = [slice(first, first + size) for first in range(0, len(cells.head), size)]
        is_held = len(cells.head) * 2 * self.width <= HELD
        for part in parts:
            given: tuple[Any, ...] = *((rows, which[part]) for rows, which in sides), cells.step[part], steps
            logit, mixed = self._part(*given) if is_held else checkpoint(self._part, *given, use_reentrant=False)
            logits.append(logit)
            s = s + mixed
        possible = torch.bincount(cells.step, minlength=steps)
        scores = self.count(s / possible.clamp(min=1).sqrt()[:, None])
        if self.only_possible:
            impossible = torch.arange(scores.shape[1], device=scores.device) > possible[:, None]
            scores = scores.masked_fill(impossible, -torch.inf)
        return torch.cat([words.new_zeros(0), *logits]), scores.log_softmax(1, dtype=torch.float32)

    def _sides(
        self, words: Float[Tensor, "W w"], cells: Cells, farthest: int
    ) -> list[tuple[Summands, Int[Tensor, "C n"]]]:
        """For heads and for dependents: the summands of all cells, and those of each cell."""
        words = torch.cat([self.root[None].to(words.dtype), words])
        places = sinusoids(farthest, self.width, words.device)
        sides = []
        for side, word, features in (
            (self.as_head, cells.head, cells.of_head),
            (self.as_dependent, cells.dependent, cells.of_dependent),
        ):
            values, tables = occurring(features[self.features], self.tables)
            place, value = len(words) + cells.distance - NEAREST, len(words) + len(places) + values
            sides.append((side.rows(words, places, tables), torch.stack([word, place, *value], dim=1)))
        return sides

    def _part(
        self,
        heads: tuple[Summands, Int[Tensor, "c n"]],
        dependents: tuple[Summands, Int[Tensor, "c n"]],
        step: Int[Tensor, " c"],
        steps: int,
    ) -> tuple[Float[Tensor, " c"], Float[Tensor, "S d"]]:
        """Of some cells: their log-odds, and their share of the sums from which the numbers of arcs are told."""
        p, c = self.as_head(*heads), self.as_dependent(*dependents)
        s = p.new_zeros(steps, self.width, dtype=torch.float32)
        return self.arc(p, c), s.index_add(0, step, (p * self.mixed(c)).float())
