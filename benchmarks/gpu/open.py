"""Size `open` on one GPU, within minutes: the trees of the books' sentences, then models that learn from them.

    python benchmarks/gpu/open.py unpack FOLDER                  what pack.py packed
    python benchmarks/gpu/open.py train-parser FOLDER --seconds 120 --out PARSER
    python benchmarks/gpu/open.py parse FOLDER PARSER            the heads of all sentences, end to end
    python benchmarks/gpu/open.py compile-sequences FOLDER dtg   the columns of a model, by many processes
    python benchmarks/gpu/open.py train-model FOLDER dtg --seconds 240 --out MODEL

Time on a GPU may be limited in seconds, not in steps. So the learning rate follows the clock: it falls along the cosine
of schedule.py, with the share of the seconds that have passed in place of the share of the steps. When they are over,
the current step is finished, and the weights are written in 8 bits per number.
"""

import argparse
import itertools
import json
import lzma
import os
import signal
import tarfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from dtglib.basics.config import as_dict, parse_override
from dtglib.basics.record import plain
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import build, family
from dtglib.network.saved import WEIGHTS_FILE
from dtglib.network.weights import write_compact
from dtglib.parsing.kept import WEIGHTS_FILE as PARSER_FILE
from dtglib.parsing.parser import load_parser
from dtglib.runs.parsers import ParserSettings, prepare_parser, read_parser_settings
from dtglib.runs.settings import Settings, read_size
from dtglib.sequences.columns import Compiled, Sequences
from dtglib.training.checkpoint import FILE as CHECKPOINT_FILE
from dtglib.training.examples import Examples
from dtglib.training.loop import Data, train
from dtglib.training.schedule import TrainConfig
from dtglib.training.stopping import Interrupted

PARTS = ("train", "held-out")
DEV = 2000  # sentences of the held-out ones
NEVER = 10**9  # steps: held-out sentences are scored elsewhere, where time costs less


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    subs = parser.add_subparsers(required=True)
    for command, more in (
        (unpack, ()),
        (train_parser, ()),
        (parse, ("parser",)),
        (compact, ()),
        (compile_sequences, ("model",)),
        (train_model, ("model",)),
    ):
        sub = subs.add_parser(command.__name__.replace("_", "-"))
        sub.set_defaults(run=command)
        sub.add_argument("folder", type=Path)
        for name in more:
            sub.add_argument(name)
        if command in (train_model, train_parser):
            sub.add_argument("--seconds", type=float, required=True)
            sub.add_argument("--out", type=Path, required=True)
            sub.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="replaces a setting")
        sub.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    began = time.monotonic()
    options.run(options)
    print(f"{options.run.__name__}: {time.monotonic() - began:.1f} s", flush=True)


def unpack(options: argparse.Namespace) -> None:
    """Texts and treebanks as they were before."""
    for part in PARTS:
        with ProcessPoolExecutor(options.processes) as pool:
            chunks = list(pool.map(_unpacked, sorted(options.folder.glob(f"{part}.[0-9]*.xz"))))
        (options.folder / f"{part}.txt").write_bytes(b"\n".join(chunks))
    with tarfile.open(options.folder / "ud.tar.xz") as archive:
        # The first versions of Python 3.11 have no filters.
        archive.extractall(options.folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def _unpacked(path: Path) -> bytes:
    return lzma.decompress(path.read_bytes())


def lines_of(folder: Path, part: str) -> list[str]:
    return (folder / f"{part}.txt").read_text("utf-8").split("\n")


# --- Trees -------------------------------------------------------------------------------------------------------


def parse(options: argparse.Namespace) -> None:
    """The heads of all words, by several processes on one device."""
    for part in PARTS:
        count, lines = options.processes, lines_of(options.folder, part)
        with ProcessPoolExecutor(count, get_context("spawn")) as pool:
            shares = [lines[share::count] for share in range(count)]  # so that all have sentences of all lengths
            of_shares = list(pool.map(partial(heads_of, options.parser), shares))
        heads = [None] * len(lines)
        for share, trees in enumerate(of_shares):
            heads[share::count] = trees
        np.save(options.folder / f"{part}.heads.npy", np.concatenate(heads))
        # The way from each word to its head (0: ROOT), low bytes before high ones, which xz makes small.
        ways = np.concatenate([np.where(tree > 0, tree - np.arange(1, len(tree) + 1), 0) for tree in heads])
        (options.folder / f"{part}.ways").write_bytes(ways.astype("<i2").view(np.uint8).reshape(-1, 2).T.tobytes())


def heads_of(parser: str, lines: Sequence[str]) -> list[np.ndarray]:
    """The heads of the words of each line."""
    torch.set_num_threads(1)
    loaded = load_parser(parser)
    loaded.to("cuda" if torch.cuda.is_available() else "cpu")
    heads: list = [None] * len(lines)
    for number, tree, _ in loaded.best_trees([line.split() for line in lines]):
        heads[number] = np.array(tree, np.int16)
    return heads


def compact(options: argparse.Namespace) -> None:
    """The weights of a parser in 8 bits a number."""
    in_eight_bits(options.folder / PARSER_FILE)


def in_eight_bits(path: Path) -> None:
    """The same weights in a quarter of the size."""
    write_compact(path, path.with_suffix(".compact"))
    os.replace(path.with_suffix(".compact"), path)


# --- Sequences ---------------------------------------------------------------------------------------------------


def compile_sequences(options: argparse.Namespace) -> None:
    """The columns of a model for both parts, as arrays."""
    for part in PARTS:
        lines, heads = lines_of(options.folder, part), np.load(options.folder / f"{part}.heads.npy")
        ends = np.cumsum([line.count(" ") + 1 for line in lines])
        bounds = np.linspace(0, len(lines), 4 * options.processes + 1).astype(int).tolist()
        starts = [0, *ends.tolist()]
        shares = [
            (lines[first:stop], heads[starts[first] : starts[stop]]) for first, stop in itertools.pairwise(bounds)
        ]
        columns = partial(columns_of, options.model, options.folder / "vocabulary")
        columns(shares[0][0][:50], shares[0][1])  # kernels are compiled once, before the processes begin
        with ProcessPoolExecutor(options.processes, get_context("fork")) as pool:
            results = list(pool.map(columns, *zip(*shares, strict=True)))
        vectors = np.concatenate([vectors for vectors, _ in results], 1)
        np.save(options.folder / f"{part}.{options.model}.npy", vectors)
        np.save(
            options.folder / f"{part}.{options.model}.lengths.npy", np.concatenate([lengths for _, lengths in results])
        )
        print(f"{part}: {len(lines)} sentences, {len(heads)} words, {vectors.shape[1]} positions")


def columns_of(model: str, vocabulary: Path, lines: Sequence[str], heads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns of sentences, in 16 bits, and the lengths."""
    settings, first, sentences = settings_of(model), 0, []
    for line in lines:
        words = tuple(line.split())
        sentences.append(Sentence(words, tuple(heads[first : first + len(words)].tolist())))
        first += len(words)
    examples = family(model).examples(
        settings.model, Vocabulary.load(vocabulary), Treebank(sentences, Counter()), settings.train.longest
    )
    vectors = np.array(examples.sequences.vectors)
    assert np.abs(vectors).max() < 2**15
    return vectors.astype(np.int16), examples.lengths


def settings_of(model: str, changes: Sequence[str] = ()) -> Settings:
    return read_size("open", model=model, **dict(map(parse_override, changes)))


def examples_of(folder: Path, model: str, part: str, most: int | None = None) -> Examples:
    lengths = np.load(folder / f"{part}.{model}.lengths.npy")[:most]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    vectors = np.load(folder / f"{part}.{model}.npy", mmap_mode="r")[:, : starts[-1]]
    columns = Compiled(*(np.array(column, np.int32) for column in vectors))
    return Examples(Sequences(columns, starts), list(map(str, range(len(lengths)))), Counter(), [])


# --- Training ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Timed(TrainConfig):
    """Settings of a training that ends with the clock."""

    seconds: float = 0.0

    def rate(self, step: int, steps: int, dev: Sequence[float]) -> float:
        """The learning rate now: the warm-up counts steps, and what follows counts seconds."""
        if step < self.warmup_steps:
            return super().rate(step, steps, dev)
        share = min(1.0, (time.monotonic() - BEGAN[0]) / self.seconds)
        return super().rate(self.warmup_steps + round(share * 10**6), self.warmup_steps + 10**6, dev)


BEGAN = [0.0]  # when the clock was started: at the second step, because in the first one all code is compiled


def train_model(options: argparse.Namespace) -> None:
    """Train a language model."""
    settings = settings_of(options.model, options.set)
    data, held_out = (examples_of(options.folder, options.model, *part) for part in ((PARTS[0],), (PARTS[1], DEV)))
    vocabulary = Vocabulary.load(options.folder / "vocabulary")

    def make() -> nn.Module:
        return build(settings.model, vocabulary)

    by_the_clock(make, data, held_out, settings, options)
    in_eight_bits(options.out / WEIGHTS_FILE)


def train_parser(options: argparse.Namespace) -> None:
    """Train the parser that will propose the trees."""
    settings = read_parser_settings("configs/parsers/large.yaml", dict(map(parse_override, options.set)))
    prepared = prepare_parser(settings)

    def make() -> nn.Module:
        return settings.kind.network(options.out.name, settings.parser, prepared.vocabulary)

    by_the_clock(make, prepared.train, prepared.dev, settings, options)


def by_the_clock(
    make: Callable[[], nn.Module],
    data: Data,
    held_out: Data,
    settings: Settings | ParserSettings,
    options: argparse.Namespace,
) -> None:
    """Train for so many seconds after the first step, then save the network; the folder holds the progress, too."""
    print(f"train: {data.summary}; held out: {held_out.summary}", flush=True)
    config = Timed(**vars(settings.train) | {"evaluate_every": NEVER}, seconds=options.seconds)
    torch.manual_seed(settings.run.seed)
    model, steps = make(), itertools.count(1)
    loss_of, timer = model.loss, threading.Timer(options.seconds, os.kill, (os.getpid(), signal.SIGTERM))
    timer.daemon = True

    def loss(batch: Any) -> Any:
        if next(steps) == 2:
            BEGAN[0] = time.monotonic()
            timer.start()
        return loss_of(batch)

    model.loss = loss
    about = {"parameters": sum(p.numel() for p in model.parameters()), "seconds": options.seconds}
    identity = plain(as_dict(*settings[:-1] if isinstance(settings, ParserSettings) else (settings.model,), config))
    try:
        train(model, data, held_out, config, options.out, settings.run.seed, identity, about)
    except Interrupted as stopped:
        print(stopped)
    timer.cancel()  # there may have been fewer steps than seconds
    model.save(options.out)
    (options.out / CHECKPOINT_FILE).unlink(missing_ok=True)
    lines = [json.loads(line) for line in (options.out / "metrics.jsonl").read_text().splitlines()]
    rates = [line["positions_per_second"] for line in lines if "positions_per_second" in line]
    print(f"{options.out.name}: {next(steps) - 1} steps, {np.median(rates):.0f} positions per second (median)")


if __name__ == "__main__":
    main()
