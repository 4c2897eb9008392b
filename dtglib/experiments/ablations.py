"""Ablations: DTG with one decision changed at a time, each variant trained and evaluated.

    rows = ablations(read_size("mini"))          a row per variant: perplexity per word, minimal pairs, test suites

The paper asks two of these questions: how arcs are represented (its Table 4), and which parser draws the trees that the
model is trained on and summed over (its Table 5). The others concern what the paper leaves open.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from dtglib.basics.record import Row
from dtglib.data.corpora import CorpusConfig, part_of
from dtglib.experiments.parsers import parser_named
from dtglib.experiments.prepare import folder_for, prepare, train_into
from dtglib.experiments.sentence_scores import perplexity_row, scores_of, test_sentences
from dtglib.experiments.settings import Settings
from dtglib.experiments.syntax_scores import pairs_of, suites_of
from dtglib.training.networks import best_on_dev


class Variant(NamedTuple):
    """The changes of a variant: fields of the model's config, the source of training trees, the proposing parser."""

    model: dict[str, Any]
    parsed_by: str | None = None  # "strong", "weak", or OWN for the treebank's own trees; None: as in the settings
    summed_over: str = "strong"


OWN = "own"
BASE = Variant({})
QUESTIONS = {
    "arc representation": {"w+arc": BASE, "arc": Variant({"arcs": "arc"}), "w": Variant({"arcs": "w"})},
    "output layer": {
        "one softmax, legal": BASE,
        "factored, legal": Variant({"output": "factored"}),
        "one softmax, whole vocabulary": Variant({"output": "whole"}),
    },
    "transition system": {
        "arc-standard": BASE,
        "arc-eager": Variant({"model": "dtg-eager"}),
        "arc-swift": Variant({"model": "dtg-swift"}),
    },
    "parser": {
        "the treebank's own trees": Variant({}, parsed_by=OWN),
        "strong parser": Variant({}, parsed_by="strong"),
        "weak parser": Variant({}, parsed_by="weak", summed_over="weak"),
        "weak parser, but summed over the strong one's trees": Variant({}, parsed_by="weak"),
    },
}


def asked(settings: Settings) -> list[tuple[str, str, Variant]]:
    """Every question with its variants; OWN is left out if the corpus has no trees."""
    has_trees = _has_trees(settings.corpus)
    return [
        (question, name, variant)
        for question, variants in QUESTIONS.items()
        for name, variant in variants.items()
        if has_trees or variant.parsed_by != OWN
    ]


@lru_cache(maxsize=1)
def _has_trees(corpus: CorpusConfig) -> bool:
    """Whether the first sentence of a corpus has a tree."""
    first = part_of(replace(corpus, train_sentences=1), "train").sentences
    return any(sentence.heads is not None for sentence in first)  # there may be no sentence


def ablations(settings: Settings) -> list[Row]:
    """A row of measurements for each variant of each question; a model may belong to several questions."""
    rows = asked(settings)
    measured = {str(variant): measure(settings, variant) for _, _, variant in rows}
    return [{"question": question, "variant": name, **measured[str(variant)]} for question, name, variant in rows]


def measure(settings: Settings, variant: Variant) -> Row:
    """Train a variant, or find it, and measure it."""
    chosen = settings_of(variant, settings)
    # Training data depends only on the family and the parser, so neighbours in the list share it.
    reads = replace(settings.model, model=chosen.model.model)
    prepared = _prepared(settings._replace(model=reads, parsers=chosen.parsers))
    folder = folder_for(chosen, prepared)
    train_into(chosen, prepared, folder)
    parser = getattr(settings.parsers, f"{variant.summed_over}_parser")
    scores = scores_of(
        folder,
        test_sentences(settings),
        parser_named(parser, settings),
        settings.evaluation.trees,
        seed=settings.run.seed,
    )
    (primary, *_) = suites_of(chosen, folder)["averages"].items()
    return {
        "folder": folder.name,
        "nats_per_sentence": best_on_dev(folder)["nats_per_sentence"],
        **perplexity_row(scores),
        "pairs": pairs_of(chosen, folder)["accuracy"],
        **dict(zip(("average of suites", "suites"), primary, strict=True)),
    }


_prepared = lru_cache(maxsize=1)(prepare)  # a corpus may be large


def settings_of(variant: Variant, settings: Settings) -> Settings:
    """The settings of DTG at a size, with the changes of a variant."""
    chosen = settings._replace(model=replace(settings.model, **{"model": "dtg", **variant.model}))
    if variant.parsed_by is None:
        return chosen
    parser = None if variant.parsed_by == OWN else getattr(settings.parsers, f"{variant.parsed_by}_parser")
    return chosen._replace(parsers=replace(settings.parsers, parsed_by=parser))
