"""Propose trees for sentences: a parser scores all trees, and some are drawn, or the best ones are chosen.

    for trees in propose(parser, [["There", "is", "a", "difference"]], 300, METHODS["best"]):
        trees.heads, trees.log_probs        different trees, and log q(tree | words) of each

Other kinds of parsers propose trees of other classes. The paper draws 300 trees of a sentence without replacement; the
300 best trees never have less mass in q.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from dtglib.basics.errors import require
from dtglib.data.treebank import Words

# Not imported at run time, as PyTorch takes seconds; annotations that name it are therefore not checked.
if TYPE_CHECKING:
    from dtglib.parsing.biaffine import Biaffine


@runtime_checkable
class Distribution(Protocol):
    """A parser's distribution over the trees of one sentence."""

    def best_trees(self, count: int) -> Any: ...

    def different_samples(self, count: int, random: np.random.Generator) -> Any: ...


@runtime_checkable
class Proposer(Protocol):
    """A parser of any kind."""

    name: str
    fills: str  # the field of a sentence that it predicts

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
    require(parser.fills == "heads", f"parser {parser.name} predicts {parser.fills}, not heads; use another parser")
    trees = {number: np.array(heads) for number, heads, _ in parser.best_trees(sentences)}
    return [trees[number] for number in range(len(sentences))]


SENTENCES_PER_CALL = 64  # of the parser


def propose(
    parser: Proposer, sentences: Sequence[Words], count: int, method: Method, seed: int = 1, first: int = 0
) -> Iterator[Any]:
    """`count` different trees of each sentence, or all, if there are fewer; `first` is the first sentence's number.

    A part of a corpus has the same trees as in the whole, if it starts at a multiple of SENTENCES_PER_CALL.
    """
    size = SENTENCES_PER_CALL
    for start in range(0, len(sentences), size):
        for number, trees in enumerate(parser.distributions(sentences[start : start + size]), first + start):
            # Each sentence has its own generator, so that its trees do not depend on the sentences before it.
            yield method(trees, count, np.random.default_rng([seed, number]))
