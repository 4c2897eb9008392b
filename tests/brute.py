"""Slow definitions that fast code is tested against. Here: a recogniser that reads minilang's grammar top-down.

`ends(symbol, start)` are the places where a stretch of words that begins at `start` and derives from `symbol` may
end. For "There is a difference ." with words numbered from 0, `ends(NPweak, 2)` is {4}: "a difference". A phrase tries
all of its rules, a rule its children from left to right; every answer is remembered. No symbol begins with itself, so
this stops. Nothing is shared with the chart parser of the package but the ground rules and the words.
"""

from collections.abc import Iterator
from functools import cache

from dtglib.data.minilang.derivation import Node
from dtglib.data.minilang.grammar import Grammar
from dtglib.data.minilang.lexicon import WordForm


def accepts(grammar: Grammar, words: list[str]) -> bool:
    """Whether the grammar derives the words, written as a treebank does ("There is a difference .")."""
    return any(len(words) in _ends(grammar, plain)(0, 0) for plain in _plain(words))


def derivations(grammar: Grammar, words: list[str]) -> Iterator[Node]:
    """Every derivation of the words."""
    for plain in _plain(words):
        yield from _trees(grammar, plain)


def _plain(words: list[str]) -> list[tuple[str, ...]]:
    """The words as the lexicon has them: no capital that only begins the sentence, no `an`; nothing for `a apple`."""
    if not words or words[0][0].islower():
        return []
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word.lower() in ("a", "an"):
            is_vowel = after[:1] in ("a", "e", "i", "o", "u") and not after.startswith("use")
            if is_vowel != (word.lower() == "an"):
                return []
    rest = ["a" if word == "an" else word for word in words[1:]]
    first = words[0][0].lower() + words[0][1:]
    return [("a" if first == "an" else first, *rest), (words[0], *rest)]


def _ends(grammar: Grammar, words: tuple[str, ...]):
    @cache
    def ends(symbol: int, start: int) -> frozenset[int]:
        if symbol in grammar.words:
            fits = start < len(words) and any(entry.word == words[start] for entry in grammar.words[symbol])
            return frozenset([start + 1] if fits else [])
        return frozenset(end for rule in grammar.expansions[symbol] for end in after(rule.symbols, start))

    @cache
    def after(symbols: tuple[int, ...], start: int) -> frozenset[int]:
        if not symbols:
            return frozenset([start])
        return frozenset(end for middle in ends(symbols[0], start) for end in after(symbols[1:], middle))

    return ends


def _trees(grammar: Grammar, words: tuple[str, ...]) -> Iterator[Node]:
    ends = _ends(grammar, words)

    @cache
    def trees(symbol: int, start: int, end: int) -> list[Node | WordForm]:
        if end not in ends(symbol, start):
            return []
        if symbol in grammar.words:
            return [entry for entry in grammar.words[symbol] if entry.word == words[start]]
        rules = grammar.expansions[symbol]
        return [Node(rule.rule, children) for rule in rules for children in rows(rule.symbols, start, end)]

    @cache
    def rows(symbols: tuple[int, ...], start: int, end: int) -> list[tuple[Node | WordForm, ...]]:
        if not symbols:
            return [()] if start == end else []
        return [
            (first, *others)
            for middle in sorted(ends(symbols[0], start))
            if (rest := rows(symbols[1:], middle, end))
            for first in trees(symbols[0], start, middle)
            for others in rest
        ]

    yield from trees(0, 0, len(words))
