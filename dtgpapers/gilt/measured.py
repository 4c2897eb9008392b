"""The quality of the graphs that trained models predict for the test sentences of a run; cached in runs/scores.

    graphs_of(settings, folder)["F1 by number"]         see measure.py

These numbers are a job of GiLT's notebooks, a part of recorded evaluations, and beside the perplexity of each variant.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dtglib.basics.record import Row
from dtglib.data.treebank import Sentence, Treebank
from dtglib.families.base import Variant, load_model
from dtglib.runs import ablations
from dtglib.runs.cache import Computed, digest_of
from dtglib.runs.jobs import Job, jobs_of_models, jobs_of_seed, judged_at, seeds_of
from dtglib.runs.sentence_scores import cached_scores, test_sentences
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
    about = {"what": "graphs", "sentences": digest_of(annotated)}
    (row,) = cached_scores("graphs", folder, None, about, Computed([1], load, unit="model"))
    return row


def of_variant(settings: Settings, variant: Variant) -> Row:
    """The numbers of a variant, those of its graphs included."""
    return {**ablations.measured(settings, variant), **_of_graphs(settings, variant)}


def _of_graphs(settings: Settings, variant: Variant) -> Row:
    return graphs_of(*ablations.trained_variant(settings, variant))


# ---- Variants in the notebook: as in the paper's Table 3, they learn from fewer sentences

STUDIED = ("feature", "representation of words")  # the questions that they answer
PART = 4  # they learn from one in so many sentences


def study(size: str) -> list[Row]:
    """A row for each variant: how well it predicts sentences and graphs."""
    less = with_less(size)
    return [
        {"question": question, "variant": name, **_predicted(less, variant)}
        for question, name, variant in ablations.variants_of(less, STUDIED)
    ]


def with_less(size: str) -> Settings:
    """The settings of GiLT with a quarter of the training sentences, and of those that are scored, if numbered."""

    def part(count: int | None) -> int | None:
        return count and max(1, count // PART)

    settings = read_size(size, model="gilt")
    corpus, evaluation = settings.corpus, settings.evaluation
    return settings._replace(
        corpus=replace(corpus, train_sentences=part(corpus.train_sentences)),
        evaluation=replace(evaluation, scored_sentences=part(evaluation.scored_sentences)),
    )


def _predicted(settings: Settings, variant: Variant) -> Row:
    return {**ablations.predicted(settings, variant), **_of_graphs(settings, variant)}


def _jobs_of_study(size: str) -> list[Job]:
    less = with_less(size)
    different = {
        str(variant): (question, name, variant) for question, name, variant in ablations.variants_of(less, STUDIED)
    }
    return [
        Job(f"study {question}: {name}", partial(_predicted, less, variant))
        for question, name, variant in different.values()
    ]


def _recorded(settings: Settings, models: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    for model, folder in models.items():
        if model in READ_BY:
            yield {"part": "graphs", "model": model, **graphs_of(settings, folder)}


RECORDS = {"graphs": _recorded}


def jobs_of(size: str, models: Sequence[str]) -> list[Job]:
    """The jobs of the notebooks about GiLT."""
    settings, models = read_size(size, model=models[0]), judged_at(size, models)
    jobs = [] if settings.evaluation.released else _jobs_of_study(size)
    jobs += jobs_of_models(size, models)
    for seed in seeds_of(settings):
        jobs += jobs_of_seed(size, "graphs of", graphs_of, [model for model in models if model in READ_BY], seed)
    return jobs
