"""From trained models to what they are judged by; every number is computed once, and found again in runs/scores.

    sentences = test_sentences(settings)                                   spread evenly over the test part
    scores = scores_of(folder_of_model, sentences, folder_of_parser, trees=300)
    rows = tightness_of(folder_of_model, sentences, folder_of_parser, trees=3000)

What is found again must depend on nothing else than what was given: a file is known by the weights of the model and of
the parser, the words, how many trees are chosen and how, and the code of the package: of all of it, so another version
of dtglib computes all scores anew. On which device they were computed is in the last digits alone, and not asked.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dtglib.code import RUNNING
from dtglib.corpora import part_of
from dtglib.errors import require
from dtglib.evaluate.perplexity import SentenceScore, by_trees, exactly, interval_per_word, perplexity
from dtglib.evaluate.sets import Something
from dtglib.evaluate.tightness import tightness
from dtglib.files import find_repository, sha256
from dtglib.kept import Row, digest_of, kept_rows
from dtglib.model import WEIGHTS_FILE, Model
from dtglib.processes import device_at_hand
from dtglib.proposals.parser import known_as, load_parser
from dtglib.proposals.propose import METHODS, propose
from dtglib.readings import SYSTEM_OF
from dtglib.settings import Settings
from dtglib.treebank import Sentence

# The whole package: which of its modules a number depends on is hard to say, and soon out of date.
_CODE = digest_of(RUNNING)[:12]

# For which numbers of trees the bounds are kept.
COUNTS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 3000)


def test_sentences(settings: Settings) -> list[Sentence]:
    """So many sentences of the test part as the settings ask for, spread over it evenly."""
    return spread(part_of(settings.corpus, "test").sentences, settings.evaluation.scored_sentences)


def spread(sentences: Sequence[Something], count: int | None) -> list[Something]:
    """So many of the sentences (None: all), at even distances."""
    count = min(count or len(sentences), len(sentences))
    return [sentences[number * len(sentences) // count] for number in range(count)]


def scores_of(
    model_folder: Path,
    sentences: Sequence[Sentence],
    parser_folder: Path | str | None = None,
    trees: int = 300,
    method: str = "sample",
    seed: int = 1,
) -> list[SentenceScore]:
    """What a trained model says of each sentence; a model with trees needs a parser that proposes them."""
    words = [sentence.words for sentence in sentences]

    def rows_from(first: int) -> Iterator[Row]:
        model = Model.load(model_folder, device_at_hand())
        if model.config.model not in SYSTEM_OF:
            return (score._asdict() for score in exactly(model, words[first:]))
        require(parser_folder, f"{model.config.model} sums over trees, which a parser proposes; name one")
        chosen = propose(load_parser(parser_folder), words, trees, METHODS[method], seed)
        heads = (proposed.heads for proposed in islice(chosen, first, None))
        return (score._asdict() for score in by_trees(model, words[first:], heads))

    about = {"what": "log p", "trees": trees, "method": method, "seed": seed}
    rows = _kept("scores", model_folder, parser_folder, words, about, rows_from)
    return [SentenceScore(**{**row, "best": row["best"] and tuple(row["best"])}) for row in rows]


def tightness_of(
    model_folder: Path, sentences: Sequence[Sentence], parser_folder: Path | str, trees: int = 3000, seed: int = 1
) -> list[Row]:
    """How the bound of each sentence grows with its trees, as a row for a table; see evaluate/tightness.py."""
    words = [sentence.words for sentence in sentences]

    def rows_from(first: int) -> Iterator[Row]:
        model, arc_scores = Model.load(model_folder, device_at_hand()), load_parser(parser_folder).arc_scores(words)
        for number in range(first, len(words)):
            random = np.random.default_rng([seed, number])
            found = tightness(model, words[number], arc_scores[number], trees, random)
            counts = sorted({max(1, trees // 10), trees, *(count for count in COUNTS if count < trees)})
            yield {
                "words": len(words[number]),
                # Where there are fewer trees than are asked for, the bound of all is the bound of more.
                "best": {count: float(found.best[:count][-1]) for count in counts},
                "sample": {count: float(found.sampled[:count][-1]) for count in counts},
                "trees": len(found.best),
                **{f"estimate_{name}": value for name, value in found.estimate._asdict().items()},
                **{name: getattr(found, name) for name in ("exact", "outside", "seen", "entropy", "unseen")},
            }

    about = {"what": "tightness", "trees": trees, "seed": seed}
    return _kept("tightness", model_folder, parser_folder, words, about, rows_from)


def perplexity_row(scores: Sequence[SentenceScore]) -> Row:
    """Perplexities of a test set, as a row for a table; the interval is that of the bootstrap over its sentences."""
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


class Missing(NamedTuple):
    """How many nats a word a bound lacks, ends included."""

    nats: float  # against the exact value where there is one, else against the estimate
    error: float  # 1.96 of the estimates' errors, as far as the draws know them
    at_least: float  # against all trees that were looked at, which is no estimate


def by_truth(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The sentences of a study whose log p(words) is known, and those for which it is estimated."""
    return {
        "exact": [row for row in rows if row["exact"] is not None],
        "estimate": [row for row in rows if row["exact"] is None],
    }


def missing(rows: Sequence[Row], way: str, count: int) -> Missing:
    """What the bound of so many trees lacks, over all sentences of a study."""
    events = sum(row["words"] + 1 for row in rows)
    lacking, known, variance = [], [], 0.0
    for row in rows:
        bound, truth = row[way][str(count)], row["exact"]
        if truth is None:
            truth = row["estimate_log_prob"]
            variance += ((row["estimate_high"] - row["estimate_low"]) / 2) ** 2
        # Of a sentence that cannot be, nothing is missing: minus infinity less minus infinity is no number.
        lacking.append(0.0 if truth == bound else truth - bound)
        known.append(0.0 if row["seen"] == bound else row["seen"] - bound)
    return Missing(math.fsum(lacking) / events, math.sqrt(variance) / events, math.fsum(known) / events)


def _kept(
    name: str,
    model: Path,
    parser: Path | str | None,
    words: Sequence[Sequence[str]],
    about: Mapping[str, Any],
    rows_from,
) -> list[Row]:
    return kept_scores(name, model, parser, about | {"sentences": digest_of(words)}, len(words), rows_from)


def kept_scores(
    name: str,
    model: Path,
    parser: Path | str | None,
    about: Mapping[str, Any],
    count: int,
    rows_from: Callable[[int], Iterator[Row]],
    unit: str = "sentence",
) -> list[Row]:
    """Rows about a trained model (and a parser), found again if `about` says all that they depend on besides."""
    identity = {
        **about,
        "model": sha256(model / WEIGHTS_FILE),
        "parser": parser and known_as(parser),
        "code": _CODE,
    }
    folder = (find_repository() or Path.cwd()) / "runs" / "scores"
    path = folder / f"{name}-{model.resolve().name}-{digest_of(identity)[:12]}" / "rows.jsonl"
    return kept_rows(path, identity, count, rows_from, "scoring", unit)
