"""How well a model predicts sentences: log p(words) of each, and perplexities.

    scores = list(by_trees(model, sentences, trees))        the bound, by the trees that a parser proposes
    scores = exactly(model, sentences)                      TXL (tokens), which has no trees

    >>> scores = [SentenceScore(words=4, pieces=5, trees=30, log_prob=-12.0, best=(2, 0, 4, 2))]
    >>> round(perplexity(scores).per_piece, 2), round(perplexity(scores).per_word, 2)
    (7.39, 11.02)

A perplexity is exp(nats / events), where the events are the pieces, or the words, and the end of each sentence. Of a
model with trees it is an upper bound, because the trees that were left out would only add to p(words). It can be
compared among models with the same pieces; that per word, with some caution, beyond.

No sentence is left out because of its gold tree, which nobody looks at here.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dtglib.errors import require
from dtglib.evaluate.bootstrap import ratio_interval
from dtglib.model import Model
from dtglib.scores import score_many, score_words

Words = Sequence[str]


class SentenceScore(NamedTuple):
    """What a model says of one sentence; without a tree that it thinks possible, there is no best one."""

    words: int
    pieces: int
    trees: int
    log_prob: float
    best: tuple[int, ...] | None


def by_trees(model: Model, sentences: Sequence[Words], trees: Iterable[np.ndarray]) -> Iterator[SentenceScore]:
    """The bound of each sentence over its trees (rows of heads), and the tree that the model likes best."""
    scores = score_many(model, zip(sentences, trees, strict=True))
    for words, scored in zip(sentences, scores, strict=True):
        best = tuple(scored.best.tolist()) if scored.bound > -math.inf else None
        yield SentenceScore(len(words), _pieces(model, words), len(scored.trees), scored.bound, best)


def exactly(model: Model, sentences: Sequence[Words]) -> list[SentenceScore]:
    """log p(words) of each sentence by a model without trees."""
    log_probs = score_words(model, sentences).tolist()
    return [
        SentenceScore(len(words), _pieces(model, words), 0, log_prob, None)
        for words, log_prob in zip(sentences, log_probs, strict=True)
    ]


def _pieces(model: Model, words: Words) -> int:
    return len(model.vocabulary.encode(words).ids)


class Perplexity(NamedTuple):
    """The sums over many sentences, and what follows from them."""

    sentences: int
    words: int
    pieces: int
    nats: float

    @property
    def per_piece(self) -> float:
        """How many pieces (or ends) the model wavers between, on average."""
        return _exp(self.nats / (self.pieces + self.sentences))

    @property
    def per_word(self) -> float:
        """The same for words."""
        return _exp(self.nats / (self.words + self.sentences))


def perplexity(scores: Iterable[SentenceScore]) -> Perplexity:
    """Of all sentences together."""
    scores = list(scores)
    require(scores, "there is no sentence to be predicted")
    return Perplexity(
        len(scores),
        sum(score.words for score in scores),
        sum(score.pieces for score in scores),
        -math.fsum(score.log_prob for score in scores),
    )


def interval_per_word(scores: Sequence[SentenceScore], random: np.random.Generator) -> tuple[float, float]:
    """Where the perplexity per word would lie for 95 of 100 other sets of such sentences."""
    nats = np.array([-score.log_prob for score in scores])
    events = np.array([score.words + 1 for score in scores])
    low, high = ratio_interval(nats, events, random)
    return _exp(low), _exp(high)


def _exp(nats: float) -> float:
    return math.inf if nats > 700 else math.exp(nats)
