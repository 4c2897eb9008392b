"""The quality of a model's graphs, given the words and the graph so far (Table 3 of the paper).

The paper does not say which arcs count as predicted. `by_odds` takes all arcs that are more probable than not;
`by_number` takes, of each word, as many of its best ones as the most probable number of arcs says, which is how
graphs are built. Both are over all arcs together. `log_joint` is log p(words, graph) per token: of the tokens, ends
included, and of the numbers of arcs.
"""

from typing import NamedTuple

import numpy as np
import torch

from dtglib.basics.progress import progress
from dtglib.basics.record import Row
from dtglib.basics.shapes import Bool, Float, Int
from dtglib.training.schedule import TrainConfig
from dtgpapers.gilt.examples import GraphExamples
from dtgpapers.gilt.model import Gilt


class ArcCounts(NamedTuple):
    """Counts of predicted arcs, of true arcs, and of arcs that are both."""

    right: int = 0
    predicted: int = 0
    there: int = 0

    def and_of(self, says: Bool[torch.Tensor, " C"], is_arc: Bool[torch.Tensor, " C"]) -> "ArcCounts":
        """With more cells."""
        counts = (says & is_arc).sum(), says.sum(), is_arc.sum()
        return ArcCounts(*(known + int(more) for known, more in zip(self, counts, strict=True)))

    @property
    def precision(self) -> float:
        """The share of predicted arcs that are there."""
        return self.right / self.predicted if self.predicted else 1.0

    @property
    def recall(self) -> float:
        """The share of arcs that are predicted."""
        return self.right / self.there if self.there else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.right / (self.predicted + self.there) if self.predicted + self.there else 1.0


class Measured(NamedTuple):
    """The measures of a model's graphs of some sentences."""

    by_odds: ArcCounts
    by_number: ArcCounts
    numbers: float  # the share of words whose number of arcs is the most probable one
    log_joint: float

    def row(self) -> Row:
        """The numbers by names."""
        readings = {"by odds": self.by_odds, "by number": self.by_number}
        values = {
            f"{name} {reading}": value
            for reading, counts in readings.items()
            for name, value in (("precision", counts.precision), ("recall", counts.recall), ("F1", counts.f1))
        }
        return {**values, "arcs": self.by_odds.there, "numbers": self.numbers, "log joint": self.log_joint}


@torch.no_grad()
def measured(model: Gilt, data: GraphExamples, positions: int = TrainConfig.batch_positions) -> Measured:
    """Of all sentences; `positions` is how many are computed together."""
    device = model.embedding.weight.device
    by_odds, by_number, right, words = ArcCounts(), ArcCounts(), 0, 0
    log_joint = tokens = 0.0
    for chosen in progress(data.plan(positions, np.random.default_rng(0), device), "judging graphs", "batch"):
        given = data.batch(chosen, positions, device)
        output, is_arc = model.compute(given), given.is_arc.bool()
        number = output.counts.argmax(1)
        by_odds = by_odds.and_of(output.arcs > 0, is_arc)
        by_number = by_number.and_of(best_of_each(output.arcs, given.cells.step, number), is_arc)
        right, words = right + int((number == given.count).sum()), words + len(number)
        of_numbers = output.counts.gather(1, given.count[:, None].long())
        log_joint += float(output.log_probs.double().sum() + of_numbers.double().sum())
        tokens += len(output.log_probs)
    return Measured(by_odds, by_number, right / words, log_joint / tokens)


def best_of_each(
    values: Float[torch.Tensor, " C"], group: Int[torch.Tensor, " C"], count: Int[torch.Tensor, " G"]
) -> Bool[torch.Tensor, " C"]:
    """True for values that are among the `count` largest of their group."""
    by_value = values.argsort(descending=True, stable=True)
    order = by_value[group[by_value].argsort(stable=True)]
    in_order = group[order].long()
    sizes = torch.bincount(in_order, minlength=len(count))
    rank = torch.arange(len(order), device=order.device) - (sizes.cumsum(0) - sizes)[in_order]
    return torch.zeros_like(values, dtype=torch.bool).scatter(0, order, rank < count[in_order])
