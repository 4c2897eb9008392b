"""The families of the eight systems."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from dtglib.basics.config import value_of
from dtglib.basics.errors import UserError, require
from dtglib.basics.record import SETTINGS_FILE
from dtglib.data.treebank import Sentence
from dtglib.evaluate.perplexity import SentenceScore
from dtglib.families.base import BASE, Family, Likelihood, Questions, Variant
from dtgpapers.translation.config import TranslationConfig, TranslationTraining
from dtgpapers.translation.examples import (
    TranslationBatch,
    TranslationExamples,
    padded,
    pieces_of,
    speaks,
    symbols,
    target_of,
    why_not,
)
from dtgpapers.translation.network import Translator
from dtgpapers.translation.parallel import direction_of, source_of
from dtgpapers.translation.systems import SYSTEMS, System

PAPER = "translation"
AT_ONCE = 32  # sentences that are scored together


def scores_of(model: Translator, sentences: Sequence[Sentence], trees: None = None) -> Iterator[SentenceScore]:
    """log p of each sentence given its source; if the system writes trees, of the sentence with its own tree."""
    model.eval()
    sources = [source_of(sentence) for sentence in sentences]
    for sentence in sentences:
        problem = why_not(model.meanings, sentence)
        way_out = (
            "take a corpus with trees and labels like those of its training (in a record: `--about translation` alone)"
        )
        require(not problem, f"sentence {sentence.id!r} has {problem}, and {model.system.title} writes one; {way_out}")
    for first in range(0, len(sentences), AT_ONCE):
        part = sentences[first : first + AT_ONCE]
        source = padded([np.array(model.vocabulary.encode(words).ids) for words in sources[first : first + AT_ONCE]])
        batch = TranslationBatch(source.to(model.device), [target_of(model.meanings, sentence) for sentence in part])
        with torch.no_grad():
            predictions = model.predict(batch)
        log_probs = -np.bincount(predictions.of, predictions.nats.double().cpu().numpy(), len(part))
        for sentence, target, log_prob in zip(part, batch.targets, log_probs.tolist(), strict=True):
            pieces, tree = pieces_of(model.meanings, target), sentence.heads if model.system.writes_tree else None
            yield SentenceScore(len(sentence.words), pieces, int(tree is not None), log_prob, tree)


def require_languages(folder: Path, corpus: str) -> None:
    """An error if a corpus of pairs is not of the languages, or not in the direction, that a model has learnt."""
    settings = folder / SETTINGS_FILE
    learnt = direction_of(value_of(settings, "corpus", "")) if settings.is_file() else None
    direction = direction_of(corpus)
    if learnt and direction and learnt[1:] != direction[1:]:
        raise UserError(
            f"{corpus}: {folder.name} has learnt to translate from {learnt.source} to {learnt.target}; name a corpus "
            f"that ends in :{learnt.source}-{learnt.target}"
        )


# What the paper's code decides otherwise (config.py), of the system that reads labels.
LABELS: Questions = {"labels of edges": {"of all three": BASE, "between words": Variant({"labelled": "words"})}}
# The paper's large models; and noise in the pairs of training, as its section 6.4 has it in crawled texts.
SIZES: Questions = {"size": {"as configured": BASE, "large": Variant({"layers": 6, "width": 512, "inner": 2048})}}
NOISE: Questions = {"wrong pairs": {"none": BASE, "a fifth": Variant({"noise": 0.2})}}


def _family(system: System) -> Family:
    return Family(
        name=system.name,
        title=system.title,
        paper=PAPER,
        config=TranslationConfig,
        build=Translator,
        examples=TranslationExamples.of,
        likelihood=Likelihood(
            "log p given the source",
            is_exact=not system.writes_tree,
            sums_over_trees=False,
            scores=scores_of,
            is_searched=False,  # no search scores words that are given; search.py finds translations
            is_conditional=True,
            check=require_languages,
        ),
        vocabulary=lambda config, shared, treebank: speaks(config, shared, treebank).with_symbols(
            symbols(config, treebank)
        ),
        training=TranslationTraining,
        questions={**(LABELS if system.graph and system.graph.labels else {}), **SIZES, **NOISE},
    )


FAMILIES = tuple(map(_family, SYSTEMS.values()))
