"""The machine of brackets on arrays: many derivations at once, and what each of their positions sees.

The rules are those of machine.py. In Transformer Grammars (Sartran et al. 2022) an opening bracket and a word are
pushed onto the stack; a closing bracket has two positions: COMPOSE sees the constituent, takes its place on the stack,
and stands for it from then on; STACK sees the stack after that, predicts what comes next, and is not seen again.
"""

from typing import NamedTuple

import numpy as np

from dtglib.basics.jit import njit
from dtglib.decode.stack_rows import read_position
from dtglib.sequences.columns import NOTHING
from dtglib.transitions.rows import MAY_END, MAY_GENERATE
from dtgpapers.constituency.machine import CLOSE, FIRST, GEN, MOST_OPEN, Rules

CONTINUE = -2  # besides the symbols of machine.py: the next piece of a word that has begun
NEVER = -3  # not a symbol


class Brackets(NamedTuple):
    """Derivations, a row each."""

    symbols: np.ndarray  # (rows, room): what is written so far, as in machine.py
    length: np.ndarray  # (rows,): how many symbols
    label: np.ndarray  # (rows, MOST_OPEN): of the open constituents,
    place: np.ndarray  # and where the opening bracket of each stands among what is visible
    depth: np.ndarray  # (rows,): how many are open
    in_a_row: np.ndarray  # how many were opened since the last word or closing bracket
    count: np.ndarray  # type: ignore[assignment]  # words


def start(most_words: int, rules: Rules) -> Brackets:
    """One derivation that has written nothing."""
    room = most_words * (1 + 2 * rules.most_in_a_row) + MOST_OPEN
    zero = np.zeros((4, 1), np.int32)
    label, place = np.zeros((2, 1, MOST_OPEN), np.int32)
    return Brackets(np.zeros((1, room), np.int8), zero[0], label, place, *zero[1:])


@njit
def legal_at(depth, in_a_row, innermost, length, rules):
    """The symbols that may come next, as `may`, `left` and `right` (see network/output.py)."""
    if length and depth == 0:
        return MAY_END, 0, 0
    left = (1 << rules.labels) - 1 if in_a_row < rules.most_in_a_row and depth < MOST_OPEN else 0
    right = 0
    if depth and in_a_row == 0:
        right = 1 << innermost if rules.typed else 1
    return (MAY_GENERATE if depth else 0), left, right


@njit
def legal_rows(states, rules, found):
    """`legal_at` of every row, into the three rows of `found`."""
    for row in range(len(states.depth)):
        depth = states.depth[row]
        innermost = states.label[row, depth - 1] if depth else 0
        found[0, row], found[1, row], found[2, row] = legal_at(
            depth, states.in_a_row[row], innermost, states.length[row], rules
        )


@njit
def take(states, row, symbol, place):
    """Take a symbol; an opening bracket stands at `place`."""
    if symbol == CONTINUE:
        return
    states.symbols[row, states.length[row]] = symbol
    states.length[row] += 1
    if symbol == GEN:
        states.count[row] += 1
        states.in_a_row[row] = 0
    elif symbol == CLOSE:
        states.depth[row] -= 1
        states.in_a_row[row] = 0
    else:
        states.label[row, states.depth[row]] = symbol - FIRST
        states.place[row, states.depth[row]] = place
        states.depth[row] += 1
        states.in_a_row[row] += 1


@njit
def advance_composing(states, cache, symbols, tokens, first, looks):
    """Take the symbol of every row of a Transformer Grammar.

    `first` has the number of the first new position of every row; a row of the cache is the stack in order.
    """
    for row in range(len(first)):
        at, symbol, token, depth = first[row], symbols[row], tokens[row], states.depth[row]
        filled = cache.filled[row]
        if symbol == CLOSE:
            opened = states.place[row, depth - 1]
            looks.count[at] = 0
            for place in range(opened, filled):
                looks.seen[at, place - opened] = cache.slot[row, place]
                looks.relpos[at, place - opened] = 0 if place == opened else -1
            looks.count[at] = filled - opened
            read_position(looks, at, token, NOTHING)
            cache.slot[row, opened] = looks.slot[at]  # its height and its level are those of the bracket
            filled = opened + 1
            level = cache.level[row, opened]
            at += 1
        else:
            level = depth + 1
        for place in range(filled):
            looks.seen[at, place] = cache.slot[row, place]
            looks.relpos[at, place] = level - cache.level[row, place]
        looks.count[at] = filled
        read_position(looks, at, token, NOTHING)
        if symbol != CLOSE:
            cache.slot[row, filled], cache.height[row, filled], cache.level[row, filled] = looks.slot[at], filled, level
            filled += 1
        cache.filled[row] = filled
        take(states, row, symbol, filled - 1)


@njit
def advance_growing(states, cache, symbols, tokens, first, looks):
    """Take the symbol of every row in a model that sees all earlier symbols."""
    for row in range(len(first)):
        at, filled = first[row], cache.filled[row]
        for place in range(filled):
            looks.seen[at, place], looks.relpos[at, place] = cache.slot[row, place], filled - place
        looks.count[at] = filled
        read_position(looks, at, tokens[row], NOTHING)
        cache.slot[row, filled] = looks.slot[at]
        cache.filled[row] += 1
        take(states, row, symbols[row], filled)
