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
from dtglib.evaluate.reports import perplexity_row
from dtglib.families.base import OWN, Variant
from dtglib.runs.parsers import parser_named
from dtglib.runs.prepare import folder_for, prepare, read_corpus, train_into
from dtglib.runs.sentence_scores import test_sentences
from dtglib.runs.settings import Settings
from dtglib.runs.syntax_scores import beam_scores, pairs_of, parsing_of, scores_at, suites_of, widths_of
from dtglib.training.networks import best_on_dev


def variants_of(settings: Settings, some: Sequence[str] = ()) -> list[tuple[str, str, Variant]]:
    """Every question (or only some) with its variants; OWN is left out if the corpus has no trees."""
    questions, has_trees = settings.family.questions, _has_trees(settings.corpus)
    if unknown := [question for question in some if question not in questions]:
        known = ", ".join(map(repr, questions)) or "none"
        raise UserError(f"{settings.family.title}: there is no question {unknown[0]!r}; its questions are {known}")
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
    """A row of measurements for each variant of each question, or of some; questions may share a model."""
    rows = variants_of(settings, some)
    numbers = {str(variant): measure(settings, variant) for _, _, variant in rows}
    return [{"question": question, "variant": name, **numbers[str(variant)]} for question, name, variant in rows]


def measure(settings: Settings, variant: Variant) -> Row:
    """The measurements of a variant by the function of its paper; it is trained now unless it is in the cache."""
    of_paper = (paper.part("variants") for paper in papers() if paper.name == settings.family.paper)
    return (next(of_paper, None) or measured)(settings, variant)


def measured(settings: Settings, variant: Variant) -> Row:
    """Perplexity, minimal pairs and test suites of a variant, which is trained now unless it is in the cache."""
    chosen, folder = trained_variant(settings, variant)
    (primary, *_) = suites_of(chosen, folder)["averages"].items()
    return {
        **predicted(chosen, folder, variant),
        "pairs": pairs_of(chosen, folder)["accuracy"],
        **dict(zip(("average of suites", "suites"), primary, strict=True)),
        **(_by_search(chosen, folder) if variant.searched else {}),
    }


def _by_search(chosen: Settings, folder: Path) -> Row:
    """Perplexity and attachment by beam search."""
    by_beam = perplexity_row(beam_scores(folder, test_sentences(chosen), widths_of(chosen)))
    of_trees = parsing_of(chosen, folder)
    attachment = {name: of_trees[name] for name in ("UAS", "LAS") if name in of_trees}
    return {"per word, by beam": by_beam["per word"], "impossible, by beam": by_beam["impossible"], **attachment}


def predicted(chosen: Settings, folder: Path, variant: Variant) -> Row:
    """The perplexity of a trained variant."""
    kind, parser = chosen.family, None
    if kind.likelihood.sums_over_trees:
        name = f"{variant.summed_over}_parser" if kind.trees.are_heads else kind.trees.proposed_by
        parser = parser_named(getattr(chosen.parsers, name), chosen)
    return {**of_training(folder), **perplexity_row(scores_at(chosen, folder, parser))}


def of_training(folder: Path) -> Row:
    """The name of a model's folder, and its loss on the dev part."""
    return {"folder": folder.name, "nats_per_sentence": best_on_dev(folder)["nats_per_sentence"]}


def trained_variant(settings: Settings, variant: Variant) -> tuple[Settings, Path]:
    """The settings of a variant and its folder, trained now unless it is in the cache."""
    chosen = settings_of(variant, settings)
    # Neighbours in the list share the corpus. They do not share the data, which depend on every setting of a model.
    prepared = prepare(chosen, _corpus(chosen.of_corpus, variant.share))
    folder = folder_for(chosen, prepared)
    train_into(chosen, prepared, folder)
    return chosen, folder


_corpus = lru_cache(maxsize=1)(read_corpus)  # a corpus may be large


def settings_of(variant: Variant, settings: Settings) -> Settings:
    """Settings with the changes of a variant; a variant with fewer sentences has more epochs."""
    longer = replace(settings.train, epochs=round(settings.train.epochs / variant.share))
    chosen = settings._replace(model=replace(settings.model, **variant.model), train=longer)
    if variant.parsed_by is None:
        return chosen
    parser = None if variant.parsed_by == OWN else getattr(settings.parsers, f"{variant.parsed_by}_parser")
    return chosen._replace(parsers=replace(settings.parsers, parsed_by=parser))
