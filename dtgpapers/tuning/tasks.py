"""Tasks about sentences or pairs of sentences that people have judged, by name.

    task = task_named("sts-b")
    task.load("train")[0]              Judged(("a plane is taking off .", "an air plane is taking off ."), 5.0, ...)
    task.there()                       those of train, dev and test whose files are in the data folder

The files are found in the data folder, which DTG_DATA names: those of similarity in sts/ (`dtglib data sts` fetches
them), those of GLUE in glue/, as GLUE's own script downloads them.

    >>> task_named("rte").labels, task_named("sick").labels, task_named("sick").lowest
    (('entailment', 'not_entailment'), (), 1.0)
"""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from dtglib.basics.errors import UserError
from dtglib.basics.files import sha256
from dtglib.data.registry import data_folder
from dtgpapers.tuning import glue, sts
from dtgpapers.tuning.judged import Judged


class Task(NamedTuple):
    """A task: its kind of answer, and the places of its parts."""

    name: str
    parts: Mapping[str, str]  # the file of each, or the folder, below the data folder
    read: Callable[[Path], list[Judged]]
    how: str  # to get the files
    labels: tuple[str, ...] = ()  # as they are written in the files; none if people gave scores
    lowest: float = 0.0  # of scores
    highest: float = 5.0

    def load(self, part: str) -> list[Judged]:
        """All that is judged in a part."""
        if part not in self.parts:
            raise UserError(f"{self.name}: there is no part {part!r}; it has {', '.join(self.parts)}")
        path = self.path(part)
        if not path.exists():
            raise UserError(f"{self.name}: there is no {path}; {self.how}")
        return self.read(path)

    def path(self, part: str) -> Path:
        """The file or folder of a part."""
        return data_folder() / self.parts[part]

    def there(self) -> list[str]:
        """The parts whose files exist."""
        return [part for part in self.parts if self.path(part).exists()]

    def checksum(self) -> str:
        """A checksum of all its files, for records of runs."""
        paths = [path for part in self.there() for path in _files(self.path(part))]
        return hashlib.sha256("".join(f"{path.name} {sha256(path)}\n" for path in paths).encode()).hexdigest()


def _files(path: Path) -> list[Path]:
    return sorted(path.glob("STS.*.txt")) if path.is_dir() else [path]


FROM_REGISTRY = "run `dtglib data sts`, or set DTG_DATA to a folder that holds sts/"
FROM_GLUE = "put GLUE's own download there, or set DTG_DATA to a folder that holds glue/"


def _of_year(year: int) -> Task:
    return Task(f"sts{year}", {"test": f"sts/STS{year}-en-test"}, sts.read_year, FROM_REGISTRY)


def _of_glue(name: str, folder: str, read: Callable[[Path], list[Judged]], labels: tuple[str, ...]) -> Task:
    parts = {part: f"glue/{folder}/{part}.tsv" for part in ("train", "dev")}
    return Task(name, parts, read, FROM_GLUE, labels)


MRPC = _of_glue("mrpc", "MRPC", glue.read_mrpc, glue.MRPC_LABELS)

TASKS = (
    Task(
        "sts-b",
        {part: f"sts/STSBenchmark/sts-{part}.csv" for part in ("train", "dev", "test")},
        sts.read_benchmark,
        FROM_REGISTRY,
    ),
    Task(
        "sick",
        {
            "train": "sts/SICK/SICK_train.txt",
            "dev": "sts/SICK/SICK_trial.txt",
            "test": "sts/SICK/SICK_test_annotated.txt",
        },
        sts.read_sick,
        FROM_REGISTRY,
        lowest=1.0,
    ),
    *map(_of_year, range(12, 17)),
    _of_glue("sst-2", "SST-2", glue.read_sst2, glue.SST2_LABELS),
    MRPC._replace(parts={**MRPC.parts, "test": "glue/MRPC/msr_paraphrase_test.txt"}),
    _of_glue("rte", "RTE", glue.read_rte, glue.RTE_LABELS),
)


def task_named(name: str) -> Task:
    """The task of this name."""
    known = {task.name: task for task in TASKS}
    if name not in known:
        raise UserError(f"there is no task {name!r}; tasks are {', '.join(known)}")
    return known[name]
