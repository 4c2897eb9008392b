"""From words and attachments to the columns that the body reads, and to batches with their tapes.

A sequence is <ROOT> and the pieces; every position sees all before it. Attachments are not read as symbols: the tape
that follows from them goes into the attention scores (network.py). They stand in the columns of the head, which
attention reads for COMPOSE positions only, and there is none here: `head_first` and `head_last` are the positions of
the word that the word of a position attaches to.

     i  input        head   target
     0  <ROOT>       -      There
     1  There        1      is
     2  is           2      a
     3  a            3      difference
     4  difference   1      <END>

    >>> words = ["There", "is", "a", "difference"]
    >>> vocabulary = Vocabulary.of_words([words], SYMBOLS)
    >>> READING.compile(vocabulary, [(words, [1, 2, 3, 1])]).sentence(0).head_first.tolist()
    [-1, 1, 2, 3, 1]

A search writes attachments as symbols between the words: SHIFT, and ATTACH[n], to the n-th constituent from the right.

    >>> vocabulary.entries[4:7]
    ('SHIFT', 'ATTACH[1]', 'ATTACH[2]')
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.errors import UserError
from dtglib.basics.shapes import Bool, Int
from dtglib.data.symbols import Symbols
from dtglib.data.treebank import Sentence
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.transformer import Batch, batch_of
from dtglib.sequences.batches import by_length, pad
from dtglib.sequences.columns import NOTHING, Compiled, Sequences
from dtglib.sequences.readings import WordsAndTree, tokens
from dtglib.sequences.structure import dense
from dtglib.training.examples import Examples
from dtgpapers.pushdown.tape import MOST_BESIDE, Taped, reduces_of, taped
from dtgpapers.pushdown.trees import attachments_for

SYMBOLS = Symbols("attachments", (), (), ("SHIFT", *(f"ATTACH[{n}]" for n in range(1, MOST_BESIDE + 1))))


class TapeReading(NamedTuple):
    """The reading of words and attachments."""

    @property
    def has_trees(self) -> bool:
        """Always."""
        return True

    def compile(self, vocabulary: Vocabulary, sentences: Iterable[WordsAndTree]) -> Sequences:
        """The sequences of words, with where each word attaches."""
        sentences = list(sentences)
        sequences = tokens(vocabulary, sentences)
        trees = [_checked(f"sentence {number}", *one) for number, one in enumerate(sentences, start=1)]
        return with_heads(sequences, trees)

    def tree_of(self, vocabulary: Vocabulary, sentence: Sentence) -> list[int]:
        """The attachments of a sentence's constituents."""
        return attachments_for(sentence)

    def trees_of(self, vocabulary: Vocabulary, proposed: Any) -> np.ndarray:
        """An error: trees are not summed over, because sentences are scored by a search."""
        raise UserError("Pushdown Layers take no trees from a parser; a search scores their sentences")


READING = TapeReading()


def _checked(name: str, words: Sequence[str], attachments: Sequence[int] | None) -> Sequence[int]:
    if attachments is None:
        raise UserError(f"{name}: has no tree; parse it first")
    if len(words) != len(attachments):
        raise UserError(f"{name}: {len(words)} words, but {len(attachments)} attachments")
    try:
        reduces_of(attachments)
    except UserError as error:
        raise UserError(f"{name}: {error}") from error
    return attachments


def with_heads(sequences: Sequences, trees: Sequence[Sequence[int]]) -> Sequences:
    """The same sequences of words, with the positions that the words attach to in the columns of the head."""
    word = sequences.vectors.word
    lengths = np.diff(sequences.starts)
    at = np.arange(len(word)) - np.repeat(sequences.starts[:-1], lengths)  # in its sentence
    begins = (word != NOTHING) & (np.append(NOTHING, word[:-1]) != word)
    ends = (word != NOTHING) & (np.append(word[1:], NOTHING) != word)
    counts = np.array([*map(len, trees)], np.int64)
    words_before = np.cumsum(counts) - counts
    # Words are counted over all sentences.
    own = word - 1 + np.repeat(words_before, lengths)
    to = np.fromiter(itertools.chain.from_iterable(trees), np.int64) - 1 + np.repeat(words_before, counts)
    is_word = word != NOTHING
    heads = np.full((2, len(word)), NOTHING, np.int32)
    for column, edge in zip(heads, (begins, ends), strict=True):
        column[is_word] = at[edge][to[own[is_word]]]
    return Sequences(sequences.vectors._replace(head_first=heads[0], head_last=heads[1]), sequences.starts)


class Attachments(NamedTuple):
    """The attachments of a batch of B sentences of up to W words: `Taped` as tensors."""

    first: Int[Tensor, "B W"]  # the first position of each word, counted over all rows; 1 where there is no word
    last: Int[Tensor, "B W"]
    depth: Int[Tensor, "B W"]  # that of each word when it was read
    to: Int[Tensor, "B W"]
    may: Bool[Tensor, "B W W"]
    choices: int  # words for which there is more than one place to attach to


class TapedBatch(NamedTuple):
    """Sentences with their tapes, which are the bias of `batch`, and their attachments."""

    batch: Batch
    attachments: Attachments

    @property
    def positions(self) -> int:
        """The number of positions, padding included."""
        return self.batch.positions


def taped_batch(compiled: Compiled, device: torch.device | str = "cpu") -> TapedBatch:
    """Padded sentences on a device."""
    found: Taped = taped(compiled)
    B, T = compiled.token.shape
    row = np.arange(B)[:, None]
    depth = found.depth[row, found.first, found.first]
    first, last = found.first + row * T, found.last + row * T
    tape, first, last, depth, to, may = (
        torch.from_numpy(x).to(device) for x in (found.depth, first, last, depth, found.to, found.may)
    )
    batch = batch_of(compiled, dense, device, bias=tape[:, None])
    return TapedBatch(batch, Attachments(first, last, depth, to, may, int(found.asked.sum())))


@dataclass(frozen=True)
class TapedExamples(Examples):
    """Training data with tapes. Sentences are padded on every device: packed into rows of 2,048 positions, the tape and
    what is made of it in every layer would take 2,048 numbers per position and head, and not the length of a sentence.
    """

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]:
        """The batches of an epoch, each of at most `positions` positions."""
        return by_length(self.lengths, positions, random)

    def batch(self, numbers: Sequence[int] | np.ndarray, positions: int, device: torch.device) -> TapedBatch:
        """A batch of the plan."""
        return taped_batch(pad(self.sequences, numbers), device)
