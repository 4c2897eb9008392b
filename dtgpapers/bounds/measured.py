"""The study of bounds as a part of recorded evaluations: `dtglib evaluate --about bounds`.

rows = tightness_of(folder_of_model, sentences, folder_of_parser, trees=3000)     a row per sentence
missing(rows, "sample", 300).nats                   what a bound of 300 drawn trees lacks, in nats per word
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dtglib.basics.record import Row
from dtglib.data.treebank import Sentence
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import load_model
from dtglib.parsing.parser import load_parser
from dtglib.runs.cache import Computed, digest_of
from dtglib.runs.parsers import proposers
from dtglib.runs.sentence_scores import cached_scores, spread, test_sentences
from dtglib.runs.settings import Settings
from dtglib.training.distributed import device_at_hand
from dtgpapers.bounds.tightness import tightness

MODEL = "dtg"  # whose bounds are studied
TIMES = 10  # the number of trees, as a multiple of that in the evaluation
# The numbers of trees for which bounds are stored.
COUNTS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 3000)


def studied(settings: Settings) -> list[Sentence]:
    """The sentences of the study: a fifth of the test sentences."""
    sentences = test_sentences(settings)
    return spread(sentences, max(5, len(sentences) // 5))


def tightness_of(
    model_folder: Path, sentences: Sequence[Sentence], parser_folder: Path | str, trees: int = 3000, seed: int = 1
) -> list[Row]:
    """A row per sentence: its bound for each number of trees, and the estimate; cached in runs/scores."""
    words = [sentence.words for sentence in sentences]
    counts = sorted({max(1, trees // 10), trees, *(count for count in COUNTS if count < trees)})

    def load() -> Callable[[slice], Iterator[Row]]:
        model, parser = load_model(model_folder, device_at_hand()), load_parser(parser_folder)

        def rows_of(block: slice) -> Iterator[Row]:
            for number, arc_scores in enumerate(parser.arc_scores(words[block]), block.start):
                bounds = tightness(model, words[number], arc_scores, trees, np.random.default_rng([seed, number]))
                yield {
                    "words": len(words[number]),
                    # If a sentence has fewer trees than `count`, its bound is that of all of them.
                    "best": {count: float(bounds.best[:count][-1]) for count in counts},
                    "sample": {count: float(bounds.sampled[:count][-1]) for count in counts},
                    "trees": len(bounds.best),
                    **{f"estimate_{name}": value for name, value in bounds.estimate._asdict().items()},
                    **{name: getattr(bounds, name) for name in ("exact", "outside", "seen", "entropy", "unseen")},
                }

        return rows_of

    about = {"what": "tightness", "trees": trees, "seed": seed, "sentences": digest_of(words)}
    return cached_scores("tightness", model_folder, parser_folder, about, Computed(list(map(len, words)), load))


# ---- Over the rows of a study


class Missing(NamedTuple):
    """The difference between log p(words) and a bound, in nats per word; ends of sentences count as words."""

    nats: float  # from the exact value, or from its estimate
    error: float  # of the estimates: half the width of a 95 % interval
    at_least: float  # from the sum over all trees that were seen, which is no estimate


def by_truth(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The sentences of a study, separated by whether their log p(words) is exact or an estimate."""
    return {
        "exact": [row for row in rows if row["exact"] is not None],
        "estimate": [row for row in rows if row["exact"] is None],
    }


def missing(rows: Sequence[Row], way: str, count: int) -> Missing:
    """The difference between log p(words) and the bound of `count` trees, over all sentences of a study."""
    events = sum(row["words"] + 1 for row in rows)
    differences, at_least, variance = [], [], 0.0
    for row in rows:
        bound, truth = row[way][str(count)], row["exact"]
        if truth is None:
            truth = row["estimate_log_prob"]
            variance += ((row["estimate_high"] - row["estimate_low"]) / 2) ** 2
        # The difference is 0 for an impossible sentence; minus infinity less minus infinity would be NaN.
        differences.append(0.0 if truth == bound else truth - bound)
        at_least.append(0.0 if row["seen"] == bound else row["seen"] - bound)
    return Missing(math.fsum(differences) / events, math.sqrt(variance) / events, math.fsum(at_least) / events)


# ---- The record


def _recorded(settings: Settings, models: Mapping[str, Path]) -> Iterator[Row]:
    """The lines of a record: the missing nats by parser, way and number of trees, and means over the sentences."""
    if MODEL not in models or Vocabulary.load(models[MODEL]).symbols.labels:
        return
    most = TIMES * settings.evaluation.trees
    for name, parser in proposers(settings).items():
        study = tightness_of(models[MODEL], studied(settings), parser, most, settings.run.seed)
        for against, rows in by_truth(study).items():
            about = {"part": "tightness", "model": MODEL, "parser": name, "against": against, "sentences": len(rows)}
            for way in ("best", "sample"):
                for count in map(int, rows[0][way] if rows else ()):
                    yield {**about, "way": way, "trees": count, **missing(rows, way, count)._asdict()}
            if rows:
                means = {what: float(np.mean([row[what] for row in rows])) for what in ("entropy", "unseen", "outside")}
                yield about | means


RECORDS = {"bounds": _recorded}
