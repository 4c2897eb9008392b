"""The input of supar's networks: the numbers of words, and those of their characters or pieces.

    fields = word_fields(entries)                                  of a parser that is trained here
    column_of(fields[0], [["There", "is"], ["Yes"]])               <bos> There is / <bos> Yes <pad>
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

LONGEST_WORD = 20  # characters; the rest of a word is not read
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


def column_of(field: Field, sentences: Sequence[Words]) -> np.ndarray:
    """Each sentence as numbers, with its marks: (sentences, words), or with the pieces of words as a third axis.

    This is the field's own encoding with another padding: the field pads element by element, which PyTorch will soon
    reject.
    """

    def looked_up(entries: Sequence[str]) -> list[int]:
        # A word of the text that is spelled like <pad> is still a word. The vocabulary is supar's, or a dict.
        known = field.vocab
        return [known[e] if e in known and e not in field.specials else field.unk_index for e in entries]

    has_pieces = isinstance(field, SubwordField)
    after = [] if field.eos is None else [[field.eos_index]]
    rows = []
    for words in sentences:
        if has_pieces:
            pieces = (looked_up(field.preprocess(word))[: field.fix_len or None] for word in words)
            numbers = [word or [field.unk_index] for word in pieces]
        else:
            numbers = [[number] for number in looked_up(field.preprocess(words))]
        rows.append([[field.bos_index], *numbers, *after])
    longest = max(len(word) for row in rows for word in row)
    column = np.full((len(rows), max(map(len, rows)), longest), field.pad_index)
    for number, row in enumerate(rows):
        for place, word in enumerate(row):
            column[number, place, : len(word)] = word
    return column if has_pieces else column[:, :, 0]


def encoded(fields: Sequence[Field], sentences: Sequence[Words], device: torch.device) -> tuple[Tensor, list[Tensor]]:
    """The columns of words, and those of the other features that a network reads."""
    words, *features = (torch.from_numpy(column_of(field, sentences)).to(device) for field in fields)
    return words, features


def in_groups(sentences: Sequence[Words], labels: int, what: str) -> Iterator[list[int]]:
    """The numbers of the sentences in groups of similar length, each with at most SCORES scores."""
    for number, words in enumerate(sentences, start=1):
        require(len(words), f"sentence {number} has no words; leave it out")
    order = sorted(range(len(sentences)), key=lambda number: len(sentences[number]))
    with progress(None, what, "sentence", total=len(order)) as bar:
        while order:
            longest = len(sentences[order[-1]]) + 1
            count = max(1, SCORES // (longest**2 * labels))
            numbers = order[-count:]  # the longest come first, so that a lack of memory shows early
            del order[-count:]
            yield numbers
            bar.update(len(numbers))


def require_numbers(scores: np.ndarray, parser: str, words: Words) -> None:
    """Raise an error if a network's scores of a sentence are not finite."""
    if not np.isfinite(scores).all():
        text = " ".join(words)
        raise UserError(f"parser {parser}: its scores of {text[:80]!r} are no numbers; train it anew")
