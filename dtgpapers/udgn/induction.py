"""The agreement of unsupervised trees with those of a treebank.

    DDA    directed dependency accuracy: the share of words that have the treebank's head; the root counts
    UDA    undirected: the share of words, counted by pairs {word, head}, that the two trees have in common

Both are over all words together. The pairs of a tree are a set, so a pair of words that choose each other counts once;
a root is a pair of its own.

    >>> gold, found = [(2, 0, 4, 2)], [(0, 1, 4, 2)]                    # There is a difference
    >>> scored = agreement(gold, found)
    >>> scored.dda, scored.uda                                          # in `found`, There is the head of is
    (0.5, 0.75)
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dtglib.basics.errors import UserError, require
from dtglib.basics.shapes import Float
from dtglib.data.treebank import Sentence
from dtglib.evaluate.attachment import HeadsOfWords
from dtglib.parsing.projective import samples


class Belief(NamedTuple):
    """The output of an unsupervised parser for a sentence, in the form in which it reads it."""

    sentence: Sentence  # with the treebank's tree, if there is one
    heads: Float[np.ndarray, "n n"] | None  # the probability of each head (column) of each word; None: it has no parser
    # What the H attention heads of each of L layers do: how much word i (row) hears of word j (column).
    attention: dict[str, Float[np.ndarray, "L H n n"]]


Decoder = Callable[[np.ndarray], list[int]]


class TreeAgreement(NamedTuple):
    """For each sentence, how many words have the right head, how many pairs are right, and how many words there are."""

    directed: np.ndarray
    undirected: np.ndarray
    words: np.ndarray

    @property
    def dda(self) -> float:
        """The directed dependency accuracy."""
        return float(self.directed.sum() / self.words.sum())

    @property
    def uda(self) -> float:
        """The undirected dependency accuracy."""
        return float(self.undirected.sum() / self.words.sum())


def agreement(gold: Sequence[HeadsOfWords], found: Sequence[HeadsOfWords]) -> TreeAgreement:
    """Compare trees with those of a treebank; heads count from 1, and 0 is ROOT."""
    require(len(gold) and sum(map(len, gold)), "there is no word whose head could be compared")
    directed, undirected = [], []
    for one, other in zip(gold, found, strict=True):
        directed.append(sum(int(a) == int(b) for a, b in zip(one, other, strict=True)))
        undirected.append(len(_pairs(one) & _pairs(other)))
    return TreeAgreement(np.array(directed), np.array(undirected), np.array([len(heads) for heads in gold]))


def _pairs(heads: HeadsOfWords) -> set[tuple[int, int]]:
    return {(min(word, int(head)), max(word, int(head))) for word, head in enumerate(heads, start=1)}


class Induced(NamedTuple):
    """A sentence as it was read, and its trees by the names of what decodes them."""

    sentence: Sentence
    trees: dict[str, list[int]]


def induced(beliefs: Iterable[Belief], decoders: Mapping[str, Decoder]) -> Iterator[Induced]:
    """The trees of each sentence, such as by decoding.DECODERS."""
    for belief in beliefs:
        if (heads := belief.heads) is None:
            raise UserError("this model has no parser, and no trees; its heads of attention: --labels")
        yield Induced(belief.sentence, {name: decode(heads) for name, decode in decoders.items()})


def agreement_rows(found: Sequence[Induced]) -> list[dict[str, Any]]:
    """A row for each way of decoding, over the sentences that have a tree in the treebank, which there must be."""
    known = [one for one in found if one.sentence.heads is not None]
    require(known, "no sentence has a tree in the treebank to compare with")
    gold, rows = [one.sentence.heads or () for one in known], []
    for name in known[0].trees:
        scored = agreement(gold, [one.trees[name] for one in known])
        rows.append({"trees": name, "DDA": scored.dda, "UDA": scored.uda})
    return rows


# ---- Trivial trees, to compare with


def left_neighbours(words: int, random: np.random.Generator) -> list[int]:
    """Every word depends on the one to its left, the first on the one to its right: a choice of heads, and no tree."""
    return [2 if words > 1 else 0, *range(1, words)]


def right_neighbours(words: int, random: np.random.Generator) -> list[int]:
    """Every word depends on the one to its right, the last on the one to its left."""
    return [*range(2, words + 1), words - 1]


def right_branching(words: int, random: np.random.Generator) -> list[int]:
    """A chain from the first word, which is the root, to the last."""
    return list(range(words))


def left_branching(words: int, random: np.random.Generator) -> list[int]:
    """A chain from the last word, which is the root, to the first."""
    return [*range(2, words + 1), 0]


def random_tree(words: int, random: np.random.Generator) -> list[int]:
    """A projective tree with one root; all of them are equally probable."""
    return samples(np.zeros((words + 1, words + 1)), 1, random).heads[0].tolist()


TRIVIAL = {
    "left neighbour": left_neighbours,
    "right neighbour": right_neighbours,
    "right-branching chain": right_branching,
    "left-branching chain": left_branching,
    "random projective trees": random_tree,
}


def trivial_rows(gold: Sequence[HeadsOfWords]) -> list[dict[str, Any]]:
    """A row for each of them."""
    rows = []
    for name, tree in TRIVIAL.items():
        random = np.random.default_rng(1)
        scored = agreement(gold, [tree(len(heads), random) for heads in gold])
        rows.append({"trees": name, "DDA": scored.dda, "UDA": scored.uda})
    return rows
