"""What searches with linear maps in bfloat16 would change: surprisals, items of test suites, minimal pairs, and time.

    python benchmarks/rounding.py            --quick: a few items, to see that it runs

The weights of the layers' linear maps are converted once; their products are bfloat16, and everything else (norms,
attention, output layer, sums) is float32 as before. The released DTGs: that of minilang on all items of minilang's
suites and a tenth of its pairs, and that of UD English, where the data are at hand, on all items of the public suites
and a hundredth of BLiMP's pairs; a beam of 30 within 8 nats, two cores. Differences are in nats a word, of regions that
have words; "changed" counts items whose formula holds in one precision only, or pairs whose better sentence changes;
"score" is by how much a suite's score changes at most. "faster" is the time in float32 over that in bfloat16.
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
from torch import Tensor, nn

from dtglib.basics.record import Row
from dtglib.data.registry import data_folder
from dtglib.decode.beam import Widths, in_parts, search
from dtglib.evaluate.blimp import all_pairs, pair_rows, read_pairs
from dtglib.evaluate.suites import Suite, all_items, item_rows, read_suites, scores_by_suite
from dtglib.evaluate.surprisal import of_beginnings
from dtglib.families.base import load_model

WIDTHS = Widths(30, 30, within=8.0)
SETS = {"dtg-minilang": ("minilang", 0.1), "dtg-ud": (None, 0.01)}  # whose suites and pairs; what share of the pairs


class Rounded(nn.Module):
    """A linear map in bfloat16."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight = linear.weight.detach().bfloat16()
        self.bias = None if linear.bias is None else linear.bias.detach().bfloat16()

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x.bfloat16(), self.weight, self.bias).float()


def rounded(model: nn.Module) -> nn.Module:
    """Give the layers of a model such maps, but for those of relative positions, which are made once in a search."""
    for block in model.blocks:
        for name, module in list(block.named_children()):
            if isinstance(module, nn.Linear) and name != "places":
                setattr(block, name, Rounded(module))
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few items, to see that it runs")
    share = 0.01 if parser.parse_args().quick else 1.0
    torch.set_num_threads(2)
    with _common.benchmark("rounding", "What would linear maps in bfloat16 change in searches?") as report:
        for name, (of, pairs) in SETS.items():
            if of is None and not all(Path(data_folder(), public).is_dir() for public in ("sg", "blimp")):
                continue
            models = [load_model(name), rounded(load_model(name))]
            for model in models:  # kernels are compiled, or read
                list(in_parts(search, model, [("There", "is")], WIDTHS))
            report_suites(report, name, models, read_suites(of, share))
            report_pairs(report, name, models, of, share * pairs)


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
