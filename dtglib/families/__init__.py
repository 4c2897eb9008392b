"""The kinds of models, one record each; no other room needs to know with which kind it works.
In: the name of a family. Out: its training data, networks, searches and scores.
Read first: base.py, then dtg.py.
"""

from dtglib.basics.papers import Paper

PAPER = Paper(
    name="dtg",
    families=("dtglib.families.txl:FAMILIES", "dtglib.families.dtg:FAMILIES"),
    compared=("txl-tokens", "txl-trans", "dtg", "dtg-eager", "dtg-swift"),
    notebooks="09",
    orders="dtglib.evaluate.measures:OF_DTG",
)
