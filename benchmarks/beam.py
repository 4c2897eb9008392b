"""How fast the beam search is, how far from its arithmetic, and how much its cache holds, on two cores.

    python benchmarks/beam.py

One, 8 and 32 sentences of 10 made-up words at once, out of a vocabulary of 8,000 pieces; three pairs of beam and word
beam; d 256, 6 layers, 8 heads, inner width 1024, random weights, which leave the search undecided: trained models are
faster. The count is of positions that are computed. "times" is the time over that of the arithmetic: two operations for
each weight of a layer and position, and for each logit and number of a vector, at the best rate of large products in
the same run. "a_sentence" is in seconds; "slots" are the most slots of the cache that were taken at once, and "bytes"
theirs.

Then, where UD English is at hand, sentences of 12 words by the released DTG with 300 hypotheses within 12 nats, as the
time of 1,000 of them; and for sentences of 5 to 40 words and a beam of 30 the cache of DTG, which is as deep as the
stack, and that of TXL (trans), which holds everything.
"""

import os

os.environ["OMP_NUM_THREADS"] = "2"

import random
from collections.abc import Sequence

import _common
import torch
from rates import report_rate

from dtglib.basics.shapes import Float, Int
from dtglib.data.corpora import load, ud_folder
from dtglib.decode.beam import Widths, in_parts, search
from dtglib.decode.stack_stepper import Hypotheses, StackStepper
from dtglib.evaluate.surprisal import surprisals
from dtglib.families.base import build, load_model
from dtglib.network.transformer import Transformer, TransformerConfig
from dtglib.transitions.rows import MAY_CONTINUE

SIZE = {"layers": 6, "width": 256, "heads": 8, "inner": 1024}
BYTES = 2 * SIZE["layers"] * SIZE["width"] * 4  # of a slot: keys and values of every layer, in float32
MODELS = ("dtg", "dtg-eager", "dtg-swift", "txl-trans")
# The widths, and how many sentences are searched at once.
SETTINGS = ((Widths(300, 300), (1, 8)), (Widths(100, 10), (1, 8, 32)), (Widths(20, 20), (1, 8, 32)))
WORDS, LENGTHS, NARROW = 10, (5, 10, 20, 40), Widths(30, 30)
RELEASED, UD, UD_WORDS, UD_SENTENCES, WITHIN = "dtg-ud", "UD_English-EWT", 12, 54, Widths(300, 300, within=12.0)


class Counting(StackStepper):
    """It counts the operations of layers and output."""

    of_output = 0

    def some_log_probs(
        self, hypotheses: Hypotheses, symbols: Int[torch.Tensor, "rows A"]
    ) -> tuple[Float[torch.Tensor, "rows A"], Float[torch.Tensor, "rows 3"]]:
        goes_on = int(((self.legal(hypotheses).may & MAY_CONTINUE) != 0).sum())
        logits = goes_on * len(self.output.weight) + (len(hypotheses) - goes_on) * self.output.words
        self.of_output += 2 * logits * self.model.config.width
        return super().some_log_probs(hypotheses, symbols)

    @property
    def of_layers(self) -> int:
        layers = [p for name, p in self.model.blocks.named_parameters() if p.ndim == 2 and "places" not in name]
        return 2 * self.positions * sum(map(torch.Tensor.numel, layers))


def counted(model: Transformer, sentences: Sequence[Sequence[str]], widths: Widths) -> Counting:
    """What a search costs."""
    stepper = Counting(model)
    search(stepper, model.vocabulary, sentences, widths)
    return stepper


def main() -> None:
    torch.set_num_threads(2)
    with _common.benchmark("beam", "How fast is the beam search, and how much does its cache hold?") as report:
        rate = report_rate(report, torch.float32)
        for name in MODELS:
            report_model(report, name, network(name), rate)
        if ud_folder(UD).is_dir():
            report_released(report, RELEASED, load_model(RELEASED))
        for name in ("dtg", "txl-trans"):
            report_lengths(report, name)


def network(name: str) -> Transformer:
    """A model with random weights."""
    torch.manual_seed(1)
    return build(TransformerConfig(model=name, **SIZE), _common.made_up_vocabulary()).eval()


def report_model(report: _common.Report, name: str, model: Transformer, rate: float) -> None:
    """All widths and numbers of sentences at once; the rate is that of large products."""
    chance = random.Random(1)
    sentences = [_common.made_up_words(WORDS, chance) for _ in range(32)]
    for widths, counts in SETTINGS:
        for count in counts:
            costs = counted(model, sentences[:count], widths)
            arithmetic = (costs.of_layers + costs.of_output) / rate
            what = f"{name}, {widths.beam_width}/{widths.word_beam_width}, {count} x {WORDS} words"
            report(
                what, costs.positions,
                lambda some=sentences[:count], widths=widths: search(model.stepper(), model.vocabulary, some, widths),
                model=name, beam=f"{widths.beam_width}/{widths.word_beam_width}", sentences=count,
                times=lambda seconds, least=arithmetic: seconds / least,
                a_sentence=lambda seconds, count=count: seconds / count,
                slots=costs.pool.most, bytes=costs.pool.most * BYTES,
            )  # fmt: skip


def report_released(report: _common.Report, name: str, model: Transformer) -> None:
    """Sentences of one length, by a trained model: log p alone, and all surprisals."""
    words = [sentence.words for sentence in load(ud_folder(UD), "test").sentences if len(sentence.words) == UD_WORDS]
    words = words[:UD_SENTENCES]
    a_thousand = {"a_thousand": lambda seconds: 1000 * seconds / len(words)}
    what = f"{name}, {len(words)} x {UD_WORDS} words, beam 300 within {WITHIN.within:g} nats"
    report(f"{what}, log p", len(words), lambda: list(in_parts(search, model, words, WITHIN)), **a_thousand)
    report(f"{what}, surprisals", len(words), lambda: list(surprisals(model, words, WITHIN)), **a_thousand)


def report_lengths(report: _common.Report, name: str) -> None:
    """How the cache grows with the sentence."""
    model, chance = network(name), random.Random(2)
    for length in LENGTHS:
        words = _common.made_up_words(length, chance)
        costs = counted(model, [words], NARROW)
        report(
            f"{name}, {length} words, beam {NARROW.beam_width}", costs.positions,
            lambda words=words: search(model.stepper(), model.vocabulary, [words], NARROW),
            slots=costs.pool.most, bytes=costs.pool.most * BYTES,
        )  # fmt: skip


if __name__ == "__main__":
    main()
