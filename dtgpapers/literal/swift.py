"""arc-swift whose RIGHTARC[k] hides its dependent: "we mask all these k+1 tokens for subsequent positions" (3.4).

The dependent stays on the stack, as Table 1 of the paper has it, counts in distances, and may take dependents; but no
position after the COMPOSE position of its own arc sees it. Once it takes a dependent, the composed word is seen in its
place. The same sentence lets an arc attend to all k+1 words. Where some of these are hidden, both cannot hold, and here
the mask wins: an arc may not even see its head, which it then knows by its embedding alone.

In "There is a difference" the composed `is` (3) depends on ROOT, by the COMPOSE position 5, and is not seen after it:

    >>> from dtglib.data.vocabulary import Vocabulary
    >>> words = ["There", "is", "a", "difference"]
    >>> MASKED.compile(Vocabulary.of_words([words]), [(words, (2, 0, 4, 2))]).sentence(0).last[3:6].tolist()
    [5, 4, 12]
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from dtglib.basics.jit import njit
from dtglib.data.vocabulary import Vocabulary
from dtglib.decode.stack_rows import Cache, Looks
from dtglib.decode.stack_stepper import StackStepper
from dtglib.sequences.columns import COMPOSE, NOTHING, Sequences
from dtglib.sequences.compile import compile_trees
from dtglib.sequences.readings import StackReading, WordsAndTree
from dtglib.transitions import SYSTEMS
from dtglib.transitions.change import BUFFER
from dtglib.transitions.protocol import Kind

SWIFT = SYSTEMS["arc-swift"]


def compile_masked(vocabulary: Vocabulary, sentences: Iterable[WordsAndTree]) -> Sequences:
    """Compile trees as in arc-swift, and end each dependent of a RIGHTARC with this arc, at which it settles."""
    sequences = compile_trees(SWIFT, vocabulary, sentences)
    v, starts = sequences.vectors, np.repeat(sequences.starts[:-1], sequences.lengths)
    at = np.minimum(v.settled, v.end)
    is_hidden = (at > np.arange(len(starts)) - starts) & (v.kind[starts + at] == COMPOSE)
    return Sequences(v._replace(last=np.where(is_hidden, np.minimum(v.last, at), v.last)), sequences.starts)


MASKED = StackReading(SWIFT, True, compile_masked)


class MaskedStepper(StackStepper):
    """A search in which the dependent of a RIGHTARC is not seen after its own arc."""

    def advance(self, states: Any, cache: Cache, symbols: np.ndarray, first: np.ndarray, looks: Looks) -> None:
        """Take the symbol of every row; after a RIGHTARC forget the slots of the word that waited in the buffer."""
        is_filled = np.arange(cache.slot.shape[1]) < cache.filled[:, None]
        waits = np.where(is_filled & (cache.height == BUFFER), cache.slot, NOTHING)
        super().advance(states, cache, symbols, first, looks)
        for row in np.flatnonzero(self.moves.kind[symbols] == Kind.RIGHTARC):
            _forget(waits[row], cache, row, looks, first[row] + 1)


@njit
def _forget(hidden, cache, row, looks, at):
    """Leave some slots out of what a row sees from now on, and out of what one position sees."""
    left = 0
    for place in range(cache.filled[row]):
        if not (hidden == cache.slot[row, place]).any():
            for column in (cache.slot, cache.height, cache.level):
                column[row, left] = column[row, place]
            left += 1
    cache.filled[row] = left
    left = 0
    for place in range(looks.count[at]):
        if not (hidden == looks.seen[at, place]).any():
            looks.seen[at, left], looks.relpos[at, left] = looks.seen[at, place], looks.relpos[at, place]
            left += 1
    looks.count[at] = left
