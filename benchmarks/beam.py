"""How fast the beam search is, and how much its cache holds, on two cores.

    python benchmarks/beam.py

A sentence of 10 made-up words out of a vocabulary of 8,000 pieces, alone and eight such at once; beam and word beam
300; d 256, 6 layers, 8 heads, inner width 1024, random weights, which leave the search undecided: trained models are
faster. The count is of positions that are computed. Then, for sentences of 5 to 40 words and a beam of 30, the most
slots of the cache that were taken at once ("slots"), and their bytes: of DTG, whose cache is as deep as the stack, and
of TXL (trans), whose cache holds everything.
"""

import os

os.environ["OMP_NUM_THREADS"] = "2"

import random

import _common
import torch

from dtglib.decode.beam import Widths, search
from dtglib.decode.stack_stepper import StackStepper
from dtglib.families.base import build
from dtglib.network.transformer import Transformer, TransformerConfig

SIZE = {"layers": 6, "width": 256, "heads": 8, "inner": 1024}
BYTES = 2 * SIZE["layers"] * SIZE["width"] * 4  # of a slot: keys and values of every layer, in float32
WORDS, SENTENCES, LENGTHS, NARROW = 10, 8, (5, 10, 20, 40), Widths(30, 30)


def main() -> None:
    torch.set_num_threads(2)
    vocabulary, chance = _common.made_up_vocabulary(), random.Random(1)
    sentences = [_common.made_up_words(WORDS, chance) for _ in range(SENTENCES)]
    with _common.benchmark("beam", "How fast is the beam search, and how much does its cache hold?") as report:
        for name in ("dtg", "dtg-eager", "dtg-swift", "txl-trans"):
            torch.manual_seed(1)
            model = build(TransformerConfig(model=name, **SIZE), vocabulary).eval()

            def run(count: int, model: Transformer = model) -> StackStepper:
                stepper = model.stepper()
                search(stepper, vocabulary, sentences[:count])
                return stepper

            for count in (1, SENTENCES):
                report(f"{name}, {count} x {WORDS} words", run(count).positions, lambda count=count: run(count))
        for name in ("dtg", "txl-trans"):
            torch.manual_seed(1)
            model = build(TransformerConfig(model=name, **SIZE), vocabulary).eval()
            for length in LENGTHS:
                words = _common.made_up_words(length, chance)

                def narrow(model: Transformer = model, words: list[str] = words) -> StackStepper:
                    stepper = model.stepper()
                    search(stepper, vocabulary, [words], NARROW)
                    return stepper

                slots = narrow().pool.most
                what = f"{name}, {length} words, beam {NARROW.beam_width}"
                report(what, narrow().positions, narrow, slots=slots, bytes=slots * BYTES)


if __name__ == "__main__":
    main()
