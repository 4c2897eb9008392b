"""What the steps of a training have come to since its last line of metrics.

Numbers stay on their device until a line is written: to ask for one is to wait until everything before it is computed.
"""

import math
import time
from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from dtglib.errors import shortened
from dtglib.processes import Processes


class Tally:
    """Of this process; a line is of all processes."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self._batches: list[tuple[int, np.ndarray, Tensor]] = []  # the step, its sentences, and their nats
        self._norms: dict[int, Tensor] = {}  # of a step's gradient
        self._sums = {"transitions": 0.0, "positions": 0.0, "useful": 0.0, "sentences": 0.0}

    def add_batch(self, step: int, numbers: np.ndarray, nats: Tensor, parts: Mapping[str, int], useful: int) -> None:
        """A batch of these sentences, which have so many useful positions."""
        self._batches.append((step, numbers, nats.detach()))
        counts = {"transitions": parts["transitions"], "positions": parts["positions"]}
        for name, count in {**counts, "useful": useful, "sentences": len(numbers)}.items():
            self._sums[name] += count

    def add_step(self, step: int, norm: Tensor) -> None:
        """The norm of a step's gradient."""
        self._norms[step] = norm

    def complaint(self, names: Sequence[str]) -> str:
        """The first batch after which no weights are numbers any more, by the names of its sentences; or nothing."""
        for step, numbers, nats in self._batches:
            # A loss may be fine where its gradient is not.
            found = {"loss": nats.item(), "gradient": self._norms[step].item()}
            if odd := [what for what, value in found.items() if not math.isfinite(value)]:
                batch = f"the {len(numbers)} sentences {shortened([repr(names[n]) for n in numbers])}"
                return f"the {odd[0]} of step {step + 1} is {found[odd[0]]}, in the batch of {batch}"
        return ""

    def line(self, ours: Processes) -> dict[str, float]:
        """What is written of it."""
        nats, *sums = ours.total([sum(nats.item() for _, _, nats in self._batches), *self._sums.values()])
        total = dict(zip(self._sums, sums, strict=True))
        return {
            "nats_per_transition": nats / total["transitions"],
            "nats_per_sentence": nats / total["sentences"],
            "gradient_norm": sum(norm.item() for norm in self._norms.values()) / len(self._norms),
            "positions_per_second": total["useful"] / (time.monotonic() - self.began),
            "padding": 1 - total["useful"] / total["positions"],
        }
