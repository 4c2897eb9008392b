"""Attachment scores: the share of words with the head of the treebank, and with the same head and label.

    >>> labels = ("expl", "root", "det", "nsubj", "punct")
    >>> sentence = Sentence(("There", "is", "a", "difference", "."), (2, 0, 4, 2, 2), labels)
    >>> attached([sentence], [(2, 0, 4, 2, 4)]).uas
    0.8
    >>> attached([sentence], [(2, 0, 4, 2, 4)], counts=is_word).uas
    1.0
    >>> attached([sentence], [(2, 0, 4, 2, 4)], labels=[("nsubj", "root", "det", "nsubj", "punct")]).las
    0.6

Papers leave punctuation out, as its heads are a matter of convention; UD's own evaluation counts it. Both are possible
here. Punctuation is defined by Unicode, as in supar. A doubt: the Penn Treebank's tokens `-LRB-` and two backquotes
then count as words. A gold tree need not be projective, nor need it have a single root. Labels are compared with their
subtypes, which UD's own evaluation leaves out.
"""

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dtglib.basics.errors import UserError, require
from dtglib.data.treebank import Sentence
from dtglib.evaluate.bootstrap import ratio_interval

# The head of each word of a sentence, 0 for ROOT.
HeadsOfWords = Sequence[int] | np.ndarray


def every_word(word: str) -> bool:
    """Count every word, including punctuation."""
    return True


def is_word(word: str) -> bool:
    """True if a word has a character that is not punctuation in Unicode."""
    return not all(unicodedata.category(sign).startswith("P") for sign in word)


class Attached(NamedTuple):
    """For each sentence, the number of words with the right head, and the number of all its words."""

    right: np.ndarray
    words: np.ndarray
    labelled: np.ndarray | None = None  # if labels were compared: the number of words with the right head and label

    @property
    def uas(self) -> float:
        """The unlabelled attachment score: the share of words with the right head, over all sentences together."""
        return self._share(self.right)

    @property
    def las(self) -> float:
        """The labelled attachment score: the share of words with the right head and the right label."""
        if self.labelled is None:
            raise UserError("without labels there is no labelled attachment score")
        return self._share(self.labelled)

    def _share(self, right: np.ndarray) -> float:
        require(self.words.sum(), "no word is left whose head could be counted")
        return float(right.sum() / self.words.sum())

    def interval(self, random: np.random.Generator) -> tuple[float, float]:
        """The 95 % bootstrap interval of the unlabelled score."""
        return ratio_interval(self.right, self.words, random)


def attached(
    sentences: Sequence[Sentence],
    trees: Sequence[HeadsOfWords],
    counts: Callable[[str], bool] = every_word,
    labels: Sequence[Sequence[str]] | None = None,
) -> Attached:
    """Compare trees, and labels if given, with those of the treebank, on the words for which `counts` is true."""
    rows = []
    for sentence, heads, own_labels in zip(sentences, trees, labels or [()] * len(trees), strict=True):
        if sentence.heads is None:
            raise UserError(f"sentence {sentence.id!r} has no tree in the treebank to compare with")
        words = len(sentence.words)
        require(len(heads) == words, f"sentence {sentence.id!r} has {words} words, and its tree {len(heads)} heads")
        counted = np.array([counts(word) for word in sentence.words], bool)
        right = _equal(sentence.heads, heads) & counted
        both = right
        if labels is not None:
            if sentence.labels is None:
                raise UserError(f"sentence {sentence.id!r} has no labels in the treebank to compare with")
            both = right & _equal(sentence.labels, own_labels)
        rows.append((right.sum(), counted.sum(), both.sum()))
    right, words, both = np.array(rows, int).reshape(-1, 3).T
    return Attached(right, words, None if labels is None else both)


def _equal(gold: Sequence[Any], values: Sequence[Any] | np.ndarray) -> np.ndarray:
    """For each word, whether its value is that of the treebank."""
    return np.array([expected == value for expected, value in zip(gold, values, strict=True)], bool)
