"""Scores of sentences, log p(words), and perplexities.

    scores = list(by_trees(model, sentences, trees))        bounds from the trees that a parser proposes
    scores = exactly(model, sentences)                      exact, for TXL (tokens), which has no trees

    >>> scores = [SentenceScore(words=4, pieces=5, trees=30, log_prob=-12.0, best=(2, 0, 4, 2))]
    >>> round(perplexity(scores).per_piece, 2), round(perplexity(scores).per_word, 2)
    (7.39, 11.02)

A perplexity is exp(nats / events). The events are the pieces, or the words, and the end of each sentence, unless the
model predicts no ends. For a model with trees it is an upper bound, because the trees that were left out would only add
to p(words). Values per piece can be compared between models with the same vocabulary; values per word may, with
caution, be compared across vocabularies.

Gold trees are not used here, so no sentence is left out because of its tree.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dtglib.basics.errors import require
from dtglib.data.treebank import Words
from dtglib.evaluate.bootstrap import ratio_interval
from dtglib.evaluate.likelihood import score_many, score_words
from dtglib.network.transformer import Transformer


class SentenceScore(NamedTuple):
    """The score of one sentence."""

    words: int
    pieces: int
    trees: int
    log_prob: float
    best: tuple[int, ...] | None  # the most probable tree in integers, or None if no tree is possible
    ends: int = 1  # 0 if the model does not predict the end
    unasked: int = 0  # words without a probability, which are not counted in `words`


def by_trees(model: Transformer, sentences: Sequence[Words], trees: Iterable[np.ndarray]) -> Iterator[SentenceScore]:
    """The bound of each sentence from its trees (rows of integers), and the most probable tree."""
    scores = score_many(model, zip(sentences, trees, strict=True))
    for words, scored in zip(sentences, scores, strict=True):
        best = tuple(scored.best.tolist()) if scored.bound > -math.inf else None
        yield SentenceScore(len(words), _pieces(model, words), len(scored.trees), scored.bound, best)


def exactly(model: Transformer, sentences: Sequence[Words]) -> list[SentenceScore]:
    """log p(words) of each sentence by a model without trees."""
    log_probs = score_words(model, sentences).tolist()
    return [
        SentenceScore(len(words), _pieces(model, words), 0, log_prob, None)
        for words, log_prob in zip(sentences, log_probs, strict=True)
    ]


def _pieces(model: Transformer, words: Words) -> int:
    return len(model.vocabulary.encode(words).ids)


class Perplexity(NamedTuple):
    """Sums over sentences, and their perplexities."""

    sentences: int
    words: int
    pieces: int
    ends: int
    nats: float

    @property
    def per_piece(self) -> float:
        """The perplexity per piece; ends of sentences count as pieces."""
        return _exp(self.nats / (self.pieces + self.ends))

    @property
    def per_word(self) -> float:
        """The perplexity per word; ends of sentences count as words."""
        return _exp(self.nats / (self.words + self.ends))


def perplexity(scores: Iterable[SentenceScore]) -> Perplexity:
    """The perplexity of all sentences together."""
    scores = list(scores)
    require(scores, "there are no sentences")
    require(any(score.words + score.ends for score in scores), "no sentence has a word that the model predicts")
    return Perplexity(
        len(scores),
        sum(score.words for score in scores),
        sum(score.pieces for score in scores),
        sum(score.ends for score in scores),
        -math.fsum(score.log_prob for score in scores),
    )


def interval_per_word(scores: Sequence[SentenceScore], random: np.random.Generator) -> tuple[float, float]:
    """A 95 % bootstrap interval of the perplexity per word, over the sentences."""
    nats = np.array([-score.log_prob for score in scores])
    events = np.array([score.words + score.ends for score in scores])
    low, high = ratio_interval(nats, events, random)
    return _exp(low), _exp(high)


def _exp(nats: float) -> float:
    return math.inf if nats > 700 else math.exp(nats)
