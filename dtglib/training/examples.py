"""The sentences of a treebank, compiled for a model and put into batches on a device.

    examples.plan(1024, random, device)               the batches of an epoch: for each, the numbers of sentences
    examples.batch(numbers, 1024, device)             the input of `Model.loss`

On a CPU sentences of similar length are padded, for `dense` attention; on CUDA they are packed into long rows, for
FlexAttention, which skips the blocks between different sentences. Packed batches all have the same shape, so that code
is compiled only once; only the number of positions that predict something differs.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import torch

from dtglib.basics.errors import UserError, shortened
from dtglib.basics.progress import quiet
from dtglib.data.streamed import Streamed
from dtglib.data.treebank import ReadsBlock, Treebank, TreebankError, trees_only
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.transformer import Batch, batch_of, farthest_in
from dtglib.sequences.batches import by_length, in_rows, pack, pad, rows_of
from dtglib.sequences.columns import NOTHING, Compiled, Sequences, Source
from dtglib.sequences.readings import Reading, within_reach
from dtglib.sequences.stored import CompiledPart, Stored, build
from dtglib.sequences.structure import Flex, Structure, Vectors, dense, flex
from dtglib.training.distributed import processes

FARTHEST_STEP = 64


class Layout(NamedTuple):
    """A way to group sentences into batches and to place them there, and the structure's form for attention."""

    plan: Callable[[np.ndarray, int, np.random.Generator], list[np.ndarray]]
    place: Callable[[Source, Sequence[int] | np.ndarray, int], Compiled]
    form: Callable[[Vectors], Structure | Flex]
    farthest: Callable[["Examples", Compiled], int]  # an upper bound of the relative positions in a batch


def in_all_rows(sequences: Source, numbers: Sequence[int] | np.ndarray, positions: int) -> Compiled:
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

    sequences: Sequences | Stored
    names: Sequence[str]
    excluded: Counter[str]
    too_long: list[str]

    @classmethod
    def of(
        cls, model: str, reading: Reading, vocabulary: Vocabulary, treebank: Treebank, longest: int | None = None
    ) -> "Examples":
        """Compile a treebank's sentences of at most `longest` positions; the model's name is for messages.

        All models train on the same sentences, those with projective heads. If no sentence has heads (raw text, files
        of brackets), all sentences are taken that the reading accepts.
        If the sentences do not fit into memory, neither will the examples: they are then stored in files.
        """
        compiled = partial(_compiled, reading, vocabulary, longest)
        if isinstance(treebank.sentences, Streamed):
            part = _stored(compiled, treebank.sentences)
        else:
            has_heads = any(sentence.heads is not None for sentence in treebank.sentences)
            part = compiled(trees_only(treebank) if has_heads else treebank)
        if not len(part.sequences):
            raise UserError(_why_nothing(model, part.excluded, longest))
        return cls(*part)

    def __len__(self) -> int:
        return len(self.sequences)

    @property
    def summary(self) -> str:
        """The numbers of sentences and positions, and what was left out, in words."""
        return f"{len(self)} sentences, {self.lengths.sum()} positions{left_out(self.excluded, self.too_long)}"

    @cached_property
    def lengths(self) -> np.ndarray:
        """The number of positions of each sentence."""
        return self.sequences.lengths

    @property
    def symbols(self) -> np.ndarray:
        """All symbols that are predicted, one after another; only of sentences in memory."""
        targets = self.sequences.vectors.target  # type: ignore[union-attr]
        return targets[targets != NOTHING]

    @cached_property
    def farthest(self) -> int:
        """An upper bound of all relative positions; rounded up, so that held-out data mostly has the same one."""
        return -(-self.sequences.highest // FARTHEST_STEP) * FARTHEST_STEP

    @property
    def checksum(self) -> str:
        """A checksum of all compiled sentences."""
        return self.sequences.checksum

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


def left_out(excluded: Counter[str], too_long: Sequence[str]) -> str:
    """The counts of excluded sentences by reason, and the names of those that are too long, for a summary."""
    reasons = ", ".join(f"{count} {reason}" for reason, count in excluded.items() if count)
    return f"; left out: {reasons}{f' ({shortened(too_long)})' if too_long else ''}" if reasons else ""


# --- From sentences to sequences ---------------------------------------------------------------------------------

TOO_FAR = "with an arc that reaches too far"
WITHOUT_TREE = ("no tree", "no labels", "without a graph", "without constituents")


def _compiled(reading: Reading, vocabulary: Vocabulary, longest: int | None, treebank: Treebank) -> CompiledPart:
    """The sentences that the reading can read and that are short enough; there may be none."""
    names, pairs, unread = [], [], Counter()
    for sentence in treebank.sentences:
        try:
            pairs.append((sentence.words, reading.tree_of(vocabulary, sentence)))
            names.append(sentence.id)
        except TreebankError as error:
            unread[error.reason] += 1
    sequences, within = within_reach(reading, vocabulary, pairs)
    names = [names[number] for number in within]
    fits = sequences.lengths <= (longest or np.inf)
    too_long = [name for name, fit in zip(names, fits, strict=True) if not fit]
    left_out = Counter({TOO_FAR: len(pairs) - len(within)}) + unread + Counter({_too_long(longest): len(too_long)})
    kept = [name for name, fit in zip(names, fits, strict=True) if fit]
    return CompiledPart(sequences.chosen(np.flatnonzero(fits)), kept, treebank.excluded + left_out, too_long)


def _too_long(longest: int | None) -> str:
    return f"more than {longest} positions"


def _stored(compiled: Callable[[Treebank], CompiledPart], streamed: Streamed) -> CompiledPart:
    """The same, compiled block by block into files. The first block decides whether the sentences have heads."""

    @cache
    def have_heads() -> bool:
        return any(sentence.heads is not None for sentence in next(streamed.blocks())().sentences)

    def part(block: ReadsBlock) -> CompiledPart:
        treebank = block()
        if have_heads():
            return compiled(trees_only(treebank))
        if odd := [sentence.id for sentence in treebank.sentences if sentence.heads is not None]:
            raise UserError(f"{streamed.name}: sentence {odd[0]!r} has heads, and the first ones have none; parse them")
        return compiled(treebank)

    if streamed.folder is None:
        raise UserError(f"{streamed.name}: its sequences do not fit into memory; prepare() gives them a folder")
    parts = (partial(part, block) for block in streamed.blocks())
    with processes() as ours, contextlib.nullcontext() if ours.is_first else quiet():
        stored = build(streamed.folder, streamed.identity, parts, ours.from_first)
    return CompiledPart(stored, stored.names, stored.excluded, stored.too_long)


def _why_nothing(model: str, excluded: Counter[str], longest: int | None) -> str:
    """The message if no sentence is left."""
    ways_out = dict.fromkeys(WITHOUT_TREE, "set parsed_by to a parser that draws them")
    ways_out |= {_too_long(longest): "set longest higher", TOO_FAR: "take another transition system"}
    way_out = "; ".join(["", *dict.fromkeys(way for reason, way in ways_out.items() if excluded[reason])])
    return f"no sentence is left for model {model}{left_out(excluded, []) or ': it is empty'}{way_out}"
