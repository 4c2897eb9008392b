"""Constituency trees as attachments, and back (tape.py says what an attachment is).

A constituent of more than two parts is taken for nested ones, (a (b c)); one of a single part is that part; labels and
tags are left out. So a word is merged once for every part but the last of each constituent that ends with it.

    >>> brackets = "(S (NP (EX There)) (VP (VBZ is) (NP (DT a) (NN difference))))"
    >>> attachments_in(steps_of(brackets))
    [1, 2, 3, 1]
    >>> written(["There", "is", "a", "difference"], [1, 2, 3, 1])
    '(There (is (a difference)))'

What is not merged when a sentence ends belongs to one constituent all the same, that of the sentence:

    >>> written(["There", "is", "a", "difference"], [1, 2, 3, 3])
    '(There (is (a difference)))'
"""

from collections.abc import Sequence

from dtglib.data.conllu import TreebankError
from dtglib.data.treebank import Sentence
from dtgpapers.constituency.bracketing import WORD, constituents_of, escaped, steps_of
from dtgpapers.pushdown.tape import MOST_BESIDE, attachments_of, reduces_of


def attachments_in(steps: Sequence[tuple[str, str]]) -> list[int]:
    """The attachments of a tree, given as steps (constituency/bracketing.py); a TreebankError if it is no tree."""
    constituents = constituents_of(steps)
    reduces = [0] * sum(kind == WORD for kind, _ in steps)
    for constituent in constituents:
        reduces[constituent.last - 1] += constituent.parts - 1
    return attachments_of(reduces)


def attachments_for(sentence: Sentence) -> list[int]:
    """The attachments of a sentence's constituents; a TreebankError says why it has none that a model could read."""
    if sentence.brackets is None:
        raise TreebankError(f"sentence {sentence.id!r} has no constituents", "without constituents")
    attachments = attachments_in(steps_of(sentence.brackets))
    if most_open(attachments) > MOST_BESIDE:
        what = f"sentence {sentence.id!r}: more than {MOST_BESIDE} constituents side by side"
        raise TreebankError(what, "too wide a tree")
    return attachments


def most_open(attachments: Sequence[int]) -> int:
    """The largest number of constituents that stand side by side while the words are read."""
    ends: list[int] = []
    most = 0
    for word, to in enumerate(attachments, start=1):
        if to != word:
            del ends[ends.index(to) :]
        ends.append(word)
        most = max(most, len(ends))
    return most


def written(words: Sequence[str], attachments: Sequence[int]) -> str:
    """The tree as brackets without labels."""
    stack: list[str] = []
    for word, count in zip(words, reduces_of(attachments), strict=True):
        new = escaped(word)
        for _ in range(count):
            new = f"({stack.pop()} {new})"
        stack.append(new)
    whole = stack.pop()
    while stack:
        whole = f"({stack.pop()} {whole})"
    return whole
