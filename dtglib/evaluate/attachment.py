"""Unlabelled attachment: how many words have the head that the treebank gives them.

    >>> sentence = Sentence(("There", "is", "a", "difference", "."), (2, 0, 4, 2, 2))
    >>> attached([sentence], [(2, 0, 4, 2, 4)]).uas
    0.8
    >>> attached([sentence], [(2, 0, 4, 2, 4)], counts=is_no_punctuation).uas
    1.0

Papers leave punctuation out, as its heads are a matter of convention; UD's own evaluation counts it. Both are given
here. What is punctuation is asked of Unicode, as supar does. A doubt: of the Penn Treebank's tokens, `-LRB-` and two
backquotes then count as words. A gold tree need not be projective, nor need it have a single root.
"""

import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dtglib.errors import UserError, require
from dtglib.evaluate.bootstrap import ratio_interval
from dtglib.treebank import Sentence

Heads = Sequence[int] | np.ndarray


def every_word(word: str) -> bool:
    """With punctuation."""
    return True


def is_no_punctuation(word: str) -> bool:
    """Without punctuation: a word of nothing but signs that Unicode calls so."""
    return not all(unicodedata.category(sign).startswith("P") for sign in word)


class Attached(NamedTuple):
    """Of each sentence, the words with the right head, and all of its words."""

    right: np.ndarray
    words: np.ndarray

    @property
    def uas(self) -> float:
        """The share of all words together."""
        require(self.words.sum(), "no word is left whose head could be counted")
        return float(self.right.sum() / self.words.sum())

    def interval(self, random: np.random.Generator) -> tuple[float, float]:
        """Where it lies for 95 of 100 other sets of such sentences."""
        return ratio_interval(self.right, self.words, random)


def attached(
    sentences: Sequence[Sentence], trees: Sequence[Heads], counts: Callable[[str], bool] = every_word
) -> Attached:
    """Trees against those of the treebank, by the words that `counts` lets through."""
    right, words = [], []
    for sentence, heads in zip(sentences, trees, strict=True):
        if sentence.heads is None:
            raise UserError(f"sentence {sentence.id!r} has no tree in the treebank to compare with")
        counted = [counts(word) for word in sentence.words]
        pairs = zip(sentence.heads, heads, counted, strict=True)
        right.append(sum(gold == head for gold, head, is_counted in pairs if is_counted))
        words.append(sum(counted))
    return Attached(np.array(right), np.array(words))
