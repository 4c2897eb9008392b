"""The stepper of models that read brackets (decode/sequence_stepper.py has what it shares with others).

Transformer Grammars keep what is on the stack, the other models everything. The symbols between two words are brackets;
how many there may be is bounded by the rules (machine.py), not by the words.
"""

import numpy as np

from dtglib.decode.sequence_stepper import Hypotheses, SequenceStepper
from dtglib.decode.stack_rows import Cache, Looks
from dtglib.network.output import Legal
from dtglib.network.transformer import Transformer, sent
from dtglib.transitions.rows import MAY_CONTINUE
from dtgpapers.constituency.compile import brackets_of, rules_of
from dtgpapers.constituency.machine import CLOSE, FIRST, GEN, MOST_OPEN
from dtgpapers.constituency.rows import (
    CONTINUE,
    NEVER,
    Brackets,
    advance_composing,
    advance_growing,
    legal_rows,
    start,
)


class BracketStepper(SequenceStepper):
    """A model with a `BracketReading` for one search."""

    def __init__(self, model: Transformer) -> None:
        super().__init__(model)
        self.composes = model.reading.composes
        self.opening, self.closing = brackets_of(model.vocabulary)
        self.rules = rules_of(model.vocabulary, model.reading.most_in_a_row)
        self.silent = np.concatenate([self.opening, np.unique(self.closing)])
        # What each entry of the vocabulary is for the machine.
        self.symbols = np.full(len(model.vocabulary), NEVER)
        self.symbols[model.vocabulary.starts_word], self.symbols[model.vocabulary.continues_word] = GEN, CONTINUE
        self.symbols[self.opening] = FIRST + np.arange(len(self.opening))
        self.symbols[self.closing] = CLOSE

    def start(self, most_words: int) -> Brackets:
        """Nothing is written, and nothing is open."""
        return start(most_words, self.rules)

    def legal(self, hypotheses: Hypotheses) -> Legal:
        """The symbols that the machine allows."""
        columns = np.zeros((3, len(hypotheses)), np.int64)
        legal_rows(hypotheses.states, self.rules, columns)
        columns[0] |= np.where(hypotheses.begun, MAY_CONTINUE, 0)
        return Legal(*sent([*columns], self.device))

    def leads_on(self, hypotheses: Hypotheses, to_end: np.ndarray) -> np.ndarray:
        """An opening bracket leads to a word only, that which closes the root to the end only, others to both."""
        opens = np.repeat(~to_end[:, None], len(self.opening), axis=1)
        closes = (hypotheses.states.depth > 1) | to_end
        return np.column_stack([opens, np.repeat(closes[:, None], len(self.silent) - len(self.opening), axis=1)])

    def copies(self, symbols: np.ndarray) -> np.ndarray:
        """Closing brackets have two positions where they compose."""
        return np.where((self.symbols[symbols] == CLOSE) & self.composes, 2, 1)

    def advance(self, states: Brackets, cache: Cache, symbols: np.ndarray, first: np.ndarray, looks: Looks) -> None:
        """Take the symbol of every row."""
        advance = advance_composing if self.composes else advance_growing
        advance(states, cache, self.symbols[symbols], symbols, first, looks)

    def tree(self, hypotheses: Hypotheses, row: int) -> np.ndarray:
        """The symbols so far, as in machine.py."""
        states = hypotheses.states
        return states.symbols[row, : states.length[row]].astype(np.int64)

    def visible(self, hypotheses: Hypotheses, row: int) -> np.ndarray:
        """The words that are not inside of a closed constituent; all words where nothing is composed."""
        if not self.composes:
            return np.arange(1, hypotheses.states.count[row] + 1)
        words, stack = 0, []
        for symbol in self.tree(hypotheses, row).tolist():
            if symbol == GEN:
                words += 1
                stack.append(words)
            elif symbol == CLOSE:
                while stack.pop():
                    pass
            else:
                stack.append(0)
        return np.array([word for word in stack if word], np.int64)

    def most_silent(self, words: int) -> int:
        """All that is open can be closed, and some opened anew."""
        return MOST_OPEN + self.rules.most_in_a_row
