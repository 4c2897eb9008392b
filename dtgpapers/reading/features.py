"""Features of words as people read them, with their punctuation: surprisal, its parts, entropies, depth.

A treebank cuts "isn't" and "tea," into two words each; people read one. FEATURES says which values are summed, and
which are taken from the first or the last of both (corpus.py finds the words that belong together).

    >>> list(FEATURES)
    ['surprisal', 'structure', 'own', 'entropy', 'hypotheses', 'tree entropy', 'depth']
"""

from collections.abc import Sequence

import numpy as np

from dtglib.evaluate.surprisal import Surprisal

# Names of features, and their values for a word that is made of several words of a treebank.
FEATURES = {
    "surprisal": "summed",
    "structure": "summed: the part of surprisal that the derivations write before the word",
    "own": "surprisal - structure: which word, given the structure",
    "entropy": "of the next symbol, before the first of them",
    "hypotheses": "that the search keeps after the last of them",
    "tree entropy": "of their partial trees",
    "depth": "words on the stack of the best derivation after the first of them, itself included",
}


def features(read: Surprisal, lengths: Sequence[int]) -> dict[str, np.ndarray]:
    """The FEATURES of written words, given the number of words of a treebank in each."""
    surprisal = read.of_regions(lengths)
    stops = np.cumsum(lengths)
    starts = stops - np.asarray(lengths)
    structure = np.add.reduceat(read.structure[:-1], starts)
    with np.errstate(invalid="ignore"):  # both are infinite after the death of a search
        own = surprisal - structure
    last = stops - 1
    values = read.entropy[starts], read.hypotheses[last], read.entropy_of_trees[last], read.without_head[starts]
    return dict(zip(FEATURES, (surprisal, structure, own, *values), strict=True))
