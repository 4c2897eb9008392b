"""How fast projective trees come out of arc scores: the best, and samples, on one core, warm.

    python benchmarks/projective.py

Sentences of 25 words, 300 trees of each, where a parser has no idea (random scores), and where it is sure of itself
(every arc of one tree has 8 more). The count is of sentences: 20 ms for one are 50 a second. Then supar's `topk(300)`
beside ours, on one sentence of 10 words.
"""

import random

import numpy as np
from _common import benchmark, random_tree

from dtglib.parsing import projective

SENTENCES, WORDS, TREES, SURPLUS = 20, 25, 300, 8.0
SHORTER = 10


def main() -> None:
    chance, shapes = np.random.default_rng(1), random.Random(1)
    unsure = chance.normal(size=(SENTENCES, WORDS + 1, WORDS + 1))
    sure = unsure.copy()
    for scores in sure:
        scores[random_tree(WORDS, shapes), np.arange(1, WORDS + 1)] += SURPLUS
    short = chance.normal(size=(1, SHORTER + 1, SHORTER + 1))
    best = f"{TREES} best"
    works = {
        best: lambda scores: projective.best_trees(scores, TREES),
        f"{TREES} different samples": lambda scores: projective.different_samples(scores, TREES, chance),
        f"{TREES} samples": lambda scores: projective.samples(scores, TREES, chance),
    }
    with benchmark("projective", "How fast do projective trees come out of arc scores?") as report:

        def measure(what: str, sentences: np.ndarray, work) -> None:
            work(sentences[0])  # warm
            report(what, len(sentences), lambda: [work(scores) for scores in sentences])

        for kind, sentences in (("random", unsure), ("confident", sure)):
            for name, work in works.items():
                measure(f"{name}, {WORDS} words, {kind}", sentences, work)
        measure(f"{best}, {SHORTER} words, random", short, works[best])
        try:
            from supar.structs import DependencyCRF
        except ImportError:
            print("supar is not at hand (pip install 'dtglib[parser]'): it is not compared")
            return
        import torch

        def topk(scores: np.ndarray) -> torch.Tensor:
            return DependencyCRF(torch.tensor(scores.T[None].copy(), requires_grad=True)).topk(TREES)

        report(f"{best}, {SHORTER} words, random, supar", len(short), lambda: [topk(scores) for scores in short])


if __name__ == "__main__":
    main()
