"""What a beam search of a trained model wins and loses by its width, and by dropping what is far behind.

    python benchmarks/within.py

The DTG of size mini (trained first, if it is not there) on 24 test sentences of minilang, on one core. How many of them
are searched at once is up to the widths: with `within` more than without, which is part of what it wins. "lost" is what
log p of a sentence lacks, in nats and on average, against the widest search that drops nothing.
"""

import _common
import numpy as np
import torch

from dtglib.decode.beam import Widths, in_parts, search
from dtglib.families.base import load_model
from dtglib.runs.prepare import trained
from dtglib.runs.sentence_scores import spread
from dtglib.runs.sentence_scores import test_sentences as sentences_to_test
from dtglib.runs.settings import read_size

WIDEST = Widths(300, 300)
OTHERS = (Widths(300, 300, within=12.0), Widths(300, 300, within=8.0), Widths(300, 300, within=4.0), Widths(100, 100),
          Widths(100, 100, within=8.0), Widths(30, 30), Widths(30, 30, within=8.0), Widths(10, 10))  # fmt: skip
SENTENCES = 24


def main() -> None:
    torch.set_num_threads(1)
    settings = read_size("mini", model="dtg")
    model = load_model(trained(settings))
    sentences = [sentence.words for sentence in spread(sentences_to_test(settings), SENTENCES)]

    def log_probs(widths: Widths) -> np.ndarray:
        return np.array([found.log_prob for found in in_parts(search, model, sentences, widths)])

    words = sum(map(len, sentences))
    with _common.benchmark("within", "What does a beam search win and lose by its width, and by dropping?") as report:
        exact = log_probs(WIDEST)
        report("beam 300", words, lambda: log_probs(WIDEST), lost=0.0)
        for widths in OTHERS:
            within = "" if widths.within is None else f", within {widths.within:g} nats"
            lost = float((exact - log_probs(widths)).mean())
            report(f"beam {widths.beam_width}{within}", words, lambda widths=widths: log_probs(widths), lost=lost)


if __name__ == "__main__":
    main()
