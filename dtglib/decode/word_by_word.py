"""What a search knows word by word: for surprisals, test suites and pictures.

Pieces mark where a word begins, not where it ends, so that what the search sums up to the last piece of a word is the
probability that the text begins with these letters. The word may still go on: "differ" is the beginning of
"difference". The probability that it is over is that of everything that does not continue it (a piece that starts a
word, a transition, the end), and

    p(word | before)  =  p(before, its pieces, it is over) / p(before, the word before is over)

sums to 1 over all words and the end (Oh and Schuler 2024; Pimentel and Meister 2024). If a search dropped hypotheses,
p(over | pieces) is that of those that it kept. If words are entries, they are over when they have been read.

    >>> import torch
    >>> from dtglib.families.base import build
    >>> from dtglib.network.transformer import TransformerConfig
    >>> words = ["There", "is", "a", "difference"]
    >>> _ = torch.manual_seed(1)
    >>> model = build(TransformerConfig(layers=1, width=8, heads=1, inner=16), Vocabulary.of_words([words]))
    >>> (found,) = search_words(model.stepper(), model.vocabulary, [words])
    >>> found.hypotheses.tolist(), found.entropy_of_trees.round(2).tolist()
    ([1, 1, 3, 13, 40], [0.0, 0.0, 0.68, 1.19, 2.36])
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from dtglib.data.vocabulary import END, Vocabulary
from dtglib.decode.beam import (
    DEFAULT_WIDTHS,
    Beam,
    Widths,
    along,
    beginnings_of,
    best_derivation,
    pieces_of,
    walk,
)
from dtglib.decode.stepper import DISTRIBUTIONS_AT_ONCE, Stepper
from dtglib.transitions.protocol import OPEN

NOTHING_MORE = ()  # stands where a word would: the search looks only whether the word before is over


class PrefixResult(NamedTuple):
    """The result for the beginning of a sentence, in words w1 ... wn. Impossible things have minus infinity."""

    log_prefix: np.ndarray  # log p of the beginning up to each of its pieces
    log_over: np.ndarray  # for each word: log p that it is over, given everything up to it


class WordResults(NamedTuple):
    """The result for a whole sentence; arrays about words have one more number, which is about the end."""

    begun: PrefixResult
    log_prob: float  # log p of the sentence, with its end
    log_before: np.ndarray  # log p of the words before and of the derivations that take this word, if any word did
    entropy: np.ndarray  # of the next symbol (a piece, a transition, the end), given the words before
    hypotheses: np.ndarray  # how many are kept when the word has been read
    entropy_of_trees: np.ndarray  # of their partial trees, given the words up to this one
    without_head: np.ndarray  # how many words have no head yet (`OPEN`) in the best derivation's tree; those on a stack


class PartialResult(NamedTuple):
    """The result for a sentence up to some word, or up to its end."""

    log_prob: float  # log p of these words
    log_over: float  # log p that the word before the last one is over, given everything up to it
    tree: np.ndarray | None  # that of the best derivation so far (see `Stepper.tree`); None if no hypothesis is left
    log_derivation: float  # log p of these words with that derivation
    visible: np.ndarray | None  # the words, counted from 1, that the best derivation sees; None like `tree`


def search_beginnings(
    stepper: Stepper,
    vocabulary: Vocabulary,
    beginnings: Sequence[Sequence[str]],
    widths: Widths = DEFAULT_WIDTHS,
) -> list[PrefixResult]:
    """Search beginnings of sentences, without their ends."""
    trie = beginnings_of([[*pieces, NOTHING_MORE] for pieces in pieces_of(vocabulary, beginnings)])
    parts = [[] for _ in beginnings]
    for number, taken, place in along(trie.paths, walk(stepper, trie, widths)):
        parts[number].append((taken.log_prefix[place], taken.arrival.log_over[place]))
    return list(map(_begun, parts))


def search_words(
    stepper: Stepper,
    vocabulary: Vocabulary,
    sentences: Sequence[Sequence[str]],
    widths: Widths = DEFAULT_WIDTHS,
) -> list[WordResults]:
    """Search whole sentences."""
    trie = beginnings_of([[*pieces, (END,)] for pieces in pieces_of(vocabulary, sentences)])
    at_first = entropy_of_next(stepper, Beam(stepper.init(1), np.zeros(1, int), np.zeros(1)))
    rows = [[] for _ in sentences]
    for number, taken, place in along(trie.paths, walk(stepper, trie, widths)):
        is_end = taken.pieces[place] == (END,)
        beam = (taken.arrival.beam if is_end else taken.through).at(stepper, place)
        next_entropy = np.nan if is_end or not len(beam.log_p) else entropy_of_next(stepper, beam)
        of_trees = entropy_of_trees(stepper, beam), without_head(stepper, beam)
        about = taken.arrival.log_before[place], next_entropy, len(beam.log_p), *of_trees
        rows[number].append((taken.log_prefix[place], taken.arrival.log_over[place], *about))
    found = []
    for of_one in rows:
        begun = _begun(of_one)
        *log_prefix, log_prob = begun.log_prefix
        log_before, entropy, *others = (np.array([row[column] for row in of_one]) for column in range(2, 7))
        begun = begun._replace(log_prefix=np.array(log_prefix))
        found.append(WordResults(begun, float(log_prob), log_before, np.array([at_first, *entropy[:-1]]), *others))
    return found


def follow(
    stepper: Stepper, vocabulary: Vocabulary, words: Sequence[str], widths: Widths = DEFAULT_WIDTHS
) -> Iterator[PartialResult]:
    """Search one sentence, and yield what is found after each word, and at its end."""
    (pieces,) = pieces_of(vocabulary, [words])
    for taken in walk(stepper, beginnings_of([[*pieces, (END,)]]), widths):
        beam = taken.arrival.beam if taken.pieces == [(END,)] else taken.through
        visible = stepper.visible(beam.state, int(beam.log_p.argmax())) if len(beam.log_p) else None
        log_over = float(taken.arrival.log_over[0])
        yield PartialResult(taken.log_prefix[0][-1], log_over, *best_derivation(stepper, beam), visible)


def _begun(rows: Sequence[tuple]) -> PrefixResult:
    """Of words and of what comes after the last one; whether a word is over is known at the next one."""
    return PrefixResult(np.concatenate([row[0] for row in rows]), np.array([row[1] for row in rows[1:]]))


def entropy_of_next(stepper: Stepper, beam: Beam) -> float:
    """The entropy of the next symbol after these hypotheses, of which one holds, in nats."""
    of_each, at_once = (
        torch.from_numpy(shares(beam.log_p)).to(stepper.device),
        DISTRIBUTIONS_AT_ONCE[stepper.device.type],
    )
    mixture = torch.zeros(1, dtype=torch.float64, device=stepper.device)
    for first in range(0, len(of_each), at_once):
        rows = np.arange(first, min(first + at_once, len(of_each)))
        log_probs = stepper.log_probs(stepper.choose(beam.state, rows))
        mixture = mixture + of_each[rows] @ log_probs.double().exp()
    return entropy_of(mixture.cpu().numpy())


def entropy_of_trees(stepper: Stepper, beam: Beam) -> float:
    """The entropy of the trees, as far as they are written, of these hypotheses; several may have one tree."""
    if not len(beam.log_p):
        return np.nan
    of_trees: dict[bytes, float] = {}
    for row, share in enumerate(shares(beam.log_p)):
        tree = stepper.tree(beam.state, row)
        key = b"" if tree is None else tree.tobytes()
        of_trees[key] = of_trees.get(key, 0.0) + share
    return entropy_of(np.array(list(of_trees.values())))


def without_head(stepper: Stepper, beam: Beam) -> float:
    """How many entries of the best derivation's tree are missing so far; NaN if no hypothesis is left."""
    tree, _ = best_derivation(stepper, beam)
    return np.nan if tree is None else float((tree == OPEN).sum())


def shares(log_p: np.ndarray) -> np.ndarray:
    """The probability of each hypothesis among them."""
    return np.exp(log_p - np.logaddexp.reduce(log_p, initial=-np.inf))


def entropy_of(distribution: np.ndarray) -> float:
    """The entropy of a distribution, in nats."""
    some = distribution[distribution > 0]
    return float((some * -np.log(some)).sum())
