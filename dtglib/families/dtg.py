"""Dependency Transformer Grammars (Zhao, Lou and Tu 2024), which generate sentences together with their trees.

There is one family for each transition system. A sequence contains the transitions, with every arc doubled, and
attention follows the system's stack. DTG's sequence for "There is a difference" is

    <ROOT> There is LEFTARC LEFTARC a difference LEFTARC LEFTARC RIGHTARC RIGHTARC RIGHTARC RIGHTARC

The first copy of an arc (COMPOSE) sees the two words that the arc joins, and represents both from then on.
"""

from dtglib.families.base import Paper
from dtglib.families.sequence_model import sequence_family
from dtglib.sequences.readings import on_a_stack

PAPERS = (Paper("dtg", "09", ("txl-tokens", "txl-trans", "dtg", "dtg-eager", "dtg-swift")),)

FAMILIES = (
    sequence_family("dtg", "DTG", on_a_stack("arc-standard"), "dtg"),
    sequence_family("dtg-eager", "DTG-eager", on_a_stack("arc-eager"), "dtg"),
    sequence_family("dtg-swift", "DTG-swift", on_a_stack("arc-swift"), "dtg"),
)
