"""What DTG's relatives cost, in training and in the search, on two cores.

    python benchmarks/relatives.py

Training: 64 sentences of minilang of 10 to 14 words, with their trees or graphs, and a vocabulary that is filled up to
8,000 entries; d 256, 6 layers, 8 heads, inner width 1024; forward and backward, the shortest of runs in turns. "of dtg"
is the time of a position over that of DTG's, "of txl" the time of all sentences over that of TXL (tokens). Search: a
sentence of 10 words, beam and word beam 300, plain and within 12 nats, random weights; the count is of positions. With
random weights everything that is legal is about as probable, so that a search opens as many brackets as it may. (Of the
numbers of arcs in GiLT it keeps the 20 most probable ones of each hypothesis, as the published code does.)
"""

import os

os.environ["OMP_NUM_THREADS"] = "2"

from collections.abc import Callable

import _common
import numpy as np
import torch

from dtglib.data.corpora import load
from dtglib.data.treebank import Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.decode.beam import Widths, search
from dtglib.families.base import build, family

SENTENCES, SEARCHED, RUNS, ENTRIES = 64, 10, 5, 8000
SIZE = {"layers": 6, "width": 256, "heads": 8, "inner": 1024}
NAMES = ("txl-tokens", "dtg", "plm", "plm-mask", "txl-trees", "tg", "pushdown", "pushdown-paper", "gilt", "gilt-dp")


def main() -> None:
    torch.set_num_threads(2)
    known = load("minilang", "train", 2000)
    chosen = [sentence for sentence in known.sentences if 10 <= len(sentence.words) <= 14][:SENTENCES]
    words = {word for sentence in known.sentences for word in sentence.words}
    vocabulary = Vocabulary.of_words([sorted(words), [f"filler{n}" for n in range(ENTRIES - len(words))]])
    models, batches = {}, {}
    for name in NAMES:
        config = family(name).config(name, **SIZE)
        speaking = family(name).vocabulary(config, vocabulary, known)
        torch.manual_seed(1)
        models[name] = build(config, speaking)
        examples = family(name).examples(config, speaking, Treebank(chosen, known.excluded), None)
        batches[name] = examples.batch(np.arange(len(examples)), 2**20, torch.device("cpu"))

    def trained(name: str) -> Callable[[], None]:
        return lambda: forward_and_backward(models[name], batches[name])

    sentence = next(one.words for one in known.sentences if len(one.words) == SEARCHED)
    with _common.benchmark("relatives", "What do DTG's relatives cost?") as report:
        # In turns, so that all meet the same noise.
        rounds = [{name: _common.best(trained(name)) for name in NAMES} for _ in range(RUNS)]
        least = {name: min(one[name] for one in rounds) for name in NAMES}
        each = {name: least[name] / batches[name].positions for name in NAMES}
        for name in NAMES:
            beside = {"of dtg": each[name] / each["dtg"], "of txl": least[name] / least["txl-tokens"]}
            report(f"{name}: forward and backward", batches[name].positions, trained(name), **beside)
        for name in NAMES[1:]:
            for within in (None, 12.0):

                def searched(name: str = name, within: float | None = within) -> int:
                    stepper = models[name].eval().stepper()
                    tried = 20 if name.startswith("gilt") else None
                    search(stepper, models[name].vocabulary, [sentence], Widths(within=within, score_beam=tried))
                    return stepper.positions

                about = "plain" if within is None else f"within {within:g}"
                report(f"{name}: beam of 300 over {SEARCHED} words, {about}", searched(), searched)


def forward_and_backward(model, batch) -> None:
    nats, _ = model.loss(batch)
    nats.backward()
    model.zero_grad(set_to_none=True)


if __name__ == "__main__":
    main()
