"""Constituency trees as the symbols of machine.py, and back.

The level of the tags is dropped, chains of constituents over the same words are kept, and a tree that is one tagged
word becomes a constituent X. Labels are capital letters.

    >>> brackets = "(S (NP (EX There)) (VP (VBZ is) (NP (DT a) (NN difference))))"
    >>> labels_of([brackets])
    ('NP', 'S', 'VP')
    >>> symbols_of(brackets, ("NP", "S", "VP"))
    [3, 2, 0, 1, 4, 0, 2, 0, 0, 1, 1, 1]
    >>> written(["There", "is", "a", "difference"], [3, 2, 0, 1, 4, 0, 2, 0, 0, 1, 1, 1], ("NP", "S", "VP"))
    '(S (NP There) (VP is (NP a difference)))'
"""

import re
from collections.abc import Iterable, Sequence

from dtglib.basics.errors import UserError
from dtglib.data.conllu import TreebankError
from dtglib.data.vocabulary import MOST_PAIRS, Symbols
from dtglib.families.constituency.machine import CLOSE, FIRST, GEN

ALONE = "X"  # the constituent of a sentence that is one tagged word: the Penn Treebank's name for the unknown

# In a tree on one line, as data/brackets.py writes it: an opening bracket with its label, a word (in
# which a bracket has a backslash), a closing bracket.
_TOKEN = re.compile(r"\(([^\s()]+)|((?:\\[()]|[^\s()])+)|\)")
_LABEL = re.compile("[A-Z]+")


def labels_of(trees: Iterable[str]) -> tuple[str, ...]:
    """The labels of some bracketed trees, in the order of the alphabet."""
    return tuple(sorted({label for tree in trees for label, _ in _constituents(tree) if label}))


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
    numbers = {label: FIRST + number for number, label in enumerate(labels)}
    found = []
    for label, symbol in _constituents(tree):
        if label is None:
            found.append(symbol)
        elif label in numbers:
            found.append(numbers[label])
        else:
            raise TreebankError(f"no training tree has the label {label!r}", "a label that no training tree has")
    return found


def words_and_symbols(tree: str) -> tuple[list[str], tuple[str, ...], list[int]]:
    """The words, the labels and the symbols of a tree without tags, in which every bracket is a constituent.

    >>> words_and_symbols("(S (NP There) is)")
    (['There', 'is'], ('NP', 'S'), [3, 2, 0, 1, 0, 1])
    """
    tokens = [found.groups() for found in _TOKEN.finditer(tree)]
    labels = tuple(sorted({label for label, _ in tokens if label}))
    numbers = {label: FIRST + number for number, label in enumerate(labels)}
    words = [word for _, word in tokens if word]
    return words, labels, [numbers[label] if label else GEN if word else CLOSE for label, word in tokens]


def written(words: Sequence[str], symbols: Sequence[int], labels: Sequence[str]) -> str:
    """The tree that symbols write, with its words; of a derivation that is not over, as far as it goes."""
    parts, word = [], iter(words)
    for symbol in symbols:
        if symbol == CLOSE:
            parts[-1] += ")"
        else:
            parts.append(next(word) if symbol == GEN else f"({labels[symbol - FIRST]}")
    return " ".join(parts)


def _constituents(tree: str) -> list[tuple[str | None, int]]:
    """For each symbol of a tree its label, if it opens a constituent, or else GEN or CLOSE."""
    found: list[tuple[str | None, int]] = []
    tagged = False  # whether the innermost bracket is a tag's
    for token in _TOKEN.finditer(tree):
        label, word = token.groups()
        if label is not None:
            found.append((label, FIRST))
        elif word is not None:
            found[-1], tagged = (None, GEN), True  # the word takes the place of its tag
        elif tagged:
            tagged = False
        else:
            found.append((None, CLOSE))
    if found == [(None, GEN)]:
        found = [(ALONE, FIRST), *found, (None, CLOSE)]
    for label, _ in found:
        if label is not None and not _LABEL.fullmatch(label):
            raise TreebankError(f"the label {label!r} is not made of capital letters", "a label of other signs")
    return found
