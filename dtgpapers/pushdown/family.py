"""The families of models with Pushdown Layers."""

from collections.abc import Sequence
from typing import Any

from dtglib.data.treebank import Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import Family, Trees, with_symbols
from dtglib.network.transformer import TransformerConfig
from dtglib.training.examples import Examples
from dtgpapers.decisions.likelihood import BY_BEAM
from dtgpapers.pushdown.network import PushdownModel
from dtgpapers.pushdown.paper import PaperModel
from dtgpapers.pushdown.reading import READING, SYMBOLS, TapedExamples
from dtgpapers.pushdown.trees import written


def _examples(config: Any, vocabulary: Vocabulary, treebank: Treebank, longest: int | None) -> Examples:
    return TapedExamples.of(config.model, READING, vocabulary, treebank, longest)


def _shown(vocabulary: Vocabulary, words: Sequence[str], tree: Sequence[int]) -> str:
    return written(words, tree)


def _family(name: str, title: str, network: type[PushdownModel]) -> Family:
    return Family(
        name=name,
        title=title,
        paper="constituency",
        config=TransformerConfig,
        build=network,
        examples=_examples,
        streams=True,
        likelihood=BY_BEAM,
        vocabulary=with_symbols(lambda config, treebank: SYMBOLS),
        trees=Trees("tree", "span_parser", "spans", shown=_shown),
    )


FAMILIES = (
    _family("pushdown", "Pushdown-TXL", PushdownModel),
    _family("pushdown-paper", "Pushdown", PaperModel),
)
