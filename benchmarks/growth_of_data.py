"""How time and memory grow with the training data, from generated sentences to steps of training; one core.

    python benchmarks/growth_of_data.py                    50,000 and 200,000 sentences of minilang
    python benchmarks/growth_of_data.py 5000000            57 million words; 20 minutes, and 15 GB of disk

Up to 100,000 sentences everything is in memory, beyond it nothing is (data/streamed.py, sequences/stored.py). 10,000
different sentences are drawn and written again and again into a file of CoNLL-U. Every number of sentences has a
process of its own, which takes every stage once: it reads the file and learns 800 pieces, compiles the columns of a
DTG, opens them again as a training that goes on does, plans four epochs, makes batches, and takes steps with a small
model (4 layers, width 128). Of each stage: seconds of the processor (other processes may want the core, too) and of the
clock, and the peak of memory until its end.

One stage keeps something of every sentence in memory: the epochs are planned for all of them. It is quick, so a last
process takes it for 5 million sentences, if none has taken all stages for as many. Before batches are made the system
forgets the files, so that they are read from the disk.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
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
from dtglib.runs.parsers import TrainingData
from dtglib.runs.prepare import prepare, read_corpus
from dtglib.runs.settings import Settings, read_settings
from dtglib.sequences.batches import by_length
from dtglib.training.schedule import all_steps

COUNTS = (50_000, 200_000)
DRAWN, MANY = 10_000, 5_000_000
STEPS = 50
PIECES = 800
PLAN = "plan four epochs"
CONFIG = repository() / "configs" / "mini.yaml"
CPU = torch.device("cpu")


class Stage(NamedTuple):
    """A stage of a process."""

    what: str
    sentences: int
    seconds: float  # of the processor
    clock_seconds: float
    gibibytes: float  # the peak of memory until its end
    on_disk: float  # gibibytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("counts", nargs="*", type=int, default=COUNTS, metavar="SENTENCES")
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)  # a process for one number, in this folder
    options = parser.parse_args()
    if options.here:
        os.chdir(options.here)
        (all_stages if Path("corpus").exists() else plan_alone)(*options.counts)
        return
    question = "How do time and memory grow with the training data?"
    with _common.benchmark("growth_of_data", question, [1]) as report:
        for count in options.counts:
            with tempfile.TemporaryDirectory() as here:
                write_corpus(Path(here, "corpus"), count)
                report_stages(report, count, here)
        if MANY not in options.counts:
            with tempfile.TemporaryDirectory() as empty:
                report_stages(report, MANY, empty)


def report_stages(report: _common.Report, count: int, here: str) -> None:
    """The stages of a new process for so many sentences; without a corpus, the one that keeps something in memory."""
    ran = subprocess.run([sys.executable, __file__, str(count), "--here", here], check=True, stdout=subprocess.PIPE)
    stages = [Stage(**json.loads(line)) for line in ran.stdout.splitlines()]
    for stage in stages:
        beside = {
            "gibibytes": stage.gibibytes,
            "gibibytes_on_disk": stage.on_disk,
            "clock_seconds": stage.clock_seconds,
        }
        what = f"{count} sentences: {stage.what}"
        report(what, stage.sentences, stage.seconds, stage=stage.what, sentences=count, **beside)


def write_corpus(folder: Path, count: int) -> None:
    """A treebank of so many sentences."""
    drawn = minilang.split("train", DRAWN)
    write_conllu(folder / "train.conllu", repeated(drawn, count))
    write_conllu(folder / "dev.conllu", minilang.split("dev", 100))


# --- In a process of its own -------------------------------------------------------------------------------------


def all_stages(count: int) -> None:
    """Take all stages, and print a line for each."""
    warm = settings_for("minilang", 500)
    take_steps(prepare(warm), warm, 2)  # compiles kernels
    settings = settings_for("corpus", count)
    corpus = stage("read the file, and learn pieces", count, lambda: read_corpus(settings))
    stage("compile", count, partial(prepare, settings, corpus))
    del corpus
    prepared = stage("prepare again", count, lambda: prepare(settings))
    plan = stage(PLAN, count, lambda: all_steps(partial(prepared.train.plan, device=CPU), settings.train, seed=1))
    batches = [batch for step in plan[:STEPS] for batch in step.batches]
    forget_files()
    sentences, size = sum(map(len, batches)), settings.train.batch_positions
    stage(f"{STEPS} batches", sentences, lambda: [prepared.train.batch(batch, size, CPU) for batch in batches])
    stage(f"{STEPS} steps", sentences, lambda: take_steps(prepared, settings, STEPS))


def forget_files() -> None:
    """Let the system drop what it keeps in memory of the compiled sequences."""
    for path in Path("runs", "sequences").rglob("*.safetensors"):
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def plan_alone(count: int) -> None:
    """The stage that keeps something of every sentence in memory, for as many as there may be."""
    words = map(len, (sentence.words for sentence in minilang.split("train", DRAWN)))
    lengths = np.fromiter(repeated(words, count), np.int32) * 3 + 1
    stage(PLAN, count, lambda: all_steps(partial(by_length, lengths), settings_for("minilang", count).train, seed=1))


def repeated(items: Iterable[Any], count: int) -> Iterator[Any]:
    """So many items, from the first one again after the last."""
    return itertools.islice(itertools.cycle(items), count)


def settings_for(corpus: str, count: int) -> Settings:
    """Those of size mini, with pieces as in the paper."""
    of_data = {"corpus": corpus, "train_sentences": count, "dev_sentences": 100}
    return read_settings(CONFIG, {**of_data, "vocabulary": "pieces", "pieces": PIECES, "model": "dtg"})


def stage(what: str, sentences: int, work: Callable[[], Any]) -> Any:
    """Do the work, and say what it took."""
    began = time.process_time(), time.perf_counter()
    found = work()
    seconds = time.process_time() - began[0], time.perf_counter() - began[1]
    on_disk = sum(path.stat().st_size for path in Path("runs", "sequences").rglob("*") if path.is_file())
    taken = Stage(what, sentences, *seconds, peak_memory() / 2**30, on_disk / 2**30)
    print(json.dumps(taken._asdict()), flush=True)
    return found


def take_steps(prepared: TrainingData, settings: Settings, count: int) -> None:
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
