"""Actions, states and trees, which all transition systems share.

A generative transition system is a stack machine that writes a sentence and its tree at once. Words are numbered from
1 in the order in which they are generated; 0 is ROOT, at the bottom of the stack. In arc-standard, "There is a
difference" with heads (2, 0, 4, 2) is written by

    GEN GEN LEFTARC GEN GEN LEFTARC RIGHTARC RIGHTARC END        (paper, figure 1; END is `<END>`)

A system is a module with three functions on rows of integers (rows.py), which numba compiles: `legal_row`, `step_row`
and `wanted_row`. These rules compile training sequences, advance beams, and move a single `State` (derivation.py). It
has two constants: its NAME and its REACH, the reach of its longest arcs.

In every system an arc joins the topmost word and the one `reach` words below it. The topmost word is the front of the
buffer where a system has one that holds a word, else the top of the stack. LEFTARC makes the topmost word the head,
RIGHTARC the lower one; only arc-swift reaches further than 1.

An arc may have a label. No system looks at it: what is legal, and what a transition does, is the same for all labels.
With labels the tree above is written by

    GEN GEN LEFTARC:expl GEN GEN LEFTARC:det RIGHTARC:nsubj RIGHTARC:root END
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from dtglib.data.projectivity import crossing_arcs

OPEN = -1  # the head of a word that has none yet


class Kind(IntEnum):
    GEN = 0
    LEFTARC = 1
    RIGHTARC = 2
    POP = 3
    END = 4


class Action(NamedTuple):
    """One transition. It does not say which word a GEN generates."""

    kind: Kind
    reach: int = 1
    label: str | None = None  # of an arc

    def __str__(self) -> str:
        name = self.kind.name if self.reach == 1 else f"{self.kind.name}[{self.reach}]"
        return name if self.label is None else f"{name}:{self.label}"

    @property
    def is_arc(self) -> bool:
        return self.kind in (Kind.LEFTARC, Kind.RIGHTARC)


class State(NamedTuple):
    """The state of a derivation."""

    stack: tuple[int, ...] = (0,)  # from the bottom
    front: int = 0  # the word in the one-place buffer, 0 if there is none
    heads: tuple[int, ...] = ()  # of the words generated so far
    done: bool = False


START = State()


class IllegalAction(ValueError):
    """An action that is not legal in its state."""


class Tree(NamedTuple):
    """A projective tree with what the oracles need. Index 0 of each array belongs to ROOT."""

    heads: np.ndarray
    leftmost: np.ndarray  # the leftmost dependent of each word, or the word itself if that is further left
    rightmost: np.ndarray


def why_no_tree(heads: Sequence[int]) -> str | None:
    """Return why heads are not a projective tree with one root, as a sentence, or None if they are one."""
    if len(heads) == 0:
        return "a tree needs at least one word"
    for word, head in enumerate(heads, start=1):
        if not 0 <= head <= len(heads):
            return f"word {word}: head {head} is out of range (there are {len(heads)} words)"
        if head == word:
            return f"word {word} is its own head"
    roots = [str(word) for word, head in enumerate(heads, start=1) if head == 0]
    if len(roots) != 1:
        return "no word has head 0 (ROOT)" if not roots else f"words {' and '.join(roots)} all have head 0; one may"
    reaches_root = {0}
    for word in range(1, len(heads) + 1):
        path, above = [], word
        while above not in reaches_root:
            if above in path:
                return f"word {above} is above itself: its heads go round in a circle"
            path.append(above)
            above = int(heads[above - 1])
        reaches_root.update(path)
    if crossing := crossing_arcs(heads):
        first, second = crossing
        return f"not projective: arc {first[0]}->{first[1]} crosses {second[0]}->{second[1]}"
    return None
