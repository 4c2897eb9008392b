"""How much faster 300 trees of a sentence are scored as a trie than as sequences, on two cores.

    python benchmarks/scoring.py

Sentences of 12 and of 25 words out of a vocabulary of 8,000 pieces, 300 different trees drawn from random arc scores;
d 256, 6 layers, 8 heads, inner width 1024. The sequences are scored in rows of about the same length, 16, 32 or 64 at
once, whichever is fastest ("rows", "rows_seconds"); "seconds" is the time of the trie. "sharing" is how many positions
the sequences have, over those that the tries compute; "faster" is the one time over the other, and "share" is how much
of the sharing that is. "difference" is the largest one between the two log-probabilities of a tree. The count is of
trees.
"""

import os

os.environ["OMP_NUM_THREADS"] = "2"

import random
import time
from collections.abc import Callable

import _common
import numpy as np
import torch

from dtglib.batches import pad
from dtglib.compile import Sequences
from dtglib.decode.trie import POSITIONS, groups, grow, joint_log_probs
from dtglib.model import Model, ModelConfig, batch_of
from dtglib.proposals.projective import different_samples
from dtglib.readings import READINGS
from dtglib.structure import dense

LENGTHS, TREES = (12, 25), 300
SPREAD = 3  # of the arc scores: a parser that has an idea, but is not sure
SIZE = {"layers": 6, "width": 256, "heads": 8, "inner": 1024}
MODELS = ("dtg", "dtg-eager", "dtg-swift", "txl-trans")
ROWS = (16, 32, 64)


def main() -> None:
    torch.set_num_threads(2)
    vocabulary = _common.made_up_vocabulary()
    chance, draw = random.Random(1), np.random.default_rng(1)
    sentences = []
    for length in LENGTHS:
        words = _common.made_up_words(length, chance)
        heads = different_samples(draw.normal(size=(length + 1, length + 1)) * SPREAD, TREES, draw).heads
        sentences.append([(words, tree) for tree in heads.tolist()])
    with _common.benchmark("scoring", "How much faster are many trees of a sentence scored as a trie?") as report:
        for name in MODELS:
            torch.manual_seed(1)
            model = Model(ModelConfig(model=name, **SIZE), vocabulary).eval()
            for trees in sentences:
                report_one(report, model, READINGS[name](vocabulary, trees), f"{name}, {len(trees[0][0])} words")


def report_one(report, model: Model, sequences: Sequences, what: str) -> None:
    """The same trees, scored both ways."""
    seconds = {rows: seconds_of(lambda r=rows: in_rows(model, sequences, r)) for rows in ROWS}
    rows = min(ROWS, key=seconds.get)
    # One after the other, so that whatever else the machine does slows both.
    pairs = [both(model, sequences, rows) for _ in range(_common.RUNS)]
    slow, fast = (min(times) for times in zip(*pairs, strict=True))
    positions = sum(len(grow(pad(sequences, numbers)).place) for numbers in groups(sequences, POSITIONS))
    sharing, faster = int(sequences.starts[-1]) / positions, slow / fast
    difference = float((in_rows(model, sequences, rows) - joint_log_probs(model, sequences)).abs().max())
    more = {"rows": rows, "rows_seconds": slow, "sharing": sharing, "faster": faster, "share": faster / sharing}
    report(what, len(sequences), lambda: joint_log_probs(model, sequences), **more, difference=difference)


def both(model: Model, sequences: Sequences, rows: int) -> tuple[float, float]:
    """Seconds in rows, and as a trie."""
    return seconds_of(lambda: in_rows(model, sequences, rows)), seconds_of(lambda: joint_log_probs(model, sequences))


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@torch.no_grad()
def in_rows(model: Model, sequences: Sequences, rows: int) -> torch.Tensor:
    """The log-probability of each, a row each, those of about the same length together."""
    found = torch.zeros(len(sequences), dtype=torch.float64)
    order = np.argsort(np.diff(sequences.starts), kind="stable")
    for first in range(0, len(order), rows):
        numbers = order[first : first + rows]
        batch = batch_of(pad(sequences, numbers), dense)
        row = batch.predicts // batch.token.shape[1]
        found.index_add_(0, torch.from_numpy(numbers)[row], model.log_probs(batch).double())
    return found


if __name__ == "__main__":
    main()
