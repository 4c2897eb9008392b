"""Sentences side by side: one a row and padded, or several packed into a row.

Positions are counted within a row, so packing only shifts the entries that are positions. Sentences of one row never
see one another, and nothing need say so: `last` ends with the sentence. A position of padding sees itself alone and
predicts nothing.

    pad(sequences, [3, 7])                 two rows, the shorter one filled up
    pack(sequences, [3, 7, 8, 2], 128)     as many rows of 128 positions as it takes, first come first served
"""

from collections.abc import Sequence

import numpy as np

from dtglib.compile import NOTHING, STACK, Compiled, Sequences
from dtglib.errors import UserError
from dtglib.vocab import PAD

POSITIONS = ("last", "settled", "head_first", "head_last", "end")


def pad(sequences: Sequences, numbers: Sequence[int]) -> Compiled:
    """These sentences, one a row; every vector has the shape (rows, longest)."""
    longest = max((sequences.sentence(number).length for number in numbers), default=0)
    return _rows(sequences, [[number] for number in numbers], longest)


def pack(sequences: Sequences, numbers: Sequence[int], width: int) -> Compiled:
    """These sentences in their order, in rows of `width` positions."""
    rows: list[list[int]] = []
    free = 0
    for number in numbers:
        length = sequences.sentence(number).length
        if length > width:
            raise UserError(f"sentence {number + 1} has {length} positions, and a row has {width}; take wider rows")
        if not rows or length > free:
            rows.append([])
            free = width
        rows[-1].append(number)
        free -= length
    return _rows(sequences, rows, width)


def _rows(sequences: Sequences, rows: list[list[int]], width: int) -> Compiled:
    shape = (len(rows), width)
    here = np.broadcast_to(np.arange(width, dtype=np.int32), shape)
    filling = dict.fromkeys(Compiled._fields, 0) | {
        "token": PAD,
        "kind": STACK,
        "last": here,
        "settled": here,
        "end": here,
    }
    filling |= dict.fromkeys(("arc", "word", "head_first", "head_last", "target"), NOTHING)
    batch = Compiled(*(np.broadcast_to(filling[name], shape).astype(np.int32) for name in Compiled._fields))
    for row, numbers in enumerate(rows):
        start = 0
        for number in numbers:
            sentence = sequences.sentence(number)
            stop = start + sentence.length
            for name, column, values in zip(Compiled._fields, batch, sentence, strict=True):
                shifted = np.where(values == NOTHING, values, values + start) if name in POSITIONS else values
                column[row, start:stop] = shifted
            start = stop
    return batch
