"""Pushdown Layers, which generate words and attach each to the constituents before it (Murty et al. 2023).

In: sentences with bracketed trees. Out: families of models. Read first: tape.py, then network.py.

`pushdown` is what the GiLT paper compares with as Pushdown-TXL: these layers on the body of TXL (tokens).
`pushdown-paper` has the scores, the head and the loss of the paper that introduced them (paper.py).
"""

from dtglib.basics.papers import Paper

PAPER = Paper(
    name="pushdown",
    families=("dtgpapers.pushdown.family:FAMILIES",),
    structures=(("pushdown", "dtgpapers.pushdown.describe:show"),),
)
