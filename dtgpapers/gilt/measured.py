"""The quality of the graphs that trained models predict for the test sentences of a run; cached in runs/scores.

    graphs_of(settings, folder)["F1 by number"]         see measure.py

These numbers are a part of recorded evaluations, and stand beside the perplexity of each variant.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dtglib.basics.record import Row
from dtglib.data.treebank import Sentence, Treebank
from dtglib.families.base import Variant, family_name_in, load_model
from dtglib.runs import ablations
from dtglib.runs.cache import Computed, digest_of
from dtglib.runs.parsers import parser_named
from dtglib.runs.sentence_scores import cached_scores, test_sentences
from dtglib.runs.settings import Settings
from dtglib.runs.trees import parsed
from dtglib.training.distributed import device_at_hand
from dtgpapers.gilt.examples import GraphExamples
from dtgpapers.gilt.family import READ_BY
from dtgpapers.gilt.graphs import tree_of
from dtgpapers.gilt.measure import measured
from dtgpapers.gilt.model import Gilt


def graph_scores(network: Gilt, sentences: Sequence[Sentence]) -> Row:
    """The quality of the graphs that a network predicts for sentences."""
    treebank = Treebank(list(sentences), Counter())
    examples = GraphExamples.of(READ_BY[network.config.model], network.config, network.vocabulary, treebank)
    return {"sentences": len(examples), **measured(network, examples).row()}


def annotated(settings: Settings, model: str) -> list[Sentence]:
    """The test sentences of a run size; if none has what a model reads, a graph or heads, with those of a parser."""
    field, parser = ("heads", "strong_parser") if READ_BY[model] is tree_of else ("enhanced", "parsed_by")
    sentences, name = test_sentences(settings), getattr(settings.parsers, parser)
    if name is None or any(getattr(sentence, field) is not None for sentence in sentences):
        return sentences
    return list(parsed(Treebank(sentences, Counter()), parser_named(name, settings)).sentences)


def graphs_of(settings: Settings, folder: Path) -> Row:
    """The quality of the graphs that a model predicts for the test sentences of a run size."""
    sentences = annotated(settings, family_name_in(folder))

    def load() -> Callable[[slice], list[Row]]:
        model = load_model(folder, device_at_hand())
        return lambda block: [graph_scores(model, sentences)]

    read = [(sentence.words, sentence.heads, sentence.enhanced) for sentence in sentences]
    about = {"what": "graphs", "sentences": digest_of(read)}
    (row,) = cached_scores("graphs", folder, None, about, Computed([1], load, unit="model"))
    return row


def of_variant(settings: Settings, variant: Variant) -> Row:
    """The numbers of a variant, those of its graphs included."""
    return {
        **ablations.measured(settings, variant),
        **graphs_of(*ablations.trained_variant(settings, variant)),
    }


def _recorded(settings: Settings, models: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    for model, folder in models.items():
        if model in READ_BY:
            yield {"part": "graphs", "model": model, **graphs_of(settings, folder)}


RECORDS = {"graphs": _recorded}
