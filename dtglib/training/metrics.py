"""Sums over the steps of a training since its last line of metrics.

Numbers stay on their device until a line is written, because reading one waits until the device has computed it.
"""

import math
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from torch import Tensor

from dtglib.basics.errors import shortened
from dtglib.network.transformer import LossPart
from dtglib.training.distributed import Processes


class Taken(NamedTuple):
    """A batch that was computed in a step of the optimiser."""

    step: int
    sentences: np.ndarray  # the numbers of its sentences
    nats: Tensor
    parts: Mapping[str, LossPart]
    positions: int  # with padding
    useful: int  # without


class Tally:
    """Sums for this process; a line totals all processes."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self._batches: list[Taken] = []
        self._norms: dict[int, Tensor] = {}  # the norm of each step's gradient

    def add_batch(self, taken: Taken) -> None:
        """Count a batch."""
        parts = {name: LossPart(part.nats.detach(), part.events) for name, part in taken.parts.items()}
        self._batches.append(taken._replace(nats=taken.nats.detach(), parts=parts))

    def add_step(self, step: int, norm: Tensor) -> None:
        """Note the norm of a step's gradient."""
        self._norms[step] = norm

    def complaint(self, names: Sequence[str]) -> str:
        """A description of the first batch whose loss or gradient is not finite; empty if there is none."""
        for taken in self._batches:
            # A loss may be finite although its gradient is not.
            values = {"loss": taken.nats.item(), "gradient": self._norms[taken.step].item()}
            if odd := [what for what, value in values.items() if not math.isfinite(value)]:
                sentences = shortened([repr(names[number]) for number in taken.sentences])
                batch = f"the {len(taken.sentences)} sentences {sentences}"
                return f"the {odd[0]} of step {taken.step + 1} is {values[odd[0]]}, in the batch of {batch}"
        return ""

    def line(self, ours: Processes) -> dict[str, float]:
        """The means over everything that was counted: nats per event of every part, and nats per sentence."""
        sums = {
            "nats": sum(taken.nats.item() for taken in self._batches),
            "sentences": sum(len(taken.sentences) for taken in self._batches),
            "positions": sum(taken.positions for taken in self._batches),
            "useful": sum(taken.useful for taken in self._batches),
        }
        total = dict(zip(sums, ours.total(list(sums.values())), strict=True))
        return {
            **per_event([taken.parts for taken in self._batches], ours),
            "nats_per_sentence": total["nats"] / total["sentences"],
            "gradient_norm": sum(norm.item() for norm in self._norms.values()) / len(self._norms),
            "positions_per_second": total["useful"] / (time.monotonic() - self.began),
            "padding": 1 - total["useful"] / total["positions"],
        }


def per_event(batches: Sequence[Mapping[str, LossPart]], ours: Processes) -> dict[str, float]:
    """`{"nats_per_transition": ...}` for every part of a loss, over the batches of all processes."""
    # A process without a batch gets the names from another one.
    names = ours.any_of("\n".join(batches[0] if batches else ())).splitlines()
    means = {}
    for name in names:
        own = [parts[name] for parts in batches]
        nats, events = ours.total([sum(part.nats.item() for part in own), sum(part.events for part in own)])
        means[f"nats_per_{name}"] = nats / events if events else math.nan
    return means
