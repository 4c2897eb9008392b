"""The families of models that read brackets: they differ in their reading only."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dtglib.basics.errors import UserError
from dtglib.data.conllu import TreebankError
from dtglib.data.symbols import Symbols
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import Family, Trees, with_symbols
from dtglib.families.sequence_model import SequenceModel, sequence_family
from dtglib.sequences.columns import Sequences
from dtglib.sequences.readings import WordsAndTree
from dtgpapers.constituency.bracketing import is_readable
from dtgpapers.constituency.compile import composed, in_a_row, rules_of
from dtgpapers.constituency.machine import MOST_IN_A_ROW, MOST_OPEN, fits
from dtgpapers.constituency.stepper import BracketStepper
from dtgpapers.constituency.trees import bracket_symbols, labels_of, rows_of, symbols_of, written

PAPER = "constituency"


class BracketReading(NamedTuple):
    """The reading of words and bracketed trees."""

    composes: bool  # whether a closed constituent takes the place of what it is made of; else all is seen
    typed: bool  # whether closing brackets have labels
    most_in_a_row: int = MOST_IN_A_ROW  # opening brackets

    @property
    def has_trees(self) -> bool:
        """Always."""
        return True

    def compile(self, vocabulary: Vocabulary, sentences: Iterable[WordsAndTree]) -> Sequences:
        """The sequences of words and trees (machine.py)."""
        return (composed if self.composes else in_a_row)(vocabulary, sentences, self.most_in_a_row)

    def tree_of(self, vocabulary: Vocabulary, sentence: Sentence) -> list[int]:
        """The constituents of a sentence."""
        if sentence.brackets is None:
            raise TreebankError(f"sentence {sentence.id!r} has no constituents", "without constituents")
        symbols = symbols_of(sentence.brackets, labels_in(vocabulary))
        if not fits(symbols, rules_of(vocabulary, self.most_in_a_row)):
            what = f"sentence {sentence.id!r}: more than {self.most_in_a_row} brackets in a row, or {MOST_OPEN} at once"
            raise TreebankError(what, "nested too deep")
        return symbols

    def trees_of(self, vocabulary: Vocabulary, proposed: Any) -> np.ndarray:
        """The symbols of the trees that a parser of constituents proposes, padded."""
        if proposed.fills != "brackets":
            raise UserError("this model sums over constituency trees, and its parser proposes heads; take another")
        return rows_of(proposed.chains(), labels_in(vocabulary))

    def symbols(self, treebank: Treebank) -> Symbols:
        """The brackets of the training trees' labels."""
        trees = [sentence.brackets for sentence in treebank.sentences if sentence.brackets is not None]
        return bracket_symbols(labels_of(filter(is_readable, trees)), self.typed)


def labels_in(vocabulary: Vocabulary) -> list[str]:
    """The labels of a vocabulary's brackets."""
    return [entry.removeprefix("(") for entry in vocabulary.symbols.left]


class BracketModel(SequenceModel):
    """A Transformer over brackets."""

    def stepper(self) -> BracketStepper:
        """A stepper for one search."""
        return BracketStepper(self)


def bracket_family(
    name: str, title: str, reading: BracketReading, network: type[BracketModel] = BracketModel
) -> Family:
    """The family of Transformers with a reading of brackets."""

    def symbols(config: Any, treebank: Treebank) -> Symbols:
        return reading.symbols(treebank)

    family = sequence_family(name, title, reading, PAPER, network)
    return replace(family, vocabulary=with_symbols(symbols), trees=Trees("tree", "span_parser", "spans", shown=_shown))


def _shown(vocabulary: Vocabulary, words: Sequence[str], tree: Sequence[int]) -> str:
    return written(words, tree, labels_in(vocabulary))
