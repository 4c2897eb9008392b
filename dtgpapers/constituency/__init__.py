"""Models that generate a sentence together with its constituency tree, as brackets.

In: sentences with bracketed trees. Out: families of models. Read first: machine.py, then compile.py.

    PLM            <ROOT> (S (NP There ) (VP is (NP a difference ) ) )           Qian et al. 2021
    PLM-mask       the same, and two heads see one side of the innermost bracket each
    TXL (trees)    <ROOT> (S (NP There NP) (VP is (NP a difference NP) VP) S)    Choe and Charniak 2016
    TG             each closing bracket twice, and attention follows the stack   Sartran et al. 2022

The first two see all that came before. `tg-untyped` is TG with the closing brackets of PLM.
"""

from dtglib.basics.papers import Paper

PAPER = Paper(
    name="constituency",
    families=("dtgpapers.constituency.families:FAMILIES",),
    compared=("plm", "txl-trees", "tg", "pushdown"),
    notebooks="1",
    corpora="dtgpapers.constituency.gum:READERS",
    parsers="dtgpapers.constituency.span_parser:PARSERS",
    structures=(("brackets", "dtgpapers.constituency.describe:show"),),
    orders="dtgpapers.constituency.tables:ORDERS",
)
