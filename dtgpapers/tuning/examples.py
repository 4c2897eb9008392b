"""The items of a task as training data: what they have in common, whatever a network reads of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dtglib.basics.errors import require
from dtglib.basics.shapes import Float
from dtgpapers.tuning.tasks import Task
from dtgpapers.tuning.ways import TaskItem


@dataclass(frozen=True)
class TaskExamples:
    """The items of a task that are short enough, and the names of the others."""

    task: Task
    items: list[TaskItem]
    too_long: list[str]

    def __len__(self) -> int:
        return len(self.items)

    @property
    def names(self) -> list[str]:
        """The names of the items."""
        return [item.judged.id for item in self.items]

    @property
    def golds(self) -> Float[np.ndarray, " N"]:
        """People's scores, or the numbers of their labels."""
        return np.array([item.judged.gold for item in self.items], np.float32)


def divided(
    task: Task, items: Sequence[TaskItem], lengths: Sequence[int] | np.ndarray, longest: int | None, unit: str
) -> tuple[np.ndarray, list[TaskItem], list[str]]:
    """The numbers of the items of at most `longest` units, these items, and the names of those that are too long."""
    require(items, f"{task.name}: one of its parts has no judged item; complete the files, or leave the part out")
    fits = np.asarray(lengths) <= (longest or np.inf)
    require(fits.any(), f"{task.name}: no item has at most {longest} {unit}; set longest higher")
    kept = np.flatnonzero(fits)
    return kept, [items[n] for n in kept.tolist()], [items[n].judged.id for n in np.flatnonzero(~fits).tolist()]
