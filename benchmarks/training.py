"""How close training on a CPU comes to what the CPU can do: forward and backward of whole models, on two cores.

    python benchmarks/training.py

Sixteen sentences of 25 words out of a vocabulary of 8,000 pieces; d 256, 6 layers, 8 heads, inner width 1024. The floor
is the time that the products of matrices alone would take at the best rate that PyTorch shows for large square ones in
the same run: six operations for each weight and position (one product forwards, two backwards), as many for the output
layer where something is predicted, and twelve for each pair of positions and number of a layer's width. "share" is that
floor over the time taken. Then the same in bfloat16, the padding of batches, the peak of memory, and small trainings in
both precisions with three seeds.
"""

import os

os.environ["OMP_NUM_THREADS"] = "2"

import random
import tempfile
from pathlib import Path

import _common
import numpy as np
import torch
from rates import report_rate

from dtglib.basics.record import peak_memory, read_record
from dtglib.data.corpora import UD_ENGLISH, load, ud_folder
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import build, family, titles
from dtglib.network.transformer import Batch, Transformer, TransformerConfig, batch_of
from dtglib.runs.prepare import prepare, train_into
from dtglib.runs.settings import read_size
from dtglib.sequences.batches import by_length, pad
from dtglib.sequences.structure import dense
from dtglib.training.distributed import has_bfloat16_units

SENTENCES, WORDS = 16, 25
SIZE = {"layers": 6, "width": 256, "heads": 8, "inner": 1024}
SEEDS = (1, 2, 3)


def main() -> None:
    torch.set_num_threads(2)
    vocabulary = _common.made_up_vocabulary()
    chance = random.Random(1)
    sentences = [(_common.made_up_words(WORDS, chance), _common.random_tree(WORDS, chance)) for _ in range(SENTENCES)]
    question = "How close does training on a CPU come to what the CPU can do?"
    with _common.benchmark("training", question, SEEDS) as report:
        rates = {dtype: report_rate(report, dtype) for dtype in (torch.float32, torch.bfloat16)}
        rate = rates[torch.float32]
        print(f"bfloat16 is {rates[torch.bfloat16] / rate:.1f} times as fast", end="; ")
        print(f"it is the default here: {has_bfloat16_units(torch.device('cpu'))}")
        for name in titles("dtg"):
            torch.manual_seed(1)
            model = build(TransformerConfig(model=name, **SIZE), vocabulary)
            sequences = model.reading.compile(vocabulary, sentences)
            batch = batch_of(pad(sequences, range(SENTENCES)), dense)
            positions = int(sequences.starts[-1])
            pairs = SIZE["layers"] * SIZE["width"] * positions * batch.token.shape[1]
            floor = (_common.operations(model, len(batch.target), positions) + 12 * pairs) / rate
            seconds = _common.best(lambda m=model, b=batch: forward_and_backward(m, b, torch.float32))
            times = seconds / _common.best(lambda m=model, b=batch: forward_and_backward(m, b, torch.bfloat16))
            for dtype, more in ((torch.float32, {"share": floor / seconds}), (torch.bfloat16, {"times_faster": times})):
                what = f"{name}: forward and backward, {str(dtype).removeprefix('torch.')}"
                report(what, positions, lambda m=model, b=batch, d=dtype: forward_and_backward(m, b, d), **more)
        report("peak memory of all five models together", 0, lambda: None, gibibytes=peak_memory() / 2**30)
        report_padding(report)
        report_trainings(report)


def forward_and_backward(model: Transformer, batch: Batch, dtype: torch.dtype) -> None:
    with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
        loss, _ = model.loss(batch)
    loss.backward()
    model.zero_grad()


def report_padding(report) -> None:
    """The share of a batch that is padding, over an epoch of the batches that training takes."""
    treebanks = {"minilang": load("minilang", "train")}
    if all(ud_folder(name).is_dir() for name in UD_ENGLISH):
        treebanks["ud-english"] = load("ud-english", "train")
    for name, treebank in treebanks.items():
        vocabulary = Vocabulary.of_words(sentence.words for sentence in treebank.sentences)
        lengths = family("dtg").examples(TransformerConfig("dtg"), vocabulary, treebank, None).lengths
        for positions in (2048, 8192):
            plan = by_length(lengths, positions, np.random.default_rng(1))
            padded = sum(len(numbers) * lengths[numbers].max() for numbers in plan)
            what = f"{name}: plan of an epoch, batches of {positions} positions"
            random_state = np.random.default_rng(1)
            percent = 100 * (1 - lengths.sum() / padded)
            report(
                what, len(lengths), lambda p=positions, v=lengths, r=random_state: by_length(v, p, r), padding=percent
            )


def report_trainings(report) -> None:
    """The losses on dev after an epoch over 5,000 sentences of minilang."""
    for precision in ("float32", "bfloat16"):
        losses = []

        def train_all(precision=precision, losses=losses) -> None:
            for seed in SEEDS:
                settings = read_size("mini", train_sentences=5000, epochs=1, seed=seed, precision=precision)
                with tempfile.TemporaryDirectory() as folder:
                    train_into(settings, prepare(settings), Path(folder) / "model")
                    lines = read_record(Path(folder) / "model").metrics
                losses.append(next(line["nats_per_transition"] for line in lines if line["part"] == "dev"))

        train_all()
        more = {"nats_per_transition": float(np.mean(losses)), "sd": float(np.std(losses, ddof=1))}
        report(f"three trainings of a small dtg, {precision}", len(SEEDS) * 5000, train_all, **more)


if __name__ == "__main__":
    main()
