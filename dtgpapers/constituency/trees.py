"""Constituency trees as the symbols of machine.py, and back.

Tags are left out (see dtgpapers/constituency/bracketing.py).

    >>> brackets = "(S (NP (EX There)) (VP (VBZ is) (NP (DT a) (NN difference))))"
    >>> labels_of([brackets])
    ('NP', 'S', 'VP')
    >>> symbols_of(brackets, ("NP", "S", "VP"))
    [3, 2, 0, 1, 4, 0, 2, 0, 0, 1, 1, 1]
    >>> written(["There", "is", "a", "difference"], [3, 2, 0, 1, 4, 0, 2, 0, 0, 1, 1, 1], ("NP", "S", "VP"))
    '(S (NP There) (VP is (NP a difference)))'
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dtglib.basics.errors import UserError
from dtglib.data.conllu import TreebankError
from dtglib.data.symbols import MOST_PAIRS, Symbols
from dtglib.sequences.columns import NOTHING
from dtgpapers.constituency.bracketing import OPEN, WORD, escaped, steps_of
from dtgpapers.constituency.machine import CLOSE, FIRST, GEN


def labels_of(trees: Iterable[str]) -> tuple[str, ...]:
    """The labels of some bracketed trees, in the order of the alphabet."""
    return tuple(sorted({label for tree in trees for kind, label in steps_of(tree) if kind == OPEN}))


def bracket_symbols(labels: Sequence[str], typed: bool = True) -> Symbols:
    """The brackets of a vocabulary; if they are not typed, all constituents are closed by the same one."""
    if len(labels) > MOST_PAIRS:
        way_out = "give rare constituents one label, such as X"
        raise UserError(f"the trees have {len(labels)} labels, and at most {MOST_PAIRS} can be told apart; {way_out}")
    opening = tuple(f"({label}" for label in labels)
    closing = tuple(f"{label})" for label in labels) if typed else (")",)
    return Symbols(" ".join([*opening, *closing]), opening, closing)


def symbols_of(tree: str, labels: Sequence[str]) -> list[int]:
    """The symbols that write a bracketed tree; a TreebankError names a label that is not among `labels`."""
    try:
        return _symbols(steps_of(tree), labels)
    except KeyError as error:
        what = f"no training tree has the label {error.args[0]!r}"
        raise TreebankError(what, "a label that no training tree has") from None


def words_and_symbols(tree: str) -> tuple[list[str], tuple[str, ...], list[int]]:
    """The words, the labels and the symbols of a tree without tags, in which every bracket is a constituent.

    >>> words_and_symbols("(S (NP There) is)")
    (['There', 'is'], ('NP', 'S'), [3, 2, 0, 1, 0, 1])
    """
    steps = steps_of(tree, has_tags=False)
    labels = tuple(sorted({label for kind, label in steps if kind == OPEN}))
    return [word for kind, word in steps if kind == WORD], labels, _symbols(steps, labels)


def _symbols(steps: Sequence[tuple[str, str]], labels: Sequence[str]) -> list[int]:
    numbers = {label: FIRST + number for number, label in enumerate(labels)}
    return [numbers[text] if kind == OPEN else GEN if kind == WORD else CLOSE for kind, text in steps]


def rows_of(trees: Sequence[Sequence[tuple[int, int, Sequence[str]]]], labels: Sequence[str]) -> np.ndarray:
    """The symbols of trees over the same words, given by their constituents, outer ones first; a row each, padded.

    A constituent is the number of words before it, that up to its end, and the labels of its chain. A tree with a label
    that is not among `labels` has no probability, and is left out.

    >>> rows_of([[(0, 2, ["S"])], [(0, 2, ["S", "VP"]), (1, 2, ["NP"])]], ("NP", "S", "VP")).tolist()
    [[3, 0, 0, 1, -1, -1, -1, -1], [3, 4, 0, 2, 0, 1, 1, 1]]
    """
    numbers = {label: FIRST + number for number, label in enumerate(labels)}
    unknown = [[label for *_, chain in tree for label in chain if label not in numbers] for tree in trees]
    if all(unknown):
        what = f"the parser proposes the label {unknown[0][0]!r}, which no training tree of the model has"
        raise UserError(f"{what}; take a parser that was trained on the same trees")
    rows = [_symbols_of_spans(tree, numbers) for tree, others in zip(trees, unknown, strict=True) if not others]
    padded = np.full((len(rows), max(map(len, rows))), NOTHING)
    for number, row in enumerate(rows):
        padded[number, : len(row)] = row
    return padded


def _symbols_of_spans(tree: Sequence[tuple[int, int, Sequence[str]]], numbers: Mapping[str, int]) -> list[int]:
    words = tree[0][1]
    before, closed = [[] for _ in range(words)], [0] * words
    for first, last, chain in tree:
        before[first] += [numbers[label] for label in chain]
        closed[last - 1] += len(chain)
    return [symbol for word in range(words) for symbol in (*before[word], GEN, *[CLOSE] * closed[word])]


def written(words: Sequence[str], symbols: Sequence[int], labels: Sequence[str]) -> str:
    """The tree that symbols write, with its words, without padding; of an unfinished derivation, as far as it goes."""
    parts, word = [], iter(words)
    for symbol in symbols:
        if symbol == NOTHING:
            break
        if symbol == CLOSE:
            parts[-1] += ")"
        else:
            parts.append(escaped(next(word)) if symbol == GEN else f"({labels[symbol - FIRST]}")
    return " ".join(parts)
