"""Bracket sequences as a stack machine: which symbol may come next, and what it does.

A constituency tree is written from left to right by three kinds of symbols. Labels and symbols are numbers:

    GEN            the next word
    CLOSE          closes the innermost open constituent
    FIRST + n      opens a constituent with label n

    (S (NP There) (VP is (NP a difference)))     with the labels NP, S, VP:
    (S (NP There NP) (VP is (NP a difference NP) VP) S)    =    3 2 0 1 4 0 2 0 0 1 1 1

A tree has one root, and no constituent is empty. A constituent may hold just one other one, so that between two words
there might be any number of opening brackets; at most MOST_IN_A_ROW may be opened in a row, and at most MOST_OPEN be
open at once. (The deepest tree of GUM, of 15,492, has 32 open and 6 in a row.)

    >>> replay((3, 2, 0, 1, 4, 0, 2, 0, 0, 1, 1, 1)).words
    4
    >>> rules = Rules(labels=1)
    >>> legal(START, rules), legal(step(START, 2), rules), legal(replay((2, 0)), rules)
    ((2,), (0, 2), (0, 1, 2))
"""

from collections.abc import Sequence
from typing import NamedTuple

from dtglib.basics.errors import UserError
from dtglib.data.symbols import MOST_PAIRS

GEN, CLOSE, FIRST = range(3)
MOST_IN_A_ROW, MOST_OPEN = 8, 50


class Rules(NamedTuple):
    """The properties in which languages of brackets differ."""

    labels: int
    typed: bool = True  # whether each label has a closing bracket of its own; it makes no difference to the machine
    most_in_a_row: int = MOST_IN_A_ROW


class BracketState(NamedTuple):
    """The state of a derivation."""

    open: tuple[int, ...] = ()  # the labels of the open constituents, the innermost one last
    in_a_row: int = 0  # how many of them were opened since the last word or closing bracket
    words: int = 0
    done: bool = False  # the root is closed


START = BracketState()


def legal(state: BracketState, rules: Rules) -> tuple[int, ...]:
    """The symbols that may come next."""
    if state.done:
        return ()
    symbols = [GEN] if state.open else []
    if state.open and not state.in_a_row:
        symbols.append(CLOSE)
    if state.in_a_row < rules.most_in_a_row and len(state.open) < MOST_OPEN:
        symbols += range(FIRST, FIRST + rules.labels)
    return tuple(symbols)


def step(state: BracketState, symbol: int) -> BracketState:
    """The state after a symbol, which is not checked."""
    if symbol == GEN:
        return BracketState(state.open, 0, state.words + 1)
    if symbol == CLOSE:
        return BracketState(state.open[:-1], 0, state.words, done=len(state.open) == 1)
    return BracketState((*state.open, symbol - FIRST), state.in_a_row + 1, state.words)


def fits(symbols: Sequence[int], rules: Rules) -> bool:
    """True if a tree stays within the bounds on opening brackets.

    >>> fits((3, 2, 0, 1, 0, 1), Rules(2, most_in_a_row=2)), fits((3, 2, 0, 1, 0, 1), Rules(2, most_in_a_row=1))
    (True, False)
    """
    depth = in_a_row = 0
    for symbol in symbols:
        in_a_row = in_a_row + 1 if symbol >= FIRST else 0
        depth += 1 if symbol >= FIRST else -1 if symbol == CLOSE else 0
        if in_a_row > rules.most_in_a_row or depth > MOST_OPEN:
            return False
    return True


def replay(symbols: Sequence[int], rules: Rules = Rules(labels=MOST_PAIRS)) -> BracketState:  # noqa: B008 (it is a tuple)
    """The state after some symbols; a UserError says what is wrong with the first one that is not legal."""
    state = START
    for symbol in symbols:
        if symbol not in legal(state, rules):
            words = "1 word" if state.words == 1 else f"{state.words} words"
            raise UserError(f"the brackets are no tree: after {words}, {_what_is_wrong(state, symbol, rules)}")
        state = step(state, symbol)
    return state


def _what_is_wrong(state: BracketState, symbol: int, rules: Rules) -> str:
    if state.done:
        return "something follows the constituent of the whole sentence"
    if symbol == GEN:
        return "a word stands in no constituent"
    if symbol == CLOSE:
        return "a constituent is empty" if state.open else "a bracket closes, and none is open"
    if symbol - FIRST >= rules.labels:
        return f"a label has number {symbol - FIRST}, and there are {rules.labels}"
    if state.in_a_row == rules.most_in_a_row:
        return f"more than {rules.most_in_a_row} brackets are opened in a row"
    return f"more than {MOST_OPEN} brackets are open"
