"""How fast translators are trained: Vanilla against PyTorch's nn.Transformer, and prefixes against their operations.

    python benchmarks/translation.py

Two cores; pairs of minilang, with a vocabulary that is filled up to 8,000 entries; width 256, 3 layers in encoder and
decoder, 8 heads, inner width 1024; forward and backward, the shortest of runs in turns. The count is of target words.

nn.Transformer has the same layers (norms first, ReLU), embeddings, sinusoids and output map around it; it pads targets,
as it must. "of nn.Transformer" is the ratio of the times for the same pairs: the bar is 1.0. The other systems encode
half of the prefixes of each target, and some of them also all prefixes, as in the paper; "of vanilla" is the ratio of
times, "by operations" the ratio of the products that they compute (parts/translation_operations.py), and "over" the
first by the second: the bar is 1.3.
"""

import os

os.environ["OMP_NUM_THREADS"] = "2"

import argparse
import math
from collections.abc import Callable
from functools import partial

import _common
import numpy as np
import torch
from torch import Tensor, nn
from translation_operations import operations, shapes_of_step

from dtglib.data.corpora import load
from dtglib.data.vocabulary import PAD, Vocabulary
from dtglib.families.base import family
from dtglib.network.attention import NEAREST, sinusoids
from dtgpapers.translation.config import TranslationConfig
from dtgpapers.translation.examples import Meanings, TranslationBatch, padded
from dtgpapers.translation.network import Translator
from dtgpapers.translation.prefixes import GO
from dtgpapers.translation.systems import SYSTEMS

ENTRIES, WORDS, ROUNDS = 8000, 1024, 3
SIZE = {"layers": 3, "width": 256, "heads": 8, "inner": 1024}
SMALL = {"layers": 1, "width": 32, "heads": 2, "inner": 64}
PYTORCH = "nn.Transformer"
PREFIXES = {name: 0.5 if system.whole_prefix else 1.0 for name, system in SYSTEMS.items()}
PREFIXES |= {f"{name}, all prefixes": 1.0 for name in ("bitran", "parent", "gcn")}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--small", action="store_true", help="one layer, width 32: to see that it runs")
    size = SMALL if options.parse_args().small else SIZE
    torch.set_num_threads(2)
    works, by_operations, words = prepared(size)
    with _common.benchmark("translation", "How fast are translators trained?") as report:
        rounds = [{name: _common.best(work) for name, work in works.items()} for _ in range(ROUNDS)]
        least = {name: min(one[name] for one in rounds) for name in works}
        for name, work in works.items():
            beside = {f"of {PYTORCH}": least[name] / least[PYTORCH]}
            if name in by_operations:
                times = least[name] / least["vanilla"]
                beside |= {
                    "of vanilla": times, "by operations": by_operations[name], "over": times / by_operations[name]
                }  # fmt: skip
            report(f"{name}: forward and backward, words", words, work, **beside)


def prepared(size: dict[str, int]) -> tuple[dict[str, Callable[[], None]], dict[str, float], int]:
    """The work of a step of each system over the same pairs, its operations against Vanilla's, and the words."""
    treebank = load("minilang:de-en", "train", 400)
    known = sorted({word for one in treebank.sentences for word in (*one.words, *one.translation)})
    shared = Vocabulary.of_words([known, [f"filler{number}" for number in range(ENTRIES - len(known))]])
    works, counts, batches, cpu = {}, {}, {}, torch.device("cpu")
    for what, share in PREFIXES.items():
        name, *_ = what.split(",")
        config = TranslationConfig(name, dropout=0.0, prefixes=share, **size)
        vocabulary = family(name).vocabulary(config, shared, treebank)
        data = family(name).examples(config, vocabulary, treebank, None)
        batches[what] = batch = data.batch(data.plan(WORDS, np.random.default_rng(1), cpu)[0], WORDS, cpu)
        torch.manual_seed(1)
        network = Translator(config, vocabulary).train()
        works[what] = trained(network, partial(nats_of, network, batch))
        torch.manual_seed(1)
        labels = len(Meanings(vocabulary).labels)
        counts[what] = operations(config, len(vocabulary), labels, shapes_of_step(config, batch)).total
    by_pytorch = Padded(TranslationConfig(dropout=0.0, **size), len(vocabulary))
    works[PYTORCH] = trained(by_pytorch, partial(by_pytorch, batches["vanilla"]))
    against = {name: count / counts["vanilla"] for name, count in counts.items()}
    return works, against, batches["vanilla"].positions


def trained(network: nn.Module, loss: Callable[[], Tensor]) -> Callable[[], None]:
    """A step without the optimiser's part, which all share; the same prefixes are drawn each time."""

    def work() -> None:
        torch.manual_seed(1)
        loss().backward()
        network.zero_grad(set_to_none=True)

    return work


def nats_of(network: Translator, batch: TranslationBatch) -> Tensor:
    """What training minimises."""
    return network.loss(batch)[0]


class Padded(nn.Module):
    """An encoder-decoder around PyTorch's own layers; the nats of a batch."""

    def __init__(self, config: TranslationConfig, entries: int) -> None:
        super().__init__()
        self.width = config.width
        self.embeddings = nn.ModuleList(nn.Embedding(entries, config.width) for _ in range(2))
        self.layers = nn.Transformer(
            config.width, config.heads, config.layers, config.layers, config.inner, config.dropout,
            batch_first=True, norm_first=True,
        )  # fmt: skip
        self.output, self.smoothing = nn.Linear(config.width, entries), config.smoothing

    def embed(self, side: int, token: Tensor) -> Tensor:
        of_places = sinusoids(token.shape[1] - 1, self.width, token.device)[-NEAREST:]
        return self.embeddings[side](token) * math.sqrt(self.width) + of_places

    def forward(self, batch: TranslationBatch) -> Tensor:
        target = padded([one.ids for one in batch.targets])
        known = torch.cat([torch.full_like(target[:, :1], GO), target[:, :-1]], dim=1)
        causal = nn.Transformer.generate_square_subsequent_mask(known.shape[1])
        empty = batch.source == PAD
        found = self.layers(
            self.embed(0, batch.source), self.embed(1, known), tgt_mask=causal, tgt_is_causal=True,
            src_key_padding_mask=empty, memory_key_padding_mask=empty,
        )  # fmt: skip
        there = target != PAD
        logits = self.output(found[there])
        return nn.functional.cross_entropy(logits, target[there], reduction="sum", label_smoothing=self.smoothing)


if __name__ == "__main__":
    main()
