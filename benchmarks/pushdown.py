"""What Pushdown Layers cost, in training and in the search, on two cores.

    python benchmarks/pushdown.py

Training: sixteen sentences of 25 words out of a vocabulary of 8,000 pieces, with random trees; d 256, 6 layers,
8 heads, inner width 1024; forward and backward. "times" is the shortest time over that of TXL (tokens) on the same
words, of runs in turns. Search: a sentence of 10 words, beam and word beam 300, random weights.
"""

import os

os.environ["OMP_NUM_THREADS"] = "2"

import random

import _common
import torch

from dtglib.decode.beam import search
from dtglib.families.base import build
from dtglib.families.pushdown.reading import SYMBOLS, taped_batch
from dtglib.families.pushdown.tape import attachments_of
from dtglib.network.transformer import TransformerConfig, batch_of
from dtglib.sequences.batches import pad
from dtglib.sequences.structure import dense

SENTENCES, WORDS, SEARCHED, RUNS = 16, 25, 10, 12
SIZE = {"layers": 6, "width": 256, "heads": 8, "inner": 1024}


def main() -> None:
    torch.set_num_threads(2)
    vocabulary, chance = _common.made_up_vocabulary().with_symbols(SYMBOLS), random.Random(1)
    words = [_common.made_up_words(WORDS, chance) for _ in range(SENTENCES)]
    models, batches = {}, {}
    for name in ("txl-tokens", "pushdown"):
        torch.manual_seed(1)
        model = models[name] = build(TransformerConfig(name, **SIZE), vocabulary)
        trees = [random_attachments(WORDS, chance) for _ in words]
        compiled = pad(model.reading.compile(vocabulary, list(zip(words, trees, strict=True))), range(SENTENCES))
        batches[name] = taped_batch(compiled) if name == "pushdown" else batch_of(compiled, dense)

    def taken(name: str) -> float:
        return _common.best(lambda: forward_and_backward(models[name], batches[name]))

    with _common.benchmark("pushdown", "What do Pushdown Layers cost?") as report:
        # In turns, so that both meet the same noise.
        rounds = [{name: taken(name) for name in models} for _ in range(RUNS)]
        least = {name: min(one[name] for one in rounds) for name in models}
        for name in models:
            times = least[name] / least["txl-tokens"]
            positions = batches[name].positions
            report(
                f"{name}: forward and backward",
                positions,
                lambda name=name: forward_and_backward(models[name], batches[name]),
                least=least[name],
                times=times,
            )
        model = models["pushdown"].eval()
        sentence = words[0][:SEARCHED]
        report(
            f"pushdown: beam of 300 over {SEARCHED} words",
            SEARCHED,
            lambda: search(model.stepper(), vocabulary, [sentence]),
        )


def random_attachments(words: int, chance: random.Random) -> list[int]:
    """Half of the words shift, the others are merged with any number of constituents."""
    reduces, items = [], 0
    for _ in range(words):
        reduces.append(chance.randint(0, items) if chance.random() < 0.5 else 0)
        items += 1 - reduces[-1]
    return attachments_of(reduces)


def forward_and_backward(model, batch) -> None:
    nats, _ = model.loss(batch)
    nats.backward()
    model.zero_grad(set_to_none=True)


if __name__ == "__main__":
    main()
