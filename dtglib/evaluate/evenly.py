"""A part of a test set, spread evenly over it: a tenth of it is numbers 0, 10, 20 and so on."""

import math
from collections.abc import Sequence
from typing import TypeVar

from dtglib.errors import require

Something = TypeVar("Something")


def evenly(items: Sequence[Something], share: float) -> list[Something]:
    """The items at which the count of what is to be taken goes up; of none it is none, of others the first at least."""
    require(0 < share <= 1, f"the share of a test set must be above 0 and at most 1, not {share}")
    return [items[i] for i in range(len(items)) if math.floor(i * share) > math.floor((i - 1) * share)]
