"""The families of the eight systems."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from dtglib.basics.errors import require
from dtglib.data.parallel import source_of
from dtglib.data.treebank import Sentence
from dtglib.evaluate.perplexity import SentenceScore
from dtglib.families.base import Family, Likelihood
from dtglib.families.translation.config import TranslationConfig, TranslationTraining
from dtglib.families.translation.examples import (
    PairBatch,
    PairExamples,
    padded,
    pieces_of,
    speaks,
    symbols,
    target_of,
    why_not,
)
from dtglib.families.translation.network import Translator
from dtglib.families.translation.search import translate
from dtglib.families.translation.systems import SYSTEMS, System

PAPER = "translation"
AT_ONCE = 32  # sentences that are scored together


def scores_of(model: Translator, sentences: Sequence[Sentence], trees: None = None) -> Iterator[SentenceScore]:
    """log p of each sentence given its source; if the system writes trees, of the sentence with its own tree."""
    model.eval()
    sources = [source_of(sentence) for sentence in sentences]
    for sentence in sentences:
        problem = why_not(model.meanings, sentence)
        way_out = "take a corpus with trees and labels like those of its training"
        require(not problem, f"sentence {sentence.id!r} has {problem}, and {model.system.title} writes one; {way_out}")
    for first in range(0, len(sentences), AT_ONCE):
        some = sentences[first : first + AT_ONCE]
        source = padded([np.array(model.vocabulary.encode(words).ids) for words in sources[first : first + AT_ONCE]])
        batch = PairBatch(source.to(model.device), [target_of(model.meanings, sentence) for sentence in some])
        with torch.no_grad():
            found = model.predict(batch)
        log_probs = -np.bincount(found.of, found.nats.double().cpu().numpy(), len(some))
        for sentence, target, log_prob in zip(some, batch.targets, log_probs.tolist(), strict=True):
            pieces, tree = pieces_of(model.meanings, target), sentence.heads if model.system.writes_tree else None
            yield SentenceScore(len(sentence.words), pieces, int(tree is not None), log_prob, tree)


def _family(system: System) -> Family:
    what = "log p given the source"
    return Family(
        name=system.name,
        title=system.title,
        paper=PAPER,
        config=TranslationConfig,
        build=Translator,
        examples=PairExamples.of,
        likelihood=Likelihood(what, not system.writes_tree, sums_over_trees=False, scores=scores_of),
        symbols=symbols,
        speaks=speaks,
        is_searched=False,  # by words that are given; translations are searched for in search.py
        translates=translate,
        training=TranslationTraining,
        is_baseline=not system.writes_tree,
    )


FAMILIES_OF_SYSTEMS = tuple(map(_family, SYSTEMS.values()))
