"""The results of a search word by word: for surprisals, test suites and pictures.

Pieces mark where a word begins, not where it ends. So the sum over derivations up to the last piece of a word is the
probability that the text begins with these letters; the word may still go on: "differ" begins "difference". The word is
over with the probability of everything that does not continue it (a piece that starts a word, a transition, the end):

    p(word | before)  =  p(before, its pieces, it is over) / p(before, the word before is over)

sums to 1 over all words and the end (Oh and Schuler 2024; Pimentel and Meister 2024). If a search dropped hypotheses,
p(over | pieces) is that of the hypotheses that it kept. If words are entries of the vocabulary, they are over when they
have been read.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from dtglib.data.vocabulary import END, Vocabulary
from dtglib.decode.beam import DEFAULT_WIDTHS, Beam, Widths, along, beginnings_of, best_derivation, pieces_of, walk
from dtglib.decode.stepper import DISTRIBUTIONS_AT_ONCE, Stepper
from dtglib.transitions.protocol import OPEN

NOTHING_MORE = ()  # in the place of a next word: the search only finds whether the word before it is over


class PrefixResult(NamedTuple):
    """The result for the beginning of a sentence, in words w1 ... wn. What is impossible has minus infinity."""

    log_prefix: np.ndarray  # log p of the beginning up to each of its pieces
    log_over: np.ndarray  # for each word: log p that it is over, given everything up to it


class WordResults(NamedTuple):
    """The result for a whole sentence; arrays about words have one more number, which is about the end."""

    begun: PrefixResult
    log_prob: float  # log p of the sentence, with its end
    log_before: np.ndarray  # log p of the derivations that take this word, excluding the word itself
    entropy: np.ndarray  # of the next symbol (a piece, a transition, the end), given the words before
    hypotheses: np.ndarray  # the number of hypotheses that are kept when the word has been read
    entropy_of_trees: np.ndarray  # of their partial trees, given the words up to this one
    without_head: np.ndarray  # the number of words without a head so far (`OPEN`) in the best derivation


class PartialResult(NamedTuple):
    """The result for a sentence up to some word, or up to its end."""

    log_prob: float  # log p of these words
    log_over: float  # log p that the word before the last one is over, given everything up to it
    tree: np.ndarray | None  # that of the best derivation so far (see `Stepper.tree`); None if no hypothesis is left
    log_derivation: float  # log p of these words with that derivation
    visible: np.ndarray | None  # the words, counted from 1, that the best derivation sees; None like `tree`


def search_beginnings(
    stepper: Stepper, vocabulary: Vocabulary, beginnings: Sequence[Sequence[str]], widths: Widths = DEFAULT_WIDTHS
) -> list[PrefixResult]:
    """Search beginnings of sentences, without their ends."""
    trie = beginnings_of([[*pieces, NOTHING_MORE] for pieces in pieces_of(vocabulary, beginnings)])
    log_prefix, log_over = [[] for _ in beginnings], [[] for _ in beginnings]
    for number, taken, place in along(trie.paths, walk(stepper, trie, widths)):
        log_prefix[number] += taken.log_prefix[place]
        log_over[number].append(taken.arrival.log_over[place])
    return [_prefix_result(*both) for both in zip(log_prefix, log_over, strict=True)]


def _prefix_result(log_prefix: list[float], log_over: list[float]) -> PrefixResult:
    """The result for some words; a search finds only at the next word whether a word is over."""
    return PrefixResult(np.array(log_prefix), np.array(log_over[1:]))


def search_words(
    stepper: Stepper, vocabulary: Vocabulary, sentences: Sequence[Sequence[str]], widths: Widths = DEFAULT_WIDTHS
) -> list[WordResults]:
    """Search whole sentences."""
    trie = beginnings_of([[*pieces, (END,)] for pieces in pieces_of(vocabulary, sentences)])
    first_entropy = entropy_of_next(stepper, Beam(stepper.init(1), np.zeros(1, int), np.zeros(1)))
    log_prefix, log_over, words = [[] for _ in sentences], [[] for _ in sentences], [[] for _ in sentences]
    for number, taken, place in along(trie.paths, walk(stepper, trie, widths)):
        is_end = taken.pieces[place] == (END,)
        beam = (taken.arrival.beam if is_end else taken.through).at(stepper, place)
        log_prefix[number] += taken.log_prefix[place]
        log_over[number].append(taken.arrival.log_over[place])
        word = {
            "log_before": taken.arrival.log_before[place],
            "entropy": np.nan if is_end or not len(beam.log_p) else entropy_of_next(stepper, beam),  # after this word
            "hypotheses": len(beam.log_p),
            "entropy_of_trees": entropy_of_trees(stepper, beam),
            "without_head": without_head(stepper, beam),
        }
        words[number].append(word)
    results = []
    for (*begun, log_prob), over, of_words in zip(log_prefix, log_over, words, strict=True):
        columns = {name: np.array([word[name] for word in of_words]) for name in of_words[0]}
        columns["entropy"] = np.append(first_entropy, columns["entropy"][:-1])  # given the words before each
        results.append(WordResults(_prefix_result(begun, over), float(log_prob), **columns))
    return results


def follow(
    stepper: Stepper, vocabulary: Vocabulary, words: Sequence[str], widths: Widths = DEFAULT_WIDTHS
) -> Iterator[PartialResult]:
    """Search one sentence, and yield the result after each word, and at its end."""
    (pieces,) = pieces_of(vocabulary, [words])
    for taken in walk(stepper, beginnings_of([[*pieces, (END,)]]), widths):
        beam = taken.arrival.beam if taken.pieces == [(END,)] else taken.through
        visible = stepper.visible(beam.state, int(beam.log_p.argmax())) if len(beam.log_p) else None
        log_over = float(taken.arrival.log_over[0])
        yield PartialResult(taken.log_prefix[0][-1], log_over, *best_derivation(stepper, beam), visible)


def entropy_of_next(stepper: Stepper, beam: Beam) -> float:
    """The entropy of the next symbol, in nats; its distribution is the mixture of those of the hypotheses."""
    of_each = torch.from_numpy(shares(beam.log_p)).to(stepper.device)
    at_once = DISTRIBUTIONS_AT_ONCE[stepper.device.type]
    mixture = torch.zeros(1, dtype=torch.float64, device=stepper.device)
    for first in range(0, len(of_each), at_once):
        rows = np.arange(first, min(first + at_once, len(of_each)))
        log_probs = stepper.log_probs(stepper.choose(beam.state, rows))
        mixture = mixture + of_each[rows] @ log_probs.double().exp()
    return entropy_of(mixture.cpu().numpy())


def entropy_of_trees(stepper: Stepper, beam: Beam) -> float:
    """The entropy of the partial trees of these hypotheses, in nats; several may have the same tree."""
    if not len(beam.log_p):
        return np.nan
    of_trees: dict[bytes, float] = {}
    for row, share in enumerate(shares(beam.log_p)):
        key = stepper.tree(beam.state, row).tobytes()
        of_trees[key] = of_trees.get(key, 0.0) + share
    return entropy_of(np.array(list(of_trees.values())))


def without_head(stepper: Stepper, beam: Beam) -> float:
    """The number of words without a head in the best derivation; NaN if no hypothesis is left."""
    tree, _ = best_derivation(stepper, beam)
    return np.nan if tree is None else float((tree == OPEN).sum())


def shares(log_p: np.ndarray) -> np.ndarray:
    """The probability of each hypothesis among these."""
    return np.exp(log_p - np.logaddexp.reduce(log_p, initial=-np.inf))


def entropy_of(distribution: np.ndarray) -> float:
    """The entropy of a distribution, in nats."""
    possible = distribution[distribution > 0]
    return float((possible * -np.log(possible)).sum())
