"""The families of GiLT: they differ in the graphs that they read."""

from functools import partial
from typing import Any

from dtglib.data.symbols import Symbols
from dtglib.data.treebank import Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import Family
from dtglib.families.gilt.config import GiltConfig, GiltTraining
from dtglib.families.gilt.examples import GraphExamples, counts
from dtglib.families.gilt.graphs import Reader
from dtglib.families.gilt.model import Gilt
from dtglib.families.sequence_model import BY_BEAM

PAPER = "gilt"


def _symbols(config: GiltConfig, treebank: Treebank) -> Symbols:
    return counts(config.most_arcs)


def _examples(
    read: Reader, config: Any, vocabulary: Vocabulary, treebank: Treebank, longest: int | None
) -> GraphExamples:
    return GraphExamples.of(read, config, vocabulary, treebank, longest)


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
        is_searched=False,  # until there is a stepper; sentences have no probabilities either
        training=GiltTraining,
    )
