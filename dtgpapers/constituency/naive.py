"""The positions that each position of a Transformer Grammar sees, by its definition, on a real stack of a real tree.

    a word, an opening bracket    sees all of the stack; is pushed
    COMPOSE (a closing bracket)   sees its opening bracket and what is directly inside; takes their place
    STACK (its second copy)       sees all of the stack; is not pushed

The relative position of j for i is the depth of i in the tree less that of j; what is directly inside of a constituent
is one deeper than the constituent's brackets. In a COMPOSE row the bracket is at 0 and what is inside at -1.

    >>> rows = simulate([3, 2, 0, 1, 0, 1], [1, 1])        # (S (NP There) is)
    >>> rows[4].kind, sorted(rows[4].sees.items())
    ('COMPOSE', [(2, 0), (3, -1), (4, 0)])
"""

from collections.abc import Sequence
from typing import NamedTuple

from dtgpapers.constituency.machine import CLOSE, GEN


class Row(NamedTuple):
    """A position."""

    symbol: int | None  # what it reads, as in machine.py; None for <ROOT>
    kind: str  # STACK or COMPOSE
    sees: dict[int, int]  # the positions that it sees, with their relative positions


class StackItem(NamedTuple):
    """Something on the stack."""

    position: int
    depth: int
    is_open: bool  # an opening bracket whose constituent is not closed yet


def simulate(symbols: Sequence[int], pieces: Sequence[int]) -> list[Row]:
    """Play the symbols of a tree on a stack; `pieces` counts the pieces of each word."""
    rows, stack, left = [Row(None, "STACK", {0: 0})], [StackItem(0, 0, False)], list(pieces)

    def look(symbol: int, depth: int) -> None:
        seen = {item.position: depth - item.depth for item in stack} | {len(rows): 0}
        rows.append(Row(symbol, "STACK", seen))

    for symbol in symbols:
        depth = sum(item.is_open for item in stack) + 1
        if symbol == GEN:
            for _ in range(left.pop(0)):
                look(symbol, depth)
                stack.append(StackItem(len(rows) - 1, depth, False))
        elif symbol == CLOSE:
            inside = []
            while not stack[-1].is_open:
                inside.append(stack.pop())
            bracket = stack.pop()
            seen = {bracket.position: 0, len(rows): 0} | {item.position: -1 for item in inside}
            rows.append(Row(symbol, "COMPOSE", seen))
            stack.append(StackItem(len(rows) - 1, bracket.depth, False))
            look(symbol, bracket.depth)
        else:
            look(symbol, depth)
            stack.append(StackItem(len(rows) - 1, depth, True))
    return rows
