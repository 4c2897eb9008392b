"""What each decision about the model is worth: one thing is changed at a time, and the model trained anew.

    rows = ablations(read_size("mini"))          a row a variant: perplexity per word, minimal pairs, test suites

The paper asks two of these questions: how arcs are represented (its Table 4), and how much depends on the parser whose
trees the model is trained on and summed over (its Table 5). The others are about what the paper leaves open.
"""

import random
from dataclasses import replace
from typing import Any, NamedTuple

from dtglib.corpora import part_of
from dtglib.experiment import prepare, trained
from dtglib.kept import Row
from dtglib.measured import perplexity_row, scores_of, test_sentences
from dtglib.networks import best_on_dev
from dtglib.parser_training import proposers
from dtglib.settings import Settings
from dtglib.syntactic import pairs_of, suites_of


class Variant(NamedTuple):
    """What is changed: fields of the model's config, who draws the training trees, and who those that are summed."""

    model: dict[str, Any]
    parsed_by: str | None = None  # "strong", "weak" or, by nobody, OWN; None: as the settings have it
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


def ablations(settings: Settings) -> list[Row]:
    """A row for each variant of each question, with what is measured; the same model comes under several questions.

    A corpus without trees of its own has no variant with them.
    """
    settings = settings._replace(model=replace(settings.model, model="dtg"))
    has_trees = any(sentence.heads is not None for sentence in part_of(settings.corpus, "train").sentences)
    asked = [
        (question, name, variant)
        for question, variants in QUESTIONS.items()
        for name, variant in variants.items()
        if has_trees or variant.parsed_by != OWN
    ]
    variants = {str(variant): variant for _, _, variant in asked}
    # In an order of each process's own: of two that measure the same list, one would else follow the other to its end,
    # and wait for all that it measures.
    order = random.SystemRandom().sample(list(variants), len(variants))
    parsers, sentences = proposers(settings), test_sentences(settings)
    measured = {key: _measured(settings, variants[key], parsers, sentences) for key in order}
    return [{"question": question, "variant": name, **measured[str(variant)]} for question, name, variant in asked]


def _measured(settings: Settings, variant: Variant, parsers: dict[str, Any], sentences: list) -> Row:
    chosen = settings._replace(model=replace(settings.model, **variant.model))
    if variant.parsed_by:
        parser = None if variant.parsed_by == OWN else getattr(settings.parsers, f"{variant.parsed_by}_parser")
        chosen = chosen._replace(parsers=replace(settings.parsers, parsed_by=parser))
    folder = trained(chosen, prepare(chosen))
    parser, trees = parsers[variant.summed_over], settings.evaluation.trees
    scores = scores_of(folder, sentences, parser, trees, seed=settings.run.seed)
    (primary, *_) = suites_of(chosen, folder)["averages"].items()
    return {
        "folder": folder.name,
        "nats_per_sentence": best_on_dev(folder)["nats_per_sentence"],
        **perplexity_row(scores),
        "pairs": pairs_of(chosen, folder)["accuracy"],
        **dict(zip(("average of suites", "suites"), primary, strict=True)),
    }
