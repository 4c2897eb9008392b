"""The structure of one sentence with its constituents in readable form; see sequences/describe.py.

>>> seen = show("(S (NP There) (VP is (NP a difference)))")
>>> seen.inputs[4], seen.kinds[4], [seen.inputs[j] for j in seen.visible[4].nonzero()[0]]
('NP)', 'COMPOSE', ['(NP', 'There', 'NP)'])
"""

from collections.abc import Sequence

import numpy as np

from dtglib.basics.errors import require
from dtglib.data.vocabulary import Vocabulary
from dtglib.sequences.columns import Compiled
from dtglib.sequences.describe import Described, described, piece_names, pieces_for
from dtgpapers.constituency.compile import brackets_of, columns_of, rules_of
from dtgpapers.constituency.machine import CLOSE, FIRST, GEN, MOST_IN_A_ROW, replay
from dtgpapers.constituency.trees import bracket_symbols, words_and_symbols


def show(tree: str, pieces: Sequence[int] | None = None) -> Described:
    """Compile a tree without tags; `pieces` says into how many pieces each word is cut (default: one)."""
    words, labels, symbols = words_and_symbols(tree)
    require(symbols, 'the tree is empty; write it like "(S (NP There) (VP is (NP a difference)))"')
    end = replay(symbols)
    require(end.done, f"the tree is not whole: brackets that are not closed: {len(end.open)}")
    pieces = pieces_for(words, pieces)
    vocabulary = Vocabulary.of_words([words], bracket_symbols(labels))
    ids = range(len(vocabulary), len(vocabulary) + sum(pieces))
    names = dict(enumerate(vocabulary.entries)) | dict(zip(ids, piece_names(words, pieces), strict=True))
    rules = rules_of(vocabulary, MOST_IN_A_ROW)
    columns = columns_of(np.array(symbols, np.int64), ids, pieces, brackets_of(vocabulary), rules)
    actions = ["GEN" if s == GEN else "CLOSE" if s == CLOSE else f"OPEN[{labels[s - FIRST]}]" for s in symbols]
    return described(actions, Compiled(*columns), names)  # type: ignore[misc]
