"""The paper's size on one CUDA GPU: how close training comes to the card's rate, how fast trees and beams are scored.

    python benchmarks/cuda.py              without such a GPU it says so and records nothing
    python benchmarks/cuda.py --dry-run    everything once at a tiny size, on any device: a test that it still runs
    python benchmarks/cuda.py --parts training beam        some of it; each record says which

It is the size of three models: DTG, TXL (trans) and TXL (tokens). Correctness comes first: FlexAttention against the
dense form, bfloat16 against float32, compiled against uncompiled code, in losses and (on CUDA) gradients. Then the
ceilings, a copy on the device and a large product; then training as train.py does it (packed rows prepared ahead,
FlexAttention, fused AdamW, bfloat16, compiled layers), many trees of a sentence as a trie, and a beam search; and how
time and memory grow.

The sentences are random, but their words agree: the class of a word is that of its head plus one. So there is something
to learn, and a pair of sentences of which one has a word of a wrong class can be told apart. PyTorch, numba,
SentencePiece and the small packages that dtglib's core imports (PyYAML, safetensors, tqdm) are needed; packages for
notebooks and parsers are not.

"share" is the time that the matrix products (without padding and without attention's pairs) would take at the card's
measured rate, divided by the measured time. Hours for BLLIP assume the same positions per second, and two pieces in a
third of its words; minutes for BLiMP and the suites assume the same sentences and words per second, without a pause and
without the parser that proposes trees.
"""

import argparse
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import _common
import growth_curves
import numpy as np
import torch
from precisions import report_precisions

from dtglib.data.treebank import Sentence, Treebank
from dtglib.decode import sequence_stepper, stepper, trie
from dtglib.decode.beam import Widths, search
from dtglib.evaluate import likelihood
from dtglib.evaluate.likelihood import score_many
from dtglib.families.base import build, family, family_of
from dtglib.network.transformer import Batch, Transformer, TransformerConfig, batch_of
from dtglib.parsing.projective import different_samples
from dtglib.sequences.structure import Flex, Structure, dense, flex
from dtglib.training.compiled import compiled_graphs, compiled_layers
from dtglib.training.examples import PACKED, Examples
from dtglib.training.prefetch import ahead
from dtglib.training.schedule import TrainConfig


class Sizes(NamedTuple):
    """How large everything is: in earnest, or in a dry run."""

    model: TransformerConfig
    pieces: int
    positions: int  # of a batch,
    checked: int  # and of one in which forms are compared
    steps: int  # of training
    matrix: int
    copied: int  # bytes
    trees: int
    pairs: int
    beam: int
    sentences: int  # that are searched at once
    lengths: tuple[int, ...]
    counts: tuple[int, ...]  # of trees, and widths of beams


PAPER = Sizes(
    TransformerConfig(), 32_768, 16_384, 2048, 60, 8192, 2**31, 300, 50, 300, 8, (5, 10, 20, 40, 80), (1, 10, 100, 300)
)
TINY = Sizes(
    TransformerConfig(layers=2, width=32, heads=2, inner=64), 6000, 512, 256, 2, 128, 2**16, 5, 4, 3, 2, (3, 5), (1, 3)
)

CLASSES, WORDS = 8, 600  # kinds of words that agree, and how many words each has: of one piece each
WARM_UP = 5  # steps

# BLLIP-LG has 42 million words, a third of which has two pieces in a guess that errs on the slow side. The paper took
# 35 hours for 4 epochs on an A6000.
BLLIP_WORDS, MORE_PIECES, EPOCHS = 42e6, 1 / 3, 4
# BLiMP's sentences, and their words and marks; and those of the test suites (data of both, counted).
BLIMP, BLIMP_WORDS = 134_000, 9
SUITES, SUITE_WORDS = 3132, 14
TIMED_WORDS = 10  # of sentences that are searched alone, and many at once

PARTS = ("checks", "training", "trees", "beam", "growth")

# How much is on a device at once, in a search and in sums over trees. The GPU's numbers are guesses.
OF_SEARCH = {
    "rows that look": sequence_stepper.POSITIONS_AT_ONCE,
    "rows of probabilities": stepper.DISTRIBUTIONS_AT_ONCE,
}
OF_SUMS = {
    "sentences together": likelihood.SENTENCES,
    "positions of a trie": trie.POSITIONS,
    "predictions of a trie": trie.PREDICTIONS,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dry-run", action="store_true", help="a tiny form of everything, without a record")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="some of them (default: all)")
    options = parser.parse_args()
    if not options.dry_run and not torch.cuda.is_available():
        print("there is no CUDA GPU here: nothing is measured, and nothing recorded")
        return
    question = f"How close does the paper's size come to what the card can do? ({', '.join(options.parts)})"
    with dry() if options.dry_run else _common.benchmark("cuda", question, [1]) as report:
        measure(report, TINY if options.dry_run else PAPER, options.parts)


def measure(report: _common.Report, size: Sizes, parts: Sequence[str]) -> None:
    """The parts, in the order of PARTS."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    vocabulary = _common.made_up_vocabulary(size.pieces)
    models = {}
    for name in ("dtg", "txl-trans", "txl-tokens"):
        torch.manual_seed(1)
        models[name] = build(replace(size.model, model=name), vocabulary)
    if {"checks", "training"} & set(parts):
        treebank = Treebank(agreeing_sentences(size.steps * size.positions // 20 + 64), Counter())
        examples = {
            name: family(name).examples(model.config, vocabulary, treebank, None) for name, model in models.items()
        }
    if "checks" in parts:
        for name, model in models.items():
            torch._dynamo.reset()  # there is a limit to how often a function is compiled
            check(report, model.to(device), examples[name], size)
            model.cpu()  # so that the peak of memory is that of one model
    if "training" in parts:
        rate = report_ceilings(report, size, device)
        for name, model in models.items():
            torch._dynamo.reset()
            report_training(report, model.to(device), examples[name], treebank, size, rate)
            model.cpu()
    torch._dynamo.reset()
    model = models["dtg"].to(device).eval()
    for part, report_on in (("trees", report_scoring), ("beam", report_search), ("growth", report_growth)):
        if part in parts:
            report_on(report, model, size)


@contextmanager
def dry() -> Iterator[_common.Report]:
    """Everything once, and the numbers are only shown."""

    def report(what: str, count: int, work: Callable[[], object], **more: _common.Beside) -> None:
        began = time.perf_counter()
        work()
        print(f"dry run: {what}{_common.in_short(_common.settled(more, time.perf_counter() - began))}")

    yield report


# --- Sentences ---------------------------------------------------------------------------------------------------


def agreeing_sentences(count: int, shortest: int = 5, longest: int = 45) -> list[Sentence]:
    """Words that agree with their heads."""
    chance = random.Random(1)
    return [agreeing(chance.randint(shortest, longest), chance) for _ in range(count)]


def agreeing(length: int, chance: random.Random) -> Sentence:
    heads, root = _common.random_tree(length, chance), chance.randrange(CLASSES)
    words = []
    for word in range(1, length + 1):
        depth = -1
        while word:
            word, depth = heads[word - 1], depth + 1
        rank = int(WORDS * chance.random() ** 3)  # few words are frequent
        words.append(str(rank * CLASSES + (root + depth) % CLASSES))
    return Sentence(tuple(words), heads)


def disagreeing(sentence: Sentence, chance: random.Random) -> Sentence:
    """The same with one word of another class."""
    place = chance.randrange(len(sentence.words))
    number = int(sentence.words[place])
    other = number - number % CLASSES + (number + chance.randrange(1, CLASSES)) % CLASSES
    words = (*sentence.words[:place], str(other), *sentence.words[place + 1 :])
    return Sentence(words, sentence.heads)


# --- Correctness -------------------------------------------------------------------------------------------------


def check(report: _common.Report, model: Transformer, examples: Examples, size: Sizes) -> None:
    """What must not differ much, as the norm of a difference over that of what it is from."""
    device = model.embedding.weight.device
    numbers = PACKED.plan(examples.lengths, size.checked, np.random.default_rng(1))[0]
    packed = PACKED.place(examples.sequences, numbers, size.checked)
    batches = {form: batch_of(packed, form, device, examples.farthest) for form in (dense, flex)}
    exact = {form: found_by(model.log_probs, model, batches[form], torch.float32) for form in batches}
    coarse = {form: found_by(model.log_probs, model, batches[form], torch.bfloat16) for form in batches}
    with compiled_layers(model, compiler(device)) as compiling:
        compiled = found_by(model.log_probs, model, batches[flex], torch.bfloat16)
    for what, one, other, tolerated in (
        ("flex against dense, float32", exact[flex], exact[dense], 1e-3),
        ("flex against dense, bfloat16", coarse[flex], coarse[dense], 0.1),
        ("compiled flex against flex, bfloat16", compiled, coarse[flex], 0.1),
        ("bfloat16 against float32, flex", coarse[flex], exact[flex], 0.3),
    ):
        differences = {name: float((one[name] - other[name]).norm() / other[name].norm()) for name in other}
        beside = compiling.for_metrics if one is compiled else {}
        report(f"{family_of(model).title}, check: {what}", 1, lambda: None, **differences, **beside)
        if not max(differences.values()) < tolerated:
            raise SystemExit(f"{what}: they differ too much, and nothing is measured")


def found_by(
    log_probs_of: Callable[[Batch], torch.Tensor], model: Transformer, batch: Batch, dtype: torch.dtype
) -> dict[str, torch.Tensor]:
    """All log-probabilities and, on CUDA, the gradients of their mean."""
    device = batch.token.device
    goes_back = device.type == "cuda"
    with torch.set_grad_enabled(goes_back), autocast(device, dtype):
        log_probs = log_probs_of(batch)
    found = {"log_probs": log_probs.detach().float()}
    if goes_back:
        log_probs.mean().backward()
        found["gradients"] = torch.cat([p.grad.flatten() for p in model.parameters()]).float()
        model.zero_grad()
    return found


def autocast(device: torch.device, dtype: torch.dtype) -> torch.autocast:
    return torch.autocast(device.type, dtype, enabled=dtype != torch.float32)


# --- Times -------------------------------------------------------------------------------------------------------


def report_ceilings(report: _common.Report, size: Sizes, device: torch.device) -> float:
    """What the card can do: bytes it reads and writes in a copy, operations in a large product; the latter's rate."""
    source = torch.empty(size.copied, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    copy = growth_curves.waited(lambda: target.copy_(source), device)
    copy()
    report("copy on the device", 1, copy, giga_bytes_per_second=2 * size.copied / _common.best(copy) / 1e9)
    matrix = torch.randn(size.matrix, size.matrix, device=device, dtype=torch.bfloat16)
    times = 10  # one alone is over before it can be timed
    products = growth_curves.waited(lambda: [matrix @ matrix for _ in range(times)], device)
    products()
    rate = 2 * times * size.matrix**3 / _common.best(products)
    report(f"products {size.matrix} x {size.matrix}, bfloat16", times, products, tera_per_second=rate / 1e12)
    return rate


def report_training(
    report: _common.Report, model: Transformer, examples: Examples, treebank: Treebank, size: Sizes, rate: float
) -> None:
    """Steps as train.py takes them, after some to warm up."""
    device = model.embedding.weight.device
    # On a CPU in the dense form, because FlexAttention does not go backwards there.
    form, kind = (flex, Flex) if device.type == "cuda" else (dense, Structure)
    optimizer = TrainConfig().optimizer(model)
    for group in optimizer.param_groups:
        group["lr"] = 1.5e-4 * group["times"]
    plan = PACKED.plan(examples.lengths, size.positions, np.random.default_rng(1))[: size.steps]
    losses, predicted = [], 0

    def take(numbers: list[np.ndarray]) -> None:
        nonlocal predicted
        predicted = 0
        placed = (PACKED.place(examples.sequences, some, size.positions) for some in numbers)
        batches = (batch_of(rows, form, device, examples.farthest) for rows in placed)
        for batch in ahead(batches, device):
            with autocast(device, torch.bfloat16):
                loss, parts = model.loss(batch)
            events = parts["transition"].events
            (loss / events).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 3.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(loss.detach() / events)
            predicted += events

    with compiled_layers(model, compiler(device), kind) as compiling:
        take(plan[:WARM_UP])  # the first batch is that for which code is compiled
        graphs = compiled_graphs()
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        work = growth_curves.waited(lambda: take(plan), device)
        work()
        useful = sum(int(examples.lengths[numbers].sum()) for numbers in plan)
        words = sum(len(treebank.sentences[number].words) for numbers in plan for number in numbers)
        in_bllip = BLLIP_WORDS * (useful / words + MORE_PIECES)
        floor = _common.operations(model, predicted, useful) / rate
        report(
            f"{family_of(model).title}, training: useful positions", useful, work,
            share=lambda seconds: floor / seconds,
            hours_for_bllip=lambda seconds: EPOCHS * in_bllip * seconds / useful / 3600,
            **compiling.for_metrics, recompilations=compiled_graphs() - graphs,
            peak_gibibytes=torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else math.nan,
            first_loss=losses[0].item(), last_loss=losses[-1].item(),
        )  # fmt: skip


def compiler(device: torch.device) -> str:
    """On a CPU only that graphs are found: FlexAttention could not go backwards there anyway."""
    return "inductor" if device.type == "cuda" else "eager"


def report_scoring(report: _common.Report, model: Transformer, size: Sizes) -> None:
    """Many trees of each sentence of BLiMP's length, in both precisions, and what the coarser one changes."""
    device, chance, draw = model.embedding.weight.device, random.Random(2), np.random.default_rng(2)
    good = [agreeing(BLIMP_WORDS, chance) for _ in range(size.pairs)]
    sentences = [sentence for pair in good for sentence in (pair, disagreeing(pair, chance))]
    # The same trees for both of a pair, so that what they differ in is their words.
    of_pairs = draw.normal(size=(size.pairs, BLIMP_WORDS + 1, BLIMP_WORDS + 1)) * growth_curves.SPREAD
    scores = np.repeat(of_pairs, 2, axis=0)

    def bounds(dtype: torch.dtype) -> np.ndarray:
        asked = (
            (sentence.words, different_samples(of_arcs, size.trees, np.random.default_rng(1)).heads)
            for sentence, of_arcs in zip(sentences, scores, strict=True)
        )
        with autocast(device, dtype):
            return np.array([scored.bound for scored in score_many(model, asked)])

    in_minutes = {"minutes_for_blimp": lambda seconds: BLIMP * seconds / len(sentences) / 60}
    report_precisions(report, bounds, size.trees, **in_minutes)
    report_limits(report, "trees", size.trees * len(sentences), lambda: bounds(torch.bfloat16), OF_SUMS, device)


def report_search(report: _common.Report, model: Transformer, size: Sizes) -> None:
    """Ten words, alone and many sentences at once; then sentences of the test suites' length, several at once."""
    device, chance = model.embedding.weight.device, random.Random(3)
    for count in (1, 4 * size.sentences):
        sentences = [agreeing(TIMED_WORDS, chance).words for _ in range(count)]

        def run_short(sentences: list[list[str]] = sentences) -> None:
            with autocast(device, torch.bfloat16):
                search(model.stepper(), model.vocabulary, sentences, Widths(size.beam, size.beam))

        for _ in range(2):
            run_short()  # what is recorded before the pool grows is recorded again
        report(
            f"beam {size.beam}: {count} x {TIMED_WORDS} words", count * TIMED_WORDS, run_short,
            a_sentence=lambda seconds, count=count: seconds / count,
        )  # fmt: skip
    sentences = [agreeing(SUITE_WORDS, chance).words for _ in range(size.sentences)]
    count = len(sentences) * SUITE_WORDS
    for within in (None, 8.0):
        widths = Widths(size.beam, size.beam, within=within)

        def run(widths: Widths = widths) -> list[float]:
            with autocast(device, torch.bfloat16):
                found = search(model.stepper(), model.vocabulary, sentences, widths)
            return [one.log_prob for one in found]

        log_probs = run()
        dropped = "" if within is None else f", within {within:g} nats"
        report(
            f"beam {size.beam}{dropped}: words", count, run,
            minutes_for_suites=lambda seconds: SUITES * SUITE_WORDS * seconds / count / 60,
            mean_log_prob=float(np.mean(log_probs)),
        )  # fmt: skip
    report_limits(report, "beam: words", count, run, OF_SEARCH, device)


def report_limits(
    report: _common.Report,
    what: str,
    count: int,
    work: Callable[[], object],
    limits: Mapping[str, dict[str, int]],
    device: torch.device,
) -> None:
    """The same work with each limit a quarter of what it is, as it is, and four times as high."""
    for name, limit in limits.items():
        chosen = limit[device.type]
        for tried in (max(1, chosen // 4), chosen, 4 * chosen):
            limit[device.type] = tried
            report(f"{what}, {tried} {name}", count, work)
        limit[device.type] = chosen


def report_growth(report: _common.Report, model: Transformer, size: Sizes) -> None:
    """The curves of growth.py, in bfloat16."""
    with autocast(model.embedding.weight.device, torch.bfloat16):
        growth_curves.report_training(report, model, size.lengths, size.positions, naive=min(size.lengths))
        growth_curves.report_scoring(report, model, 12, size.counts, rows=300)
        growth_curves.report_beam(report, model, 10, size.counts)


if __name__ == "__main__":
    main()
