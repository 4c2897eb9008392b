"""A translation with its tree, and the settings of the search that finds it."""

import math
from typing import NamedTuple

from dtglib.basics.errors import require


class TranslationBeam(NamedTuple):
    """The settings of a search for translations."""

    width: int = 5
    alpha: float = 0.6  # the exponent of the length; 0: no normalisation
    legal: bool = False  # only symbols that lead to a tree
    most_words: int | None = None  # of a translation; None: twice as many as the source has, and ten more

    def check(self) -> None:
        """Raise a UserError if a number makes no sense."""
        require(self.width >= 1, f"a beam keeps at least one hypothesis, not {self.width}")
        require(0 <= self.alpha < math.inf, f"the exponent of the length must not be below 0, as {self.alpha} is")


class Translation(NamedTuple):
    """A translation with its tree: heads and labels are empty if the symbols make none, None if no tree is written."""

    words: tuple[str, ...]
    symbols: tuple[str, ...]  # words or pieces, and transitions
    heads: tuple[int, ...] | None
    labels: tuple[str, ...] | None
    log_prob: float  # of all symbols, given the source
