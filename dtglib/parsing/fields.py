"""The input of supar's networks: the numbers of words, and those of their characters or pieces.

    columns = [Column(field) for field in word_fields(entries)]   of a parser that is trained here
    columns[0]([["There", "is"], ["Yes"]])                         <bos> There is / <bos> Yes <pad>
    for numbers in in_groups(sentences, labels=40, what="parsing"): ...         a network's batches

A field is supar's: it knows its vocabulary, how to preprocess a word, and which marks stand around a sentence.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.errors import UserError, require
from dtglib.basics.progress import progress
from dtglib.data.treebank import Treebank, Words
from dtglib.parsing.from_supar import BOS, PAD, UNK, Field, SubwordField, Vocab

PAD_ROW, BOS_ROW, EOS_ROW = range(3)  # of a column's table, before those of words
LONGEST_WORD = 20  # characters; the rest of a word is not read
POSITIONS = 8192  # at most in a batch, for which an LSTM and the labels need some 100 MB each
SCORES = 4_000_000  # the most scores (of pairs of words and labels) in a batch, 16 MB, unless a sentence has more

# The vocabularies of a parser: {"words": [...], "chars": [...], "labels": [...]}.
Entries = dict[str, list[str]]


def words_and_letters(treebank: Treebank, rarest: int) -> Entries:
    """The words that occur at least `rarest` times, and all characters."""
    words = Counter(word.lower() for sentence in treebank.sentences for word in sentence.words)
    letters = {letter for sentence in treebank.sentences for word in sentence.words for letter in word}
    return {"words": sorted(word for word, count in words.items() if count >= rarest), "chars": sorted(letters)}


def word_fields(entries: Entries, end: str | None = None) -> list[Field]:
    """The fields of words and of their characters; `end`, if given, is a mark after each sentence."""
    words = Field("words", pad=PAD, unk=UNK, bos=BOS, eos=end, lower=True)
    letters = SubwordField("chars", pad=PAD, unk=UNK, bos=BOS, eos=end, fix_len=LONGEST_WORD)
    for field in (words, letters):
        field.vocab = Vocab(Counter(entries[field.name]), 1, field.specials, field.unk_index)
    return [words, letters]


class Column:
    """Sentences as numbers, with their marks: (sentences, words), or with the pieces of words as a third axis.

    This is the field's own encoding with another padding: the field pads element by element, which PyTorch will soon
    reject. Every word is looked up once, and then is a row of a table.
    """

    def __init__(self, field: Field) -> None:
        self.field, self.has_pieces = field, isinstance(field, SubwordField)
        marks = (field.pad_index, field.bos_index, 0 if field.eos is None else field.eos_index)
        self.rows = [[mark] for mark in marks]
        self.row_of: dict[str, int] = {}
        self.table = np.empty((0, 0), np.int64)

    def __call__(self, sentences: Sequence[Words]) -> np.ndarray:
        for words in sentences:
            for word in words:
                if word not in self.row_of:
                    self.row_of[word] = len(self.rows)
                    self.rows.append(self._numbers_of(word))
        end = [] if self.field.eos is None else [EOS_ROW]
        numbers = [[BOS_ROW, *map(self.row_of.__getitem__, words), *end] for words in sentences]
        padded = np.full((len(numbers), max(map(len, numbers))), PAD_ROW)
        for row, content in zip(padded, numbers, strict=True):
            row[: len(content)] = content
        if len(self.table) < len(self.rows):
            self._extend()
        column = self.table[padded]
        if not self.has_pieces:
            return column[:, :, 0]
        return column[:, :, : int((column != self.field.pad_index).any((0, 1)).nonzero()[0].max(initial=0)) + 1]

    def _numbers_of(self, word: str) -> list[int]:
        """The numbers of a word's characters or pieces, or its own number; `unk` if there is none."""
        parts = self.field.preprocess(word) if self.has_pieces else self.field.preprocess([word])
        # A word of the text that is spelled like <pad> is still a word. The vocabulary is supar's, or a dict.
        known, specials = self.field.vocab, self.field.specials
        numbers = [known[part] if part in known and part not in specials else self.field.unk_index for part in parts]
        return (numbers[: self.field.fix_len or None] if self.has_pieces else numbers) or [self.field.unk_index]

    def _extend(self) -> None:
        """Add the rows of new words to the table."""
        done, new = len(self.table), self.rows[len(self.table) :]
        table = np.full((len(self.rows), max(self.table.shape[1], *map(len, new))), self.field.pad_index)
        table[:done, : self.table.shape[1]] = self.table
        for row, numbers in zip(table[done:], new, strict=True):
            row[: len(numbers)] = numbers
        self.table = table


def encoded(columns: Sequence[Column], sentences: Sequence[Words], device: torch.device) -> tuple[Tensor, list[Tensor]]:
    """The numbers of words, and those of the other features that a network reads."""
    words, *features = (torch.from_numpy(column(sentences)).to(device) for column in columns)
    return words, features


def in_groups(sentences: Sequence[Words], labels: int, what: str) -> Iterator[list[int]]:
    """The numbers of the sentences in groups of similar length, each with at most SCORES scores."""
    for number, words in enumerate(sentences, start=1):
        require(len(words), f"sentence {number} has no words; leave it out")
    order = sorted(range(len(sentences)), key=lambda number: len(sentences[number]))
    with progress(None, what, "sentence", total=len(order)) as bar:
        while order:
            longest = len(sentences[order[-1]]) + 1
            count = max(1, min(SCORES // (longest**2 * labels), POSITIONS // longest))
            numbers = order[-count:]  # the longest come first, so that a lack of memory shows early
            del order[-count:]
            yield numbers
            bar.update(len(numbers))


def require_numbers(scores: np.ndarray, parser: str, words: Words) -> None:
    """Raise an error if a network's scores of a sentence are not finite."""
    if not np.isfinite(scores).all():
        text = " ".join(words)
        raise UserError(f"parser {parser}: its scores of {text[:80]!r} are no numbers; train it anew")
