"""How time and memory grow with the training data, from generated sentences to steps of training; one core.

    python benchmarks/growth_of_data.py                    50,000, 110,000 and 200,000 sentences of minilang
    python benchmarks/growth_of_data.py 110000 5000000     other numbers; 5 million have as many words as BLLIP-LG

Up to 100,000 sentences everything is in memory, beyond it nothing is (data/streamed.py, sequences/stored.py). 10,000
different sentences are drawn and written again and again into a file of CoNLL-U. Every number of sentences has a
process of its own, which takes every stage once: it reads the file and learns 800 pieces, compiles the columns of a
DTG, opens them again as a training that goes on does, plans four epochs, makes batches, and takes steps with a small
model (4 layers, width 128). Of each stage: seconds of the processor (other processes may want the core, too) and of the
clock, and the peak of memory until its end. The last lines are projected to 5 million sentences: a line through the two
largest numbers.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import _common
import numpy as np
import torch

from dtglib.basics.files import repository
from dtglib.basics.record import peak_memory
from dtglib.data import minilang
from dtglib.data.treebank import write_conllu
from dtglib.experiments.prepare import Prepared, prepare, read_corpus
from dtglib.experiments.settings import Settings, read_settings
from dtglib.training.schedule import all_steps

COUNTS = (50_000, 110_000, 200_000)
DRAWN, PROJECTED = 10_000, 5_000_000
STEPS = 50
BATCHES, TAKE = f"{STEPS} batches", f"{STEPS} steps"  # stages that do not grow with the number of sentences
CONFIG = repository() / "configs" / "mini.yaml"
CPU = torch.device("cpu")


class Stage(NamedTuple):
    """A stage of a process."""

    what: str
    sentences: int
    seconds: float  # of the processor
    clock_seconds: float
    gibibytes: float  # the peak of memory until its end
    gibibytes_on_disk: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("counts", nargs="*", type=int, default=COUNTS, metavar="SENTENCES")
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)  # a process for one number, in this folder
    options = parser.parse_args()
    if options.here:
        measure(*options.counts, options.here)
        return
    question = "How do time and memory grow with the training data?"
    with _common.benchmark("growth_of_data", question, [1]) as report:
        found = [report_stages(report, count) for count in sorted(options.counts)]
        if len(found) > 1:
            report_projected(report, *found[-2:])


def report_stages(report: _common.Report, count: int) -> list[Stage]:
    """The stages of a new process for so many sentences."""
    with tempfile.TemporaryDirectory() as here:
        write_corpus(Path(here, "corpus"), count)
        command = [sys.executable, __file__, str(count), "--here", here]
        ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    stages = [Stage(**json.loads(line)) for line in ran.stdout.splitlines()]
    for stage in stages:
        report(f"{count} sentences: {stage.what}", stage.sentences, stage.seconds, stage=stage.what, **beside(stage))
    return stages


def write_corpus(folder: Path, count: int) -> None:
    """A treebank of so many sentences."""
    drawn = minilang.split("train", DRAWN)
    write_conllu(folder / "train.conllu", itertools.islice(itertools.cycle(drawn), count))
    write_conllu(folder / "dev.conllu", minilang.split("dev", 100))


def beside(stage: Stage) -> dict[str, float]:
    """What is reported beside the seconds."""
    names = ("clock_seconds", "gibibytes", "gibibytes_on_disk")
    return {name: getattr(stage, name) for name in names}


def report_projected(report: _common.Report, fewer: list[Stage], more: list[Stage]) -> None:
    """What more sentences would take if the stages that grow go on like that."""
    for one, other in zip(fewer, more, strict=True):
        if other.what not in (BATCHES, TAKE):
            times = (PROJECTED - one.sentences) / (other.sentences - one.sentences)
            taken = Stage(one.what, PROJECTED, *(a + times * (b - a) for a, b in zip(one[2:], other[2:], strict=True)))
            what = f"{PROJECTED} sentences, projected: {one.what}"
            report(what, PROJECTED, taken.seconds, stage=one.what, **beside(taken))


# --- In a process of its own -------------------------------------------------------------------------------------


def measure(count: int, here: Path) -> None:
    """Take all stages, and print a line for each."""
    os.chdir(here)
    warm = settings_for(500)
    take_steps(prepare(warm), warm, 2)  # compiles kernels
    settings = settings_for(count)
    corpus = stage("read the file, and learn pieces", count, lambda: read_corpus(settings))
    stage("compile", count, partial(prepare, settings, corpus))
    del corpus
    prepared = stage("prepare again", count, lambda: prepare(settings))
    plan = stage("plan four epochs", count, lambda: plan_of(prepared, settings))
    batches = [batch for step in plan[:STEPS] for batch in step.batches]
    sentences, size = sum(map(len, batches)), settings.train.batch_positions
    stage(BATCHES, sentences, lambda: [prepared.train.batch(batch, size, CPU) for batch in batches])
    stage(TAKE, sentences, lambda: take_steps(prepared, settings, STEPS))


def settings_for(count: int) -> Settings:
    """Those of size mini, with pieces as in the paper."""
    of_data = {"corpus": "corpus", "train_sentences": count, "dev_sentences": None}
    return read_settings(CONFIG, {**of_data, "vocabulary": "pieces", "pieces": 800, "model": "dtg"})


def stage(what: str, sentences: int, work: Callable[[], Any]) -> Any:
    """Do the work, and say what it took."""
    began = time.process_time(), time.perf_counter()
    found = work()
    seconds = time.process_time() - began[0], time.perf_counter() - began[1]
    on_disk = sum(path.stat().st_size for path in Path("runs", "sequences").rglob("*") if path.is_file())
    taken = Stage(what, sentences, *seconds, peak_memory() / 2**30, on_disk / 2**30)
    print(json.dumps(taken._asdict()), flush=True)
    return found


def plan_of(prepared: Prepared, settings: Settings) -> list:
    """All steps of four epochs."""
    return all_steps(lambda positions, random: prepared.train.plan(positions, random, CPU), settings.train, seed=1)


def take_steps(prepared: Prepared, settings: Settings, count: int) -> None:
    """Forwards, backwards and the optimiser."""
    torch.set_num_threads(1)
    model = settings.family.build(settings.model, prepared.vocabulary)
    optimizer = settings.train.optimizer(model)
    size = settings.train.batch_positions
    for numbers in prepared.train.plan(size, np.random.default_rng([1, 0]), CPU)[:count]:
        nats, _ = model.loss(prepared.train.batch(numbers, size, CPU))
        (nats / len(numbers)).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


if __name__ == "__main__":
    main()
