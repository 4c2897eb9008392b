"""The number of layers that a word needs until a prediction can depend on it.

In each layer a position reads the vectors of the positions that it sees. So after L layers its vector can depend on a
word only if a path of at most L steps, each from a position to one that it sees, leads to a position that reads the
word. If the shortest path is longer, the model has no information about the word, whatever its weights are.

A position reads the word that it generates a piece of (`generated`). An arc may also be read together with the last
piece of its head (`arcs: w+arc`, the default), and then its two positions read the head, too (`with_heads`).

"There is a difference" in arc-standard, where LEFTARC2 + is (4) predicts "a". It sees LEFTARC + is (3), which saw both
words; and if arcs are read with their heads, it reads "is" itself:

    >>> from dtglib.sequences.describe import show
    >>> columns = show("arc-standard", ["There", "is", "a", "difference"], [2, 0, 4, 2]).vectors
    >>> layers_needed(columns)[4, :2].tolist(), layers_needed(columns, with_heads)[4, :2].tolist()
    ([2, 2], [2, 0])

At the end each word is reached through three compositions; before a word is read, there is no path to it:

    >>> layers_needed(columns)[12].tolist(), bool(layers_needed(columns)[4, 3] == NEVER)
    ([4, 4, 4, 4], True)

The numbers follow from `sees` alone, for every kind of sequence. Nothing looks ahead, so one pass over the positions
finds them: a position needs one layer more than the best of those that it sees.
"""

from collections.abc import Callable

import numpy as np

from dtglib.basics.shapes import Bool, Int
from dtglib.sequences.columns import COMPOSE, NOTHING, Compiled, Sequences
from dtglib.sequences.visibility import sees
from dtgpapers.constituency.describe import show

NEVER = 2**30  # more layers than any model has

# Which word each position reads, from 1, or NOTHING.
Read = Callable[[Compiled], Int[np.ndarray, " T"]]
# Which positions are asked what they can depend on.
Asked = Callable[[Compiled], Bool[np.ndarray, " T"]]


def generated(v: Compiled) -> Int[np.ndarray, " T"]:
    """The word that a position generates a piece of."""
    return v.word


def with_heads(v: Compiled) -> Int[np.ndarray, " T"]:
    """The same, and at both positions of an arc the head, whose last piece is read with it."""
    read = v.word.copy()
    (arcs,) = np.nonzero((v.arc != NOTHING) & (v.token != NOTHING))
    for i in arcs.tolist():  # a head may itself be a composed one, which stands further left
        read[i] = read[v.head_last[i] if v.kind[i] == COMPOSE else i - 1]
    return read


def predictions(v: Compiled) -> Bool[np.ndarray, " T"]:
    """The positions that predict something."""
    return v.target != NOTHING


def before_words(v: Compiled) -> Bool[np.ndarray, " T"]:
    """The positions that predict the first piece of a word: as many as words, in every kind of sequence."""
    return np.append(v.word[1:], NOTHING) > np.maximum.accumulate(np.maximum(v.word, 0))


def layers_needed(v: Compiled, read: Read = generated) -> Int[np.ndarray, "T W"]:
    """For each position and word of a sentence the least number of layers, or NEVER if no path leads to the word."""
    i, words = np.arange(v.length), read(v)
    visible = sees(i[:, None], i, v.last, v.height, v.floor[:, None])
    needed = np.full((v.length, v.word.max(initial=0)), NEVER, np.int64)
    for here in range(v.length):
        (seen,) = np.nonzero(visible[here, :here])
        needed[here] = np.minimum(needed[seen].min(axis=0, initial=NEVER) + 1, NEVER)
        if words[here] != NOTHING:
            needed[here, words[here] - 1] = 0
    return needed


def when_predicted(target: str, tree: str) -> tuple[Compiled, int]:
    """The columns of a tree with brackets, and the position that predicts a target.

    >>> columns, place = when_predicted("a", "(S (NP There) (VP is (NP a difference)))")
    >>> layers_needed(columns)[place, :2].tolist()
    [2, 1]
    """
    seen = show(tree)
    return seen.vectors, seen.targets.index(target)


def earlier(v: Compiled) -> Bool[np.ndarray, "T W"]:
    """The words that have been read with all their pieces, the position's own piece included."""
    (pieces,) = np.nonzero(v.word != NOTHING)
    last_piece = np.zeros(v.word.max(initial=0), np.int64)
    np.maximum.at(last_piece, v.word[pieces] - 1, pieces)
    return last_piece <= np.arange(v.length)[:, None]


def of_pairs(v: Compiled, read: Read = generated, asked: Asked = predictions) -> Int[np.ndarray, " N"]:
    """The layers that each pair of a prediction and an earlier word needs."""
    return layers_needed(v, read)[earlier(v) & asked(v)[:, None]]


def of_all(sequences: Sequences, read: Read = generated, asked: Asked = predictions) -> list[Int[np.ndarray, " N"]]:
    """The layers that the pairs of each sentence need."""
    return [of_pairs(sequences.sentence(number), read, asked) for number in range(len(sequences))]


def unreached(needed: Int[np.ndarray, " N"], layers: int) -> float:
    """The percentage of pairs that so many layers do not connect."""
    return 100 * float(np.mean(needed > layers))
