"""Many trees of one sentence at once: what their transitions share at the beginning is computed once.

The sequences of 300 trees of a sentence begin alike. As a trie, in which two of them part only where their transitions
do, they have about half as many positions; and a position of the trie sees just what it sees in every sequence that
goes through it, because nothing that comes later changes what came before. Two trees of "There is a difference" in
arc-standard, with 13 positions each and 6 in common:

    <ROOT> There is LEFTARC LEFTARC a  difference LEFTARC LEFTARC RIGHTARC RIGHTARC RIGHTARC RIGHTARC
                                    `- RIGHTARC RIGHTARC difference ...              ("a" hangs on "is")

    >>> from dtglib.readings import READINGS
    >>> from dtglib.vocab import Vocabulary
    >>> words = ["There", "is", "a", "difference"]
    >>> trees = [(words, (2, 0, 4, 2)), (words, (2, 0, 2, 2))]
    >>> trie = grow(pad(READINGS["dtg"](Vocabulary.of_words([words]), trees), [0, 1]))
    >>> len(trie.place)                 # 13 + 13 - 6
    20

The positions stand in depth-first order in rows of ROW. A row looks at its own positions and at those of their
ancestors that anyone in it sees, which are gathered from wherever they stand: structure.Shared, which the model meets
like any other structure. So this knows nothing of the model's layers, and works for whatever a model reads: where
nothing is ever popped (TXL), all ancestors are seen.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dtglib.batches import pad
from dtglib.compile import NOTHING, Compiled, Sequences
from dtglib.model import Model, rounded_up
from dtglib.output import Legal
from dtglib.shapes import Float, Int
from dtglib.structure import Shared, distance, sees, vectors_of
from dtglib.vocab import PAD

# Measured on a CPU: more at once is no faster, because it does not stay in the caches.
ROW = 32  # positions of a row: wide enough for matrix products, and few enough to look at little that they do not see
POSITIONS = 1024  # of a trie that is computed at once, and
PREDICTIONS = 256  # of these, how many distributions over the vocabulary are held at once


class Trie(NamedTuple):
    """The N positions that K padded sequences have together, numbered in depth-first order."""

    node: Int[np.ndarray, "K T"]  # the number of each position of each sequence; NOTHING for padding
    sequence: Int[np.ndarray, " N"]  # of each number a sequence that goes through it,
    place: Int[np.ndarray, " N"]  # and where


class TrieBatch(NamedTuple):
    """What the model's body reads, in rows of ROW; see model.Batch."""

    token: Int[Tensor, "B T"]
    arc: Int[Tensor, "B T"]
    structure: Shared
    farthest: int


@torch.no_grad()
def joint_log_probs(model: Model, sequences: Sequences) -> Float[Tensor, " K"]:
    """log p(words, tree) of each of many compiled trees of one sentence."""
    found = torch.zeros(len(sequences), dtype=torch.float64)
    for numbers in groups(sequences, POSITIONS):
        found[torch.from_numpy(numbers)] = _of_one_trie(model, pad(sequences, numbers))
    return found


def groups(sequences: Sequences, positions: int) -> list[np.ndarray]:
    """The sequences in tries of at most so many positions (but for a longer sequence alone), alike ones together."""
    if not len(sequences):
        return []
    order, is_new = _in_order(pad(sequences, range(len(sequences))))
    lengths, fresh = np.diff(sequences.starts)[order], is_new.sum(axis=1)
    cuts, filled = [], 0
    for number in range(len(order)):
        if number and filled + fresh[number] > positions:
            cuts.append(number)
            filled = 0
        # The first one of a trie shares nothing with those before.
        filled += fresh[number] if filled else lengths[number]
    return np.split(order, cuts)


def grow(batch: Compiled) -> Trie:
    """The trie of padded sequences."""
    order, is_new = _in_order(batch)
    numbers = np.where(is_new, np.cumsum(is_new).reshape(is_new.shape) - 1, NOTHING)
    # What is shared with the sequence before has the number that it has there.
    numbers = np.where(_is_padding(batch)[order], NOTHING, np.maximum.accumulate(numbers, axis=0))
    node = np.empty_like(numbers)
    node[order] = numbers
    sequence, place = np.nonzero(is_new)
    return Trie(node, order[sequence], place)


def _in_order(batch: Compiled) -> tuple[np.ndarray, np.ndarray]:
    """An order in which sequences that begin alike stand side by side, and which positions each adds to the last."""
    symbols = np.stack([batch.token, batch.arc], axis=2)  # K T 2
    order = np.lexsort(symbols.reshape(len(symbols), -1).T[::-1])
    alike = (symbols[order[1:]] == symbols[order[:-1]]).all(axis=2)
    is_shared = np.zeros(batch.token.shape, bool)
    is_shared[1:] = np.logical_and.accumulate(alike, axis=1)
    return order, ~is_shared & ~_is_padding(batch)[order]


def _is_padding(batch: Compiled) -> np.ndarray:
    return (batch.token == PAD) & (batch.arc == NOTHING)


def structure_of(trie: Trie, batch: Compiled) -> Shared:
    """Who sees whom, in rows of ROW."""
    rows = -(-len(trie.place) // ROW)
    looks, seen, relpos = _pairs(trie, batch)
    # What fills up the last row sees itself, and nobody sees it.
    filling = np.arange(len(trie.place), rows * ROW)
    looks, seen = np.append(looks, filling), np.append(seen, filling)
    relpos = np.append(relpos, np.zeros_like(filling))
    # Whom a row looks at, in the order of their numbers.
    is_key = np.zeros((rows, rows * ROW), bool)
    is_key[looks // ROW, seen] = True
    row, key = np.nonzero(is_key)
    slot = np.cumsum(is_key, axis=1) - 1
    keys = np.zeros((rows, int(is_key.sum(axis=1).max())), np.int64)
    keys[row, slot[row, key]] = key
    where = looks // ROW, looks % ROW, slot[looks // ROW, seen]
    visible = np.zeros((rows, ROW, keys.shape[1]), bool)
    distances = np.zeros(visible.shape, np.int64)
    visible[where], distances[where] = True, relpos
    return Shared(torch.from_numpy(visible), torch.from_numpy(distances), torch.from_numpy(keys))


def _pairs(trie: Trie, batch: Compiled) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Who sees whom at which relative position, by their numbers: the two lines of structure.py, once a position."""
    v = vectors_of(batch)
    sequence, i = torch.from_numpy(trie.sequence), torch.from_numpy(trie.place)
    j = torch.arange(batch.token.shape[1])

    def at_i(column: Tensor) -> Tensor:
        return column[sequence, i][:, None]

    visible = sees(i[:, None], j, v.last[sequence], v.height[sequence], at_i(v.floor))  # N T
    looks, place = visible.numpy().nonzero()
    relpos = distance(
        i[:, None], j, at_i(v.kind), at_i(v.top), v.height[sequence], v.settled[sequence],
        at_i(v.head_first), at_i(v.head_last),
    )  # fmt: skip
    return looks, trie.node[trie.sequence[looks], place], relpos.numpy()[looks, place]


def _of_one_trie(model: Model, batch: Compiled) -> Float[Tensor, " K"]:
    """The same for padded sequences, all at once."""
    trie, device = grow(batch), model.embedding.weight.device
    at = trie.sequence, trie.place

    def there(values: np.ndarray) -> Tensor:
        return torch.from_numpy(values).to(device)

    structure = Shared(*(tensor.to(device) for tensor in structure_of(trie, batch)))
    token, arc = (
        there(_in_rows(column[at], filling)) for column, filling in ((batch.token, PAD), (batch.arc, NOTHING))
    )
    x = model(TrieBatch(token, arc, structure, rounded_up(int(batch.top.max())))).flatten(0, 1)
    # Several sequences ask the same position, for the same or for different targets.
    (predicting,) = np.nonzero(batch.target[at] != NOTHING)
    sequence, place = np.nonzero(batch.target != NOTHING)
    asked = np.searchsorted(predicting, trie.node[sequence, place])
    target = batch.target[sequence, place].astype(np.int64)
    total = torch.zeros(len(batch.token), dtype=torch.float64, device=device)
    for first in range(0, len(predicting), PREDICTIONS):
        some = predicting[first : first + PREDICTIONS]
        here = trie.sequence[some], trie.place[some]
        legal = Legal(*(there(column[here]) for column in (batch.may, batch.left, batch.right)))
        log_probs = model.output(x[there(some)], model.embedding.weight, legal)
        mine = np.flatnonzero((asked >= first) & (asked < first + len(some)))
        found = log_probs[there(asked[mine] - first), there(target[mine])]
        total.index_add_(0, there(sequence[mine]), found.double())
    return total.cpu()


def _in_rows(values: np.ndarray, filling: int) -> np.ndarray:
    """A number a position, in rows of ROW."""
    missing = -len(values) % ROW
    return np.append(values, np.full(missing, filling, values.dtype)).reshape(-1, ROW)
