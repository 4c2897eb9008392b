"""What a processor does for a sentence before a network can score its 300 trees; one core, warm.

    python benchmarks/host.py

Sentences of 9 words, as in BLiMP, and of 24, as in BLLIP, all words of one piece: the released parser of UD English
scores the arcs, 300 different trees are drawn (of made-up scores, by a parser that has an idea), and their sequences
are compiled and arranged in tries as for a GPU. Beside the time of the latter stands what a network then computes for a
sentence: positions without and with sharing, predictions, pairs of positions that attention scores, and the bytes of
their structure, which are sent to the device. And how long the row of a result takes to reach its file. Seconds are of
the processor, because other processes may want the core, too.
"""

import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import _common
import numpy as np
import torch
from growth_curves import SPREAD

from dtglib.decode.trie import Planned, planned
from dtglib.families.base import family
from dtglib.network.transformer import TransformerConfig
from dtglib.parsing.parser import load_parser
from dtglib.parsing.projective import different_samples
from dtglib.runs.cache import Computed, kept_rows
from dtglib.sequences.columns import NOTHING

LENGTHS, SENTENCES, TREES = (9, 24), 16, 300
ROWS = 2000
GPU = torch.device("cuda")  # only its kind matters: nothing is sent there


def main() -> None:
    torch.set_num_threads(1)
    parser, vocabulary = load_parser("parser-ud"), _common.made_up_vocabulary()
    with _common.benchmark(
        "host", "What does a processor do for a sentence before a network scores it?", [1]
    ) as report:
        for length in LENGTHS:
            chance, draw = random.Random(length), np.random.default_rng(length)
            words = [_common.made_up_words(length, chance) for _ in range(SENTENCES)]
            scores = draw.normal(size=(SENTENCES, length + 1, length + 1)) * SPREAD

            def measure(stage: str, work: Callable[[], object], length: int = length, **more: float) -> None:
                report(f"{length} words: {stage}", SENTENCES, of_processor(work), stage=stage, words=length, **more)

            def draw_trees(scores: np.ndarray = scores) -> list[np.ndarray]:
                return [different_samples(one, TREES, np.random.default_rng(1)).heads for one in scores]

            trees = draw_trees()

            def plan(words: list[list[str]] = words, trees: list[np.ndarray] = trees) -> list[list[Planned]]:
                return [tries_of(vocabulary, *pair) for pair in zip(words, trees, strict=True)]

            measure("arcs are scored", lambda words=words: parser.arc_scores(words))
            measure("trees are drawn", draw_trees)
            measure("tries are made", plan, **sizes([one for tries in plan() for one in tries]))
        report("rows reach their file", ROWS, of_processor(write_rows), stage="rows are written")


def of_processor(work: Callable[[], object]) -> float:
    """The least seconds of the processor in some runs, after one to warm up."""
    seconds = []
    for _ in range(1 + _common.RUNS):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return min(seconds[1:])


def tries_of(vocabulary, words: list[str], trees: np.ndarray) -> list[Planned]:
    """The trees of a sentence as a DTG reads them."""
    reading = family("dtg").build(TINY, vocabulary).reading
    return planned(reading.compile(vocabulary, [(words, heads) for heads in trees.tolist()]), GPU)


TINY = TransformerConfig(layers=1, width=2, heads=1, inner=1)


def sizes(tries: list[Planned]) -> dict[str, float]:
    """What a network computes for a sentence, on average."""
    totals = {
        "positions_of_rows": sum((one.trie.node != NOTHING).sum() for one in tries),
        "positions": sum(len(one.trie.place) for one in tries),
        "predictions": sum((one.batch.target[one.trie.sequence, one.trie.place] != NOTHING).sum() for one in tries),
        "pairs": sum(one.structure.visible.numel() for one in tries),
        "bytes_sent": sum(tensor.nbytes for one in tries for tensor in one.structure),
    }
    return {name: float(total) / SENTENCES for name, total in totals.items()}


def write_rows() -> None:
    """Rows like those of scores, through the cache."""
    row = {"words": 9, "pieces": 9, "trees": TREES, "log_prob": -31.4159, "best": [2, 0, 4, 2, 4, 7, 5, 2, 2]}
    with tempfile.TemporaryDirectory() as folder:
        computed = Computed([9] * ROWS, lambda: lambda block: [row] * (block.stop - block.start), at_once=64)
        kept_rows(Path(folder) / "rows.jsonl", {"what": "a benchmark"}, computed)


if __name__ == "__main__":
    main()
