"""Surprisals of pieces, words and regions: -log p(it | everything before it), in nats or bits.

    >>> import torch
    >>> from dtglib.families.base import build
    >>> from dtglib.network.transformer import TransformerConfig
    >>> words = ["There", "is", "a", "difference"]
    >>> _ = torch.manual_seed(1)
    >>> model = build(TransformerConfig(layers=1, width=8, heads=1, inner=16), Vocabulary.of_words([words]))
    >>> (found,) = surprisals(model, [words])
    >>> found.of_words.round(2)                         # a number per word, the sum over its pieces
    array([1.84, 0.95, 3.08, 1.94])
    >>> word_frame([found], "bits")["text"].tolist()    # the same as a table, the end included
    ['There', 'is', 'a', 'difference', '<END>']

The probabilities come from the beam search (decode/beam.py), which sums over the derivations that it keeps; a model
without trees has one derivation, and its surprisals are exact. Otherwise surprisals are differences of bounds: the
probability of dropped derivations is missing from then on, which mostly makes the next word a little too surprising.
Pieces mark where a word begins, so the end of a word is part of the next word's surprisal: across vocabularies of
pieces, compare sentences rather than words. If no derivation that the search kept can take the next word, surprisals
are infinite from there on, and `died` is the number of that word.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from dtglib.basics.errors import require
from dtglib.data.vocabulary import UNKNOWN, Vocabulary
from dtglib.decode.beam import DEFAULT_WIDTHS, Widths, follow, in_parts, search, search_beginnings
from dtglib.decode.stepper import Searchable

UNITS = {"nats": 1.0, "bits": 1 / math.log(2)}
END_OF_SENTENCE = "<END>"  # the name of the end of a sentence in tables


class Surprisal(NamedTuple):
    """The surprisals of a sentence, in nats."""

    words: tuple[str, ...]
    pieces: tuple[str, ...]
    starts: np.ndarray  # for each word, the index of its first piece
    known: tuple[bool, ...]  # for each word, whether the vocabulary can spell it without <unknown> and single bytes
    of_pieces: np.ndarray
    end: float

    @property
    def of_words(self) -> np.ndarray:
        """The sum over the pieces of each word."""
        return np.add.reduceat(self.of_pieces, self.starts)

    def of_regions(self, lengths: Sequence[int]) -> np.ndarray:
        """The sum over the words of each region, given their numbers of words; 0 for an empty region."""
        require(sum(lengths) == len(self.words), f"the regions have {sum(lengths)} words, not {len(self.words)}")
        return sums_of_regions(self.of_words, lengths)

    @property
    def died(self) -> int | None:
        """The index of the first word (or the end) that no hypothesis could take."""
        dead = np.flatnonzero(np.isinf([*self.of_words, self.end]))
        return int(dead[0]) if len(dead) else None


def surprisals(
    model: Searchable, sentences: Sequence[Sequence[str]], widths: Widths = DEFAULT_WIDTHS
) -> Iterator[Surprisal]:
    """The surprisals of each sentence."""
    found = in_parts(search, model, sentences, widths)
    for words, one in zip(sentences, found, strict=True):
        *pieces, end = _differences([*one.log_prefix, one.log_prob])
        yield _surprisal(model.vocabulary, words, np.array(pieces), float(end))


def of_beginnings(
    model: Searchable, widths: Widths = DEFAULT_WIDTHS
) -> Callable[[Sequence[Sequence[str]]], list[np.ndarray]]:
    """A function from beginnings of sentences to the surprisals of their words; test suites use it."""

    def surprise(beginnings: Sequence[Sequence[str]]) -> list[np.ndarray]:
        found = in_parts(search_beginnings, model, beginnings, widths)
        starts = (_starts(model.vocabulary, words) for words in beginnings)
        return [np.add.reduceat(_differences(one), first) for one, first in zip(found, starts, strict=True)]

    return surprise


def _starts(vocabulary: Vocabulary, words: Sequence[str]) -> np.ndarray:
    return np.array([start for start, _ in vocabulary.encode(words).spans])


def _differences(log_prefix: Sequence[float] | np.ndarray) -> np.ndarray:
    """Surprisals from log p of longer and longer beginnings; infinite where log p is minus infinity."""
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
    """Whether a word is in the vocabulary, or can be composed of pieces that are more than single bytes."""
    first = len(vocabulary.reserved)
    unknown = range(first, first + 256) if vocabulary.kind == "pieces" else (UNKNOWN,)
    return not any(number in unknown for number in vocabulary.encode([word]).ids)


def sums_of_regions(of_words: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """The sum over the words of each region; a region may be empty."""
    stops = np.cumsum(lengths, dtype=int)
    with np.errstate(invalid="ignore"):  # a plugged-in model may give infinities of both signs
        return np.array([of_words[stop - length : stop].sum() for stop, length in zip(stops, lengths, strict=True)])


class Moment(NamedTuple):
    """What a search has found when it has read some words of a sentence."""

    surprisal: float  # of the last of these words
    heads: list[int] | None  # of the best tree so far, OPEN for a word without one; None if no derivation is left
    visible: list[int]  # the words, counted from 1, that the next symbol is predicted from


def moments(model: Searchable, words: Sequence[str], widths: Widths = DEFAULT_WIDTHS) -> list[Moment]:
    """What the search has found after each word of a sentence and at its end, for `draw_reading`."""
    found = list(follow(model.stepper(), model.vocabulary, words, widths))
    surprisal = _differences([one.log_prob for one in found])
    as_lists = ((None, []) if one.tree is None else (one.tree.tolist(), one.visible.tolist()) for one in found)
    return [Moment(float(value), *lists) for value, lists in zip(surprisal, as_lists, strict=True)]


# --- tables ------------------------------------------------------------------------------------------------------


def word_frame(found: Iterable[Surprisal], unit: str = "nats") -> pd.DataFrame:
    """A row for each word and each end; sentences and words are counted from 1."""
    rows = [
        (number, place, word, known, value)
        for number, one in enumerate(found, start=1)
        for place, (word, known, value) in enumerate(
            zip([*one.words, END_OF_SENTENCE], [*one.known, True], [*one.of_words, one.end], strict=True), start=1
        )
    ]
    return _frame(rows, ["sentence", "word", "text", "known"], unit)


def piece_frame(found: Iterable[Surprisal], unit: str = "nats") -> pd.DataFrame:
    """A row for each piece and each end, with the number of the word that it belongs to."""
    rows = []
    for number, one in enumerate(found, start=1):
        word_of = np.searchsorted(one.starts, np.arange(len(one.pieces)), side="right")
        rows += zip([number] * len(word_of), word_of, one.pieces, one.of_pieces, strict=True)
        rows.append((number, len(one.words) + 1, END_OF_SENTENCE, one.end))
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
