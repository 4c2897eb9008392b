"""Parse reranking (the paper's section 4.3): the language model chooses among the trees that a parser proposes.

    trees = list(propose(parser, words, 300, METHODS["sample"]))
    scores = by_trees(model, words, [chosen.heads for chosen in trees])
    rows = reranked(sentences, favourites(parser, words), trees, {"DTG": [score.best for score in scores]})

An example with one sentence and two trees, where the parser prefers the wrong one:

    >>> sentence = Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2))
    >>> trees = DependencyTrees(np.array([[2, 0, 2, 2], [2, 0, 4, 2]]), np.log([0.6, 0.4]))
    >>> rows = reranked([sentence], [(2, 0, 2, 2)], [trees], {"DTG": [(2, 0, 4, 2)]})
    >>> [(row["chosen by"], row["UAS"]) for row in rows]
    [('proposal', 0.75), ('DTG', 1.0), ('oracle', 1.0)]

The proposal's tree is its best one, even if it is not among the K drawn trees. The oracle chooses the best of the K.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dtglib.basics.record import Row
from dtglib.data.treebank import Sentence
from dtglib.evaluate.attachment import HeadsOfWords, attached, every_word, is_word
from dtglib.evaluate.bootstrap import ratio_interval
from dtglib.parsing.projective import DependencyTrees

PROPOSAL, ORACLE = "proposal", "oracle"


def reranked(
    sentences: Sequence[Sentence],
    favourites: Sequence[HeadsOfWords],
    trees: Sequence[DependencyTrees],
    choices: Mapping[str, Sequence[HeadsOfWords | None]],
    seed: int = 1,
) -> list[Row]:
    """For the proposal, each model and the oracle, one row with the UAS of the trees that it chooses.

    Sentences without a tree in the treebank are left out. `favourites` are the parser's best trees. `choices` has, for
    each model, its best tree of each sentence; None, if all trees are impossible for the model, is replaced by the
    parser's tree and counted under "without a tree". "over proposal" is the difference to the proposal's UAS, on the
    same sentences, with punctuation.
    """
    choices = {name: _judged(sentences, heads) for name, heads in choices.items()}
    sentences, favourites, trees = (_judged(sentences, values) for values in (sentences, favourites, trees))
    if not sentences:
        return []
    of_proposal = attached(sentences, favourites)
    rows = []
    for name in (PROPOSAL, *choices, ORACLE):
        chosen = choices.get(name, favourites)
        row: Row = {"chosen by": name, "without a tree": sum(heads is None for heads in chosen)}
        filled = [best if heads is None else heads for heads, best in zip(chosen, favourites, strict=True)]
        results = []
        for column, counts in (("UAS", every_word), ("UAS without punctuation", is_word)):
            heads = _nearest(sentences, trees, counts) if name == ORACLE else filled
            results.append(attached(sentences, heads, counts))
            if results[-1].words.any():
                row[column], row[f"{column}, 95 %"] = results[-1].uas, results[-1].interval(np.random.default_rng(seed))
        row["over proposal"] = results[0].uas - of_proposal.uas
        difference = results[0].right - of_proposal.right
        row["over proposal, 95 %"] = ratio_interval(difference, of_proposal.words, np.random.default_rng(seed))
        rows.append(row)
    return rows


def _judged(sentences: Sequence[Sentence], values: Sequence[Any]) -> list[Any]:
    """The values that belong to sentences with a tree in the treebank."""
    return [value for sentence, value in zip(sentences, values, strict=True) if sentence.heads is not None]


def _nearest(
    sentences: Sequence[Sentence], trees: Sequence[DependencyTrees], counts: Callable[[str], bool]
) -> list[np.ndarray]:
    """For each sentence, the tree with the most correct heads, among the words for which `counts` is true."""
    nearest = []
    for sentence, proposed in zip(sentences, trees, strict=True):
        counted = np.array([counts(word) for word in sentence.words])
        right = (proposed.heads == np.array(sentence.heads)) & counted
        nearest.append(proposed.heads[right.sum(axis=1).argmax()])
    return nearest
