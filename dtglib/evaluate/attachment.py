"""Unlabelled attachment: the share of words that have the head that the treebank gives them.

    >>> sentence = Sentence(("There", "is", "a", "difference", "."), (2, 0, 4, 2, 2))
    >>> attached([sentence], [(2, 0, 4, 2, 4)]).uas
    0.8
    >>> attached([sentence], [(2, 0, 4, 2, 4)], counts=is_no_punctuation).uas
    1.0

Papers leave punctuation out, as its heads are a matter of convention; UD's own evaluation counts it. Both are possible
here. Unicode decides what is punctuation, as in supar. A doubt: the Penn Treebank's tokens `-LRB-` and two backquotes
then count as words. A gold tree need not be projective, nor need it have a single root.
"""

import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dtglib.basics.errors import UserError, require
from dtglib.data.treebank import Sentence
from dtglib.evaluate.bootstrap import ratio_interval

# The head of each word of a sentence, 0 for ROOT.
HeadsOfWords = Sequence[int] | np.ndarray


def every_word(word: str) -> bool:
    """Count every word, including punctuation."""
    return True


def is_no_punctuation(word: str) -> bool:
    """Whether a word has a character that Unicode does not class as punctuation."""
    return not all(unicodedata.category(sign).startswith("P") for sign in word)


class Attached(NamedTuple):
    """For each sentence, the number of words with the right head, and the number of all its words."""

    right: np.ndarray
    words: np.ndarray

    @property
    def uas(self) -> float:
        """The unlabelled attachment score: the share of words with the right head, over all sentences together."""
        require(self.words.sum(), "no word is left whose head could be counted")
        return float(self.right.sum() / self.words.sum())

    def interval(self, random: np.random.Generator) -> tuple[float, float]:
        """The 95 % bootstrap interval of the score."""
        return ratio_interval(self.right, self.words, random)


def attached(
    sentences: Sequence[Sentence], trees: Sequence[HeadsOfWords], counts: Callable[[str], bool] = every_word
) -> Attached:
    """Compare trees with those of the treebank, on the words for which `counts` is true."""
    right, words = [], []
    for sentence, heads in zip(sentences, trees, strict=True):
        if sentence.heads is None:
            raise UserError(f"sentence {sentence.id!r} has no tree in the treebank to compare with")
        counted = [counts(word) for word in sentence.words]
        pairs = zip(sentence.heads, heads, counted, strict=True)
        right.append(sum(gold == head for gold, head, is_counted in pairs if is_counted))
        words.append(sum(counted))
    return Attached(np.array(right), np.array(words))
