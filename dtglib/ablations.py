"""What each decision about the model is worth: one thing is changed at a time, and the model trained anew.

    rows = ablations(read_size("mini"))          a row a variant: perplexity per word, minimal pairs, test suites

The paper asks two of these questions: how arcs are represented (its Table 4), and how much depends on the parser whose
trees the model is trained on and summed over (its Table 5). The others are about what the paper leaves open.
"""

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from dtglib.corpora import part_of
from dtglib.experiment import Prepared, folder_for, prepare, train_into
from dtglib.files import in_turns
from dtglib.kept import Row
from dtglib.measured import perplexity_row, scores_of, test_sentences
from dtglib.networks import best_on_dev
from dtglib.parser_training import proposers
from dtglib.settings import Settings
from dtglib.syntactic import pairs_of, suites_of
from dtglib.treebank import Sentence


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
    parsers, sentences = proposers(settings), test_sentences(settings)
    variants = {str(variant): variant for _, _, variant in asked}
    chosen = {key: _settings_of(variant, settings) for key, variant in variants.items()}
    prepare_once = functools.lru_cache(maxsize=1)(prepare)  # a corpus may be large, and neighbours read the same

    def prepared(key: str) -> Prepared:
        """What a variant is trained on, which is all that these settings decide about."""
        reads = replace(settings.model, model=chosen[key].model.model)
        return prepare_once(settings._replace(model=reads, parsers=chosen[key].parsers))

    folders = {key: folder_for(chosen[key], prepared(key)) for key in chosen}
    measured = {}
    # Of two processes that take the same list in the same order, one would wait for all that the other trains.
    for key in in_turns(folders):
        train_into(chosen[key], prepared(key), folders[key])
        measured[key] = _measured(chosen[key], folders[key], parsers[variants[key].summed_over], sentences)
    return [{"question": question, "variant": name, **measured[str(variant)]} for question, name, variant in asked]


def _settings_of(variant: Variant, settings: Settings) -> Settings:
    """What the variant changes, changed."""
    chosen = settings._replace(model=replace(settings.model, **variant.model))
    if variant.parsed_by is None:
        return chosen
    parser = None if variant.parsed_by == OWN else getattr(settings.parsers, f"{variant.parsed_by}_parser")
    return chosen._replace(parsers=replace(settings.parsers, parsed_by=parser))


def _measured(settings: Settings, folder: Path, parser: Path | str, sentences: Sequence[Sentence]) -> Row:
    scores = scores_of(folder, sentences, parser, settings.evaluation.trees, seed=settings.run.seed)
    (primary, *_) = suites_of(settings, folder)["averages"].items()
    return {
        "folder": folder.name,
        "nats_per_sentence": best_on_dev(folder)["nats_per_sentence"],
        **perplexity_row(scores),
        "pairs": pairs_of(settings, folder)["accuracy"],
        **dict(zip(("average of suites", "suites"), primary, strict=True)),
    }
