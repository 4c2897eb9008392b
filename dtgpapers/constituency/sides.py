"""PLM-mask (Qian et al. 2021): two heads of every layer each see one side of the innermost open bracket.

Head 0 sees what comes before that bracket, head 1 the bracket and what is inside, and the other heads see both. In
"(S (NP There ) (VP is", the innermost open bracket is "(VP":

    <ROOT> (S (NP There )      head 0 sees these from "is",
    (VP is                     head 1 these

An opening bracket is itself the innermost one, and after a closing bracket it is that of the parent. Where no bracket
is open there are no sides, and all heads see everything.

A bias of the scores bars what a head does not see. It is made of the side of each position j, for each position i.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.errors import UserError, require
from dtglib.basics.jit import njit
from dtglib.basics.shapes import Int
from dtglib.data.treebank import Treebank
from dtglib.data.vocabulary import ROOT, Vocabulary
from dtglib.decode.stack_rows import Cache, Looks
from dtglib.network.attention import Bias, Heads
from dtglib.network.transformer import Block
from dtglib.sequences.columns import Compiled
from dtglib.training.examples import Examples
from dtgpapers.constituency.compile import brackets_of
from dtgpapers.constituency.family import BracketModel, BracketReading, bracket_family
from dtgpapers.constituency.rows import Brackets
from dtgpapers.constituency.stepper import BracketStepper

NO_SIDE, BEFORE, INSIDE = range(3)
READING = BracketReading(composes=False, typed=False)  # that of PLM


def sides_of(vocabulary: Vocabulary, batch: Compiled) -> Int[np.ndarray, "B 1 T T"]:
    """The side of each position j, for each position i, in padded or packed rows."""
    opening, closing = (np.isin(np.arange(len(vocabulary)), ids) for ids in brackets_of(vocabulary))
    sides = np.empty((*batch.token.shape, batch.token.shape[1]), np.int8)
    _fill(batch.token, opening, closing, sides)
    return sides[:, None]


@njit
def _fill(token, opening, closing, found):
    rows, length = token.shape
    stack = np.empty(length, np.int64)
    for row in range(rows):
        depth = 0
        for i in range(length):
            entry = token[row, i]
            if entry == ROOT:  # of the next sentence in a packed row
                depth = 0
            elif opening[entry]:
                stack[depth] = i
                depth += 1
            elif closing[entry]:
                depth -= 1
            for j in range(length):
                found[row, i, j] = _side(j, stack[depth - 1]) if depth > 0 else NO_SIDE


@njit
def _side(j, bracket):
    return BEFORE if j < bracket else INSIDE


class SidesBlock(Block):
    """A layer whose first two heads see one side each."""

    def bias(self, qu: Heads, given: Int[Tensor, "B 1 T S"]) -> Bias:
        """Minus infinity for what a head does not see."""
        if self.heads < 2:
            raise UserError("PLM-mask restricts two heads, and this model has one; set heads to 2 at least")
        require(given is not None, "this batch has no sides; PLM-mask reads those of `sides_of` as its bias")
        bias = qu.new_zeros((len(given), self.heads, *given.shape[2:]))
        for head, barred in ((0, INSIDE), (1, BEFORE)):
            bias[:, head].masked_fill_(given[:, 0] == barred, -torch.inf)
        return bias


class SidesStepper(BracketStepper):
    """A PLM-mask for one search."""

    facts = 1  # the side of each position

    def advance(self, states: Brackets, cache: Cache, symbols: np.ndarray, first: np.ndarray, looks: Looks) -> None:
        """Take the symbol of every row, and note sides."""
        super().advance(states, cache, symbols, first, looks)
        _note(states, first, looks)

    def bias(self, token: Int[Tensor, " N"], seen: Int[Tensor, "N S"], facts: Int[Tensor, "N S F"]) -> Tensor:
        """The sides of what is seen, as the layers want them."""
        return facts[:, None, None, :, 0]


@njit
def _note(states, first, looks):
    """All that came before is visible here, so a position's place in its sequence is that among what is visible."""
    for row in range(len(first)):
        at, depth = first[row], states.depth[row]
        for place in range(looks.count[at]):
            looks.facts[at, place, 0] = _side(place, states.place[row, depth - 1]) if depth else NO_SIDE


@dataclass(frozen=True)
class SidesExamples(Examples):
    """Training data whose batches have sides."""

    vocabulary: Vocabulary

    def bias(self, batch: Compiled, device: torch.device) -> Tensor:
        """The sides."""
        return torch.from_numpy(sides_of(self.vocabulary, batch)).to(device)


def sides_examples(config: Any, vocabulary: Vocabulary, treebank: Treebank, longest: int | None) -> SidesExamples:
    """The sentences of a treebank."""
    plain = Examples.of(config.model, READING, vocabulary, treebank, longest)
    return SidesExamples(plain.sequences, plain.names, plain.excluded, plain.too_long, vocabulary)


class SidesModel(BracketModel):
    """A Transformer over brackets whose first two heads see one side each."""

    block = SidesBlock

    def bias_of(self, batch: Compiled) -> np.ndarray:
        """The sides."""
        return sides_of(self.vocabulary, batch)

    def stepper(self) -> SidesStepper:
        """A stepper for one search."""
        return SidesStepper(self)


PLM_MASK = replace(bracket_family("plm-mask", "PLM-mask", READING, SidesModel), examples=sides_examples)
