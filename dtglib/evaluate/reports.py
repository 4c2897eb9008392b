"""Rows and tables that sum up scores: perplexities, attachment, minimal pairs, test suites."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from dtglib.basics.record import Row
from dtglib.data.treebank import Sentence
from dtglib.data.vocabulary import Vocabulary
from dtglib.evaluate import blimp, suites
from dtglib.evaluate.attachment import attached, is_word
from dtglib.evaluate.perplexity import SentenceScore, interval_per_word, perplexity
from dtglib.evaluate.surprisal import is_known
from dtglib.transitions.protocol import OPEN


def perplexity_row(scores: Sequence[SentenceScore]) -> Row:
    """Perplexities of a test set as a table row; the 95 % interval comes from a bootstrap over the sentences."""
    total = perplexity(scores)
    low, high = interval_per_word(scores, np.random.default_rng(1))
    return {
        "sentences": total.sentences,
        "words": total.words,
        "pieces": total.pieces,
        "nats": total.nats,
        "per piece": total.per_piece,
        "per word": total.per_word,
        "per word, low": low,
        "per word, high": high,
        "trees": float(np.mean([score.trees for score in scores])),
        "impossible": sum(score.log_prob == -math.inf for score in scores),
    }


def parsing_row(sentences: Sequence[Sentence], rows: Sequence[Row]) -> Row:
    """Attachment scores against the treebank; all words of a sentence for which no tree was found count as wrong.

    Sentences without a tree in the treebank are left out; if none is left, there are no scores. Labels are compared if
    the model's arcs have some, and all trees of the treebank.
    """
    judged = [(sentence, row) for sentence, row in zip(sentences, rows, strict=True) if sentence.heads is not None]
    if not judged:
        return {"sentences": 0}
    sentences, rows = zip(*judged, strict=True)
    trees = [(row["tree"] or [OPEN] * len(sentence.words))[: len(sentence.words)] for sentence, row in judged]
    labels = None
    if any(row.get("labels") for row in rows) and all(sentence.labels for sentence in sentences):
        labels = [row["labels"] or [""] * len(sentence.words) for sentence, row in judged]
    right = attached(sentences, trees, labels=labels)
    low, high = right.interval(np.random.default_rng(1))
    without_punctuation = attached(sentences, trees, is_word)
    return {
        "sentences": len(rows),
        "UAS": right.uas,
        "UAS, low": low,
        "UAS, high": high,
        **({"UAS without punctuation": without_punctuation.uas} if without_punctuation.words.any() else {}),
        **({} if labels is None else {"LAS": right.las}),
        "without a tree": sum(row["tree"] is None for row in rows),
    }


# Tables by name, and numbers over all rows.
Report = dict[str, Any]


def pairs_report(paradigms: Sequence[blimp.Paradigm], rows: Sequence[Row], vocabulary: Vocabulary) -> Report:
    """Accuracies by paradigm, phenomenon and field, and their mean over the paradigms.

    A pair is "alike" if the vocabulary sees no difference, so that no model can prefer one; identical pairs are, too.
    """
    pairs = [pair for paradigm in paradigms for pair in paradigm.pairs]
    scores = blimp.scores_by_paradigm(paradigms, rows)
    return {
        "paradigms": scores,
        "phenomena": blimp.grouped(scores, "phenomenon"),
        "fields": blimp.grouped(scores, "field"),
        "accuracy": blimp.overall(scores),
        "pairs": len(rows),
        "ties": sum(row["ties"] for row in scores),
        "identical": sum(row["identical"] for row in scores),
        "alike": sum(vocabulary.encode(pair.good).ids == vocabulary.encode(pair.bad).ids for pair in pairs),
        "failed": sum(row["failed"] for row in scores),
    }


def suites_report(tested: Sequence[suites.Suite], rows: Sequence[Row], vocabulary: Vocabulary) -> Report:
    """Scores by suite and circuit, and the averages, ours first."""
    scores = suites.scores_by_suite(tested, rows, partial(is_known, vocabulary))
    return {
        "suites": scores,
        "predictions": suites.predictions(tested, rows),
        "circuits": suites.circuits(scores),
        "averages": suites.averages(scores),
    }
