"""The sentences of a treebank as a model reads them: batch by batch, on a device.

    >>> from dtglib.treebank import Sentence
    >>> there = Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2))
    >>> examples = Examples.of("dtg", Vocabulary.of_words([there.words]), Treebank([there] * 3, Counter()), longest=512)
    >>> examples.summary
    '3 sentences, 39 positions'
    >>> device, random = torch.device("cpu"), np.random.default_rng(1)
    >>> plan = examples.plan(26, random, device)        # the batches of an epoch, each the numbers of its sentences
    >>> sorted(examples.batch(numbers, 26, device).token.shape for numbers in plan)     # what `Model.loss` takes
    [torch.Size([1, 13]), torch.Size([2, 13])]

On a CPU sentences of similar length are padded, for `dense` attention; on CUDA they are packed into long rows, for
FlexAttention, which skips what no sentence shares. There every batch has the same shape, so that compiled code stays
good: only how many positions predict something differs.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch

from dtglib.batches import by_length, in_rows, pack, pad, rows_of
from dtglib.compile import Compiled, Sequences
from dtglib.errors import UserError, shortened
from dtglib.model import Batch, batch_of, farthest_in
from dtglib.readings import READINGS, within_reach
from dtglib.structure import Flex, Structure, Vectors, dense, flex
from dtglib.treebank import Treebank, trees_only
from dtglib.vocab import Vocabulary

FARTHEST_STEP = 64


class Layout(NamedTuple):
    """How sentences share a batch: which go together, how they are placed, and the structure's form for attention."""

    plan: Callable[[np.ndarray, int, np.random.Generator], list[np.ndarray]]
    place: Callable[[Sequences, Sequence[int] | np.ndarray, int], Compiled]
    form: Callable[[Vectors], Structure | Flex]
    farthest: Callable[["Examples", Compiled], int]  # the largest relative position for which there is room


def in_all_rows(sequences: Sequences, numbers: Sequence[int] | np.ndarray, positions: int) -> Compiled:
    """The sentences packed into the rows of a full batch, though some may stay empty."""
    rows, width = rows_of(positions)
    return pack(sequences, numbers, width, least=rows)


PADDED = Layout(
    by_length,
    lambda sequences, numbers, positions: pad(sequences, numbers),
    dense,
    lambda examples, batch: farthest_in(batch),
)
PACKED = Layout(in_rows, in_all_rows, flex, lambda examples, batch: examples.farthest)


def layout_for(device: torch.device) -> Layout:
    """The faster of the two."""
    return PACKED if device.type == "cuda" else PADDED


@dataclass(frozen=True)
class Examples:
    """Compiled sentences with their names; what was left out, by reason, and the names of those that are too long."""

    sequences: Sequences
    names: list[str]
    excluded: Counter[str]
    too_long: list[str]

    @classmethod
    def of(cls, model: str, vocabulary: Vocabulary, treebank: Treebank, longest: int | None = None) -> "Examples":
        """A treebank's sentences for one of the five models; those of more than `longest` positions are left out.

        All models train on the same sentences, those with a projective tree. Where there are no trees at all, as in
        raw text, TXL (tokens) reads it nevertheless.
        """
        has_trees = any(sentence.heads is not None for sentence in treebank.sentences)
        if model != "txl-tokens" or has_trees:
            treebank = trees_only(treebank)
        if not treebank.sentences:
            reasons = ", ".join(f"{count} {reason}" for reason, count in treebank.excluded.items()) or "it is empty"
            raise UserError(f"no sentence is left for model {model}: {reasons}")
        pairs = [(sentence.words, sentence.heads) for sentence in treebank.sentences]
        sequences, within = within_reach(READINGS[model], vocabulary, pairs)
        if not len(within):
            raise UserError(f"in all {len(pairs)} sentences an arc reaches too far; make a vocabulary of larger reach")
        names = [treebank.sentences[number].id for number in within]
        too_far = Counter({"an arc that reaches too far": len(pairs) - len(within)})
        fits = np.diff(sequences.starts) <= (longest or np.inf)
        if not fits.any():
            raise UserError(f"all {len(names)} sentences have more than {longest} positions; set longest higher")
        return cls(
            sequences.chosen(np.flatnonzero(fits)),
            [name for name, fit in zip(names, fits, strict=True) if fit],
            treebank.excluded + too_far + Counter({f"more than {longest} positions": int((~fits).sum())}),
            [name for name, fit in zip(names, fits, strict=True) if not fit],
        )

    def __len__(self) -> int:
        return len(self.sequences)

    @property
    def summary(self) -> str:
        """In words: how much there is, and what was left out."""
        reasons = [f"{count} {reason}" for reason, count in self.excluded.items() if count]
        named = f" ({shortened(self.too_long)})" if self.too_long else ""
        left_out = f"; left out: {', '.join(reasons)}{named}" if reasons else ""
        return f"{len(self)} sentences, {self.lengths.sum()} positions{left_out}"

    @property
    def lengths(self) -> np.ndarray:
        """How many positions each sentence has."""
        return np.diff(self.sequences.starts)

    @cached_property
    def farthest(self) -> int:
        """No visible position of any sentence is farther away; rounded up, so that held-out ones mostly agree."""
        return -(-farthest_in(self.sequences.vectors) // FARTHEST_STEP) * FARTHEST_STEP

    @property
    def checksum(self) -> str:
        """Of all that the model reads."""
        digest = hashlib.sha256(self.sequences.starts)
        for column in self.sequences.vectors:
            digest.update(np.ascontiguousarray(column))
        return digest.hexdigest()[:12]

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]:
        """The batches of an epoch, of at most so many positions each."""
        return layout_for(device).plan(self.lengths, positions, random)

    def batch(self, numbers: Sequence[int] | np.ndarray, positions: int, device: torch.device) -> Batch:
        """These sentences, which a plan of batches of so many positions put together, on a device."""
        layout = layout_for(device)
        batch = layout.place(self.sequences, numbers, positions)
        return batch_of(batch, layout.form, device, layout.farthest(self, batch))
