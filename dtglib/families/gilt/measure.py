"""How good the graphs of a model are, given the words and the graph so far (Table 3 of the paper).

The paper does not say which arcs count as predicted. `f1_by_odds` takes all arcs that are more probable than not;
`f1_by_number` takes, of each word, as many of its best ones as the most probable number of arcs says, which is how
graphs are built. Both are over all arcs together. `log_joint` is log p(words, graph) per token: of the tokens, ends
included, and of the numbers of arcs.
"""

from typing import NamedTuple

import numpy as np
import torch

from dtglib.basics.shapes import Bool, Float, Int
from dtglib.families.gilt.examples import GraphExamples
from dtglib.families.gilt.model import Gilt
from dtglib.training.schedule import TrainConfig


class Measured(NamedTuple):
    """What a model makes of the graphs of some sentences."""

    f1_by_odds: float
    f1_by_number: float
    numbers: float  # the share of words whose number of arcs is the most probable one
    log_joint: float


@torch.no_grad()
def measured(model: Gilt, data: GraphExamples, positions: int = TrainConfig.batch_positions) -> Measured:
    """Of all sentences; `positions` is how many are computed together."""
    device = model.embedding.weight.device
    # Arcs that are right, that are said to be there, and that are there; then words that are right, and all of them.
    by_odds, by_number, numbers = np.zeros(3), np.zeros(3), np.zeros(2)
    log_joint = tokens = 0.0
    for chosen in data.plan(positions, np.random.default_rng(0), device):
        given = data.batch(chosen, positions, device)
        found, is_arc = model.compute(given), given.is_arc.bool()
        number = found.counts.argmax(1)
        for sums, says in (
            (by_odds, found.arcs > 0),
            (by_number, best_of_each(found.arcs, given.cells.step, number)),
        ):
            sums += [int((says & is_arc).sum()), int(says.sum()), int(is_arc.sum())]
        numbers += [int((number == given.count).sum()), len(number)]
        of_numbers = found.counts.gather(1, given.count[:, None].long())
        log_joint += float(found.log_probs.double().sum() + of_numbers.double().sum())
        tokens += len(found.log_probs)
    f1 = [2 * right / (said + there) if said + there else 1.0 for right, said, there in (by_odds, by_number)]
    return Measured(*map(float, f1), float(numbers[0] / numbers[1]), log_joint / tokens)


def best_of_each(
    values: Float[torch.Tensor, " C"], group: Int[torch.Tensor, " C"], count: Int[torch.Tensor, " G"]
) -> Bool[torch.Tensor, " C"]:
    """Which values are among the `count` largest of their group."""
    by_value = values.argsort(descending=True, stable=True)
    order = by_value[group[by_value].argsort(stable=True)]
    in_order = group[order].long()
    sizes = torch.bincount(in_order, minlength=len(count))
    rank = torch.arange(len(order), device=order.device) - (sizes.cumsum(0) - sizes)[in_order]
    return torch.zeros_like(values, dtype=torch.bool).scatter(0, order, rank < count[in_order])
