"""Propose trees for sentences: a parser scores all trees, and some are chosen by their scores.

    for trees in propose(parser, [["There", "is", "a", "difference"]], 300, METHODS["best"]):
        trees.heads, trees.log_probs        different trees, and log q(tree | words) of each

A parser of constituents proposes LabelledTrees instead. The paper draws 300 trees of a
sentence without replacement; the 300 best trees never have less mass in q.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from dtglib.basics.errors import require
from dtglib.data.treebank import Words
from dtglib.parsing.projective import best_tree

# Not imported at run time, as PyTorch takes seconds; annotations that name it are therefore not checked.
if TYPE_CHECKING:
    from dtglib.parsing.biaffine import Biaffine


@runtime_checkable
class Distribution(Protocol):
    """A parser's distribution over the trees of one sentence; the trees of a result are of one kind."""

    def best_trees(self, count: int) -> Any: ...

    def different_samples(self, count: int, random: np.random.Generator) -> Any: ...


@runtime_checkable
class Proposer(Protocol):
    """A parser of whatever kind."""

    name: str
    fills: str  # the field of a sentence for which it finds trees

    def distributions(self, sentences: Sequence[Words]) -> Sequence[Distribution]: ...


# A function that chooses trees, given their distribution, their number, and a random generator.
Method = Callable[[Distribution, int, np.random.Generator], Any]


def best(trees: Distribution, count: int, random: np.random.Generator) -> Any:
    """The most probable trees; `random` is not used."""
    return trees.best_trees(count)


def sample(trees: Distribution, count: int, random: np.random.Generator) -> Any:
    """Trees drawn without replacement."""
    return trees.different_samples(count, random)


METHODS: dict[str, Method] = {"sample": sample, "best": best}


def favourites(parser: "Biaffine", sentences: Sequence[Words]) -> list[np.ndarray]:
    """The heads of the best tree of each sentence."""
    require(parser.fills == "heads", f"parser {parser.name} finds constituents, and heads are needed; take another")
    return [best_tree(scores) for scores in parser.arc_scores(sentences)]


AT_ONCE = 64  # consecutive sentences that a parser scores together


def propose(
    parser: Proposer, sentences: Sequence[Words], count: int, method: Method, seed: int = 1, first: int = 0
) -> Iterator[Any]:
    """`count` different trees of each sentence, or all, if there are fewer; `first` is the first sentence's number.

    A part of a corpus that starts at a multiple of AT_ONCE gets the trees that it has in the whole.
    """
    for start in range(0, len(sentences), AT_ONCE):
        for number, trees in enumerate(parser.distributions(sentences[start : start + AT_ONCE]), first + start):
            # Each sentence has its own generator, so that its trees do not depend on the sentences before it.
            yield method(trees, count, np.random.default_rng([seed, number]))
