"""What linear maps in bfloat16 change and gain: surprisals, items of test suites, minimal pairs, sums over trees.

    python benchmarks/rounding.py            --quick: a few items, to see that it runs

What is rounded is said in dtglib/network/rounded.py. The released DTGs: that of minilang on all items of minilang's
suites and a tenth of its pairs, and that of UD English, where the data are at hand, on all items of the public suites
and a hundredth of BLiMP's pairs, by a beam of 30 within 8 nats; and both on 50 test sentences with 300 trees each. Two
cores. Differences are in nats a word, of regions that have words; "changed" counts items whose formula holds in one
precision only, pairs whose better sentence changes, or sentences whose best tree does; "score" is by how much a suite's
score changes at most. "faster" is the time in float32 over that in bfloat16.
"""

import os

os.environ["OMP_NUM_THREADS"] = "2"

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import _common
import numpy as np
import torch
from torch import nn

from dtglib.basics.record import Row
from dtglib.data.corpora import load
from dtglib.data.registry import data_folder
from dtglib.decode.beam import Widths, in_parts, search
from dtglib.evaluate.blimp import all_pairs, pair_rows, read_pairs
from dtglib.evaluate.perplexity import SentenceScore
from dtglib.evaluate.suites import Suite, all_items, item_rows, read_suites, scores_by_suite
from dtglib.evaluate.surprisal import of_beginnings
from dtglib.families.base import family_of, load_model
from dtglib.network.rounded import round_maps
from dtglib.parsing.parser import load_parser
from dtglib.parsing.propose import METHODS, propose
from dtglib.runs.sentence_scores import spread

WIDTHS = Widths(30, 30, within=8.0)
SCORED, TREES = 50, 300  # sentences, and the trees of each
SETS = {"dtg-minilang": ("minilang", 0.1), "dtg-ud": (None, 0.01)}  # whose suites and pairs; what share of the pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few items, to see that it runs")
    share = 0.01 if parser.parse_args().quick else 1.0
    torch.set_num_threads(2)
    with _common.benchmark("rounding", "What do linear maps in bfloat16 change and gain?") as report:
        for name, (of, pairs) in SETS.items():
            if of is None and not all(Path(data_folder(), public).is_dir() for public in ("sg", "blimp")):
                continue
            models = [load_model(name), round_maps(load_model(name))]
            for model in models:  # kernels are compiled, or read
                list(in_parts(search, model, [("There", "is")], WIDTHS))
            report_suites(report, name, models, read_suites(of, share))
            report_pairs(report, name, models, of, share * pairs)
            report_trees(report, name, models, max(1, round(share * SCORED)))


def report_suites(report: _common.Report, name: str, models: Sequence[nn.Module], suites: list[Suite]) -> None:
    """Items of suites, and the surprisals of their regions."""

    def rows_by(model: nn.Module) -> list[Row]:
        return list(item_rows(suites, of_beginnings(model, WIDTHS), WIDTHS.at_once // 4))

    (exact, seconds), (coarse, seconds_rounded) = (timed(lambda model=model: rows_by(model)) for model in models)
    scores, others = (scores_by_suite(suites, rows) for rows in (exact, coarse))
    changes = [abs(one["score"] - other["score"]) for one, other in zip(scores, others, strict=True)]
    report(
        f"{name}: items of {len(suites)} suites", len(all_items(suites)), seconds_rounded,
        **differences(regions(suites, exact), regions(suites, coarse)),
        changed=sum(one["holds"][0] != other["holds"][0] for one, other in zip(exact, coarse, strict=True)),
        score=max(changes), faster=seconds / seconds_rounded,
    )  # fmt: skip


def regions(suites: Sequence[Suite], rows: Iterable[Row]) -> np.ndarray:
    """The surprisal of every region that was read and has words, by word."""
    items = {(suite.name, item.number): item for suite, item in all_items(suites)}
    found = []
    for row in rows:
        for name, values in row["surprisals"].items():
            read = items[row["suite"], row["item"]].conditions[name]
            found += [value / len(words) for words, value in zip(read, values, strict=False) if len(words)]
    return np.array(found)


def report_pairs(report: _common.Report, name: str, models: Sequence[nn.Module], of: str | None, share: float) -> None:
    """Minimal pairs, and log p of their sentences by word."""
    paradigms = read_pairs(of, share)
    lengths = np.array([len(words) + 1 for _, pair in all_pairs(paradigms) for words in (pair.good, pair.bad)])

    def log_probs_by(model: nn.Module) -> np.ndarray:
        rows = pair_rows(
            paradigms, lambda some: (found.log_prob for found in in_parts(search, model, some, WIDTHS)), 64
        )
        return np.array([row[which] for row in rows for which in ("good", "bad")])

    (exact, seconds), (coarse, seconds_rounded) = (timed(lambda model=model: log_probs_by(model)) for model in models)
    better = [values[::2] > values[1::2] for values in (exact, coarse)]
    report(
        f"{name}: minimal pairs", len(lengths) // 2, seconds_rounded,
        **differences(exact / lengths, coarse / lengths),
        changed=int((better[0] != better[1]).sum()), score=float(abs(better[0].mean() - better[1].mean())),
        faster=seconds / seconds_rounded,
    )  # fmt: skip


def report_trees(report: _common.Report, name: str, models: Sequence[nn.Module], count: int) -> None:
    """Test sentences with the trees that a parser proposes, which are scored together, as a trie."""
    about = name.rpartition("-")[2]
    sentences = spread(load({"ud": "ud-english"}.get(about, about), "test").sentences, count)
    words = [sentence.words for sentence in sentences]
    proposed = list(propose(load_parser(f"parser-{about}"), words, TREES, METHODS["sample"], 1, 0))
    lengths = np.array([len(one) + 1 for one in words])

    def scores_by(model: nn.Module, first: int | None = None) -> list[SentenceScore]:
        return list(family_of(model).likelihood.scores(model, sentences[:first], proposed[:first]))

    for model in models:
        scores_by(model, 1)  # kernels are compiled, or read
    (exact, seconds), (coarse, seconds_rounded) = (timed(lambda model=model: scores_by(model)) for model in models)
    apart = differences(*(np.array([score.log_prob for score in scores]) / lengths for scores in (exact, coarse)))
    report(
        f"{name}: sentences with {TREES} trees", count, seconds_rounded,
        **apart, changed=sum(one.best != other.best for one, other in zip(exact, coarse, strict=True)),
        faster=seconds / seconds_rounded,
    )  # fmt: skip


def differences(exact: np.ndarray, coarse: np.ndarray) -> dict[str, float]:
    """How far apart two columns are, where both are finite: a search may lose all its hypotheses."""
    finite = np.isfinite(exact) & np.isfinite(coarse)
    apart = np.abs(exact[finite] - coarse[finite])
    return {
        "mean_difference": float(apart.mean()),
        "largest_difference": float(apart.max()),
        "not_finite": int((~finite).sum()),
    }


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What comes out, and the seconds that it took."""
    began = time.perf_counter()
    found = work()
    return found, time.perf_counter() - began


if __name__ == "__main__":
    main()
