"""The attachments and the tapes of one sentence in readable form; see sequences/describe.py.

>>> seen = show("(S (NP There) (VP is (NP a difference)))")
>>> seen.actions, seen.pairs["depth"][4].tolist()
([1, 2, 3, 1], [0, 1, 2, 3, 3])
"""

from collections.abc import Sequence

import numpy as np

from dtglib.basics.errors import require
from dtglib.data.vocabulary import Vocabulary
from dtglib.sequences.batches import pad
from dtglib.sequences.columns import NOTHING, Sequences
from dtglib.sequences.describe import Described, described, piece_names, pieces_for
from dtglib.sequences.readings import tokens
from dtgpapers.constituency.bracketing import WORD, steps_of
from dtgpapers.pushdown.reading import SYMBOLS, with_heads
from dtgpapers.pushdown.tape import MOST_BESIDE, taped
from dtgpapers.pushdown.trees import attachments_in, most_open


def show(tree: str, pieces: Sequence[int] | None = None) -> Described:
    """The tapes of a tree without tags; `pieces` says into how many pieces each word is cut (default: one)."""
    steps = steps_of(tree, has_tags=False)
    words = [text for kind, text in steps if kind == WORD]
    require(words, 'the tree is empty; write it like "(S (NP There) (VP is (NP a difference)))"')
    attachments = attachments_in(steps)
    beside = f"more than {MOST_BESIDE} constituents stand side by side, which is the most that a tape has room for"
    require(most_open(attachments) <= MOST_BESIDE, beside)
    pieces = pieces_for(words, pieces)
    names = piece_names(words, pieces)
    vocabulary = Vocabulary.of_words([names], SYMBOLS)
    # Which piece belongs to which word is all that the columns of pieces and those of words differ in.
    sequences = tokens(vocabulary, [(names, None)])
    word = np.concatenate([[NOTHING], np.repeat(np.arange(1, len(words) + 1), pieces)]).astype(np.int32)
    sequences = with_heads(Sequences(sequences.vectors._replace(word=word), sequences.starts), [attachments])
    seen = described(attachments, sequences.sentence(0), [entry.removeprefix("▁") for entry in vocabulary.entries])
    return seen._replace(pairs={"depth": taped(pad(sequences, [0])).depth[0]})
