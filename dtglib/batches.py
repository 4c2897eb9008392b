"""Sentences side by side: one a row and padded, or several packed into a row.

Positions are counted within a row, so packing only shifts the entries that are positions. Sentences of one row never
see one another, and nothing need say so: `last` ends with the sentence. A position of padding sees itself alone and
predicts nothing.

    >>> from dtglib.readings import READINGS
    >>> from dtglib.vocab import Vocabulary
    >>> trees = [(["There", "is", "a", "difference"], (2, 0, 4, 2)), (["There", "is"], (2, 0))]
    >>> sequences = READINGS["dtg"](Vocabulary.of_words(words for words, _ in trees), trees)
    >>> pad(sequences, [0, 1]).token.shape                # two rows, the shorter one filled up
    (2, 13)
    >>> pack(sequences, [0, 1, 1, 0], 32).token.shape     # as many rows of 32 as it takes, first come first served
    (2, 32)
"""

from collections.abc import Sequence

import numpy as np

from dtglib.compile import NOTHING, Compiled, Sequences
from dtglib.errors import UserError
from dtglib.vocab import PAD

ROW = 2048  # positions of a packed row: some 25 sentences, so that little is lost at its end
POSITIONS = ("last", "settled", "head_first", "head_last", "end")


def pad(sequences: Sequences, numbers: Sequence[int] | np.ndarray) -> Compiled:
    """These sentences, one a row; every vector has the shape (rows, longest)."""
    numbers = np.asarray(numbers, np.int64)
    lengths = np.diff(sequences.starts)[numbers]
    width = int(lengths.max(initial=0))
    return _place(sequences, numbers, np.arange(len(numbers)) * width, (len(numbers), width))


def pack(sequences: Sequences, numbers: Sequence[int] | np.ndarray, width: int, least: int = 0) -> Compiled:
    """These sentences in their order, in `least` rows of `width` positions or as many more as it takes."""
    numbers = np.asarray(numbers, np.int64)
    places, rows, free = [], 0, 0
    for number, length in zip(numbers.tolist(), np.diff(sequences.starts)[numbers].tolist(), strict=True):
        if length > width:
            raise UserError(f"sentence {number + 1} has {length} positions, and a row has {width}; take wider rows")
        if length > free:
            rows, free = rows + 1, width
        places.append(rows * width - free)
        free -= length
    return _place(sequences, numbers, np.array(places, np.int64), (max(rows, least), width))


def _place(sequences: Sequences, numbers: np.ndarray, places: np.ndarray, shape: tuple[int, int]) -> Compiled:
    """A batch of this shape with each sentence at its place, counted over all rows; the rest is padding."""
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(sequences):
        raise IndexError(f"there are {len(sequences)} sentences, counted from 0; asked for {numbers.tolist()}")
    lengths = np.diff(sequences.starts)[numbers]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    source = np.repeat(sequences.starts[numbers], lengths) + within
    target = np.repeat(places, lengths) + within
    offset = np.repeat(places % max(shape[1], 1), lengths).astype(np.int32)
    columns = []
    for name, values in zip(Compiled._fields, sequences.vectors, strict=True):
        column, taken = _padding(name, shape), values[source]
        if name in POSITIONS:
            taken = np.where(taken == NOTHING, NOTHING, taken + offset)
        column.reshape(-1)[target] = taken
        columns.append(column)
    return Compiled(*columns)


def _padding(name: str, shape: tuple[int, int]) -> np.ndarray:
    """What a vector holds where there is no sentence."""
    if name in ("last", "settled", "end"):
        return np.tile(np.arange(shape[1], dtype=np.int32), (shape[0], 1))
    nothing = name in ("arc", "word", "head_first", "head_last", "target")
    return np.full(shape, PAD if name == "token" else NOTHING if nothing else 0, np.int32)


# --- Which sentences go together: a plan is the batches of an epoch, each the numbers of its sentences ---------------


def by_length(
    lengths: np.ndarray, positions: int, random: np.random.Generator, spread: float = 1.15
) -> list[np.ndarray]:
    """Batches to be padded: at most so many positions, padding included, each of sentences that are about as long.

    The longest of a batch is at most `spread` times as long as the shortest, however few sentences there are. Every
    call gives other batches: sentences of the same length change places, and so do the batches.
    """
    order = random.permutation(len(lengths))
    order = order[np.argsort(lengths[order], kind="stable")]
    cuts, first, shortest = [], 0, 0
    for place, length in enumerate(lengths[order].tolist()):
        if place == first:
            shortest = length
        # In this order, the sentence that comes last is the longest.
        elif (place + 1 - first) * length > positions or length > spread * shortest:
            cuts.append(place)
            first, shortest = place, length
    batches = [batch for batch in np.split(order, cuts) if len(batch)]
    return [batches[number] for number in random.permutation(len(batches))]


def rows_of(positions: int, row: int = ROW) -> tuple[int, int]:
    """How many packed rows a batch of so many positions has, and how wide they are: `row` or somewhat more."""
    rows = max(1, positions // row)
    return rows, positions // rows


def in_rows(lengths: np.ndarray, positions: int, random: np.random.Generator, row: int = ROW) -> list[np.ndarray]:
    """Batches to be packed into rows, which are filled in a random order of sentences."""
    rows, width = rows_of(positions, row)
    if lengths.max(initial=0) > width:
        raise UserError(
            f"a sentence has {lengths.max()} positions, but a row of a batch of {positions} has {width}; "
            f"set batch_positions higher, or longest lower"
        )
    order = random.permutation(len(lengths))
    cuts, free, filled = [], width, 1
    for place, length in enumerate(lengths[order].tolist()):
        if length > free:
            filled, free = filled + 1, width
        if filled > rows:
            cuts.append(place)
            filled = 1
        free -= length
    return [batch for batch in np.split(order, cuts) if len(batch)]
