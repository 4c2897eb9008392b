"""The boundary between a text and what continues it: how many words of the whole text the first part has."""

import itertools
from collections.abc import Sequence

from dtglib.data.tokenize import INVISIBLE


def words_before(words: Sequence[str], beginning: str) -> int:
    """The number of a text's words that end within its beginning.

    A word that is only half in the beginning belongs to what follows: it can have no probability before it is whole.

    >>> words_before(["It", "is", "n't", "."], "It"), words_before(["It", "is", "n't", "."], "It is")
    (1, 2)
    >>> words_before(["cannot", "."], "can")
    0
    """
    letters = len("".join(beginning.translate(INVISIBLE).split()))
    return sum(end <= letters for end in itertools.accumulate(map(len, words)))
