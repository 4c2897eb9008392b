"""Decide whether a sentence is in minilang's English: each good sentence of the minimal pairs is, and no bad one.

This is a chart parser (Cocke, Kasami and Younger) for the ground rules that the sampler uses, without their weights.
The chart holds, for every span of words, the symbols that can derive it; it is filled from single words to the whole:

    There is a difference .     5 words, "There is a difference" is a Clause, the whole is a Top: yes
    There are a difference .    `are` needs a plural, `a difference` is singular, so it is no Clause: no

    >>> english().accepts("There is a difference .".split()), english().accepts("There are a difference .".split())
    (True, False)

A sentence that the grammar does not derive is rejected, however plausible it is.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from dtglib.basics.jit import njit
from dtglib.data.minilang.derivation import spell
from dtglib.data.minilang.grammar import Grammar, read_language


class Tables(NamedTuple):
    """The grammar as arrays. The rows of symbol x begin at `starts[x]` and end before `starts[x + 1]`."""

    left_starts: np.ndarray  # binary rules, sorted by their left child
    right: np.ndarray
    parent: np.ndarray
    up_starts: np.ndarray  # the symbols that derive a symbol through rules with one child, including the symbol itself
    up: np.ndarray


class Recogniser:
    """Decides for the language of a grammar."""

    def __init__(self, grammar: Grammar):
        self._sandhi = grammar.sandhi
        self._symbols: dict[str, set[int]] = defaultdict(set)
        for symbol, entries in grammar.words.items():
            for entry in entries:
                self._symbols[entry.word].add(symbol)
        self._tables = _tabulate(grammar)

    def accepts(self, words: Sequence[str]) -> bool:
        """True if `words`, as a treebank spells them ("There is a difference ."), form a sentence."""
        return any(self._derives(candidate) for candidate in self._unspell(tuple(words)))

    def _unspell(self, words: tuple[str, ...]) -> list[list[str]]:
        """The sequences of lexicon words that are spelled like `words`; none for `a apple`."""
        if not words:
            return []
        lower = (words[0][:1].lower() + words[0][1:], *words[1:])
        plain = {written: word for word, (written, _) in self._sandhi.items()}
        candidates = [[plain.get(word, word) for word in spelled] for spelled in dict.fromkeys((words, lower))]
        return [candidate for candidate in candidates if spell(candidate, self._sandhi) == words]

    def _derives(self, words: list[str]) -> bool:
        symbols = [sorted(self._symbols.get(word, ())) for word in words]
        if not all(symbols):
            return False
        starts = np.cumsum([0, *map(len, symbols)]).astype(np.int32)
        return bool(_fill_chart(starts, np.array([s for cell in symbols for s in cell], np.int32), *self._tables))


@cache
def english() -> Recogniser:
    """The recogniser of minilang's English."""
    return Recogniser(read_language())


def _tabulate(grammar: Grammar) -> Tables:
    """Turn rules with more than two children into chains of binary rules, which share symbols for equal beginnings."""
    beginnings: dict[tuple[int, int], int] = {}
    unary, binary = defaultdict(set), set()
    count = len(grammar.symbols)
    for symbol, grounds in grammar.expansions.items():
        for ground in grounds:
            left, *rest = ground.symbols
            for right in rest[:-1]:
                left = beginnings.setdefault((left, right), count + len(beginnings))
            if rest:
                binary.add((left, rest[-1], symbol))
            else:
                unary[left].add(symbol)
    binary |= {(left, right, symbol) for (left, right), symbol in beginnings.items()}
    rows = np.array(sorted(binary), np.int32)
    count += len(beginnings)
    ups = [sorted(_closure(symbol, unary)) for symbol in range(count)]
    return Tables(
        np.searchsorted(rows[:, 0], np.arange(count + 1)).astype(np.int32),
        rows[:, 1].copy(),
        rows[:, 2].copy(),
        np.cumsum([0, *map(len, ups)]).astype(np.int32),
        np.array([symbol for up in ups for symbol in up], np.int32),
    )


def _closure(symbol: int, unary: dict[int, set[int]]) -> set[int]:
    reached, todo = {symbol}, [symbol]
    while todo:
        new = unary.get(todo.pop(), set()) - reached
        reached |= new
        todo += new
    return reached


@njit
def _fill_chart(starts, words, left_starts, right, parent, up_starts, up):
    count, symbols = len(starts) - 1, len(left_starts) - 1
    derives = np.zeros((count, count + 1, symbols), np.bool_)
    # For each span the list of its symbols, so that a loop visits only these, and not all symbols of the grammar.
    listed = np.empty((count, count + 1, symbols), np.int32)
    sizes = np.zeros((count, count + 1), np.int32)
    for i in range(count):
        for w in range(starts[i], starts[i + 1]):
            for u in range(up_starts[words[w]], up_starts[words[w] + 1]):
                if not derives[i, i + 1, up[u]]:
                    derives[i, i + 1, up[u]] = True
                    listed[i, i + 1, sizes[i, i + 1]] = up[u]
                    sizes[i, i + 1] += 1
    for length in range(2, count + 1):
        for i in range(count - length + 1):
            j = i + length
            for k in range(i + 1, j):
                for x in range(sizes[i, k]):
                    left = listed[i, k, x]
                    for rule in range(left_starts[left], left_starts[left + 1]):
                        if derives[k, j, right[rule]] and not derives[i, j, parent[rule]]:
                            for u in range(up_starts[parent[rule]], up_starts[parent[rule] + 1]):
                                if not derives[i, j, up[u]]:
                                    derives[i, j, up[u]] = True
                                    listed[i, j, sizes[i, j]] = up[u]
                                    sizes[i, j] += 1
    return derives[0, count, 0]
