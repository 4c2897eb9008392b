"""How time and memory grow on a CPU: with the length of sentences, the number of trees, the width of a beam; two cores.

    python benchmarks/growth.py

Training forwards and backwards (2,000 positions of sentences of 5 to 80 words) by attention in matrix products and by
its definition in loops; 1 to 300 trees of a sentence of 12 words as a trie and a row each; a beam search of a sentence
of 10 words with 1 to 300 hypotheses, from the cache and, projected, without one. d 256, 6 layers, 8 heads, inner width
1024, 8,000 pieces, float32, random weights.
"""

import os

os.environ["OMP_NUM_THREADS"] = "2"

import _common
import growth_curves
import torch

from dtglib.families.base import build
from dtglib.network.transformer import TransformerConfig

SIZE = TransformerConfig(layers=6, width=256, heads=8, inner=1024)


def main() -> None:
    torch.set_num_threads(2)
    torch.manual_seed(1)
    model = build(SIZE, _common.made_up_vocabulary())
    with _common.benchmark("growth", "How do time and memory grow with length, trees and beam?", [1]) as report:
        growth_curves.report_training(report, model, lengths=(5, 10, 20, 40, 80), positions=2000, naive=40)
        model.eval()
        growth_curves.report_scoring(report, model, length=12, counts=(1, 3, 10, 30, 100, 300), rows=32)
        growth_curves.report_beam(report, model, length=10, widths=(1, 3, 10, 30, 100, 300))


if __name__ == "__main__":
    main()
