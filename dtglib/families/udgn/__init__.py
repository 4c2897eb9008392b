"""UDGN, a model of masked words whose own soft parser decides which words hear of each other, trained on words alone.
In: sentences, of which only the words are read. Out: families of models, and what they believe of heads.
Read first: words.py, then parser.py and network.py.
"""

from dtglib.families.base import Paper
from dtglib.families.udgn.family import PAPER, TRANSFORMER, UDGN
from dtglib.families.udgn.tuning import BAG, FROZEN, WHOLE
from dtglib.families.udgn.tuning import TRANSFORMER as TUNED_TRANSFORMER

PAPERS = (Paper(PAPER, "3", ("udgn-transformer", "udgn")),)

FAMILIES = (TRANSFORMER, UDGN)

TUNINGS = (BAG, FROZEN, WHOLE, TUNED_TRANSFORMER)
