"""Surprisals of pieces, words and regions: -log p of each given everything before it, in nats or bits.

    >>> import torch
    >>> from dtglib.families.base import build
    >>> from dtglib.network.transformer import TransformerConfig
    >>> words = ["There", "is", "a", "difference"]
    >>> _ = torch.manual_seed(1)
    >>> model = build(TransformerConfig(layers=1, width=8, heads=1, inner=16), Vocabulary.of_words([words]))
    >>> (read,) = surprisals(model, [words])
    >>> read.of_words.round(2)                          # a number per word, the sum over its pieces
    array([1.84, 0.95, 3.08, 1.94])

The probabilities come from the beam search (decode/beam.py), which sums over the derivations that it keeps; a model
without trees has one derivation, and its surprisals are exact. Otherwise surprisals are differences of bounds: the
probability of dropped derivations is missing from then on, which mostly makes the next word a little too surprising.
If no derivation that the search kept has the next word, surprisals are infinite from that word on, and `died` is its
index, from 0.

Where words are made of pieces, a word's surprisal includes its end (decode/word_by_word.py), so that p(word | before)
is a distribution over words and the end of the sentence. The sum over its pieces is not: it leaves the word's end to
the next word. Most published surprisals are such sums; `of_prefixes` has them. With W_i for the first i words and
"over" for the end of a word,

    of_words     -log p(W_i, over) / p(W_i-1, over)               of_prefixes   -log p(W_i) / p(W_i-1)
    structure    -log p(W_i-1, over, the transitions before word i, and a word) / p(W_i-1, over)
    its own      of_words - structure: which word, given the structure (the split of Roark et al. 2009)

where `structure` sums over the derivations in which word i follows; the surprisal of the end is all structure.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dtglib.basics.errors import require
from dtglib.data.vocabulary import UNKNOWN, Vocabulary
from dtglib.decode.beam import DEFAULT_WIDTHS, Widths, in_parts
from dtglib.decode.stepper import Searchable
from dtglib.decode.word_by_word import PrefixResult, WordResults, follow, search_beginnings, search_words
from dtglib.sequences.labelled import heads_of

# Imported by type checkers only, so annotations that name it are not checked in tests.
if TYPE_CHECKING:
    import pandas as pd

UNITS = {"nats": 1.0, "bits": 1 / math.log(2)}
END_OF_SENTENCE = "<END>"  # the name of the end of a sentence in tables


class Surprisal(NamedTuple):
    """The surprisals of a sentence, in nats. Arrays "with the end" have one number more than there are words."""

    words: tuple[str, ...]
    pieces: tuple[str, ...]
    starts: np.ndarray  # for each word, the index of its first piece
    known: tuple[bool, ...]  # for each word, whether the vocabulary can spell it without <unknown> and single bytes
    of_pieces: np.ndarray
    of_end: float  # of the end, given the pieces of the last word
    over: np.ndarray  # for each word, of its end; 0 if words are entries of the vocabulary
    structure: np.ndarray  # with the end: the part of what the derivations write between the words
    entropy: np.ndarray  # with the end: of the next symbol, given the words before
    hypotheses: np.ndarray  # with the end: how many are kept when the word has been read
    entropy_of_trees: np.ndarray  # with the end: of their partial trees, given the words up to this one
    without_head: np.ndarray  # with the end: how many words have no head yet in the best derivation so far

    @property
    def of_prefixes(self) -> np.ndarray:
        """The sum over the pieces of each word."""
        return np.add.reduceat(self.of_pieces, self.starts)

    @property
    def of_words(self) -> np.ndarray:
        """The surprisal of each word and its end, given the end of the word before."""
        return of_whole_words(self.of_prefixes, self.over)

    @property
    def end(self) -> float:
        """The surprisal of the end of the sentence, given the end of the last word."""
        return self.of_end - float(self.over[-1])

    def of_regions(self, lengths: Sequence[int]) -> np.ndarray:
        """The sum over the words of each region, given their numbers of words; 0 for an empty region."""
        require(sum(lengths) == len(self.words), f"the regions have {sum(lengths)} words, not {len(self.words)}")
        return sums_of_regions(self.of_words, lengths)

    @property
    def died(self) -> int | None:
        """The index of the first word (or the end) that no hypothesis has."""
        dead = np.flatnonzero(np.isinf([*self.of_words, self.end]))
        return int(dead[0]) if len(dead) else None


def of_whole_words(of_prefixes: np.ndarray, over: np.ndarray) -> np.ndarray:
    """The surprisals of words, from those of their pieces and of their ends."""
    with np.errstate(invalid="ignore"):  # infinity less infinity
        return np.where(np.isinf(of_prefixes), np.inf, of_prefixes + over - np.concatenate([[0.0], over[:-1]]))


def surprisals(
    model: Searchable, sentences: Sequence[Sequence[str]], widths: Widths = DEFAULT_WIDTHS
) -> Iterator[Surprisal]:
    """The surprisals of each sentence."""
    for words, read in zip(sentences, in_parts(search_words, model, sentences, widths), strict=True):
        yield _surprisal(model.vocabulary, words, read)


def of_beginnings(
    model: Searchable, widths: Widths = DEFAULT_WIDTHS
) -> Callable[[Sequence[Sequence[str]]], Iterator[np.ndarray]]:
    """A function from beginnings of sentences to the surprisals of their words; test suites use it."""

    def surprise(sentences: Sequence[Sequence[str]]) -> Iterator[np.ndarray]:
        for words, begun in zip(sentences, in_parts(search_beginnings, model, sentences, widths), strict=True):
            of_prefixes = np.add.reduceat(_differences(begun.log_prefix), _starts(model.vocabulary, words))
            yield of_whole_words(of_prefixes, _over(begun))

    return surprise


def _starts(vocabulary: Vocabulary, words: Sequence[str]) -> np.ndarray:
    return np.array([start for start, _ in vocabulary.encode(words).spans])


def _differences(log_prefix: Sequence[float] | np.ndarray) -> np.ndarray:
    """Surprisals from log p of longer and longer beginnings; infinite where log p is minus infinity."""
    with np.errstate(invalid="ignore"):
        falls = -np.diff(np.asarray(log_prefix, np.float64), prepend=0.0)
    return np.where(np.isneginf(log_prefix), np.inf, falls)


def _over(begun: PrefixResult) -> np.ndarray:
    """The surprisals of the ends of words."""
    return np.abs(begun.log_over)  # no number is positive; the minus of -0.0 would be printed


def _surprisal(vocabulary: Vocabulary, words: Sequence[str], read: WordResults) -> Surprisal:
    begun, starts = read.begun, _starts(vocabulary, words)
    *pieces, of_end = _differences([*begun.log_prefix, read.log_prob])
    stops = [*starts[1:], len(pieces)]
    log_before = [0.0, *(begun.log_prefix[np.array(stops) - 1] + begun.log_over)]
    with np.errstate(invalid="ignore"):
        structure = np.where(np.isneginf(read.log_before), np.inf, np.maximum(log_before - read.log_before, 0.0))
    return Surprisal(
        tuple(words),
        tuple(vocabulary.entries[number] for number in vocabulary.encode(words).ids),
        starts,
        tuple(is_known(vocabulary, word) for word in words),
        np.array(pieces),
        float(of_end),
        _over(begun),
        structure,
        read.entropy,
        read.hypotheses,
        read.entropy_of_trees,
        read.without_head,
    )


def is_known(vocabulary: Vocabulary, word: str) -> bool:
    """True if a word is in the vocabulary, or can be composed of pieces that are more than single bytes."""
    first = len(vocabulary.reserved)
    unknown = range(first, first + 256) if vocabulary.kind == "pieces" else (UNKNOWN,)
    return not any(number in unknown for number in vocabulary.encode([word]).ids)


def sums_of_regions(of_words: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """The sum over the words of each region; a region may be empty."""
    stops = np.cumsum(lengths, dtype=int)
    with np.errstate(invalid="ignore"):  # a plugged-in model may give infinities of both signs
        return np.array([of_words[stop - length : stop].sum() for stop, length in zip(stops, lengths, strict=True)])


class Moment(NamedTuple):
    """The state of a search after some words of a sentence."""

    surprisal: float  # of the last of these words
    heads: Sequence[int] | None  # of the best tree so far, OPEN for a word without one; None if no derivation is left
    visible: list[int]  # the words, counted from 1, from which the next symbol is predicted


def moments(model: Searchable, words: Sequence[str], widths: Widths = DEFAULT_WIDTHS) -> list[Moment]:
    """The state of the search after each word of a sentence and at its end, for `draw_reading`."""
    states = list(follow(model.stepper(), model.vocabulary, words, widths))
    over = np.abs([*(state.log_over for state in states[1:]), 0.0])  # the end itself is not followed by an end
    surprisal = of_whole_words(_differences([state.log_prob for state in states]), over)
    symbols = model.vocabulary.symbols
    as_lists = (
        (None, [])
        if state.tree is None or state.visible is None
        else (heads_of(symbols, state.tree.tolist()), state.visible.tolist())
        for state in states
    )
    return [Moment(float(value), *lists) for value, lists in zip(surprisal, as_lists, strict=True)]


# --- tables ------------------------------------------------------------------------------------------------------

PLACE = ("sentence", "word", "text")  # of a row: sentences and words are counted from 1
WORD_COLUMNS = ("known", "surprisal", "of prefixes", "structure", "entropy", "hypotheses", "tree entropy")


def word_rows(sentences: Iterable[Surprisal], unit: str = "nats") -> list[dict[str, Any]]:
    """A row for each word and each end, with its place and WORD_COLUMNS; the unit names the column of surprisals.

    nats, bits       the surprisal
    of prefixes      the same as a difference of prefixes, without the end of the word
    structure        the part of the surprisal that the derivations write before the word; the rest is the word's own
    entropy          of the next symbol, given the words before
    hypotheses       how many are kept when the word has been read; 1 without trees
    tree entropy     of their partial trees, given the words up to this one
    """
    require(unit in UNITS, f"surprisal is measured in {' or '.join(UNITS)}, not {unit!r}")
    rows = []
    for number, read in enumerate(sentences, start=1):
        texts, known = [*read.words, END_OF_SENTENCE], [*read.known, True]
        of_words, of_prefixes = [*read.of_words.tolist(), read.end], [*read.of_prefixes.tolist(), read.of_end]
        others = (read.structure, read.entropy, read.hypotheses, read.entropy_of_trees)
        columns = zip(texts, known, of_words, of_prefixes, *(each.tolist() for each in others), strict=True)
        rows += [(number, place, *column) for place, column in enumerate(columns, start=1)]
    names = [*PLACE, *(unit if name == "surprisal" else name for name in WORD_COLUMNS)]
    named = (zip(names, row, strict=True) for row in rows)
    return [{name: x * UNITS[unit] if isinstance(x, float) else x for name, x in row} for row in named]


def word_frame(sentences: Iterable[Surprisal], unit: str = "nats") -> "pd.DataFrame":
    """The rows of words as a table."""
    import pandas as pd  # here: it takes as long as a short search, and `dtglib surprisal` does without it

    return pd.DataFrame(word_rows(sentences, unit))
