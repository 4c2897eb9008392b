"""The families of GiLT: they differ in the graphs that they read."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from dtglib.basics.record import Row
from dtglib.data.symbols import Symbols
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import BASE, Family, Questions, Variant
from dtglib.families.gilt.config import GiltConfig, GiltTraining
from dtglib.families.gilt.examples import GraphExamples, counts
from dtglib.families.gilt.graphs import Reader
from dtglib.families.gilt.measure import measured
from dtglib.families.gilt.model import Gilt
from dtglib.families.gilt.tape import FEATURES
from dtglib.families.sequence_model import BY_BEAM

PAPER = "gilt"
WORDS, FEATURE = "representation of words", "feature"  # questions


def _symbols(config: GiltConfig, treebank: Treebank) -> Symbols:
    return counts(config.most_arcs)


def _examples(
    read: Reader, config: Any, vocabulary: Vocabulary, treebank: Treebank, longest: int | None
) -> GraphExamples:
    return GraphExamples.of(read, config, vocabulary, treebank, longest)


def _shown(network: Gilt, words: Sequence[str], tree: Sequence[int]) -> str:
    """The arcs of a search's result, as in `dtglib tape`."""
    return " ".join(f"{head}->{dependent}" for head, dependent in zip(tree[::2], tree[1::2], strict=True))


def _graphs(read: Reader, network: Gilt, sentences: Sequence[Sentence]) -> Row:
    treebank = Treebank(list(sentences), Counter())
    examples = GraphExamples.of(read, network.config, network.vocabulary, treebank)
    return {"sentences": len(examples), **measured(network, examples).row()}


def _without(feature: str) -> Variant:
    return Variant({"features": " ".join(name for name in FEATURES if name != feature)})


# The paper asks how words are represented (its Table 3). The others concern what it leaves open, and its code.
QUESTIONS: Questions = {
    WORDS: {"RA": BASE, "FTR": Variant({"word": "ftr"}), "CTR": Variant({"word": "ctr"})},
    FEATURE: {"all features": BASE} | {f"without {name}": _without(name) for name in FEATURES},
    "depth": {"from the first word": BASE, "from ROOT": Variant({"depth": "root"})},
    "biaffine map": {"full": BASE, "its diagonal": Variant({"biaffine": "diagonal"})},
}


def graph_family(name: str, title: str, read: Reader) -> Family:
    """The family of models of a kind of graph."""
    return Family(
        name=name,
        title=title,
        paper=PAPER,
        config=GiltConfig,
        build=Gilt,
        examples=partial(_examples, read),
        likelihood=BY_BEAM,
        symbols=_symbols,
        tree_is="arcs",
        shown=_shown,
        graphs=partial(_graphs, read),
        training=GiltTraining,
    )
