"""Log-probabilities of many trees at once, of one sentence or of several: beginnings that they share are computed once.

The sequences of 300 trees of a sentence begin alike. In a trie, where two sequences part at the first transition that
differs, they have about half as many positions. A position of the trie sees exactly what it sees in every sequence that
goes through it, because later positions change nothing before them. Two trees of "There is a difference" in
arc-standard, with 13 positions each and 6 in common:

    <ROOT> There is LEFTARC LEFTARC a  difference LEFTARC LEFTARC RIGHTARC RIGHTARC RIGHTARC RIGHTARC
                                    `- RIGHTARC RIGHTARC difference ...              ("a" hangs on "is")

    >>> from dtglib.sequences.readings import on_a_stack
    >>> from dtglib.data.vocabulary import Vocabulary
    >>> words = ["There", "is", "a", "difference"]
    >>> trees = [(words, (2, 0, 4, 2)), (words, (2, 0, 2, 2))]
    >>> trie = grow(pad(on_a_stack("arc-standard").compile(Vocabulary.of_words([words]), trees), [0, 1]))
    >>> len(trie.place)                 # 13 + 13 - 6
    20

The positions are in depth-first order, in rows of ROW positions. A row looks at its own positions and at those
ancestors that any of them sees; their keys and values are gathered (`Shared` in sequences/structure.py). To the model
this is a structure like any other, so nothing here depends on its layers or on its input: where nothing is ever popped
(TXL), all ancestors are seen. To share more of them (Hydragen, Juravsky et al. 2024) would gain next to nothing: of 300
trees of a sentence of ten words a row has some 50 keys, so attention is 1 % of the arithmetic at the paper's width.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.jit import njit
from dtglib.basics.shapes import Float, Int
from dtglib.data.vocabulary import PAD
from dtglib.decode.freed_memory import keep_freed_memory
from dtglib.network.output import Legal
from dtglib.network.transformer import BodyInputs, Transformer, farthest_in
from dtglib.sequences.batches import pad
from dtglib.sequences.columns import NOTHING, Compiled, Sequences
from dtglib.sequences.structure import Shared
from dtglib.sequences.visibility import distance, sees

ROW = 32  # positions of a row: enough for matrix products, and few enough that most keys are seen by most of them
# The largest number of positions of a trie that are computed at once, and of those whose distributions over the
# vocabulary are held in memory. The CPU's numbers were measured: larger ones are no faster, because the activations do
# not stay in the caches. The GPU's were not tuned: with 32,768 pieces they need a few gigabytes, and no sentence of
# nine words reaches them.
POSITIONS = {"cpu": 1024, "cuda": 2**15}
PREDICTIONS = {"cpu": 256, "cuda": 2**12}


class Trie(NamedTuple):
    """The N different positions of K padded sequences, numbered in depth-first order."""

    node: Int[np.ndarray, "K T"]  # the number of each position of each sequence; NOTHING for padding
    sequence: Int[np.ndarray, " N"]  # for each number, a sequence that goes through it,
    place: Int[np.ndarray, " N"]  # and its place in that sequence


# From padded sequences to their `bias`, (K, C, T, T), of position i for position j. C is 1, or the number of heads, or
# whatever the model's blocks compute a bias from (`Block.bias`); the numbers may be integers. The bias must not depend
# on anything after i, because sequences that begin alike share their positions.
BiasOf = Callable[[Compiled], np.ndarray | None]


class Planned(NamedTuple):
    """A trie and its structure: what can be prepared before the model is needed."""

    numbers: Int[np.ndarray, " K"]  # the numbers of its sequences
    batch: Compiled  # their columns, padded
    trie: Trie
    structure: Shared
    bias: Tensor | None  # B C T S


def planned(sequences: Sequences, device: torch.device, bias_of: BiasOf | None = None) -> list[Planned]:
    """Arrange the sequences in tries that a device of this kind can compute."""
    tries = []
    for numbers in groups(sequences, POSITIONS[device.type]):
        batch = pad(sequences, numbers)
        trie = grow(batch)
        tries.append(Planned(numbers, batch, trie, *laid_out(trie, batch, bias_of)))
    return tries


@torch.no_grad()
def computed(model: Transformer, tries: Sequence[Planned]) -> Float[Tensor, " K"]:
    """log p(words, tree) of each sequence of some tries."""
    keep_freed_memory()
    log_probs = torch.zeros(sum(len(trie.numbers) for trie in tries), dtype=torch.float64)
    for trie in tries:
        log_probs[torch.from_numpy(trie.numbers)] = _log_probs(model, trie)
    return log_probs


def groups(sequences: Sequences, positions: int) -> list[np.ndarray]:
    """Group sequences that begin alike, so that a group's trie has at most this many positions (or one sequence)."""
    if not len(sequences):
        return []
    order, is_new = _in_order(pad(sequences, range(len(sequences))))
    lengths, fresh = sequences.lengths[order], is_new.sum(axis=1)
    cuts, filled = [], 0
    for number in range(len(order)):
        if number and filled + fresh[number] > positions:
            cuts.append(number)
            filled = 0
        # The first sequence of a trie shares nothing with those before.
        filled += fresh[number] if filled else lengths[number]
    return np.split(order, cuts)


def grow(batch: Compiled) -> Trie:
    """The trie of padded sequences."""
    order, is_new = _in_order(batch)
    numbers = np.where(is_new, np.cumsum(is_new).reshape(is_new.shape) - 1, NOTHING)
    # A position that is shared with the sequence before has the same number as there.
    numbers = np.where(_is_padding(batch)[order], NOTHING, np.maximum.accumulate(numbers, axis=0))
    node = np.empty_like(numbers)
    node[order] = numbers
    sequence, place = np.nonzero(is_new)
    return Trie(node, order[sequence], place)


def _in_order(batch: Compiled) -> tuple[np.ndarray, np.ndarray]:
    """An order in which sequences that begin alike are neighbours, and the positions that each adds."""
    symbols = np.stack([batch.token, batch.arc], axis=2)  # K T 2
    order = np.lexsort(symbols.reshape(len(symbols), -1).T[::-1])
    alike = (symbols[order[1:]] == symbols[order[:-1]]).all(axis=2)
    is_shared = np.zeros(batch.token.shape, bool)
    is_shared[1:] = np.logical_and.accumulate(alike, axis=1)
    return order, ~is_shared & ~_is_padding(batch)[order]


def _is_padding(batch: Compiled) -> np.ndarray:
    return (batch.token == PAD) & (batch.arc == NOTHING)


def laid_out(trie: Trie, batch: Compiled, bias_of: BiasOf | None = None) -> tuple[Shared, Tensor | None]:
    """The structure of a trie in rows of ROW, and the bias of each pair of positions in it."""
    rows = -(-len(trie.place) // ROW)
    looks, j, relpos = _pairs(trie, batch)
    s, i = trie.sequence[looks], trie.place[looks]
    seen, pairs = trie.node[s, j], len(looks)
    # The positions that fill up the last row see themselves, and no other position sees them.
    filling = np.arange(len(trie.place), rows * ROW)
    looks, seen = np.append(looks, filling), np.append(seen, filling)
    relpos = np.append(relpos, np.zeros_like(filling))
    slot, keys = _looked_at(looks // ROW, seen, rows, rows * ROW)
    visible = np.zeros((rows, ROW, keys.shape[1]), bool)
    distances = np.zeros(visible.shape, np.int32)
    where = looks // ROW, looks % ROW, slot
    visible[where], distances[where] = True, relpos
    structure = Shared(torch.from_numpy(visible), torch.from_numpy(distances), torch.from_numpy(keys))
    of_pairs = None if bias_of is None else bias_of(batch)
    if of_pairs is None:
        return structure, None
    bias = np.zeros((rows, of_pairs.shape[1], *visible.shape[1:]), of_pairs.dtype)
    row, at, slot = (index[:pairs] for index in where)
    bias[row, :, at, slot] = of_pairs[s, :, i, j]
    return structure, torch.from_numpy(bias)


def _looked_at(row: np.ndarray, key: np.ndarray, rows: int, positions: int) -> tuple[np.ndarray, np.ndarray]:
    """For each pair of a row and a key the key's place in that row, and the keys that each row looks at."""
    slot, counts = np.empty(len(row), np.int64), np.zeros(rows, np.int64)
    _give_slots(row, key, np.full(positions, NOTHING), np.empty(positions, np.int64), slot, counts)
    keys = np.zeros((rows, counts.max()), np.int64)
    keys[row, slot] = key
    return slot, keys


@njit(nogil=True)
def _give_slots(row, key, given_in, given, slot, counts):
    """Give each key the next place of its row at its first occurrence there; the pairs of a row are neighbours."""
    for pair in range(len(row)):
        r, k = row[pair], key[pair]
        if given_in[k] != r:
            given_in[k], given[k] = r, counts[r]
            counts[r] += 1
        slot[pair] = given[k]


def _pairs(trie: Trie, batch: Compiled) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of a position and a place of its sequence that it sees, and their relative positions (visibility.py)."""
    s, i, j = trie.sequence, trie.place, np.arange(batch.token.shape[1])
    visible = sees(i[:, None], j, batch.last[s], batch.height[s], batch.floor[s, i][:, None])  # N T
    looks, j = visible.nonzero()
    s, i = s[looks], i[looks]
    relpos = distance(
        i, j, batch.kind[s, i], batch.top[s, i], batch.level[s, j], batch.settled[s, j],
        batch.head_first[s, i], batch.head_last[s, i],
    )  # fmt: skip
    return looks, j, relpos


def _log_probs(model: Transformer, planned: Planned) -> Float[Tensor, " K"]:
    """log p(words, tree) of each sequence of a trie."""
    _, batch, trie, structure, bias = planned
    device = model.embedding.weight.device
    at_once = PREDICTIONS[device.type]
    at = trie.sequence, trie.place

    def there(values: np.ndarray) -> Tensor:
        return torch.from_numpy(values).to(device)

    structure = Shared(*(tensor.to(device) for tensor in structure))
    token, arc = (
        there(_in_rows(column[at], filling)) for column, filling in ((batch.token, PAD), (batch.arc, NOTHING))
    )
    bias = None if bias is None else bias.to(device)
    x = model(BodyInputs(token, arc, structure, farthest_in(batch), bias)).flatten(0, 1)
    # Several sequences may need the same position, for the same or for different targets.
    (predicting,) = np.nonzero(batch.target[at] != NOTHING)
    sequence, place = np.nonzero(batch.target != NOTHING)
    needed = np.searchsorted(predicting, trie.node[sequence, place])
    target = batch.target[sequence, place].astype(np.int64)
    log_probs, of_sequence = [], []
    for first in range(0, len(predicting), at_once):
        part = predicting[first : first + at_once]
        here = trie.sequence[part], trie.place[part]
        legal = Legal(*(there(column[here]) for column in (batch.may, batch.left, batch.right)))
        distributions = model.output(x[there(part)], model.embedding.weight, legal)
        of_part = np.flatnonzero((needed >= first) & (needed < first + len(part)))
        log_probs.append(distributions[there(needed[of_part] - first), there(target[of_part])])
        of_sequence.append(sequence[of_part])
    # Added up on the CPU, in this order, which a GPU would not keep.
    terms = torch.cat(log_probs).double().cpu().numpy()
    return torch.from_numpy(np.bincount(np.concatenate(of_sequence), terms, len(batch.token)))


def _in_rows(values: np.ndarray, filling: int) -> np.ndarray:
    """The numbers in rows of ROW, the last of which is filled up."""
    missing = -len(values) % ROW
    return np.append(values, np.full(missing, filling, values.dtype)).reshape(-1, ROW)
