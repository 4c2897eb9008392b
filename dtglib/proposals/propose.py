"""Trees for sentences: a parser scores the arcs, and some of the trees that these stand for are chosen.

    for trees in propose(parser, [["There", "is", "a", "difference"]], 300, METHODS["best"]):
        trees.heads, trees.log_probs        of different trees, and of each log q(tree | words)

The paper draws 300 trees of a sentence without replacement; the 300 best are at hand, too, and are never worse by q.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dtglib.proposals.projective import Trees, best_tree, best_trees, different_samples

# Not imported at run time, as PyTorch takes seconds; annotations that name these are therefore not checked.
if TYPE_CHECKING:
    from dtglib.proposals.biaffine import Biaffine, Words

# Which trees, given the scores of the arcs, how many, and what is drawn at random.
Method = Callable[[np.ndarray, int, np.random.Generator], Trees]


def best(scores: np.ndarray, count: int, random: np.random.Generator) -> Trees:
    """The most probable ones; nothing is random about them."""
    return best_trees(scores, count)


METHODS: dict[str, Method] = {"sample": different_samples, "best": best}


def favourites(parser: "Biaffine", sentences: "Sequence[Words]") -> list[np.ndarray]:
    """The parser's best tree of each sentence."""
    return [best_tree(scores) for scores in parser.arc_scores(sentences)]


def propose(
    parser: "Biaffine", sentences: "Sequence[Words]", count: int, method: Method, seed: int = 1
) -> Iterator[Trees]:
    """So many different trees of each sentence, or all of them, if there are fewer; arcs are scored at once."""
    return (
        # A generator of its own, so that a sentence has the same trees whatever was drawn for those before it.
        method(scores, count, np.random.default_rng([seed, number]))
        for number, scores in enumerate(parser.arc_scores(sentences))
    )
