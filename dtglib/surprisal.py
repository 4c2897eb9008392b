"""How surprising each piece, word or region is to a model: -log p(it | all before it), in nats or bits.

    >>> import torch
    >>> from dtglib.model import ModelConfig
    >>> words = ["There", "is", "a", "difference"]
    >>> _ = torch.manual_seed(1)
    >>> model = Model(ModelConfig(layers=1, width=8, heads=1, inner=16), Vocabulary.of_words([words]))
    >>> (found,) = surprisals(model, [words])
    >>> found.of_words.round(2)                         # one number a word: of all its pieces together
    array([1.84, 0.95, 3.08, 1.94])
    >>> word_frame([found], "bits")["text"].tolist()    # the same as a table, the end included
    ['There', 'is', 'a', 'difference', '<END>']

The probabilities are those of the beam search (decode/beam.py), from word to word summed over the derivations that it
keeps; a model without trees has one derivation, and its surprisals are exact. These are
differences of bounds: what a narrow beam drops is missing from then on, mostly so that the next word seems a little
more surprising than it is. That a word is over costs what comes next, because a piece is marked where a word begins:
between vocabularies of pieces, compare sentences rather than words. Where a search dies, because no derivation
that it kept can take the next word, the surprisal is infinite from there on, and `died` says where.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from dtglib.decode.beam import DEFAULT, Widths, in_parts, search, search_beginnings
from dtglib.decode.stackcache import StackStepper
from dtglib.errors import require
from dtglib.model import Model
from dtglib.vocab import UNKNOWN, Vocabulary

UNITS = {"nats": 1.0, "bits": 1 / math.log(2)}
END = "<END>"  # how the end of a sentence is called in a table


class Surprisal(NamedTuple):
    """The surprisals of a sentence, in nats."""

    words: tuple[str, ...]
    pieces: tuple[str, ...]
    starts: np.ndarray  # of each word among the pieces
    known: tuple[bool, ...]  # of each word: whether the vocabulary can spell it without <unknown> and single bytes
    of_pieces: np.ndarray
    end: float

    @property
    def of_words(self) -> np.ndarray:
        """The sum over the pieces of each word."""
        return np.add.reduceat(self.of_pieces, self.starts)

    def of_regions(self, lengths: Sequence[int]) -> np.ndarray:
        """The sum over the words of each region, given how many words each has; of none it is 0."""
        require(sum(lengths) == len(self.words), f"the regions have {sum(lengths)} words, not {len(self.words)}")
        return sums_of_regions(self.of_words, lengths)

    @property
    def died(self) -> int | None:
        """The first word (from 0; the end is one, too) that no hypothesis could take."""
        dead = np.flatnonzero(np.isinf([*self.of_words, self.end]))
        return int(dead[0]) if len(dead) else None


def surprisals(model: Model, sentences: Sequence[Sequence[str]], widths: Widths = DEFAULT) -> Iterator[Surprisal]:
    """The surprisals of each sentence."""
    found = in_parts(search, partial(StackStepper, model), model.vocabulary, sentences, widths)
    for words, one in zip(sentences, found, strict=True):
        *pieces, end = _differences([*one.log_prefix, one.log_prob])
        yield _surprisal(model.vocabulary, words, np.array(pieces), float(end))


def of_beginnings(model: Model, widths: Widths = DEFAULT) -> Callable[[Sequence[Sequence[str]]], list[np.ndarray]]:
    """A function from beginnings of sentences to the surprisals of their words, as test suites ask for them."""

    def surprise(beginnings: Sequence[Sequence[str]]) -> list[np.ndarray]:
        found = in_parts(search_beginnings, partial(StackStepper, model), model.vocabulary, beginnings, widths)
        starts = (_starts(model.vocabulary, words) for words in beginnings)
        return [np.add.reduceat(_differences(one), first) for one, first in zip(found, starts, strict=True)]

    return surprise


def _starts(vocabulary: Vocabulary, words: Sequence[str]) -> np.ndarray:
    return np.array([start for start, _ in vocabulary.encode(words).spans])


def _differences(log_prefix: Sequence[float] | np.ndarray) -> np.ndarray:
    """From log p of ever longer beginnings to surprisals; after a death they are infinite."""
    with np.errstate(invalid="ignore"):
        fallen = -np.diff(np.asarray(log_prefix, np.float64), prepend=0.0)
    return np.where(np.isneginf(log_prefix), np.inf, fallen)


def _surprisal(vocabulary: Vocabulary, words: Sequence[str], pieces: np.ndarray, end: float) -> Surprisal:
    return Surprisal(
        tuple(words),
        tuple(vocabulary.entries[number] for number in vocabulary.encode(words).ids),
        _starts(vocabulary, words),
        tuple(is_known(vocabulary, word) for word in words),
        pieces,
        end,
    )


def is_known(vocabulary: Vocabulary, word: str) -> bool:
    """Whether a word is in the vocabulary, or can be put together of pieces that are more than single bytes."""
    first = len(vocabulary.reserved)
    unknown = range(first, first + 256) if vocabulary.kind == "pieces" else (UNKNOWN,)
    return not any(number in unknown for number in vocabulary.encode([word]).ids)


def sums_of_regions(of_words: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """The sums over stretches of words, some of which may be empty."""
    stops = np.cumsum(lengths, dtype=int)
    with np.errstate(invalid="ignore"):  # infinities of both signs, which only a strange model can give
        return np.array([of_words[stop - length : stop].sum() for stop, length in zip(stops, lengths, strict=True)])


# --- tables ------------------------------------------------------------------------------------------------------


def word_frame(found: Iterable[Surprisal], unit: str = "nats") -> pd.DataFrame:
    """A row for each word and each end; sentences and words are counted from 1."""
    rows = [
        (number, place, word, known, value)
        for number, one in enumerate(found, start=1)
        for place, (word, known, value) in enumerate(
            zip([*one.words, END], [*one.known, True], [*one.of_words, one.end], strict=True), start=1
        )
    ]
    return _frame(rows, ["sentence", "word", "text", "known"], unit)


def piece_frame(found: Iterable[Surprisal], unit: str = "nats") -> pd.DataFrame:
    """A row for each piece and each end, with the number of the word that it belongs to."""
    rows = []
    for number, one in enumerate(found, start=1):
        word_of = np.searchsorted(one.starts, np.arange(len(one.pieces)), side="right")
        rows += zip([number] * len(word_of), word_of, one.pieces, one.of_pieces, strict=True)
        rows.append((number, len(one.words) + 1, END, one.end))
    return _frame(rows, ["sentence", "word", "text"], unit)


def region_frame(
    found: Iterable[Surprisal], regions: Iterable[Sequence[Sequence[str]]], unit: str = "nats"
) -> pd.DataFrame:
    """A row for each region, given the words of each region of each sentence; a region may be empty."""
    rows = [
        (number, place, " ".join(words), value)
        for number, (one, parts) in enumerate(zip(found, regions, strict=True), start=1)
        for place, (words, value) in enumerate(zip(parts, one.of_regions(list(map(len, parts))), strict=True), start=1)
    ]
    return _frame(rows, ["sentence", "region", "text"], unit)


def _frame(rows: list[tuple], columns: list[str], unit: str) -> pd.DataFrame:
    require(unit in UNITS, f"surprisal is measured in {' or '.join(UNITS)}, not {unit!r}")
    frame = pd.DataFrame(rows, columns=[*columns, unit])
    frame[unit] *= UNITS[unit]
    return frame
