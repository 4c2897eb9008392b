"""Pushdown Layers, which generate words and attach each to the constituents before it (Murty et al. 2023).

In: sentences with bracketed trees. Out: families of models. Read first: tape.py, then network.py.

`pushdown` is what the GiLT paper compares with as Pushdown-TXL: these layers on the body of TXL (tokens).
`pushdown-paper` has the scores, the head and the loss of the paper that introduced them (paper.py).
"""

from collections.abc import Sequence
from typing import Any

from dtglib.data.treebank import Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import Family
from dtglib.families.pushdown.describe import show
from dtglib.families.pushdown.network import PushdownModel
from dtglib.families.pushdown.paper import PaperModel
from dtglib.families.pushdown.reading import READING, SYMBOLS, TapedExamples
from dtglib.families.pushdown.trees import written
from dtglib.families.sequence_model import BY_BEAM
from dtglib.network.transformer import TransformerConfig

STRUCTURES = {"pushdown": show}


def _examples(config: Any, vocabulary: Vocabulary, treebank: Treebank, longest: int | None) -> TapedExamples:
    return TapedExamples.of(config.model, READING, vocabulary, treebank, longest)


def _shown(network: PushdownModel, words: Sequence[str], tree: Sequence[int]) -> str:
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
        symbols=lambda config, treebank: SYMBOLS,
        proposed_by="span_parser",
        tree_is="tree",
        shown=_shown,
    )


FAMILIES = (
    _family("pushdown", "Pushdown-TXL", PushdownModel),
    _family("pushdown-paper", "Pushdown", PaperModel),
)
