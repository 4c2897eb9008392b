"""The symbols that write a tree between the words: a vocabulary reserves its first entries for them.

>>> arcs(2).entries
('<pad>', '<ROOT>', '<END>', '<unknown>', 'LEFTARC', 'RIGHTARC', 'POP', 'LEFTARC[2]', 'RIGHTARC[2]')

With labels, an arc has an entry for each label, side by side. So the id of an arc with a label is that of the arc with
the first label, plus the number of the label:

>>> arcs(1, ("det", "nsubj")).entries[4:]
('LEFTARC:det', 'LEFTARC:nsubj', 'RIGHTARC:det', 'RIGHTARC:nsubj', 'POP')
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from dtglib.basics.errors import require

MOST_PAIRS = 31  # of left and right symbols; the legal ones are bits of an integer


class Symbols(NamedTuple):
    """The symbols that write a tree: left and right ones, such as arcs and brackets, and those that are neither."""

    name: str  # it distinguishes vocabularies
    left: tuple[str, ...]
    right: tuple[str, ...]
    others: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()  # of left and right symbols

    @property
    def entries(self) -> tuple[str, ...]:
        """All reserved entries, whose ids are 0, 1, 2, ..."""
        # The first pair comes before the others, as it did when there were no more pairs than this one.
        pairs = list(itertools.chain.from_iterable(itertools.zip_longest(self.left, self.right)))
        labelled = [self.labelled(symbol) if symbol else () for symbol in pairs]
        in_order = itertools.chain(*labelled[:2], self.others, *labelled[2:])
        return ("<pad>", "<ROOT>", "<END>", "<unknown>", *in_order)

    def labelled(self, symbol: str) -> tuple[str, ...]:
        """The entries of a left or right symbol: one for each label, or only itself where there are no labels."""
        return tuple(f"{symbol}:{label}" for label in self.labels) or (symbol,)


def arcs(reach: int, labels: Sequence[str] = ()) -> Symbols:
    """The symbols of the transition systems; with the same labels an entry has the same id, whatever the reach."""
    require(1 <= reach <= MOST_PAIRS, f"the reach of arcs must be from 1 to {MOST_PAIRS}, not {reach}")
    left, right = ([arc, *(f"{arc}[{k}]" for k in range(2, reach + 1))] for arc in ("LEFTARC", "RIGHTARC"))
    return Symbols("\t".join([str(reach), *labels]), tuple(left), tuple(right), ("POP",), tuple(labels))


# The largest k of arc-swift's LEFTARC[k] and RIGHTARC[k], which reach k words deep, is as large as it may be. The
# deepest arc in the 85,012 projective trees of the UD treebanks in the project's data (English and German) has k = 15.
ARCS = arcs(MOST_PAIRS)
