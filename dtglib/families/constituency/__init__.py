"""Models that generate a sentence together with its constituency tree, as brackets.

In: sentences with bracketed trees. Out: families of models. Read first: machine.py, then compile.py.

    PLM            <ROOT> (S (NP There ) (VP is (NP a difference ) ) )           Qian et al. 2021
    PLM-mask       the same, and two heads see one side of the innermost bracket each
    TXL (trees)    <ROOT> (S (NP There NP) (VP is (NP a difference NP) VP) S)    Choe and Charniak 2016
    TG             each closing bracket twice, and attention follows the stack   Sartran et al. 2022

The first two see all that came before. `tg-untyped` is TG with the closing brackets of PLM.
"""

from dtglib.families.base import Paper
from dtglib.families.constituency.describe import show
from dtglib.families.constituency.family import PAPER, BracketReading, bracket_family
from dtglib.families.constituency.sides import PLM_MASK

PAPERS = (Paper(PAPER, "1", ("plm", "txl-trees", "tg", "pushdown")),)

STRUCTURES = {"brackets": show}

FAMILIES = (
    bracket_family("plm", "PLM", BracketReading(composes=False, typed=False)),
    PLM_MASK,
    bracket_family("txl-trees", "TXL (trees)", BracketReading(composes=False, typed=True)),
    bracket_family("tg", "TG", BracketReading(composes=True, typed=True)),
    bracket_family("tg-untyped", "TG, untyped", BracketReading(composes=True, typed=False)),
)
