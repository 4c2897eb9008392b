"""minilang: a small fragment of English, the free corpus that comes with the package.

A weighted grammar (`english/grammar.yaml`, `english/lexicon.yaml`) derives every sentence, and with it a projective
dependency tree, Penn Treebank brackets and an enhanced graph; templates give minimal pairs in BLiMP's format and test
suites in SyntaxGym's.

    >>> from dtglib.data import minilang
    >>> minilang.split("train", sentences=1)[0].text
    'This script which disappeared was smelled by him.'
"""

from dtglib.data.minilang.corpus import SPLITS, split
from dtglib.data.minilang.templates import minimal_pairs, suites

__all__ = [
    "SPLITS",
    "minimal_pairs",
    "split",
    "suites",
]
