"""The constituents of a tree on one line, as data/brackets.py writes it, without its tags.

    >>> tree = "(S (NP (EX There)) (VP (VBZ is) (NP (DT a) (NN difference))))"
    >>> steps_of(tree)[:5]
    [('open', 'S'), ('open', 'NP'), ('word', 'There'), ('close', ''), ('open', 'VP')]
    >>> spans_of(tree)                     # the words before the first one, those up to the last one, and the label
    [(0, 4, 'S'), (0, 1, 'NP'), (1, 4, 'VP'), (2, 4, 'NP')]

Constituents over the same words are one span, whose label is their chain:

    >>> spans_of("(S (VP (VB Go)))")
    [(0, 1, 'S+VP')]

A tree that is one tagged word becomes a constituent X. Labels are capital letters.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dtglib.data.conllu import TreebankError

OPEN, WORD, CLOSE = "open", "word", "close"
CHAIN = "+"
ALONE = "X"  # the constituent of a sentence that is one tagged word: the Penn Treebank's name for the unknown

# An opening bracket with its label, a word (in which a bracket has a backslash), a closing bracket.
_TOKEN = re.compile(r"\(([^\s()]*)|((?:\\[()]|[^\s()])+)|\)")
_LABEL = re.compile("[A-Z]+")


def steps_of(tree: str, has_tags: bool = True) -> list[tuple[str, str]]:
    """The opening brackets with their labels, the words, and the closing brackets, from left to right."""
    steps: list[tuple[str, str]] = []
    in_tag = False
    for token in _TOKEN.finditer(tree):
        label, word = token.groups()
        if label is not None:
            if in_tag:
                raise TreebankError("a bracket follows a word in the same constituent", "a word without a tag")
            steps.append((OPEN, label))
        elif word is not None:
            if has_tags and (not steps or steps.pop()[0] != OPEN):  # the word takes the place of its tag
                raise TreebankError(f"the word {word!r} has no tag", "a word without a tag")
            steps.append((WORD, word))
            in_tag = has_tags
        elif in_tag:
            in_tag = False
        else:
            steps.append((CLOSE, ""))
    if len(steps) == 1 and steps[0][0] == WORD:
        steps = [(OPEN, ALONE), *steps, (CLOSE, "")]
    for kind, label in steps:
        if kind == OPEN and not label:
            raise TreebankError("an opening bracket without a label", "a bracket without a label")
        if kind == OPEN and not _LABEL.fullmatch(label):
            raise TreebankError(f"the label {label!r} is not made of capital letters", "a label of other signs")
    return steps


def is_readable(tree: str) -> bool:
    """True if `steps_of` can read this tagged tree."""
    try:
        steps_of(tree)
    except TreebankError:
        return False
    return True


def escaped(word: str) -> str:
    """A word as it stands in a tree, in the Penn Treebank's spelling of brackets; none ends with a backslash.

    >>> escaped(":)"), escaped(chr(92))
    (':-RRB-', '/')
    """
    word = word.replace("(", "-LRB-").replace(")", "-RRB-")
    return f"{word[:-1]}/" if word.endswith("\\") else word  # a backslash would escape the bracket behind it


@dataclass
class Constituent:
    """A constituent of a tree; `last` is 0 until it is closed."""

    label: str
    first: int  # the words before it
    last: int = 0  # the words up to its end
    parts: int = 0  # its children, words or constituents


def constituents_of(steps: Sequence[tuple[str, str]]) -> list[Constituent]:
    """The constituents of a tree, outer ones first; a TreebankError if the steps are no tree."""
    whole = Constituent("", 0)  # its only part is the root
    constituents, opened, words = [], [whole], 0
    for kind, label in steps:
        if kind == CLOSE:
            if len(opened) == 1 or not opened[-1].parts:
                what = "nothing is open" if len(opened) == 1 else "the constituent is empty"
                raise TreebankError(f"closing bracket after {words} words: {what}", "brackets that are no tree")
            opened.pop().last = words
            continue
        opened[-1].parts += 1
        if kind == WORD:
            words += 1
        else:
            opened.append(Constituent(label, words))
            constituents.append(opened[-1])
    if len(opened) > 1 or whole.parts != 1:
        what = f"brackets that are not closed: {len(opened) - 1}" if len(opened) > 1 else f"{whole.parts} roots"
        raise TreebankError(f"the tree is not whole: {what}", "brackets that are no tree")
    return constituents


def spans_of(tree: str) -> list[tuple[int, int, str]]:
    """The spans of a tagged tree with their labels, outer ones first."""
    spans: list[tuple[int, int, str]] = []
    for constituent in constituents_of(steps_of(tree)):
        first, last, label = constituent.first, constituent.last, constituent.label
        if spans and spans[-1][:2] == (first, last):
            label = f"{spans.pop()[2]}{CHAIN}{label}"
        spans.append((first, last, label))
    return spans
