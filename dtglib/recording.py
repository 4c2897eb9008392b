"""A recorded run: all models of a size, with several seeds, evaluated and written down where tables can find it.

    dtglib evaluate --size mini --seeds 1 2 3 --out results/2026-11-21-mini

What is trained and scored is kept in runs/, so a run that was stopped begins its record anew but nothing else. The
record (record.py) has a line of metrics for every number:

    {"part": "perplexity", "seed": 1, "model": "dtg", "parser": "strong", "per word": 22.6, ...}
    {"part": "reranking",  "seed": 1, "parser": "strong", "chosen by": "dtg", "UAS": 0.98, ...}
    {"part": "tightness",  "seed": 1, "model": "dtg", "parser": "strong", "way": "best", "trees": 300, "nats": ...}
    {"part": "suites",     "seed": 1, "model": "dtg", "suite": "number_prep", "circuit": "Agreement", "score": ...}
    {"part": "pairs",      "seed": 1, "model": "dtg", "paradigm": "anaphor_number_agreement", "accuracy": ...}
    {"part": "parsing",    "seed": 1, "model": "dtg", "UAS": 0.97, ...}
    {"part": "ablation",   "seed": 1, "question": "arc representation", "variant": "w", "per word": 23.1, ...}
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dtglib import measured
from dtglib.ablations import ablations
from dtglib.config import as_dict
from dtglib.errors import UserError
from dtglib.evaluate.rerank import reranked
from dtglib.experiment import prepare, read_corpus, trained
from dtglib.networks import best_on_dev
from dtglib.parser_training import is_ours, proposers, read_parser
from dtglib.proposals.parser import load_parser
from dtglib.proposals.propose import METHODS, favourites, propose
from dtglib.readings import READINGS, SYSTEM_OF
from dtglib.record import Run, read_record
from dtglib.registry import checksums
from dtglib.settings import Settings, read_size
from dtglib.syntactic import pairs_of, parsing_of, suites_of
from dtglib.treebank import Sentence

TREES_IN_STUDY = 10  # times those of the evaluation


def record_evaluation(
    size: str, seeds: Sequence[int], names: Sequence[str], out: Path, about: Sequence[str] = ()
) -> None:
    """Train, or find, these models of a size with every seed, and write down what they are worth."""
    for what, odd, known in (
        ("model", [name for name in names if name not in READINGS], READINGS),
        ("evaluation", [name for name in about if name not in ABOUT], ABOUT),
    ):
        if odd:
            raise UserError(f"there is no {what} {odd[0]!r}; there is {', '.join(known)}")
    settings, about = read_size(size), about or list(ABOUT)
    config = {"size": size, **as_dict(*settings), "seed": list(seeds), "model": list(names), "about": list(about)}
    ours = {name for name in as_dict(settings.parsers).values() if name and is_ours(name)}
    config |= {f"{name} parser": as_dict(*read_parser(name, settings)) for name in sorted(ours)}
    question = f"What do models of size {size} know of sentences, trees and syntax?"
    with Run(out, question, config, seeds=seeds, data=checksums()) as run:
        for seed in seeds:
            for line in _of_seed(read_size(size, seed=seed), names, about):
                run.metric(seed=seed, **line)


def _of_seed(settings: Settings, names: Sequence[str], about: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The lines of one seed, which decides about the models, the parsers and the trees that are drawn."""
    measured.test_sentences(settings)  # first of all: a corpus may have none
    corpus = read_corpus(settings)
    models = {}
    for model in names if set(about) - {"ablations"} else ():  # which train their own
        chosen = settings._replace(model=replace(settings.model, model=model))
        models[model] = trained(chosen, prepare(chosen, corpus))
        yield {"part": "training", "model": model, **_of_training(models[model])}
    for name in about:
        yield from ABOUT[name](settings, models)


def _of_sentences(settings: Settings, models: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    """Perplexities, reranking, and how tight the bounds are."""
    sentences = measured.test_sentences(settings)
    for name, parser in proposers(settings).items():
        yield {"part": "parser", "parser": name, **_of_proposer(parser)}
        yield from _of_parser(settings, models, name, parser, sentences)


def _of_syntax(settings: Settings, models: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    """Test suites and minimal pairs."""
    for model, folder in models.items():
        report = suites_of(settings, folder)
        for row in report["suites"]:
            yield {"part": "suites", "model": model, **row}
        for name, value in report["averages"].items():
            yield {"part": "averages of suites", "model": model, "average": name, "score": value}
        report = pairs_of(settings, folder)
        about = {"model": model, "log p": report["log p"]}
        for row in report["paradigms"]:
            yield {"part": "pairs", **about, **row}
        totals = {name: report[name] for name in ("accuracy", "pairs", "ties", "identical", "alike", "failed")}
        yield {"part": "all pairs", **about, **totals}


def _of_parsing(settings: Settings, models: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    """The models as parsers."""
    for model, folder in models.items():
        if model in SYSTEM_OF:
            yield {"part": "parsing", "model": model, **parsing_of(settings, folder)}


def _of_ablations(settings: Settings, models: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    """DTG and its variants, whichever models were asked for."""
    for row in ablations(settings):
        yield {"part": "ablation", **row}


# What a record can be about.
ABOUT = {"sentences": _of_sentences, "syntax": _of_syntax, "parsing": _of_parsing, "ablations": _of_ablations}


def _of_training(folder: Path) -> dict[str, Any]:
    best, names = best_on_dev(folder), ("nats_per_transition", "nats_per_sentence")
    parameters = read_record(folder).metrics[0]["parameters"]
    return {"folder": folder.name, "parameters": parameters, **{name: best[name] for name in names}}


def _of_proposer(parser: Path | str) -> dict[str, Any]:
    """A parser of ours has a record of its training, a published one just a name."""
    trained_here = Path(parser).is_dir()
    return {
        "folder": Path(parser).name,
        "nats_per_word": best_on_dev(Path(parser))["nats_per_transition"] if trained_here else None,
    }


def _of_parser(
    settings: Settings, models: Mapping[str, Path], name: str, parser: Path | str, sentences: list[Sentence]
) -> Iterator[dict[str, Any]]:
    """What the models make of the trees that one parser proposes."""
    trees, seed = settings.evaluation.trees, settings.run.seed
    words = [sentence.words for sentence in sentences]
    loaded = load_parser(parser)
    proposed = list(propose(loaded, words, trees, METHODS["sample"], seed))
    choices = {}
    for model, folder in models.items():
        has_trees = model in SYSTEM_OF
        scores = measured.scores_of(folder, sentences, parser if has_trees else None, trees, seed=seed)
        if has_trees:
            choices[model] = [score.best for score in scores]
        if has_trees or name == "strong":  # TXL (tokens) needs no parser, and is scored once
            used = name if has_trees else None
            yield {"part": "perplexity", "model": model, "parser": used, **measured.perplexity_row(scores)}
    for row in reranked(sentences, favourites(loaded, words), proposed, choices):
        yield {"part": "reranking", "parser": name, **row}
    if "dtg" not in models:
        return
    some = measured.spread(sentences, max(5, len(sentences) // 5))
    study = measured.tightness_of(models["dtg"], some, parser, TREES_IN_STUDY * trees, seed)
    for against, rows in measured.by_truth(study).items():
        about = {"part": "tightness", "model": "dtg", "parser": name, "against": against, "sentences": len(rows)}
        for way in ("best", "sample"):
            for count in map(int, rows[0][way] if rows else ()):
                yield {**about, "way": way, "trees": count, **measured.missing(rows, way, count)._asdict()}
        if rows:
            yield about | {
                what: float(np.mean([row[what] for row in rows])) for what in ("entropy", "unseen", "outside")
            }
