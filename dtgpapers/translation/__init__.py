"""Translation whose decoder writes the target's tree and reads it again (Choshen and Abend 2022): eight systems.
In: sentences with translations and trees. Out: families of encoder-decoders, and translations with their trees.
Read first: target.py, then systems.py and network.py.
"""

from dtglib.basics.papers import Paper

PAPER = Paper(
    name="translation",
    families=("dtgpapers.translation.family:FAMILIES",),
    compared=(
        *("vanilla", "bitran", "bitran-transitions", "linearized", "parent"),
        *("gcn", "gcn-no-labels", "gcn-no-gates"),
    ),
    notebooks="4",
    commands="dtgpapers.translation.commands:COMMANDS",
    corpora="dtgpapers.translation.parallel:READERS",
    jobs="dtgpapers.translation.measured:jobs_of",
    records="dtgpapers.translation.measured:RECORDS",
    variants="dtgpapers.translation.measured:of_variant",
    measures="dtgpapers.translation.tables:MEASURES",
    orders="dtgpapers.translation.tables:ORDERS",
)
