"""From trees to the columns that the models read (sequences/columns.py says what a column is).

"There is a difference" as a Transformer Grammar reads it; `height` is the place on the stack, `level` the depth in the
tree, of which many items of the stack share one:

     i  input        kind     last height level floor head   target
     0  <ROOT>       STACK      16    0     0     0    -     (S
     1  (S           STACK      15    1     1     0    -     (NP
     2  (NP          STACK       4    2     2     0    -     There
     3  There        STACK       4    3     3     0    -     NP)
     4  NP)          COMPOSE    15    2     2     2    2     -
     5  NP)          STACK       5    2     2     0    -     (VP
     ...

    >>> from dtgpapers.constituency.trees import bracket_symbols
    >>> labels, words = ("NP", "S", "VP"), ["There", "is", "a", "difference"]
    >>> vocabulary = Vocabulary.of_words([words], bracket_symbols(labels))
    >>> tree = 3, 2, 0, 1, 4, 0, 2, 0, 0, 1, 1, 1
    >>> composed(vocabulary, [(words, tree)]).sentence(0).last.tolist()
    [16, 15, 4, 4, 15, 5, 13, 13, 11, 11, 11, 13, 12, 15, 14, 16, 16]
    >>> in_a_row(vocabulary, [(words, tree)]).sentence(0).length
    13

The closing bracket of the root ends the sentence. <END> is the only symbol that may come after it, and need not be
predicted.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dtglib.basics.errors import UserError
from dtglib.basics.jit import njit
from dtglib.data.vocabulary import ROOT, Vocabulary
from dtglib.sequences.columns import COMPOSE, NOTHING, STACK, Compiled, Sequences
from dtglib.sequences.compile import (
    ARC,
    END_AT,
    FLOOR,
    FOREVER,
    HEAD_FIRST,
    HEAD_LAST,
    HEIGHT,
    KIND,
    LAST,
    LEFT,
    LEVEL,
    MAY,
    RIGHT,
    SETTLED,
    TARGET,
    TOKEN,
    TOP,
    WORD,
    NotWritable,
)
from dtglib.sequences.readings import WordsAndTree, causal
from dtglib.transitions.rows import MAY_CONTINUE, MAY_GENERATE
from dtgpapers.constituency.machine import CLOSE, FIRST, GEN, MOST_IN_A_ROW, MOST_OPEN, Rules, fits, replay
from dtgpapers.constituency.rows import legal_at, start, take


def composed(
    vocabulary: Vocabulary, sentences: Iterable[WordsAndTree], most_in_a_row: int = MOST_IN_A_ROW
) -> Sequences:
    """Each closing bracket twice, first as the constituent that it composes: what a Transformer Grammar reads."""
    rules, brackets = rules_of(vocabulary, most_in_a_row), brackets_of(vocabulary)
    columns: list[Any] = [
        _compiled(vocabulary, rules, brackets, f"sentence {number}", *one)
        for number, one in enumerate(sentences, start=1)
    ]
    if beyond := [number for number, column in enumerate(columns) if column is None]:
        what = f"more than {most_in_a_row} opening brackets in a row, or more than {MOST_OPEN} open at once"
        raise NotWritable(f"{len(beyond)} trees, such as that of sentence {beyond[0] + 1}: {what}", np.array(beyond))
    starts = np.concatenate([[0], np.cumsum([column.shape[1] for column in columns], dtype=np.int64)])
    together = np.concatenate(columns, axis=1) if columns else np.empty((len(Compiled._fields), 0), np.int32)
    return Sequences(Compiled(*together), starts)


def in_a_row(
    vocabulary: Vocabulary, sentences: Iterable[WordsAndTree], most_in_a_row: int = MOST_IN_A_ROW
) -> Sequences:
    """Each bracket once, on a stack from which nothing is popped: what PLM and TXL (trees) read."""
    sequences = composed(vocabulary, sentences, most_in_a_row)
    kept = sequences.vectors.kind != COMPOSE
    before = np.concatenate([[0], np.cumsum(kept)])
    return causal(Sequences(Compiled(*(column[kept] for column in sequences.vectors)), before[sequences.starts]))


def _compiled(
    vocabulary: Vocabulary,
    rules: Rules,
    brackets: tuple[np.ndarray, np.ndarray],
    name: str,
    words: Sequence[str],
    tree: Sequence[int] | None,
) -> np.ndarray | None:
    """The columns of one sentence, None if its tree is beyond the bounds; padding at the end of it is left out."""
    if tree is None:
        raise UserError(f"{name}: has no tree; parse it first")
    symbols = np.asarray(tree, np.int64)
    symbols = symbols[symbols != NOTHING]
    in_tree = int((symbols == GEN).sum())
    if in_tree != len(words):
        raise UserError(f"{name}: {len(words)} words, but a tree of {in_tree}")
    encoded = vocabulary.encode(words)
    pieces = [stop - begin for begin, stop in encoded.spans]
    out = columns_of(symbols, encoded.ids, pieces, brackets, rules)
    if out is None and not fits(symbols.tolist(), rules):
        return None
    if out is None:
        replay(symbols.tolist(), rules)  # raises an error that says where, unless only the end is missing
        raise UserError(f"{name}: the tree is not whole")
    return out


def columns_of(
    symbols: np.ndarray,
    ids: Sequence[int],
    pieces: Sequence[int],
    brackets: tuple[np.ndarray, np.ndarray],
    rules: Rules,
) -> np.ndarray | None:
    """The columns of the symbols of a tree whose words have these pieces; None if they do not write a whole tree."""
    length = 1 + len(ids) + int((symbols > CLOSE).sum()) + 2 * int((symbols == CLOSE).sum())
    out = np.empty((len(Compiled._fields), length), np.int32)
    words = np.array(pieces, np.int64)
    is_whole = _fill(symbols, np.array(ids, np.int64), words, brackets, rules, start(len(words), rules), out)
    return out if is_whole else None


@njit
def _fill(symbols, ids, pieces, brackets, rules, states, out):
    """Write the columns of a sentence; returns whether the symbols are legal and write a whole tree."""
    opening, closing = brackets
    stack = np.zeros(out.shape[1], np.int32)  # the position of each item
    _write(out, 0, ROOT, STACK, 0, 0)
    _allow(out, 0, 1, states, rules)
    filled, at, word, piece = 1, 1, 0, 0
    for symbol in symbols:
        may, left, right = out[MAY, at - 1], out[LEFT, at - 1], out[RIGHT, at - 1]
        asking, level = at, states.depth[0] + 1
        if symbol == GEN:
            if not may & MAY_GENERATE:
                return False
            for _ in range(pieces[word]):
                out[TARGET, at - 1] = ids[piece]
                _write(out, at, ids[piece], STACK, filled, level)
                out[WORD, at], stack[filled] = word + 1, at
                filled, at, piece = filled + 1, at + 1, piece + 1
            word += 1
        elif symbol == CLOSE:
            if not right:
                return False
            opened, token = states.place[0, level - 2], closing[states.label[0, level - 2]]
            out[TARGET, at - 1] = token
            for item in range(opened, filled):
                out[LAST, stack[item]] = at
            level = out[LEVEL, stack[opened]]
            for copy in range(at, at + 2):
                _write(out, copy, token, STACK, opened, level)
            out[KIND, at], out[FLOOR, at], out[LAST, at + 1] = COMPOSE, opened, at + 1
            out[HEAD_FIRST, at] = out[HEAD_LAST, at] = stack[opened]
            stack[opened], filled, at, asking = at, opened + 1, at + 2, at + 1
        else:
            if symbol - FIRST >= len(opening) or not left >> (symbol - FIRST) & 1:
                return False
            out[TARGET, at - 1] = opening[symbol - FIRST]
            _write(out, at, opening[symbol - FIRST], STACK, filled, level)
            stack[filled] = at
            filled, at = filled + 1, at + 1
        take(states, 0, symbol, filled - 1)
        _allow(out, asking, at, states, rules)
    for i in range(at):
        out[LAST, i], out[END_AT, i] = min(out[LAST, i], at - 1), at - 1
    return states.depth[0] == 0 and word > 0


@njit
def _write(out, at, token, kind, height, level):
    """Write a position that is seen to the end and predicts nothing yet."""
    out[TOKEN, at], out[ARC, at], out[KIND, at], out[WORD, at] = token, NOTHING, kind, NOTHING
    out[LAST, at], out[SETTLED, at], out[HEIGHT, at], out[FLOOR, at] = FOREVER, at, height, 0
    out[LEVEL, at] = out[TOP, at] = level
    out[HEAD_FIRST, at] = out[HEAD_LAST, at] = out[TARGET, at] = NOTHING
    out[MAY, at] = out[LEFT, at] = out[RIGHT, at] = 0


@njit
def _allow(out, start, stop, states, rules):
    """Write what may come after some positions; a word that has begun may go on, too."""
    depth = states.depth[0]
    innermost = states.label[0, depth - 1] if depth else 0
    may, left, right = legal_at(depth, states.in_a_row[0], innermost, states.length[0], rules)
    for i in range(start, stop):
        out[MAY, i] = may | (MAY_CONTINUE if out[WORD, i] > 0 else 0)
        out[LEFT, i], out[RIGHT, i] = left, right


def brackets_of(vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """The ids of the opening and the closing bracket of each label."""
    symbols = vocabulary.symbols
    opening = np.array(list(map(vocabulary.transition, symbols.left)), np.int64)
    closing = np.array(list(map(vocabulary.transition, symbols.right)), np.int64)
    return opening, np.broadcast_to(closing, opening.shape).copy()


def rules_of(vocabulary: Vocabulary, most_in_a_row: int) -> Rules:
    """The rules of a vocabulary's brackets."""
    symbols = vocabulary.symbols
    return Rules(len(symbols.left), len(symbols.right) == len(symbols.left), most_in_a_row)
