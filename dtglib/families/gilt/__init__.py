"""GiLT: a Transformer-XL whose attention reads features of a dependency graph, which grows word by word.

In: sentences with dependency graphs. Out: families of models. Read first: graphs.py, then tape.py and model.py.

    gilt      enhanced graphs of Universal Dependencies, or the semantic graphs of a file of SDP 2015 (DM, PAS, PSD)
    gilt-dp   dependency trees, for comparison

A trained Transformer-XL can be tuned for a task about sentences, with the graph term in its last layers: tuning/.
"""

from dataclasses import replace

from dtglib.families.base import Paper
from dtglib.families.gilt.family import FEATURE, PAPER, QUESTIONS, WORDS, graph_family
from dtglib.families.gilt.graphs import graph_of, tree_of
from dtglib.families.gilt.tuning import GILT_TXL, PLAIN

PAPERS = (Paper(PAPER, "2", ("txl-tokens", "gilt", "gilt-dp"), studied=(("gilt", FEATURE), ("gilt", WORDS))),)

FAMILIES = (
    replace(graph_family("gilt", "GiLT", graph_of), questions=QUESTIONS),
    graph_family("gilt-dp", "GiLT-DP", tree_of),
)

TUNINGS = (PLAIN, GILT_TXL)
