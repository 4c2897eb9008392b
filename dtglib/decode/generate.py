"""Sentences drawn from a model, with their trees: the grammar at work.

    >>> from dtglib.decode.stackcache import StackStepper
    >>> from dtglib.model import Model, ModelConfig
    >>> from dtglib.transitions.protocol import why_no_tree
    >>> vocabulary, random = Vocabulary.of_words([["There", "is", "a", "difference"]]), torch.Generator().manual_seed(1)
    >>> _ = torch.manual_seed(1)
    >>> model = Model(ModelConfig(layers=1, width=8, heads=1, inner=16), vocabulary)
    >>> drawn = list(generate(StackStepper(model), vocabulary, 5, random, most_words=8))
    >>> [why_no_tree(one.heads.tolist()) for one in drawn]
    [None, None, None, None, None]
    >>> all(1 <= len(one.words) <= 8 and one.log_prob < 0 for one in drawn)
    True

Each symbol is drawn from what is legal, so every sentence is whole and every tree a tree. With `temperature`, `top_k`
or `top_p` the distribution of each step is changed before it is drawn from; `log_prob` is what the model itself gives.
A sentence that grows beyond `most_words` is given up and drawn anew: what is drawn is p(sentence | not longer).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dtglib.decode.alive import CONTINUE
from dtglib.decode.beam import Symbols
from dtglib.decode.stackcache import Moves, Stepper, fork
from dtglib.errors import require, require_probabilities
from dtglib.shapes import Float
from dtglib.transitions.protocol import OPEN, Kind
from dtglib.vocab import Vocabulary

MOST_PIECES = 8  # of a word, on average, in a sentence of the greatest length
MOST_TRIES = 100  # for each sentence


class Drawn(NamedTuple):
    """A sentence, its tree (None from a model without trees), and log p of its derivation."""

    words: list[str]
    heads: np.ndarray | None
    log_prob: float


class Taste(NamedTuple):
    """How a step's distribution is changed: 1, None and None leave it as it is."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None


AS_IT_IS = Taste()


def generate(
    stepper: Stepper,
    vocabulary: Vocabulary,
    count: int,
    random: torch.Generator,
    most_words: int = 40,
    taste: Taste = AS_IT_IS,
) -> Iterator[Drawn]:
    """So many sentences, independent of one another."""
    require(taste.temperature > 0, f"temperature must be greater than 0, not {taste.temperature}")
    require(taste.top_k is None or taste.top_k >= 1, f"top_k must be at least 1, not {taste.top_k}")
    require(taste.top_p is None or 0 < taste.top_p <= 1, f"top_p must be above 0 and at most 1, not {taste.top_p}")
    left = count
    for _ in range(MOST_TRIES):
        found = _once(stepper, vocabulary, left, random, most_words, taste)
        yield from found
        left -= len(found)
        if not left:
            return
    require(not left, f"the model seldom ends a sentence within {most_words} words; set most_words higher")


def _once(
    stepper: Stepper, vocabulary: Vocabulary, count: int, random: torch.Generator, most_words: int, taste: Taste
) -> list[Drawn]:
    """Draw so many sentences, and give up those that grow too long."""
    kinds, reaches = _moves_of(vocabulary)
    hypotheses = fork(stepper.init(most_words), np.zeros(count, np.int64))
    log_prob, pieces, done = np.zeros(count), [[] for _ in range(count)], []
    while len(hypotheses):
        log_probs = stepper.log_probs(hypotheses)
        require_probabilities(log_probs)
        symbol = torch.multinomial(_tasted(log_probs, taste), 1, generator=random)[:, 0].cpu().numpy()
        log_prob = log_prob + log_probs.double().cpu().numpy()[np.arange(len(symbol)), symbol]
        kind = kinds[symbol]
        for row in np.flatnonzero((kind == Kind.GEN) | (kind == CONTINUE)):
            pieces[row] = [*pieces[row], int(symbol[row])]
        for row in np.flatnonzero(kind == Kind.END):
            heads = hypotheses.states.heads[row, 1 : hypotheses.states.count[row] + 1].copy()
            done.append(Drawn(vocabulary.decode(pieces[row]), None if OPEN in heads else heads, float(log_prob[row])))
        is_long = np.array([len(taken) > MOST_PIECES * most_words for taken in pieces])
        is_long |= (kind == Kind.GEN) & (hypotheses.states.count == most_words)
        (rows,) = np.nonzero((kind != Kind.END) & ~is_long)
        if not len(rows):
            break
        moves = Moves(rows, kind[rows], reaches[symbol[rows]], symbol[rows].astype(np.int32))
        hypotheses, log_prob = stepper.step(hypotheses, moves), log_prob[rows]
        pieces = [pieces[row] for row in rows]
    return done


def _tasted(log_probs: Float[Tensor, "rows V"], taste: Taste) -> Float[Tensor, "rows V"]:
    """The probabilities to draw from."""
    log_probs = log_probs.double() / taste.temperature
    if taste.top_k is not None:
        least = log_probs.topk(min(taste.top_k, log_probs.shape[1]), 1).values[:, -1:]
        log_probs = log_probs.masked_fill(log_probs < least, -torch.inf)
    if taste.top_p is not None:
        best_first = log_probs.softmax(1).sort(1, descending=True)
        # What comes before an entry is less than top_p: so the first one is always kept.
        before = best_first.values.cumsum(1) - best_first.values
        kept = torch.zeros_like(before, dtype=torch.bool).scatter(1, best_first.indices, before < taste.top_p)
        log_probs = log_probs.masked_fill(~kept, -torch.inf)
    return log_probs.softmax(1)


def _moves_of(vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """The kind and the reach of what each entry of the vocabulary stands for; what is nothing else is the end."""
    kinds, reaches = np.full(len(vocabulary), Kind.END, np.int32), np.ones(len(vocabulary), np.int32)
    kinds[vocabulary.starts_word], kinds[vocabulary.continues_word] = Kind.GEN, CONTINUE
    symbols = Symbols.of(vocabulary)
    kinds[symbols.id], reaches[symbols.id] = symbols.kind, symbols.reach
    return kinds, reaches
