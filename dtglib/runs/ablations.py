"""Ablations: a model with one decision changed at a time, each variant trained and evaluated.

    rows = ablations(read_size("mini"))          a row per variant: perplexity per word, minimal pairs, test suites

The questions, and the variants that answer them, are those of the model's family (families/base.py). Its paper may have
its own function that measures a variant (`variants` in basics/papers.py).
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from dtglib.basics.errors import UserError
from dtglib.basics.papers import papers
from dtglib.basics.record import Row
from dtglib.data.corpora import CorpusConfig, part_of
from dtglib.evaluate.perplexity import SentenceScore
from dtglib.evaluate.reports import perplexity_row
from dtglib.families.base import OWN, Variant
from dtglib.runs.parsers import TrainingData, parser_named
from dtglib.runs.prepare import folder_for, prepare, read_corpus, train_into
from dtglib.runs.sentence_scores import scores_of, test_sentences
from dtglib.runs.settings import Settings
from dtglib.runs.syntax_scores import beam_scores, pairs_of, parsing_of, suites_of, widths_of
from dtglib.training.networks import best_on_dev


def variants_of(settings: Settings, some: Sequence[str] = ()) -> list[tuple[str, str, Variant]]:
    """Every question (or only some) with its variants; OWN is left out if the corpus has no trees."""
    questions, has_trees = settings.family.questions, _has_trees(settings.corpus)
    if unknown := [question for question in some if question not in questions]:
        known = ", ".join(map(repr, questions)) or "none"
        raise UserError(f"{settings.family.title}: there is no question {unknown[0]!r} about it; there is {known}")
    return [
        (question, name, variant)
        for question, variants in questions.items()
        for name, variant in variants.items()
        if (not some or question in some) and (has_trees or variant.parsed_by != OWN)
    ]


@lru_cache(maxsize=1)
def _has_trees(corpus: CorpusConfig) -> bool:
    """True if the first sentence of a corpus has a tree."""
    first = part_of(replace(corpus, train_sentences=1), "train").sentences
    return any(sentence.heads is not None for sentence in first)  # there may be no sentence


def ablations(settings: Settings, some: Sequence[str] = ()) -> list[Row]:
    """A row of measurements for each variant of each question (or of some); a model may belong to several questions."""
    rows = variants_of(settings, some)
    numbers = {str(variant): measure(settings, variant) for _, _, variant in rows}
    return [{"question": question, "variant": name, **numbers[str(variant)]} for question, name, variant in rows]


def measure(settings: Settings, variant: Variant) -> Row:
    """Train a variant, or find it, and measure it as its paper does."""
    of_paper = (paper.part("variants") for paper in papers() if paper.name == settings.family.paper)
    return (next(of_paper, None) or measured)(settings, variant)


def measured(settings: Settings, variant: Variant) -> Row:
    """Train a variant, or find it: how well it predicts sentences, and what it knows of syntax."""
    chosen, folder = trained_variant(settings, variant)
    (primary, *_) = suites_of(chosen, folder)["averages"].items()
    return {
        **predicted(settings, variant),
        "pairs": pairs_of(chosen, folder)["accuracy"],
        **dict(zip(("average of suites", "suites"), primary, strict=True)),
        **(_by_search(chosen, folder) if variant.searched else {}),
    }


def _by_search(chosen: Settings, folder: Path) -> Row:
    """Perplexity and attachment by the beam search that scores sentences and parses them."""
    by_beam = perplexity_row(beam_scores(folder, test_sentences(chosen), widths_of(chosen)))
    of_trees = parsing_of(chosen, folder)
    attachment = {name: of_trees[name] for name in ("UAS", "LAS") if name in of_trees}
    return {"per word, by beam": by_beam["per word"], "impossible, by beam": by_beam["impossible"], **attachment}


def predicted(settings: Settings, variant: Variant) -> Row:
    """Train a variant, or find it: how well it predicts sentences."""
    chosen, folder = trained_variant(settings, variant)
    return {**of_training(folder), **perplexity_row(_scores(chosen, settings, variant, folder))}


def of_training(folder: Path) -> Row:
    """The name of a model's folder, and its loss on the dev part."""
    return {"folder": folder.name, "nats_per_sentence": best_on_dev(folder)["nats_per_sentence"]}


def trained_variant(settings: Settings, variant: Variant) -> tuple[Settings, Path]:
    """The settings of a variant and its folder, trained now unless it is in the cache."""
    chosen = settings_of(variant, settings)
    # Neighbours in the list share the corpus, which depends on the family and the parser alone. They do not share the
    # data, which may depend on every setting of a model.
    reads = replace(settings.model, model=chosen.model.model)
    prepared = prepare(chosen, _corpus(settings._replace(model=reads, parsers=chosen.parsers), variant.share))
    folder = folder_for(chosen, prepared)
    train_into(chosen, prepared, folder)
    return chosen, folder


def _scores(chosen: Settings, settings: Settings, variant: Variant, folder: Path) -> list[SentenceScore]:
    """The probabilities of the test sentences: by search, or by the trees of the variant's parser if there is one."""
    sentences, kind = test_sentences(settings), chosen.family
    if kind.likelihood.needs_search:
        return beam_scores(folder, sentences, widths_of(settings))
    parser = None
    if kind.likelihood.sums_over_trees:
        name = f"{variant.summed_over}_parser" if kind.trees.are_heads else kind.trees.proposed_by
        parser = parser_named(getattr(settings.parsers, name), settings)
    return scores_of(folder, sentences, parser, settings.evaluation.trees, seed=settings.run.seed)


@lru_cache(maxsize=1)  # a corpus may be large
def _corpus(settings: Settings, share: float) -> TrainingData:
    return read_corpus(settings, share)


def settings_of(variant: Variant, settings: Settings) -> Settings:
    """The settings of a model at a size, with the changes of a variant; fewer sentences are read more often."""
    longer = replace(settings.train, epochs=round(settings.train.epochs / variant.share))
    chosen = settings._replace(model=replace(settings.model, **variant.model), train=longer)
    if variant.parsed_by is None:
        return chosen
    parser = None if variant.parsed_by == OWN else getattr(settings.parsers, f"{variant.parsed_by}_parser")
    return chosen._replace(parsers=replace(settings.parsers, parsed_by=parser))
