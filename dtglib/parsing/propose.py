"""Propose trees for sentences: a parser scores the arcs, and trees are chosen by these scores.

    for trees in propose(parser, [["There", "is", "a", "difference"]], 300, METHODS["best"]):
        trees.heads, trees.log_probs        different trees, and log q(tree | words) of each

The paper draws 300 trees of a sentence without replacement; the 300 best trees never have less mass in q.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dtglib.data.treebank import Words
from dtglib.parsing.projective import Trees, best_tree, best_trees, different_samples

# Not imported at run time, as PyTorch takes seconds; annotations that name it are therefore not checked.
if TYPE_CHECKING:
    from dtglib.parsing.biaffine import Biaffine

# A function that chooses trees, given the scores of the arcs, the number of trees, and a random generator.
Method = Callable[[np.ndarray, int, np.random.Generator], Trees]


def best(scores: np.ndarray, count: int, random: np.random.Generator) -> Trees:
    """The most probable trees; `random` is not used."""
    return best_trees(scores, count)


METHODS: dict[str, Method] = {"sample": different_samples, "best": best}


def favourites(parser: "Biaffine", sentences: Sequence[Words]) -> list[np.ndarray]:
    """The parser's best tree of each sentence."""
    return [best_tree(scores) for scores in parser.arc_scores(sentences)]


def propose(
    parser: "Biaffine", sentences: Sequence[Words], count: int, method: Method, seed: int = 1
) -> Iterator[Trees]:
    """`count` different trees of each sentence, or all, if there are fewer; arcs are scored when this is called."""
    return (
        # Each sentence has its own generator, so that its trees do not depend on the sentences before it.
        method(scores, count, np.random.default_rng([seed, number]))
        for number, scores in enumerate(parser.arc_scores(sentences))
    )
