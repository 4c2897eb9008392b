"""How fast UDGN is trained, against the Transformer of the same size and against loops over heads, on two cores.

    python benchmarks/udgn.py

A batch of some 2,000 words of minilang; the paper's layers and widths (8 layers, 8 heads, width 512) with a vocabulary
that is filled up to 10,798 entries; forward and backward, the shortest of runs in turns. UDGN has its parser besides,
and twice as many words of vectors; the bar is that it takes at most twice as long as the Transformer. "of transformer"
and "of udgn" are ratios of times. The loop computes one head after the other, as some code has it, with the same
result.
"""

import os

os.environ["OMP_NUM_THREADS"] = "2"

import argparse
import math
from collections.abc import Callable
from types import MethodType

import _common
import numpy as np
import torch
from torch import Tensor

from dtglib.data.corpora import load
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import family
from dtgpapers.udgn.masked import SYMBOLS
from dtgpapers.udgn.network import Layer
from dtgpapers.udgn.words import readable

WORDS, ENTRIES, ROUNDS = 2000, 10_798, 3
NAMES = ("udgn-transformer", "udgn", "udgn, a loop over heads")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--small", action="store_true", help="two layers, width 64: to see that it runs")
    size = {"layers": 2, "width": 64} if options.parse_args().small else {}
    torch.set_num_threads(2)
    models, batch = prepared(size)
    works = {name: trained(model, batch) for name, model in models.items()}
    words = int(batch.length.sum())
    with _common.benchmark("udgn", "What do UDGN's parser and heads cost?") as report:
        rounds = [{name: _common.best(work) for name, work in works.items()} for _ in range(ROUNDS)]
        least = {name: min(one[name] for one in rounds) for name in NAMES}
        for name in NAMES:
            beside = {f"of {NAMES[n].rpartition('-')[2]}": least[name] / least[NAMES[n]] for n in (0, 1)}
            report(f"{name}: forward and backward, words", words, works[name], **beside)


def prepared(size: dict[str, int]):
    """The models, and a batch for all of them."""
    treebank = load("minilang", "train", 1000)
    known = sorted({word for one in readable(treebank.sentences) for word in one.words})
    fillers = [f"filler{number}" for number in range(ENTRIES - len(SYMBOLS.entries) - len(known))]
    vocabulary = Vocabulary.of_words([known, fillers], SYMBOLS)
    models = {}
    for name in NAMES:
        kind = family(name.partition(",")[0])
        torch.manual_seed(1)
        models[name] = kind.build(kind.config(**size), vocabulary)
    for layer in models[NAMES[2]].layers:
        layer.forward = MethodType(head_by_head, layer)
    check(models["udgn"], models[NAMES[2]])
    data, cpu = kind.examples(models["udgn"].config, vocabulary, treebank, None), torch.device("cpu")
    return models, data.batch(data.plan(WORDS, np.random.default_rng(1), cpu)[0], WORDS, cpu)


def trained(model, batch) -> Callable[[], None]:
    """A step without the optimiser's part, which all share."""

    def work() -> None:
        torch.manual_seed(1)
        nats, _ = model.loss(batch)
        nats.backward()
        model.zero_grad(set_to_none=True)

    return work


def head_by_head(self: Layer, h: Tensor, weight: Tensor) -> Tensor:
    """`Layer.forward` with a product of matrices for each head."""
    q, k, v, *gates = self.project(h)
    directions = self.scaled * self.directions(h.shape[1])
    scores = [q[:, n] @ k[:, n].transpose(1, 2) / math.sqrt(self.head_width) + directions[n] for n in range(self.heads)]
    shares = torch.stack(scores).softmax(0)
    heard = []
    for n in range(self.heads):
        a = self.attention_dropout(shares[n] * weight[:, 0])
        heard.append(a @ self.nonlinearity(v[:, n]) * gates[0][:, n].sigmoid())
    return h + self.dropout(self.out(self.dropout(torch.cat(heard, 2))))


def check(model, loop) -> None:
    """Both compute the same."""
    layer, other = model.layers[0].eval(), loop.layers[0].eval()
    h, weight = torch.randn(2, 7, layer.out.out_features), torch.rand(2, 1, 7, 7)
    torch.testing.assert_close(layer(h, weight), other(h, weight), atol=1e-4, rtol=1e-3)
    layer.train(), other.train()


if __name__ == "__main__":
    main()
