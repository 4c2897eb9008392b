"""The symbols that write a tree between the words: a vocabulary reserves its first entries for them.

>>> arcs(2).entries
('<pad>', '<ROOT>', '<END>', '<unknown>', 'LEFTARC', 'RIGHTARC', 'POP', 'LEFTARC[2]', 'RIGHTARC[2]')
"""

import itertools
from typing import NamedTuple

MOST_PAIRS = 31  # of left and right symbols: which of them are legal is told by as many bits of an integer


class Symbols(NamedTuple):
    """The symbols that write a tree: left and right ones, such as arcs and brackets, and those that are neither."""

    name: str  # by which vocabularies are told apart
    left: tuple[str, ...]
    right: tuple[str, ...]
    others: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[str, ...]:
        """All reserved entries, whose ids are 0, 1, 2, ..."""
        # The first pair comes before the others, as it did when there were no more pairs than this one.
        pairs = list(itertools.chain.from_iterable(itertools.zip_longest(self.left, self.right)))
        in_order = [*pairs[:2], *self.others, *pairs[2:]]
        return ("<pad>", "<ROOT>", "<END>", "<unknown>", *filter(None, in_order))


# The largest k of arc-swift's LEFTARC[k] and RIGHTARC[k], which reach k deep into the stack. The deepest arc in the
# 85,012 projective trees of the UD treebanks in the project's data (English and German) has k = 15; twice that is safe.
REACH = 31


def arcs(reach: int) -> Symbols:
    """The symbols of the transition systems; an entry has the same id, whatever the reach."""
    left, right = ([arc, *(f"{arc}[{k}]" for k in range(2, reach + 1))] for arc in ("LEFTARC", "RIGHTARC"))
    return Symbols(str(reach), tuple(left), tuple(right), ("POP",))


ARCS = arcs(REACH)
