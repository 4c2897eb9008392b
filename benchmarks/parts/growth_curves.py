"""How time and memory grow: training with the length of sentences, scoring with trees, a beam search with its width.

growth.py measures this on a CPU, cuda.py on a GPU, and book/speed_pictures.py draws them. Each figure carries `curve`,
`form` (ours, or a naive one) and `x`, by which it is drawn.
"""

import random
from collections.abc import Callable, Sequence

import _common
import numpy as np
import torch

from dtglib.data.vocabulary import PAD
from dtglib.decode.beam import Widths, search
from dtglib.decode.stack_stepper import Hypotheses, StackStepper
from dtglib.decode.trie import computed, planned
from dtglib.network import attention
from dtglib.network.transformer import Batch, Transformer, batch_of
from dtglib.parsing.projective import different_samples
from dtglib.sequences.batches import pack, pad
from dtglib.sequences.columns import Sequences
from dtglib.sequences.structure import Structure, dense, flex, vectors_of
from dtglib.transitions.protocol import OPEN

SPREAD = 3  # of made-up arc scores: a parser that has an idea, but is not sure


def waited(work: Callable[[], object], device: torch.device) -> Callable[[], None]:
    """The work, and waiting for the device to be done with it."""

    def until_done() -> None:
        work()
        if device.type == "cuda":
            torch.cuda.synchronize()

    return until_done


# --- Training ----------------------------------------------------------------------------------------------------


def report_training(
    report: _common.Report, model: Transformer, lengths: Sequence[int], positions: int, naive: int
) -> None:
    """Forwards and backwards over sentences of one length: about so many positions of them.

    The definition in loops is given one sentence, and none of more than `naive` words.
    """
    device = model.embedding.weight.device
    for length in lengths:
        sentences = made_up_sentences(length, max(1, positions // (3 * length + 1)))
        sequences = model.reading.compile(model.vocabulary, sentences)
        numbers = range(len(sentences))
        forms = {"dense": batch_of(pad(sequences, numbers), dense, device)}
        if device.type == "cuda":
            width = max(attention_row(positions), int(np.diff(sequences.starts).max()))
            forms["flex"] = batch_of(pack(sequences, numbers, width), flex, device)
        if length <= naive:
            forms["in loops"] = batch_of(pad(sequences, [0]), lambda vectors: InLoops(*dense(vectors)), device)
        for form, batch in forms.items():
            work = waited(lambda batch=batch: forward_and_backward(model, batch), device)
            work()  # to warm up, and to compile
            useful = int((batch.token != PAD).sum())
            report(
                f"training, {form}, {length} words", useful, work, curve="training", form=form, x=length,
                bytes_a_position=memory_of(work, model) / useful,
            )  # fmt: skip


def attention_row(positions: int) -> int:
    """A packed row: as wide as in training, or all that there is."""
    return min(2048, positions)


def forward_and_backward(model: Transformer, batch: Batch) -> None:
    loss, _ = model.loss(batch)
    loss.backward()
    # The gradients stay where they are, so that a GPU's memory for them is there before and after.
    model.zero_grad(set_to_none=False)


class InLoops(Structure):
    """A structure that asks for attention by its definition."""


attention.FORMS[InLoops] = attention.naive


def memory_of(work: Callable[[], object], model: Transformer) -> int:
    """Bytes beside the weights: on a GPU the most that is held at once, on a CPU what is kept to go backwards."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    if next(model.parameters()).is_cuda:
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        work()
        return torch.cuda.max_memory_allocated() - before
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        work()
    return sum(size for storage, size in kept.items() if storage not in weights)


# --- Scoring -----------------------------------------------------------------------------------------------------


def report_scoring(report: _common.Report, model: Transformer, length: int, counts: Sequence[int], rows: int) -> None:
    """Many trees of one sentence: as a trie, and a row each, so many rows at once."""
    device = model.embedding.weight.device
    for count in counts:
        sequences = model.reading.compile(model.vocabulary, trees_of(length, count))
        tries = planned(sequences, device)
        forms = {
            "as a trie": lambda trees=sequences: computed(model, planned(trees, device)),
            "a row each": lambda trees=sequences: in_rows(model, trees, rows),
        }
        positions = {"as a trie": sum(len(one.trie.place) for one in tries), "a row each": int(sequences.starts[-1])}
        squares = dense(vectors_of(pad(sequences, range(min(count, rows)))))
        # Who sees whom, of all that is computed at once.
        bytes_of = {
            "as a trie": max(sum(x.nbytes for x in one.structure) for one in tries),
            "a row each": sum(x.nbytes for x in squares),
        }
        for form, work in forms.items():
            work()
            report(
                f"scoring, {form}, {count} trees", count, waited(work, device), curve="scoring", form=form, x=count,
                positions=positions[form], bytes_of_structure=bytes_of[form],
            )  # fmt: skip


@torch.no_grad()
def in_rows(model: Transformer, sequences: Sequences, rows: int) -> torch.Tensor:
    """The log-probability of each, a row each, those of about the same length together."""
    device = model.embedding.weight.device
    found = torch.zeros(len(sequences), dtype=torch.float64, device=device)
    order = np.argsort(np.diff(sequences.starts), kind="stable")
    for first in range(0, len(order), rows):
        numbers = order[first : first + rows]
        batch = batch_of(pad(sequences, numbers), dense, device)
        row = batch.predicts // batch.token.shape[1]
        found.index_add_(0, torch.from_numpy(numbers).to(device)[row], model.log_probs(batch).double())
    return found.cpu()


# --- Beam search -------------------------------------------------------------------------------------------------


def report_beam(report: _common.Report, model: Transformer, length: int, widths: Sequence[int]) -> None:
    """One sentence, by beams of several widths. "Read again" is what it would be without a cache.

    That is projected, and flatters it: the positions that would be computed, if every step read every hypothesis from
    its beginning, times what one takes in a batch that keeps the device busy.
    """
    device = model.embedding.weight.device
    chance = random.Random(length)
    words = _common.made_up_words(length, chance)
    a_position = seconds_a_position(model, length)
    for width in widths:

        def run(width: int = width) -> Rereading:
            stepper = Rereading(model)
            search(stepper, model.vocabulary, [words], Widths(width, width))
            return stepper

        found = run()
        work = waited(run, device)
        more = {"curve": "beam", "x": width}
        report(
            f"beam, from the cache, width {width}", length, work, form="from the cache", **more,
            positions=found.positions, slots=found.pool.most,
            read_again_positions=found.read_again, read_again_seconds=found.read_again * a_position,
        )  # fmt: skip


class Rereading(StackStepper):
    """It counts how many positions it would compute without a cache; words must have one piece each."""

    read_again = 0

    def step(
        self, hypotheses: Hypotheses, rows: np.ndarray, symbols: np.ndarray, waiting: Sequence[Hypotheses] = ()
    ) -> Hypotheses:
        found = super().step(hypotheses, rows, symbols, waiting)
        arcs = (found.states.heads != OPEN).sum(axis=1) if self.reading.pops else 0
        self.read_again += int((1 + found.states.count + 2 * arcs).sum())
        return found


def seconds_a_position(model: Transformer, length: int) -> float:
    """In rows of sentences of that length, forwards alone."""
    device = model.embedding.weight.device
    rows = 512 if device.type == "cuda" else 32
    sequences = model.reading.compile(model.vocabulary, made_up_sentences(length, rows))

    @torch.no_grad()
    def forwards() -> None:
        model(batch_of(pad(sequences, range(rows)), dense, device))

    forwards()
    return _common.best(waited(forwards, device)) / int(sequences.starts[-1])


# --- Sentences ---------------------------------------------------------------------------------------------------


def made_up_sentences(length: int, count: int) -> list[tuple[list[str], tuple[int, ...]]]:
    """Words of one piece each, and random trees."""
    chance = random.Random(length)
    return [(_common.made_up_words(length, chance), _common.random_tree(length, chance)) for _ in range(count)]


def trees_of(length: int, count: int) -> list[tuple[list[str], list[int]]]:
    """Different trees of a made-up sentence, as a parser would propose them."""
    chance, draw = random.Random(length), np.random.default_rng(length)
    words = _common.made_up_words(length, chance)
    heads = different_samples(draw.normal(size=(length + 1, length + 1)) * SPREAD, count, draw).heads
    return [(words, tree) for tree in heads.tolist()]
