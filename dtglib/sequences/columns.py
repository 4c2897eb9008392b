"""The columns that models read: a few integers for each position of each sentence (compile.py makes them).

sequences.vectors.token           a column of all sentences, end to end
sequences.sentence(3).token       the same column of one sentence
sequences.lengths                 the number of positions of each
"""

import hashlib
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

STACK, COMPOSE = 0, 1
NOTHING = -1  # no token, no arc, no head, no target


class Compiled(NamedTuple):
    """The columns of one sentence, or of many end to end; every column is an array with an integer per position."""

    token: np.ndarray  # the piece that is read: a word's own, or for an arc the last piece of its head
    arc: np.ndarray  # the transition that is read with it
    kind: np.ndarray  # STACK or COMPOSE
    word: np.ndarray  # the word that the position generates a piece of, from 1
    last: np.ndarray  # the last position from which this one may be seen
    height: np.ndarray  # where its word stands on the stack, in words from ROOT = 0
    level: np.ndarray  # its depth in the tree, for distances; equal to height in dependency systems
    settled: np.ndarray  # the position from which on it stands there
    top: np.ndarray  # height of the topmost word when this position looks
    floor: np.ndarray  # the lowest height that it sees
    head_first: np.ndarray  # COMPOSE: the positions of the head
    head_last: np.ndarray
    target: np.ndarray  # the next symbol; nothing for COMPOSE
    may: np.ndarray  # the classes that may come next: bits of transitions/rows.py; none where nothing is predicted
    left: np.ndarray  # the LEFTARC[k] that may come next, as bits k - 1
    right: np.ndarray
    end: np.ndarray  # the last position of the sentence

    @property
    def length(self) -> int:
        return len(self.token)


@runtime_checkable
class Source(Protocol):
    """Sentences from which batches are made: `Sequences`, or those in files (stored.py)."""

    def __len__(self) -> int: ...
    def chosen(self, numbers: np.ndarray) -> "Sequences": ...


@dataclass(frozen=True)
class Sequences:
    """Many sentences: sentence s has the positions `starts[s]` up to `starts[s + 1]` of the columns."""

    vectors: Compiled
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def sentence(self, number: int) -> Compiled:
        """Return the columns of one sentence; its positions are counted from 0."""
        if not 0 <= number < len(self):
            raise IndexError(f"there is no sentence {number}; there are {len(self)}, counted from 0")
        piece = slice(self.starts[number], self.starts[number + 1])
        return Compiled(*(column[piece] for column in self.vectors))

    @property
    def lengths(self) -> np.ndarray:
        """The number of positions of each sentence."""
        return np.diff(self.starts)

    @property
    def highest(self) -> int:
        """The largest `top` of all positions."""
        return int(self.vectors.top.max(initial=0))

    @property
    def checksum(self) -> str:
        """A checksum of all columns."""
        digest = hashlib.sha256(self.starts.tobytes())
        for column in self.vectors:
            digest.update(column.tobytes())
        return digest.hexdigest()[:12]

    def chosen(self, numbers: np.ndarray) -> "Sequences":
        """Return the sentences with these numbers, in this order."""
        require_within(numbers, len(self))
        if len(numbers) == len(self) and np.array_equal(numbers, np.arange(len(self))):
            return self
        lengths = self.starts[numbers + 1] - self.starts[numbers]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[numbers] - starts[:-1], lengths)
        return Sequences(Compiled(*(column[places] for column in self.vectors)), starts)


def require_within(numbers: np.ndarray, count: int) -> None:
    """Raise an IndexError unless all these are numbers of sentences."""
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < count:
        raise IndexError(f"there are {count} sentences, counted from 0, and so not all of {numbers.tolist()}")
