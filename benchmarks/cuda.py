"""Training at the paper's size on one CUDA GPU: how much of the card's rate it reaches, and how long BLLIP would take.

    python benchmarks/cuda.py              where there is no such GPU, it says so and records nothing
    python benchmarks/cuda.py --dry-run    everything once in a tiny form, on whatever there is: so that it stays alive

Correctness comes first: FlexAttention against the dense form, in losses and gradients. Then forward and backward over
packed sentences of minilang, in bfloat16 and compiled, by FlexAttention and by the dense form. "share" is the time that
the matrix products of what is no padding would take at the card's measured rate (attention's pairs are not counted),
over the time taken.
"""

import argparse
import time
from collections.abc import Callable

import _common
import numpy as np
import torch

from dtglib.batches import in_rows, pack, rows_of
from dtglib.corpora import load
from dtglib.examples import Examples
from dtglib.model import Batch, Model, ModelConfig, batch_of
from dtglib.structure import dense, flex
from dtglib.vocab import MARK, Vocabulary, reserved_entries

TINY = ModelConfig(layers=2, width=32, heads=2, inner=64)
PIECES, TINY_PIECES = 32_768, 500
BATCH, TINY_BATCH = 16_384, 512
# BLLIP-LG has 42 million words, and its sentences 3 positions a word beside ROOT's arc; a third of the words has two
# pieces in a guess that errs on the slow side. The paper took 35 hours for 4 epochs on an A6000.
BLLIP_POSITIONS, EPOCHS = 42e6 * 3.4, 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dry-run", action="store_true", help="a tiny form of everything, without a record")
    is_dry = parser.parse_args().dry_run
    if not is_dry and not torch.cuda.is_available():
        print("there is no CUDA GPU here: nothing is measured, and nothing recorded")
        return
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    config, pieces, positions = (TINY, TINY_PIECES, TINY_BATCH) if is_dry else (ModelConfig(), PIECES, BATCH)
    words = tuple(f"{MARK}{number}" for number in range(pieces))
    torch.manual_seed(1)
    model = Model(config, Vocabulary(reserved_entries(31) + words)).to(device)
    batches = {form.__name__: packed(positions, form, device, pieces) for form in (dense, flex)}
    check(model, batches)
    if is_dry:
        took = seconds_of(lambda: step(model.loss, model, batches["dense"], backwards=True), device)
        print(f"dry run on {device.type}: {positions / took:.0f} positions a second, dense")
        return
    matrix = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    question = "How close does training at the paper's size come to what the card can do?"
    with _common.benchmark("cuda", question, [1]) as report:
        rate = 2 * len(matrix) ** 3 / seconds_of(lambda: matrix @ matrix, device)
        report("matrix product 8192 x 8192, bfloat16", 1, lambda: wait(device), tera_per_second=rate / 1e12)
        for name, batch in batches.items():
            compiled = torch.compile(model.loss)
            took = seconds_of(lambda c=compiled, b=batch: step(c, model, b, backwards=True), device)
            useful = int((batch.token != 0).sum())
            more = {
                "positions_per_second": useful / took,
                "share": _common.operations(model, len(batch.target), useful) / rate / took,
                "hours_for_bllip": EPOCHS * BLLIP_POSITIONS / (useful / took) / 3600,
                "peak_gibibytes": torch.cuda.max_memory_allocated() / 2**30,
            }
            report(f"dtg, paper size, forward and backward, {name}", useful, lambda: wait(device), **more)


def packed(positions: int, form: Callable, device: torch.device, pieces: int) -> Batch:
    """A batch of minilang in packed rows; its words get ids at random, so that the whole vocabulary is in use."""
    treebank = load("minilang", "train", 3000)
    vocabulary = Vocabulary.of_words(sentence.words for sentence in treebank.sentences)
    examples = Examples.of("dtg", vocabulary, treebank)
    random = np.random.default_rng(1)
    numbers = in_rows(examples.lengths, positions, random)[0]
    compiled = pack(examples.sequences, numbers, rows_of(positions)[1])
    first = len(vocabulary.reserved)
    other = np.append(np.arange(first), random.integers(first, first + pieces, len(vocabulary) - first))
    renamed = {
        name: np.where(column < 0, column, other[column])
        for name, column in compiled._asdict().items()
        if name in ("token", "target")
    }
    return batch_of(compiled._replace(**renamed), form, device)


def check(model: Model, batches: dict[str, Batch]) -> None:
    """Both forms of attention give the same loss and, where FlexAttention runs backwards, the same gradients."""
    found = {}
    backwards = next(model.parameters()).is_cuda
    for name, batch in batches.items():
        loss = step(model.loss, model, batch, backwards, keep=True)
        found[name] = torch.cat(
            [loss[None], *(p.grad.flatten() for p in model.parameters() if p.grad is not None)]
        ).float()
        model.zero_grad()
    difference = float((found["dense"] - found["flex"]).norm() / found["dense"].norm())
    print(f"flex against dense: {'losses and gradients' if backwards else 'losses'} differ by {difference:.1e}")
    if not difference < 2e-2:
        raise SystemExit("they differ too much: nothing is measured")


def step(loss_of: Callable, model: Model, batch: Batch, backwards: bool, keep: bool = False) -> torch.Tensor:
    """Forwards, and backwards where asked; in bfloat16."""
    with torch.set_grad_enabled(backwards), torch.autocast(batch.token.device.type, torch.bfloat16):
        loss, _ = loss_of(batch)
    if backwards:
        loss.backward()
    if not keep:
        model.zero_grad()
    return loss.detach()


def seconds_of(work: Callable[[], object], device: torch.device) -> float:
    """The shortest of ten runs, after three to warm up."""
    times = []
    for _ in range(13):
        wait(device)
        began = time.perf_counter()
        work()
        wait(device)
        times.append(time.perf_counter() - began)
    return min(times[3:])


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
