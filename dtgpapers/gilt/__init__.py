"""GiLT: a Transformer-XL whose attention reads features of a dependency graph, which grows word by word.

In: sentences with dependency graphs. Out: families of models. Read first: graphs.py, then tape.py and model.py.

    gilt      enhanced graphs of Universal Dependencies, or the semantic graphs of a file of SDP 2015 (DM, PAS, PSD)
    gilt-dp   dependency trees, for comparison

A trained Transformer-XL can be tuned for a task about sentences, with the graph term in its last layers: tuning/.
"""

from dtglib.basics.papers import Paper

PAPER = Paper(
    name="gilt",
    families=("dtgpapers.gilt.family:FAMILIES",),
    compared=("txl-tokens", "gilt", "gilt-dp"),
    notebooks="2",
    commands="dtgpapers.gilt.commands:COMMANDS",
    corpora="dtgpapers.gilt.sdp:READERS",
    parsers="dtgpapers.gilt.graph_parser:PARSERS",
    records="dtgpapers.gilt.measured:RECORDS",
    variants="dtgpapers.gilt.measured:of_variant",
    measures="dtgpapers.gilt.tables:MEASURES",
    tables="dtgpapers.gilt.tables:TABLES",
    orders="dtgpapers.gilt.tables:ORDERS",
    tunings="dtgpapers.gilt.tuning:TUNINGS",
)
