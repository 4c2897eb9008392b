"""Similarity of sentences by models of masked words at a run size: Table 5 of the paper of UDGN.

    rows = similarity_of(settings, folder)      a row for each way of tuning a trained model, and each test set

A model is tuned on STS Benchmark, and tested on its test part, on SICK, and on the sets of 2012 to 2016. A model of
minilang knows hardly a word of these sentences, so that it is tuned and tested on a few items only.
"""

from pathlib import Path

from dtglib.basics.files import repository
from dtglib.basics.record import Row
from dtglib.runs.settings import Settings, embedded_corpus
from dtgpapers.tuning.tasks import TASKS, Task, task_named
from dtgpapers.tuning.tuning import TuningRequest, read_data, read_tuning, scored, ways_of

LEARNT, TESTED = "sts-b", ("sick", *(f"sts{year}" for year in range(12, 17)))


def of_similarity() -> list[Task]:
    """The tasks whose files are all there, if those of STS Benchmark are; none otherwise."""
    here = [task for task in TASKS if task.name in (LEARNT, *TESTED) and set(task.there()) == set(task.parts)]
    return here if any(task.name == LEARNT for task in here) else []


def similarity_of(settings: Settings, folder: Path) -> list[Row]:
    """The correlations with people's scores; the network of each way is trained now unless it is in the cache."""
    config = "udgn-few" if embedded_corpus(settings) else "udgn"
    also = tuple(task for task in of_similarity() if task.name != LEARNT)
    request = TuningRequest(
        repository() / "configs" / "tuning" / f"{config}.yaml", {}, folder, None, task_named(LEARNT), also
    )
    rows = []
    for way in ways_of(request):
        chosen = read_tuning(request, way)
        rows += scored(request, way, chosen, read_data(request, way, chosen), settings.run.seed)
    return rows
