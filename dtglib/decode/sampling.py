"""Sample sentences with their trees from a model.

    generate(model.stepper(), vocabulary, 5, random, most_words=8)         five sentences, one by one

Only legal symbols are drawn, so every sentence is whole and has a projective tree. A `temperature` below 1 makes
probable symbols more probable; `log_prob` is the model's own log-probability. A sentence with more than `most_words`
words is given up (so is one with too many pieces or transitions) and drawn anew: the distribution is p(sentence | not
longer).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from dtglib.basics.errors import require, require_probabilities
from dtglib.data.vocabulary import END, Vocabulary
from dtglib.decode.stepper import DISTRIBUTIONS_AT_ONCE, Stepper
from dtglib.transitions.protocol import OPEN

MOST_PIECES = 8  # per word, on average: the limit for the pieces of a sentence
LEAST_AGAIN = 32  # sentences that are drawn together, at least, in the place of those that were given up
MOST_TRIES = 100  # in a row that do not end a single sentence


class Generated(NamedTuple):
    """A generated sentence, its tree (None from a model without trees), and log p of its derivation."""

    words: list[str]
    tree: np.ndarray | None
    log_prob: float


def generate(
    stepper: Stepper,
    vocabulary: Vocabulary,
    count: int,
    random: torch.Generator,
    most_words: int = 40,
    temperature: float = 1.0,
) -> Iterator[Generated]:
    """Draw `count` sentences, independent of one another."""
    require(most_words >= 1, f"most_words must be at least 1, not {most_words}")
    require(1e-4 <= temperature <= 1e4, f"temperature must be from 0.0001 to 10000, not {temperature}")
    at_once, left, failures = DISTRIBUTIONS_AT_ONCE[stepper.device.type], count, 0
    while left:
        rows = left if left == count else max(left, LEAST_AGAIN)
        drawn = _draw(stepper, vocabulary, min(rows, at_once), random, most_words, temperature)[:left]
        yield from drawn
        left, failures = left - len(drawn), 0 if drawn else failures + 1
        complaint = f"the model seldom ends a sentence within {most_words} words; allow more"
        require(failures < MOST_TRIES, complaint)


class _Growing(NamedTuple):
    """A sentence that is being drawn."""

    number: int
    pieces: list[int]
    words: int
    silent: int  # symbols since the last piece
    log_prob: float


def _draw(
    stepper: Stepper, vocabulary: Vocabulary, count: int, random: torch.Generator, most_words: int, temperature: float
) -> list[Generated]:
    """Draw `count` sentences, and leave out those that grow too long."""
    state = stepper.choose(stepper.init(most_words), np.zeros(count, np.int64))
    sentences, done = [_Growing(number, [], 0, 0, 0.0) for number in range(count)], {}
    while sentences:
        log_probs = stepper.log_probs(state)
        require_probabilities(log_probs)
        probabilities = (log_probs.double() / temperature).softmax(1)
        symbols = torch.multinomial(probabilities, 1, generator=random)[:, 0].cpu().numpy()
        values = log_probs.double().cpu().numpy()[np.arange(len(symbols)), symbols]
        sentences = [
            _grown(sentence, symbol, log_prob, vocabulary)
            for sentence, symbol, log_prob in zip(sentences, symbols.tolist(), values.tolist(), strict=True)
        ]
        for row in np.flatnonzero(symbols == END):
            tree, sentence = stepper.tree(state, int(row)), sentences[row]
            tree = None if OPEN in tree else tree
            done[sentence.number] = Generated(vocabulary.decode(sentence.pieces), tree, sentence.log_prob)
        is_short = [
            sentence.words <= most_words
            and len(sentence.pieces) <= MOST_PIECES * most_words
            and sentence.silent <= stepper.most_silent(sentence.words)
            for sentence in sentences
        ]
        (rows,) = np.nonzero((symbols != END) & is_short)
        if not len(rows):
            break
        state, sentences = stepper.step(state, rows, symbols[rows]), [sentences[row] for row in rows]
    return [done[number] for number in sorted(done)]


def _grown(sentence: _Growing, symbol: int, log_prob: float, vocabulary: Vocabulary) -> _Growing:
    """The sentence with one more symbol."""
    starts, continues = vocabulary.starts_word[symbol], vocabulary.continues_word[symbol]
    is_piece = bool(starts or continues)
    return _Growing(
        sentence.number,
        [*sentence.pieces, symbol] if is_piece else sentence.pieces,
        sentence.words + bool(starts),
        0 if is_piece else sentence.silent + 1,
        sentence.log_prob + log_prob,
    )
