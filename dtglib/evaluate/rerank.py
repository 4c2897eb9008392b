"""Parse reranking (the paper's section 4.3): does the language model pick better trees than the parser that drew them?

    trees = list(propose(parser, words, 300, METHODS["sample"]))
    scores = by_trees(model, words, [chosen.heads for chosen in trees])
    rows = reranked(sentences, favourites(parser, words), trees, {"DTG": [score.best for score in scores]})

Of one sentence, with two trees of a parser that is mistaken:

    >>> sentence = Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2))
    >>> trees = Trees(np.array([[2, 0, 2, 2], [2, 0, 4, 2]]), np.log([0.6, 0.4]))
    >>> rows = reranked([sentence], [(2, 0, 2, 2)], [trees], {"DTG": [(2, 0, 4, 2)]})
    >>> [(row["chosen by"], row["UAS"]) for row in rows]
    [('proposal', 0.75), ('DTG', 1.0), ('oracle', 1.0)]

The proposal's tree is its best one, be it among the K that were drawn or not. The oracle takes the nearest of the K.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dtglib.evaluate.attachment import Heads, attached, every_word, is_no_punctuation
from dtglib.evaluate.bootstrap import ratio_interval
from dtglib.proposals.projective import Trees
from dtglib.treebank import Sentence

PROPOSAL, ORACLE = "proposal", "oracle"


def reranked(
    sentences: Sequence[Sentence],
    favourites: Sequence[Heads],
    trees: Sequence[Trees],
    choices: Mapping[str, Sequence[Heads | None]],
    seed: int = 1,
) -> list[dict[str, Any]]:
    """For the proposal, each model and the oracle the UAS of the tree that it chooses among those of each sentence.

    Sentences without a tree in the treebank are left out. `favourites` are the parser's best trees. `choices` has, for
    each model, its best tree of each sentence; where it thinks none possible, the parser's stands in, and "without a
    tree" counts it. "over proposal" is how much more is right than of the proposal's own choice, on the same sentences,
    with punctuation.
    """
    choices = {name: _judged(sentences, of_model) for name, of_model in choices.items()}
    sentences, favourites, trees = (_judged(sentences, of) for of in (sentences, favourites, trees))
    if not sentences:
        return []
    first = attached(sentences, favourites)
    rows = []
    filled = {
        name: [f if heads is None else heads for heads, f in zip(of_model, favourites, strict=True)]
        for name, of_model in choices.items()
    }
    for name, heads in {PROPOSAL: favourites, **filled, ORACLE: None}.items():
        lacking = sum(heads is None for heads in choices.get(name, ()))
        row: dict[str, Any] = {"chosen by": name, "without a tree": lacking}
        for what, counts in (("UAS", every_word), ("UAS without punctuation", is_no_punctuation)):
            here = attached(sentences, _nearest(sentences, trees, counts) if heads is None else heads, counts)
            row[what], row[f"{what}, 95 %"] = here.uas, here.interval(np.random.default_rng(seed))
        here = attached(sentences, _nearest(sentences, trees, every_word) if heads is None else heads)
        row["over proposal"] = here.uas - first.uas
        row["over proposal, 95 %"] = ratio_interval(here.right - first.right, first.words, np.random.default_rng(seed))
        rows.append(row)
    return rows


def _judged(sentences: Sequence[Sentence], values: Sequence[Any]) -> list[Any]:
    """The values of those sentences to which the treebank gives a tree."""
    return [value for sentence, value in zip(sentences, values, strict=True) if sentence.heads is not None]


def _nearest(sentences: Sequence[Sentence], trees: Sequence[Trees], counts: Callable[[str], bool]) -> list[np.ndarray]:
    """Of each sentence the tree with the most heads of the treebank's, among the words that count."""
    found = []
    for sentence, proposed in zip(sentences, trees, strict=True):
        counted = np.array([counts(word) for word in sentence.words])
        right = (proposed.heads == np.array(sentence.heads)) & counted
        found.append(proposed.heads[right.sum(axis=1).argmax()])
    return found
