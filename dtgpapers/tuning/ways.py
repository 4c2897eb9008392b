"""`Tuning`: a way to go on training a model for a task; papers list theirs as `tunings` (basics/papers.py)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from torch import nn

from dtglib.basics.errors import UserError
from dtglib.basics.papers import papers
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import title_of
from dtglib.training.loop import Data, Judge
from dtglib.training.schedule import TrainConfig
from dtgpapers.tuning.judged import Judged
from dtgpapers.tuning.tasks import Task


class TaskItem(NamedTuple):
    """An item of a task: its judged texts, their words, and their trees (`Stepper.tree`) if a network reads them.

    A sentence for which a search has found no tree has an empty one.
    """

    judged: Judged
    words: tuple[tuple[str, ...], ...]
    trees: tuple[tuple[int, ...], ...] = ()


class TaskData(Data, Judge, Protocol):
    """The items of a task as data for training, with a checksum and a summary in words."""

    @property
    def checksum(self) -> str: ...
    @property
    def summary(self) -> str: ...


@dataclass(frozen=True)
class Tuning:
    """A way to go on training a model, for a task about judged sentences.

    Its networks have the methods that training needs (`loss`, `save`, `answers`), and its data are judges of answers
    (training/loop.py).
    """

    name: str
    title: str  # in tables
    family: str  # whose models it takes
    config: type  # the dataclass of its network's settings; those that the model has, too, come from there
    build: Callable[[Any, nn.Module], nn.Module]  # from a config and a trained model
    load: Callable[[Path, torch.device | str], nn.Module]  # a network that was saved in a folder
    # Makes data from a config, a vocabulary, a task, some of its items, and `longest`, the most positions of an item.
    examples: Callable[[Any, Vocabulary, Task, Sequence[TaskItem], int | None], TaskData]
    training: type[TrainConfig] = TrainConfig
    fixed: Callable[[Task], Mapping[str, Any]] = lambda task: {}  # settings that it does not leave open
    reads: str | None = None  # the kind of tree (`Trees.called`) that another model finds for each sentence, if any


def tunings(family_name: str) -> list[Tuning]:
    """The ways to tune models of a family."""
    known = [way for paper in papers() for way in paper.part("tunings")]
    chosen = [way for way in known if way.family == family_name]
    if not chosen:
        titles = ", ".join(sorted({title_of(way.family) for way in known}))
        raise UserError(f"there is no way to tune a model of {title_of(family_name)}; name one of {titles}")
    return chosen
