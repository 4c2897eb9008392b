"""Translation whose decoder writes the target's tree and reads it again (Choshen and Abend 2022): eight systems.
In: sentences with translations and trees. Out: families of encoder-decoders, and translations with their trees.
Read first: target.py, then systems.py and network.py.
"""

from dtglib.families.base import Paper
from dtglib.families.translation.family import FAMILIES_OF_SYSTEMS, PAPER
from dtglib.families.translation.systems import SYSTEMS

PAPERS = (Paper(PAPER, "4", tuple(SYSTEMS)),)

FAMILIES = FAMILIES_OF_SYSTEMS
