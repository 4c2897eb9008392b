"""The stepper of models that read transitions, or words alone: its cache is as deep as the stack.

A row of a state holds the slots that are visible, each with the height at which its word stands (stack_rows.py). For a
model on whose stack nothing is popped (TXL) the rows only grow. The heights in the row after There, is and LEFTARC:

    There    0 1      is    0 1 2      LEFTARC    0 1: is, which stands where There stood
"""

from typing import NamedTuple

import numpy as np

from dtglib.data.vocabulary import ROOT, Vocabulary
from dtglib.decode.sequence_stepper import Hypotheses, SequenceStepper
from dtglib.decode.stack_rows import CONTINUE, Cache, Looks, StackDerivations, advance_growing, advance_stack
from dtglib.network.output import Legal
from dtglib.network.transformer import Transformer, sent
from dtglib.sequences.compile import Arcs
from dtglib.sequences.readings import StackReading
from dtglib.transitions.batch import States, choose, closing, legal, start
from dtglib.transitions.protocol import Kind
from dtglib.transitions.rows import MAY_CONTINUE
from dtglib.transitions.rules import number_of


class Moves(NamedTuple):
    """Symbols of the vocabulary as actions of the transition system."""

    symbol: np.ndarray
    kind: np.ndarray
    reach: np.ndarray
    label: np.ndarray  # the number of an arc's label


class StackStepper(SequenceStepper):
    """A model with a `StackReading` for one search."""

    def __init__(self, model: Transformer) -> None:
        super().__init__(model)
        self.reading: StackReading = model.reading
        self.arcs = Arcs.of(model.vocabulary)
        self.moves = moves_of(model.vocabulary, self.arcs)
        self.silent = np.concatenate([*map(self.arcs.with_all_labels, self.arcs[:2]), [self.arcs.pop]])

    def start(self, most_words: int) -> StackDerivations:
        """Only ROOT is on the stack."""
        token = np.full((1, most_words + 1), ROOT, np.int32)
        return StackDerivations(**start(1, most_words)._asdict(), token=token, label=np.zeros_like(token))

    def legal(self, hypotheses: Hypotheses) -> Legal:
        """The actions that the transition system allows."""
        may, left, right = legal(self.reading.system, states_of(hypotheses))
        may |= np.where(hypotheses.begun, MAY_CONTINUE, 0)
        in_reach = (1 << self.model.vocabulary.reach) - 1
        return Legal(*sent((may, left & in_reach, right & in_reach), self.device))

    def leads_on(self, hypotheses: Hypotheses, to_end: np.ndarray) -> np.ndarray:
        """The end may come after any symbol, but no word after some, such as the arc from ROOT in arc-standard."""
        may, left, right = closing(self.reading.system, states_of(hypotheses))
        bits = np.repeat(np.arange(len(self.arcs.left) - 1), self.arcs.of_each_reach)
        arcs = [(reaches[:, None] >> bits & 1).astype(bool) for reaches in (left, right)]
        return to_end[:, None] | ~np.column_stack([*arcs, may != 0])

    def copies(self, symbols: np.ndarray) -> np.ndarray:
        """Arcs are doubled where there is a stack."""
        kinds = self.moves.kind[symbols]
        is_arc = (kinds == Kind.LEFTARC) | (kinds == Kind.RIGHTARC)
        return np.where(is_arc & self.reading.pops, 2, 1)

    def advance(
        self, states: StackDerivations, cache: Cache, symbols: np.ndarray, first: np.ndarray, looks: Looks
    ) -> None:
        """Take the symbol of every row."""
        advance = advance_stack if self.reading.pops else advance_growing
        advance(number_of(self.reading.system), states, cache, choose(self.moves, symbols), first, looks)

    def tree(self, hypotheses: Hypotheses, row: int) -> np.ndarray:
        """The heads of the words so far, and their labels if arcs have any (sequences/labelled.py)."""
        states = hypotheses.states
        columns = (states.heads, states.label) if self.arcs.labels else (states.heads,)
        return np.concatenate([column[row, 1 : states.count[row] + 1] for column in columns])

    def visible(self, hypotheses: Hypotheses, row: int) -> np.ndarray:
        """The words on the stack, each of which stands for its dependents too; all words where nothing is popped."""
        states = hypotheses.states
        if not self.reading.pops:
            return np.arange(1, states.count[row] + 1)
        words = np.append(states.stack[row, : states.depth[row]], states.front[row])
        return np.sort(words[words > 0])

    def most_silent(self, words: int) -> int:
        """Two for each word and for ROOT: an arc and a POP."""
        return 2 * (words + 1)


def states_of(hypotheses: Hypotheses) -> States:
    """The states of the transition system."""
    return States(**{name: getattr(hypotheses.states, name) for name in States._fields})


def moves_of(vocabulary: Vocabulary, arcs: Arcs) -> Moves:
    """Every entry of the vocabulary as an action; entries that are none count as the end."""
    symbol = np.arange(len(vocabulary), dtype=np.int32)
    kind, reach, label = np.full_like(symbol, Kind.END), np.ones_like(symbol), np.zeros_like(symbol)
    kind[vocabulary.starts_word], kind[vocabulary.continues_word] = Kind.GEN, CONTINUE
    kind[arcs.pop] = Kind.POP
    for of_kind, first in ((Kind.LEFTARC, arcs.left), (Kind.RIGHTARC, arcs.right)):
        ids = arcs.with_all_labels(first)
        kind[ids] = of_kind
        reach[ids] = np.repeat(np.arange(1, len(first)), arcs.of_each_reach)
        label[ids] = np.tile(np.arange(arcs.of_each_reach), len(first) - 1)
    return Moves(symbol, kind, reach, label)
