"""Batches of sentences: one padded sentence per row, or several sentences packed into a row.

Positions are counted within a row, so packing only shifts the entries that are positions. The sentences of one row
never see one another, because `last` ends with the sentence. A position of padding sees only itself and predicts
nothing.

    pad(sequences, [0, 1])                    two rows, the shorter one filled up
    pack(sequences, [0, 1, 1, 0], 32)         as many rows of 32 as are needed, filled in order
"""

from collections.abc import Sequence

import numpy as np

from dtglib.basics.errors import UserError, require
from dtglib.data.vocabulary import PAD
from dtglib.sequences.columns import NOTHING, Compiled, Sequences, Source

ROW = 2048  # positions of a packed row: some 25 sentences, so that little is lost at its end
HOLD_POSITIONS = ("last", "settled", "head_first", "head_last", "end")


def pad(sequences: Source, numbers: Sequence[int] | np.ndarray) -> Compiled:
    """Put each of these sentences into a row of its own; every column has the shape (rows, longest)."""
    chosen = sequences.chosen(np.asarray(numbers, np.int64))
    width = int(chosen.lengths.max(initial=0))
    return _place(chosen, np.arange(len(chosen)) * width, (len(chosen), width))


def pack(sequences: Source, numbers: Sequence[int] | np.ndarray, width: int, least: int = 0) -> Compiled:
    """Pack these sentences in their order into rows of `width` positions, at least `least` of them."""
    chosen = sequences.chosen(np.asarray(numbers, np.int64))
    places, rows, free = [], 0, 0
    for number, length in zip(numbers, chosen.lengths.tolist(), strict=True):
        if length > width:
            raise UserError(f"sentence {number + 1} has {length} positions, and a row has {width}; choose wider rows")
        if length > free:
            rows, free = rows + 1, width
        places.append(rows * width - free)
        free -= length
    return _place(chosen, np.array(places, np.int64), (max(rows, least), width))


def _place(sequences: Sequences, places: np.ndarray, shape: tuple[int, int]) -> Compiled:
    """Make a batch of this shape with each sentence at its place, counted over all rows; the rest is padding."""
    lengths = sequences.lengths
    target = np.arange(sequences.starts[-1]) + np.repeat(places - sequences.starts[:-1], lengths)
    offset = np.repeat(places % max(shape[1], 1), lengths).astype(np.int32)
    columns = []
    for name, values in zip(Compiled._fields, sequences.vectors, strict=True):
        column = _padding(name, shape)
        if name in HOLD_POSITIONS:
            values = np.where(values == NOTHING, NOTHING, values + offset)
        column.reshape(-1)[target] = values
        columns.append(column)
    return Compiled(*columns)


def _padding(name: str, shape: tuple[int, int]) -> np.ndarray:
    """Return the content of a column where there is no sentence."""
    if name in ("last", "settled", "end"):
        return np.tile(np.arange(shape[1], dtype=np.int32), (shape[0], 1))
    nothing = name in ("arc", "word", "head_first", "head_last", "target")
    return np.full(shape, PAD if name == "token" else NOTHING if nothing else 0, np.int32)


# --- Plans: the batches of an epoch, each given by the numbers of its sentences -------------------------------------


def by_length(
    lengths: np.ndarray, positions: int, random: np.random.Generator, spread: float = 1.15
) -> list[np.ndarray]:
    """Plan batches to be padded, of sentences of similar lengths and at most `positions` positions with padding.

    The longest sentence of a batch is at most `spread` times as long as the shortest, even if the batch is then small.
    Every call draws other batches: sentences of the same length change places, and so do the batches.
    """
    order = random.permutation(len(lengths))
    order = order[np.argsort(lengths[order], kind="stable")]
    cuts, first, shortest = [], 0, 0
    for place, length in enumerate(lengths[order].tolist()):
        if place == first:
            shortest = length
        # The sentences are sorted by length, so the last one is the longest.
        elif (place + 1 - first) * length > positions or length > spread * shortest:
            cuts.append(place)
            first, shortest = place, length
    batches = [batch for batch in np.split(order, cuts) if len(batch)]
    return [batches[number] for number in random.permutation(len(batches))]


def rows_of(positions: int, row: int = ROW) -> tuple[int, int]:
    """Return the number of packed rows of a batch of so many positions, and their width: `row` or more, if possible."""
    rows = max(1, positions // row)
    return rows, positions // rows


def in_rows(lengths: np.ndarray, positions: int, random: np.random.Generator, row: int = ROW) -> list[np.ndarray]:
    """Plan batches to be packed into rows, with the sentences in random order."""
    rows, width = rows_of(positions, row)
    longest = lengths.max(initial=0)
    too_long = f"a sentence has {longest} positions, but a row of a batch of {positions} has {width}"
    require(longest <= width, f"{too_long}; set batch_positions higher, or longest lower")
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
