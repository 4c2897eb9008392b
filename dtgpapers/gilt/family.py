"""The families of GiLT: they differ in the graphs that they read."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from dtglib.data.symbols import Symbols
from dtglib.data.treebank import Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import BASE, Family, Questions, Trees, Variant, with_symbols
from dtgpapers.decisions.likelihood import BY_BEAM
from dtgpapers.gilt.config import GiltConfig, GiltTraining
from dtgpapers.gilt.examples import GraphExamples, counts
from dtgpapers.gilt.graphs import Reader, graph_of, tree_of
from dtgpapers.gilt.model import Gilt
from dtgpapers.gilt.tape import FEATURES

PAPER = "gilt"
WORDS, FEATURE = "representation of words", "feature"  # questions


def _symbols(config: GiltConfig, treebank: Treebank) -> Symbols:
    return counts(config.most_arcs)


def _shown(vocabulary: Vocabulary, words: Sequence[str], tree: Sequence[int]) -> str:
    """The arcs of a search's result, as in `dtglib tape`."""
    return " ".join(f"{head}->{dependent}" for head, dependent in zip(tree[::2], tree[1::2], strict=True))


def _without(feature: str) -> Variant:
    return Variant({"features": " ".join(name for name in FEATURES if name != feature)})


# The paper asks how words are represented (its Table 3). The others concern what it leaves open, where its code
# deviates from it, and the size of the model.
QUESTIONS: Questions = {
    WORDS: {"RA": BASE, "FTR": Variant({"word": "ftr"}), "CTR": Variant({"word": "ctr"})},
    FEATURE: {"all features": BASE} | {f"without {name}": _without(name) for name in FEATURES},
    "depth": {"from the first word": BASE, "from ROOT": Variant({"depth": "root"})},
    "biaffine map": {"full": BASE, "its diagonal": Variant({"biaffine": "diagonal"})},
    "keys of the graph": {"of positions": BASE, "of contents": Variant({"graph_keys": "content"})},
    "weights of the loss": {"sums": BASE, "means": Variant({"weighting": "means"})},
    "width of features": {"256": BASE, "64": Variant({"feature_width": 64})},
}


def graph_family(name: str, title: str, read: Reader) -> Family:
    """The family of models of a kind of graph."""
    return Family(
        name=name,
        title=title,
        paper=PAPER,
        config=GiltConfig,
        build=Gilt,
        examples=partial(GraphExamples.of, read),
        likelihood=BY_BEAM,
        vocabulary=with_symbols(_symbols),
        trees=Trees("arcs", shown=_shown),
        training=GiltTraining,
    )


READ_BY = {"gilt": graph_of, "gilt-dp": tree_of}  # the graphs of sentences, by the name of the family that learns them

FAMILIES = (
    replace(graph_family("gilt", "GiLT", graph_of), questions=QUESTIONS),
    graph_family("gilt-dp", "GiLT-DP", tree_of),
)
