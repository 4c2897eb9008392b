"""The sentences of a treebank, compiled for a model and put into batches on a device.

    >>> from dtglib.data.treebank import Sentence
    >>> from dtglib.sequences.readings import on_a_stack
    >>> there = Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2))
    >>> vocabulary, treebank = Vocabulary.of_words([there.words]), Treebank([there] * 3, Counter())
    >>> examples = Examples.of("dtg", on_a_stack("arc-standard"), vocabulary, treebank, longest=512)
    >>> examples.summary
    '3 sentences, 39 positions'
    >>> device, random = torch.device("cpu"), np.random.default_rng(1)
    >>> plan = examples.plan(26, random, device)        # the batches of an epoch: for each, the numbers of sentences
    >>> sorted(examples.batch(numbers, 26, device).token.shape for numbers in plan)     # the input of `Model.loss`
    [torch.Size([1, 13]), torch.Size([2, 13])]

On a CPU sentences of similar length are padded, for `dense` attention; on CUDA they are packed into long rows, for
FlexAttention, which skips the blocks between different sentences. Packed batches all have the same shape, so that code
is compiled only once; only the number of positions that predict something differs.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch

from dtglib.basics.errors import UserError, shortened
from dtglib.data.treebank import Treebank, TreebankError, trees_only
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.transformer import Batch, batch_of, farthest_in
from dtglib.sequences.batches import by_length, in_rows, pack, pad, rows_of
from dtglib.sequences.compile import NOTHING, Compiled, Sequences
from dtglib.sequences.readings import Reading, within_reach
from dtglib.sequences.structure import Flex, Structure, Vectors, dense, flex

FARTHEST_STEP = 64


class Layout(NamedTuple):
    """How sentences are grouped into batches, how they are placed there, and the structure's form for attention."""

    plan: Callable[[np.ndarray, int, np.random.Generator], list[np.ndarray]]
    place: Callable[[Sequences, Sequence[int] | np.ndarray, int], Compiled]
    form: Callable[[Vectors], Structure | Flex]
    farthest: Callable[["Examples", Compiled], int]  # an upper bound of the relative positions in a batch


def in_all_rows(sequences: Sequences, numbers: Sequence[int] | np.ndarray, positions: int) -> Compiled:
    """The sentences packed into as many rows as a full batch has; some rows may stay empty."""
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
    """The faster layout for a device."""
    return PACKED if device.type == "cuda" else PADDED


@dataclass(frozen=True)
class Examples:
    """Compiled sentences and their names; counts of excluded ones by reason; the names of those that are too long."""

    sequences: Sequences
    names: list[str]
    excluded: Counter[str]
    too_long: list[str]

    @classmethod
    def of(
        cls, model: str, reading: Reading, vocabulary: Vocabulary, treebank: Treebank, longest: int | None = None
    ) -> "Examples":
        """Compile a treebank's sentences of at most `longest` positions; the model's name is for messages.

        All models train on the same sentences, those with projective heads. Only if no sentence has heads, as in raw
        text and in files of brackets, is every sentence taken for which the reading has a tree, or that needs none.
        """
        if any(sentence.heads is not None for sentence in treebank.sentences):
            treebank = trees_only(treebank)
        if not treebank.sentences:
            reasons = ", ".join(f"{count} {reason}" for reason, count in treebank.excluded.items()) or "it is empty"
            raise UserError(f"no sentence is left for model {model}: {reasons}")
        names, pairs, unread = [], [], Counter()
        for sentence in treebank.sentences:
            try:
                pairs.append((sentence.words, reading.tree_of(vocabulary, sentence)))
                names.append(sentence.id)
            except TreebankError as error:
                unread[error.reason] += 1
        sequences, within = within_reach(reading, vocabulary, pairs)
        if not len(within):
            reasons = ", ".join(f"{count} {reason}" for reason, count in (treebank.excluded + unread).items())
            far = f"in all {len(pairs)} sentences an arc reaches too far; make a vocabulary of larger reach"
            raise UserError(far if pairs else f"no sentence is left for model {model}: {reasons}")
        names = [names[number] for number in within]
        too_far = Counter({"an arc that reaches too far": len(pairs) - len(within)}) + unread
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
        """The numbers of sentences and positions, and what was left out, in words."""
        reasons = [f"{count} {reason}" for reason, count in self.excluded.items() if count]
        named = f" ({shortened(self.too_long)})" if self.too_long else ""
        left_out = f"; left out: {', '.join(reasons)}{named}" if reasons else ""
        return f"{len(self)} sentences, {self.lengths.sum()} positions{left_out}"

    @property
    def lengths(self) -> np.ndarray:
        """The number of positions of each sentence."""
        return np.diff(self.sequences.starts)

    @property
    def symbols(self) -> np.ndarray:
        """All symbols that are predicted, one after another."""
        targets = self.sequences.vectors.target
        return targets[targets != NOTHING]

    @cached_property
    def farthest(self) -> int:
        """An upper bound of all relative positions; rounded up, so that held-out data mostly has the same one."""
        return -(-farthest_in(self.sequences.vectors) // FARTHEST_STEP) * FARTHEST_STEP

    @property
    def checksum(self) -> str:
        """A checksum of all compiled sentences."""
        digest = hashlib.sha256(self.sequences.starts)
        for column in self.sequences.vectors:
            digest.update(np.ascontiguousarray(column))
        return digest.hexdigest()[:12]

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]:
        """The batches of an epoch, each of at most `positions` positions."""
        return layout_for(device).plan(self.lengths, positions, random)

    def batch(self, numbers: Sequence[int] | np.ndarray, positions: int, device: torch.device) -> Batch:
        """A batch of the plan for `positions` positions, on a device."""
        layout = layout_for(device)
        batch = layout.place(self.sequences, numbers, positions)
        return batch_of(batch, layout.form, device, layout.farthest(self, batch), self.bias(batch, device))

    def bias(self, batch: Compiled, device: torch.device) -> Any:
        """The `bias` of a batch; a subclass may make one."""
        return None
