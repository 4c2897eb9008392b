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

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dtglib.batches import pad
from dtglib.compile import NOTHING, Compiled, Sequences
from dtglib.jit import njit
from dtglib.model import Model, farthest_in
from dtglib.output import Legal
from dtglib.shapes import Float, Int
from dtglib.structure import Shared
from dtglib.visibility import distance, sees
from dtglib.vocab import PAD

ROW = 32  # positions of a row: wide enough for matrix products, and few enough to look at little that they do not see
# How many positions of a trie are computed at once, and of how many of these the distributions over the vocabulary are
# held at once. Measured on a CPU, where more is no faster, because it does not stay in the caches. For a GPU, on which
# nothing was measured, it is what keeps it busy with 32,768 pieces and takes a few gigabytes.
POSITIONS = {"cpu": 1024, "cuda": 2**15}
PREDICTIONS = {"cpu": 256, "cuda": 2**12}


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


class Planned(NamedTuple):
    """All of a trie that needs no model, so that it can be found out ahead of time."""

    numbers: Int[np.ndarray, " K"]  # of the sequences that are in it,
    batch: Compiled  # which are padded here
    trie: Trie
    structure: Shared


def joint_log_probs(model: Model, sequences: Sequences) -> Float[Tensor, " K"]:
    """log p(words, tree) of each of many compiled trees of one sentence."""
    return computed(model, planned(sequences, model.embedding.weight.device))


def planned(sequences: Sequences, device: torch.device) -> list[Planned]:
    """The tries that such a device can compute."""
    tries = []
    for numbers in groups(sequences, POSITIONS[device.type]):
        batch = pad(sequences, numbers)
        trie = grow(batch)
        tries.append(Planned(numbers, batch, trie, structure_of(trie, batch)))
    return tries


@torch.no_grad()
def computed(model: Model, tries: Sequence[Planned]) -> Float[Tensor, " K"]:
    """log p(words, tree) of each sequence of some tries."""
    _expect_large_tensors()
    found = torch.zeros(sum(len(one.numbers) for one in tries), dtype=torch.float64)
    for one in tries:
        found[torch.from_numpy(one.numbers)] = _of_one_trie(model, one)
    return found


@cache
def _expect_large_tensors() -> None:
    """Let one come and go, so that what a trie frees is kept for the next one.

    Of what is freed glibc keeps as much as twice the largest piece that it has seen freed (up to 32 MB), and gives the
    rest back to the system, from which the next trie has to get it again, page by page.
    """
    torch.empty(31 * 2**20, dtype=torch.uint8)


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
    slot, keys = _looked_at(looks // ROW, seen, rows, rows * ROW)
    visible = np.zeros((rows, ROW, keys.shape[1]), bool)
    distances = np.zeros(visible.shape, np.int32)
    where = looks // ROW, looks % ROW, slot
    visible[where], distances[where] = True, relpos
    return Shared(torch.from_numpy(visible), torch.from_numpy(distances), torch.from_numpy(keys))


def _looked_at(row: np.ndarray, key: np.ndarray, rows: int, positions: int) -> tuple[np.ndarray, np.ndarray]:
    """The keys that each row looks at, side by side; and of each pair of a row and a key, where the key is there."""
    slot, counts = np.empty(len(row), np.int64), np.zeros(rows, np.int64)
    _give_slots(row, key, np.full(positions, NOTHING), np.empty(positions, np.int64), slot, counts)
    keys = np.zeros((rows, counts.max()), np.int64)
    keys[row, slot] = key
    return slot, keys


@njit(nogil=True)
def _give_slots(row, key, given_in, given, slot, counts):
    """Each key gets the next place of its row when it first comes up there; the pairs of a row stand together."""
    for pair in range(len(row)):
        r, k = row[pair], key[pair]
        if given_in[k] != r:
            given_in[k], given[k] = r, counts[r]
            counts[r] += 1
        slot[pair] = given[k]


def _pairs(trie: Trie, batch: Compiled) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Who sees whom at which relative position, by their numbers: the two lines of visibility.py, once a position."""
    s, i, j = trie.sequence, trie.place, np.arange(batch.token.shape[1])
    visible = sees(i[:, None], j, batch.last[s], batch.height[s], batch.floor[s, i][:, None])  # N T
    looks, j = visible.nonzero()
    s, i = s[looks], i[looks]
    relpos = distance(
        i, j, batch.kind[s, i], batch.top[s, i], batch.height[s, j], batch.settled[s, j],
        batch.head_first[s, i], batch.head_last[s, i],
    )  # fmt: skip
    return looks, trie.node[s, j], relpos


def _of_one_trie(model: Model, planned: Planned) -> Float[Tensor, " K"]:
    """log p(words, tree) of each of its sequences."""
    _, batch, trie, structure = planned
    device = model.embedding.weight.device
    at_once = PREDICTIONS[device.type]
    at = trie.sequence, trie.place

    def there(values: np.ndarray) -> Tensor:
        return torch.from_numpy(values).to(device)

    structure = Shared(*(tensor.to(device) for tensor in structure))
    token, arc = (
        there(_in_rows(column[at], filling)) for column, filling in ((batch.token, PAD), (batch.arc, NOTHING))
    )
    x = model(TrieBatch(token, arc, structure, farthest_in(batch))).flatten(0, 1)
    # Several sequences ask the same position, for the same or for different targets.
    (predicting,) = np.nonzero(batch.target[at] != NOTHING)
    sequence, place = np.nonzero(batch.target != NOTHING)
    asked = np.searchsorted(predicting, trie.node[sequence, place])
    target = batch.target[sequence, place].astype(np.int64)
    total = torch.zeros(len(batch.token), dtype=torch.float64, device=device)
    for first in range(0, len(predicting), at_once):
        some = predicting[first : first + at_once]
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
