"""Models of dtglib behind the methods of minicons (Misra 2022), so that scripts for its scorers run.

    >>> from dtglib.families.base import load_model
    >>> scorer = Scorer(load_model("txl-tokens-minilang"))
    >>> sentences = ["The author is strange .", "The author are strange ."]
    >>> [round(score, 2) for score in scorer.sequence_score(sentences, reduction=lambda x: x.sum(0).item())]
    [-16.55, -19.36]
    >>> [(token, round(bits, 1)) for token, bits in scorer.token_score(sentences[0], surprisal=True, base_two=True)[0]]
    [('▁The', 3.7), ('▁author', 7.9), ('▁is', 4.6), ('▁strange', 7.2), ('▁.', 0.4)]
    >>> [round(score, 2) for score in scorer.conditional_score(["The author"] * 2, ["is strange .", "are strange ."])]
    [-2.83, -3.77]

Names, order and defaults of arguments are those of minicons 0.3.39. What differs:

- A text is a sentence. It is cut into the words of a treebank, and these into the pieces of the model's vocabulary,
  which are its tokens. Each token has log p given those before it, which sums over trees by beam search where the model
  has trees. The first token is given the beginning of the sentence, as in minicons with `bos_token=True`; there is no
  other way here, and the beginning is not listed as a token. The end is a token only with `eos_token=True`.
- With `bow_correction` each word pays for its own end (decode/word_by_word.py), which is anything that does not
  continue it, the end of the sentence included. minicons counts only tokens that begin a word, and does
  not correct the first word of a continuation.
- `word_score` has the words of a treebank, and multiplies probabilities. That of minicons splits at other places, adds
  probabilities, and does not find the words of GPT-2's tokens.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from dtglib.basics.errors import UserError, require
from dtglib.data.tokenize import tokenize
from dtglib.data.vocabulary import MARK
from dtglib.decode.beam import DEFAULT_WIDTHS, Widths
from dtglib.decode.stepper import Searchable
from dtglib.evaluate.surprisal import END_OF_SENTENCE, surprisals
from dtgpapers.doors.boundary import words_before

Texts = str | Sequence[str]


class Tokens(NamedTuple):
    """The tokens of a text, with their log-probabilities."""

    words: Sequence[str]
    starts: np.ndarray  # for each word, the index of its first token
    tokens: Sequence[str]
    log_p: np.ndarray
    log_end: float  # of the end of the sentence
    log_over: np.ndarray  # for each word, log p that it is over, given everything up to it

    @property
    def corrected(self) -> tuple[np.ndarray, float]:
        """The log-probabilities of tokens and of the end if each word pays for its end, not for that before it."""
        log_p = self.log_p.copy()
        log_p[[*(self.starts[1:] - 1), -1]] += self.log_over
        log_p[self.starts[1:]] -= self.log_over[:-1]
        return log_p, self.log_end - self.log_over[-1]


class ReadTexts(NamedTuple):
    """A batch of texts that have been read, and whether their ends are tokens."""

    texts: list[Tokens]
    eos_token: bool


Prepared = tuple[ReadTexts, list[int]]  # with the number of tokens of each text that are context alone


def mean_of_tokens(scores: torch.Tensor) -> float:
    """The mean over tokens, which is the default of minicons."""
    return scores.mean(0).item()


class Scorer:
    """A model, and the widths of its beam search."""

    def __init__(self, model: Searchable, widths: Widths = DEFAULT_WIDTHS) -> None:
        self.model, self.widths = model, widths

    def read(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text."""
        sentences = [tokenize(text) for text in texts]
        if empty := [number for number, words in enumerate(sentences, start=1) if not words]:
            raise UserError(f"text {empty[0]} of the batch has no words; leave it out")
        return [
            Tokens(found.words, found.starts, found.pieces, -found.of_pieces, -found.of_end, -found.over)
            for found in surprisals(self.model, sentences, self.widths)
        ]

    def prepare_text(self, text: Texts, bos_token: bool = True, eos_token: bool = False) -> Prepared:
        """Read texts for `compute_stats`."""
        return self._prepared(_listed(text), None, bos_token, eos_token)

    def prime_text(
        self,
        preamble: Texts,
        stimuli: Texts,
        separator: Texts = " ",
        bos_token: bool = True,
        eos_token: bool = False,
    ) -> Prepared:
        """Read texts for `compute_stats`, which then scores only what follows the preamble."""
        preambles, continuations = _listed(preamble), _listed(stimuli)
        separators = [separator] * len(preambles) if isinstance(separator, str) else list(separator)
        require(
            len(preambles) == len(continuations) == len(separators),
            f"{len(preambles)} preambles, {len(separators)} separators and {len(continuations)} continuations; "
            "give as many of each",
        )
        begun = [before + between for before, between in zip(preambles, separators, strict=True)]
        texts = [before + after for before, after in zip(begun, continuations, strict=True)]
        return self._prepared(texts, begun, bos_token, eos_token)

    def _prepared(self, texts: list[str], begun: list[str] | None, bos_token: bool, eos_token: bool) -> Prepared:
        require(bos_token, "the first token is always given the beginning of the sentence; leave bos_token out")
        found = self.read(texts)
        offsets = [0] * len(found)
        for number, beginning in enumerate(begun or []):
            read = found[number]
            words = words_before(read.words, beginning)
            require(words < len(read.words), f"continuation {number + 1} has no words; leave it out")
            offsets[number] = int(read.starts[words])
        return ReadTexts(found, eos_token), offsets

    def compute_stats(
        self,
        batch: Prepared,
        rank: bool = False,
        prob: bool = False,
        base_two: bool = False,
        return_tensors: bool = False,
        bow_correction: bool = False,
    ) -> list[Any]:
        """The scores of each text's tokens: log-probabilities, or probabilities."""
        require(not rank, "ranks of tokens are not known, because probabilities are sums over trees; leave rank out")
        require(not (prob and base_two), "a probability has no base; leave out base_two")
        (texts, eos_token), offsets = batch
        scores = []
        for read, offset in zip(texts, offsets, strict=True):
            log_p, log_end = read.corrected if bow_correction else (read.log_p, read.log_end)
            values = torch.tensor([*log_p[offset:], *[log_end] * eos_token], dtype=torch.float64)
            scores.append(values.exp() if prob else values / math.log(2) if base_two else values)
        return scores if return_tensors else [values.tolist() for values in scores]

    def sequence_score(
        self,
        batch: Texts,
        reduction: Callable[[torch.Tensor], Any] = mean_of_tokens,
        base_two: bool = False,
        bow_correction: bool = False,
        **of_text: bool,
    ) -> list[Any]:
        """`reduction` of the scores of each text's tokens."""
        prepared = self.prepare_text(batch, **of_text)
        scores = self.compute_stats(prepared, base_two=base_two, bow_correction=bow_correction, return_tensors=True)
        return [reduction(values) for values in scores]

    def conditional_score(
        self,
        prefix: Texts,
        stimuli: Texts,
        separator: Texts = " ",
        reduction: Callable[[torch.Tensor], Any] = mean_of_tokens,
        prob: bool = False,
        base_two: bool = False,
        bow_correction: bool = False,
        **of_text: bool,
    ) -> list[Any]:
        """`reduction` of the scores of the tokens that follow each prefix."""
        prepared = self.prime_text(prefix, stimuli, separator, **of_text)
        scores = self.compute_stats(prepared, False, prob, base_two, True, bow_correction)
        return [reduction(values) for values in scores]

    def token_score(
        self,
        batch: Texts,
        surprisal: bool = False,
        prob: bool = False,
        base_two: bool = False,
        rank: bool = False,
        decode: bool = False,
        bow_correction: bool = False,
        **of_text: bool,
    ) -> list[list[tuple[str, float]]]:
        """The tokens of each text with their scores; `decode` removes the mark at the beginning of a word."""
        require(not (surprisal and prob), "a number is a surprisal or a probability; ask for one of them")
        encoded, offsets = self.prepare_text(batch, **of_text)
        scores = self.compute_stats((encoded, offsets), rank, prob, base_two, bow_correction=bow_correction)
        rows = []
        for read, values in zip(encoded.texts, scores, strict=True):
            tokens = [*(token.removeprefix(MARK) if decode else token for token in read.tokens)]
            tokens += [END_OF_SENTENCE] * encoded.eos_token
            signed = [-value for value in values] if surprisal else values
            rows.append(list(zip(tokens, signed, strict=True)))
        return rows

    def word_score(
        self,
        batch: Texts,
        surprisal: bool = False,
        prob: bool = False,
        base_two: bool = False,
        rank: bool = False,
        bow_correction: bool = False,
    ) -> list[list[tuple[str, float]]]:
        """The words of each text with their scores."""
        require(not (surprisal and prob), "a number is a surprisal or a probability; ask for one of them")
        require(not (prob and base_two), "a probability has no base; leave out base_two")
        encoded, offsets = self.prepare_text(batch)
        scores = self.compute_stats((encoded, offsets), rank, False, base_two, bow_correction=bow_correction)
        rows = []
        for read, values in zip(encoded.texts, scores, strict=True):
            of_words = np.add.reduceat(values, read.starts)
            shown = np.exp(of_words) if prob else -of_words if surprisal else of_words
            rows.append(list(zip(read.words, shown.tolist(), strict=True)))
        return rows


def _listed(texts: Texts) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)
