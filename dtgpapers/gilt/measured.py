"""The quality of the graphs that trained models predict for the test sentences of a run; cached in runs/scores.

    graphs_of(settings, folder)["F1 by number"]         see measure.py

These numbers are a job of GiLT's notebooks, a part of recorded evaluations, and beside the perplexity of each variant.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dtglib.basics.record import Row
from dtglib.data.treebank import Sentence, Treebank
from dtglib.families.base import Variant, load_model
from dtglib.runs import ablations
from dtglib.runs.cache import Computed, digest_of
from dtglib.runs.jobs import Job, jobs_of_models, jobs_of_seed, judged_at, seeds_of
from dtglib.runs.sentence_scores import Inputs, cached_scores, test_sentences
from dtglib.runs.settings import Settings, read_size
from dtglib.training.distributed import device_at_hand
from dtgpapers.gilt.examples import GraphExamples
from dtgpapers.gilt.family import READ_BY
from dtgpapers.gilt.measure import measured
from dtgpapers.gilt.model import Gilt


def graph_scores(network: Gilt, sentences: Sequence[Sentence]) -> Row:
    """The quality of the graphs that a network predicts for sentences."""
    treebank = Treebank(list(sentences), Counter())
    examples = GraphExamples.of(READ_BY[network.config.model], network.config, network.vocabulary, treebank)
    return {"sentences": len(examples), **measured(network, examples).row()}


def graphs_of(settings: Settings, folder: Path) -> Row:
    """The quality of the graphs that a model predicts for the test sentences of a run size."""
    sentences = test_sentences(settings)

    def load() -> Callable[[slice], list[Row]]:
        model = load_model(folder, device_at_hand())
        return lambda block: [graph_scores(model, sentences)]

    annotated = [(sentence.words, sentence.heads, sentence.enhanced) for sentence in sentences]
    inputs = Inputs(folder, None, {"what": "graphs", "sentences": digest_of(annotated)})
    (row,) = cached_scores("graphs", inputs, Computed([1], load, unit="model"))
    return row


def of_variant(settings: Settings, variant: Variant, in_short: bool = False) -> Row:
    """The numbers of a variant, those of its graphs included."""
    chosen, folder = ablations.settings_of(variant, settings), ablations.trained_variant(settings, variant)
    return {**ablations.measured(settings, variant, in_short), **graphs_of(chosen, folder)}


def _recorded(settings: Settings, models: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    for model, folder in models.items():
        if model in READ_BY:
            yield {"part": "graphs", "model": model, **graphs_of(settings, folder)}


RECORDS = {"graphs": _recorded}


def jobs_of(size: str, models: Sequence[str]) -> list[Job]:
    """The jobs of the notebooks about GiLT."""
    settings, models = read_size(size, model=models[0]), judged_at(size, models)
    jobs = jobs_of_models(size, models)
    for seed in seeds_of(settings):
        jobs += jobs_of_seed(size, "graphs of", graphs_of, [model for model in models if model in READ_BY], seed)
    return jobs
