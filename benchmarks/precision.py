"""What bfloat16 changes in what a trained model says: log p of sentences, and which of a minimal pair it prefers.

    python benchmarks/precision.py

The DTG of size mini and its strong parser (trained first, if they are not there) on a twentieth of minilang's minimal
pairs, 100 trees a sentence, on two cores. The trees are the same in both precisions. Sums of probabilities are float32
or wider in both; it is the products of matrices that are coarser.
"""

import os

os.environ["OMP_NUM_THREADS"] = "2"

import _common
import numpy as np
import torch
from precisions import report_precisions

from dtglib.evaluate.blimp import read_pairs
from dtglib.evaluate.likelihood import score_many
from dtglib.families.base import load_model
from dtglib.parsing.parser import load_parser
from dtglib.parsing.propose import METHODS, propose
from dtglib.runs.parsers import trained_parser
from dtglib.runs.prepare import trained
from dtglib.runs.settings import read_size

TREES, SHARE = 100, 0.05


def main() -> None:
    torch.set_num_threads(2)
    settings = read_size("mini", model="dtg")
    model = load_model(trained(settings))
    pairs = [pair for paradigm in read_pairs("minilang", SHARE) for pair in paradigm.pairs]
    sentences = [words for pair in pairs for words in (pair.good, pair.bad)]
    parser = load_parser(trained_parser("strong", settings))
    trees = [found.heads for found in propose(parser, sentences, TREES, METHODS["sample"])]

    def bounds(dtype: torch.dtype) -> np.ndarray:
        with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
            return np.array([scored.bound for scored in score_many(model, zip(sentences, trees, strict=True))])

    with _common.benchmark("precision", "What does bfloat16 change in log p, and in decisions?", [1]) as report:
        report_precisions(report, bounds, TREES)


if __name__ == "__main__":
    main()
