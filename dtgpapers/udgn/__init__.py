"""UDGN, a masked language model whose soft parser decides which words attend to each other, trained on words alone.
In: sentences, of which only the words are read. Out: families of models, and what they believe of heads.
Read first: words.py, then parser.py and network.py.
"""

from dtglib.basics.papers import Paper

PAPER = Paper(
    name="udgn",
    families=("dtgpapers.udgn.family:FAMILIES",),
    compared=("udgn-transformer", "structformer", "udgn"),
    notebooks="3",
    commands="dtgpapers.udgn.commands:COMMANDS",
    corpora="dtgpapers.udgn.bllip:READERS",
    jobs="dtgpapers.udgn.measured:jobs_of",
    records="dtgpapers.udgn.measured:RECORDS",
    variants="dtgpapers.udgn.measured:of_variant",
    measures="dtgpapers.udgn.tables:MEASURES",
    tables="dtgpapers.udgn.tables:TABLES",
    orders="dtgpapers.udgn.tables:ORDERS",
    tunings="dtgpapers.udgn.tuning:TUNINGS",
)
