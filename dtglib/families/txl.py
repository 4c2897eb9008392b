"""The baselines of the paper (section 4): a Transformer-XL over transitions, and one over words only.

Their network is that of DTG, but every position sees all positions before it: there is no stack, and arcs are not
doubled.
"""

from dtglib.families.sequence_model import sequence_family
from dtglib.sequences.readings import WORDS, in_a_row

FAMILIES = (
    sequence_family("txl-tokens", "TXL (tokens)", WORDS, "dtg"),
    sequence_family("txl-trans", "TXL (trans)", in_a_row("arc-standard"), "dtg"),
)
