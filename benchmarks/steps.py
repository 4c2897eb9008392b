"""What each step towards a faster beam search is worth: the same search with one of them undone, on one core.

    python benchmarks/steps.py

One sentence of 10 made-up words by DTG, as in beam.py: d 256, 6 layers, 8 heads, inner width 1024, 8,000 pieces, random
weights. Searches with and without a step alternate, so that whatever else the machine does slows both; "slower" is how
many times as long the search takes without it, and "more" how many times as many positions it computes. Then what is
done only if somebody asks for it: the linear maps of a layer in bfloat16, with weights converted once, against float32.
"""

import math
import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from unittest.mock import patch

import _common
import numpy as np
import torch
from torch import nn

from dtglib.decode import beam, sequence_stepper
from dtglib.decode.beam import Widths, search
from dtglib.decode.pool import Pool
from dtglib.families.base import build
from dtglib.network.search_output import SearchOutput
from dtglib.network.transformer import Transformer, TransformerConfig

SIZE, WORDS = {"layers": 6, "width": 256, "heads": 8, "inner": 1024}, 10
SEARCHES = (Widths(300, 300), Widths(100, 10), Widths(20, 20))
POSITIONS = (32, 512)


def anew(pool: Pool, model: Transformer, farthest: int) -> None:
    """Sinusoids, and what the layers make of them, at every call."""
    pool.places = torch.empty(0)
    REACH(pool, model, farthest)


def nowhere(arrived, wanted, widths) -> np.ndarray:
    """No hypothesis comes too late."""
    return np.full(len(wanted.symbol), -np.inf)


def uncompiled(positions: float) -> AbstractContextManager:
    """Attention with copies of keys and values, and with products of matrices, for so many positions of a search."""
    return patch.object(sequence_stepper, "POSITIONS_UNCOMPILED", positions)


REACH = Pool.reach
UNDONE: dict[str, Callable[[], AbstractContextManager]] = {
    "attention reads keys where they stand": lambda: uncompiled(math.inf),
    "relative positions are projected once": lambda: patch.object(Pool, "reach", anew),
    "no distributions over the vocabulary": lambda: patch.object(sequence_stepper, "for_search", SearchOutput),
    "what comes too late is not followed": lambda: patch.object(beam, "too_little", nowhere),
}


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(1)
    vocabulary = _common.made_up_vocabulary()
    model = build(TransformerConfig(**SIZE), vocabulary).eval()
    words = _common.made_up_words(WORDS, random.Random(1))
    question = "What is each step towards a faster beam search worth?"
    with uncompiled(0), _common.benchmark("steps", question) as report:
        for widths in SEARCHES:
            for step, undone in UNDONE.items():
                report_step(report, model, words, widths, step, undone)
        for positions in POSITIONS:
            report_precision(report, model, positions)


def report_step(
    report: _common.Report,
    model: Transformer,
    words: list[str],
    widths: Widths,
    step: str,
    undone: Callable[[], AbstractContextManager],
) -> None:
    """The search as it is, and without a step."""

    def positions(way: Callable[[], AbstractContextManager]) -> int:
        with way():
            stepper = model.stepper()
            search(stepper, model.vocabulary, [words], widths)
        return stepper.positions

    with_it, without = positions(nullcontext), positions(undone)
    slower = ratio(lambda: positions(undone), lambda: positions(nullcontext))
    beams = f"{widths.beam_width}/{widths.word_beam_width}"
    more = {"step": step, "beam": beams, "slower": slower, "more": without / with_it}
    report(f"{beams}: {step}", with_it, lambda: positions(nullcontext), **more)


def ratio(one: Callable[[], object], other: Callable[[], object]) -> float:
    """The time of one over that of the other, the best of several runs that alternate."""
    runs = [(seconds_of(one), seconds_of(other)) for _ in range(_common.RUNS)]
    return min(first for first, _ in runs) / min(second for _, second in runs)


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@torch.no_grad()
def report_precision(report: _common.Report, model: Transformer, positions: int) -> None:
    """The linear maps of a layer in both precisions."""
    block, forms = model.blocks[0], []
    for dtype in (torch.bfloat16, torch.float32):
        maps = [(one.weight.to(dtype), one.in_features) for one in block.modules() if isinstance(one, nn.Linear)]
        x = {width: torch.randn(positions, width).to(dtype) for _, width in maps}
        forms.append(lambda maps=maps, x=x: [nn.functional.linear(x[width], weight) for weight, width in maps])
    step = f"linear maps of {positions} positions in bfloat16"
    report(step, positions, forms[0], step=step, beam="none", slower=1 / ratio(*forms), more=1.0)


if __name__ == "__main__":
    main()
