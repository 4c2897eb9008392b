"""A recorded evaluation: all models of a size, with several seeds, written to a folder that tables can read.

    dtglib evaluate --size mini --seeds 1 2 3 --out results/2026-11-21-mini

Models and scores are cached in runs/, so a stopped evaluation repeats only its record. The record (basics/record.py)
has a line of metrics for every number, such as

    {"part": "perplexity", "seed": 1, "model": "dtg", "parser": "strong", "per word": 22.6, ...}
    {"part": "suites",     "seed": 1, "model": "dtg", "suite": "number_prep", "circuit": "Agreement", "score": ...}
    {"part": "ablation",   "seed": 1, "model": "dtg", "question": "output layer", "variant": "factored, legal", ...}
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dtglib.basics.config import as_dict
from dtglib.basics.errors import UserError
from dtglib.basics.papers import papers
from dtglib.basics.record import Row, Run, read_record
from dtglib.basics.released import folder_named
from dtglib.data.treebank import Sentence
from dtglib.evaluate import reports
from dtglib.evaluate.rerank import reranked
from dtglib.families.base import family, family_name_in
from dtglib.parsing.parser import load_parser
from dtglib.parsing.propose import METHODS, favourites, propose
from dtglib.runs.ablations import ablations, variants_of
from dtglib.runs.parsers import is_ours, nats_per_word, proposer_of, proposers, read_parser
from dtglib.runs.prepare import is_released, trained_together
from dtglib.runs.sentence_scores import test_sentences
from dtglib.runs.settings import Settings, checksums_of, read_size
from dtglib.runs.syntax_scores import beam_scores, pairs_of, parsing_of, scores_at, suites_of, widths_of
from dtglib.training.networks import best_on_dev


def record_evaluation(
    size: str,
    seeds: Sequence[int],
    names: Sequence[str],
    out: Path,
    about: Sequence[str] = (),
    questions: Sequence[str] = (),
) -> None:
    """Evaluate models of a size with every seed, and write a record; models that are not cached are trained.

    Only the ablations that answer `questions` are trained, or all of them.
    """
    known = [*parts_of_models(), ABLATIONS]
    if unknown := [name for name in about if name not in known]:
        raise UserError(f"there is no evaluation {unknown[0]!r}; evaluations are {', '.join(known)}")
    settings, about = _shared(size, names), about or known
    released = [name for name in names if is_released(read_size(size, model=name))]
    if released and list(seeds) != [1] and set(about) != {ABLATIONS}:
        raise UserError(f"at size {size} {', '.join(released)} are released models of one seed; leave out --seeds")
    for name in names if questions else ():
        variants_of(read_size(size, model=name), questions)  # an error if it has no such question
    config = {"size": size, **as_dict(*settings), "seed": list(seeds), "model": list(names), "about": list(about)}
    config |= {"questions": list(questions)} if questions else {}
    config["of others"] = {name: as_dict(*read_size(size, model=name)[4:6]) for name in names[1:]} or None
    ours = {name for name in as_dict(settings.parsers).values() if name and is_ours(name)}
    config |= {f"{name} parser": as_dict(*read_parser(name, settings)) for name in sorted(ours)}
    question = f"What do models of size {size} know of sentences, trees and syntax?"
    judged = bool({"syntax", ABLATIONS} & set(about))
    with Run(out, question, config, seeds=seeds, data=checksums_of(settings, judged)) as run:
        for seed in seeds:
            for line in _of_seed(size, seed, names, about, questions):
                run.metric(seed=seed, **line)


def _shared(size: str, names: Sequence[str], **more: Any) -> Settings:
    """The settings of the first model. It is an error if corpora, evaluations or the parsers that judge differ."""
    every = [read_size(size, model=name, **more) for name in names]
    if len({str((own.corpus, own.evaluation, replace(own.parsers, parsed_by=None))) for own in every}) > 1:
        raise UserError(f"{', '.join(names)}: at size {size} their corpora or parsers differ; record them apart")
    return every[0]


def _of_seed(
    size: str, seed: int, names: Sequence[str], about: Sequence[str], questions: Sequence[str]
) -> Iterator[Row]:
    """The lines of one seed; it determines the models, the parsers and the sampled trees."""
    settings = _shared(size, names, seed=seed)
    test_sentences(settings)  # first, because a corpus without a test part is an error
    asked = names if set(about) - {ABLATIONS} else ()
    models = dict(zip(asked, trained_together(read_size(size, seed=seed, model=name) for name in asked), strict=True))
    for model, folder in models.items():
        yield {"part": "training", "model": model, **_of_training(folder)}
    for name in about:
        if name != ABLATIONS:
            yield from parts_of_models()[name](settings, models)
            continue
        for model in names:
            for row in ablations(read_size(size, seed=seed, model=model), questions):
                yield {"part": "ablation", "model": model, **row}


def _of_sentences(settings: Settings, models: Mapping[str, Path]) -> Iterator[Row]:
    """Perplexities and reranking."""
    sentences = test_sentences(settings)
    kinds = {model: family(model) for model in models}
    summed = [model for model, kind in kinds.items() if kind.likelihood.sums_over_trees and kind.trees.are_heads]
    with_heads = {model: models[model] for model in summed}
    for name, parser in proposers(settings).items() if with_heads else ():
        yield {"part": "parser", "parser": name, **_of_proposer(parser)}
        yield from _of_parser(settings, with_heads, name, parser, sentences)
    for model in [name for name in models if name not in with_heads]:
        yield {"part": kinds[model].likelihood.perplexity, "model": model, **_of_others(settings, models[model])}
    for model, folder in models.items():
        if kinds[model].likelihood.is_bounded_by_search:
            by_beam = beam_scores(folder, sentences, widths_of(settings))
            yield {"part": "perplexity by beam", "model": model, **reports.perplexity_row(by_beam)}


def _of_others(settings: Settings, folder: Path) -> Row:
    """The perplexity of a model that does not sum over heads; a parser of its own kind may propose its trees."""
    kind, parser, used = family(family_name_in(folder)), None, {"parser": None}
    if kind.likelihood.sums_over_trees:
        parser = proposer_of(kind, settings)
        used = {"parser": Path(parser).name, "nats_per_word_of_parser": _of_proposer(parser)["nats_per_word"]}
    return used | reports.perplexity_row(scores_at(settings, folder, parser))


def _of_syntax(settings: Settings, models: Mapping[str, Path]) -> Iterator[Row]:
    """Test suites and minimal pairs, unless the models score sentences only given others."""
    for model, folder in models.items():
        if family(model).likelihood.is_conditional:
            continue
        if family(model).likelihood.is_searched:
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


def _of_parsing(settings: Settings, models: Mapping[str, Path]) -> Iterator[Row]:
    """Attachment scores of the models as parsers."""
    for model, folder in models.items():
        if family(model).trees.are_parses:
            yield {"part": "parsing", "model": model, **parsing_of(settings, folder)}


# The parts of an evaluation of trained models; the last part, the variants of models, trains models of its own.
OF_MODELS = {"sentences": _of_sentences, "syntax": _of_syntax, "parsing": _of_parsing}
ABLATIONS = "ablations"


def parts_of_models() -> dict[str, Callable[[Settings, Mapping[str, Path]], Iterator[Row]]]:
    """The parts of an evaluation of trained models: those above, and those that other papers bring."""
    return OF_MODELS | {name: part for paper in papers() for name, part in dict(paper.part("records")).items()}


def _of_training(folder: Path) -> Row:
    first, best = read_record(folder).metrics[0], best_on_dev(folder)
    losses = {name: value for name, value in best.items() if name.startswith("nats_per_")}
    about = {"folder": folder.name, "parameters": first["parameters"], "steps": first["steps"], "best_at": best["step"]}
    return about | losses


def _of_proposer(parser: Path | str) -> Row:
    """The name of a parser and its held-out loss, which a published one does not have."""
    folder = folder_named(str(parser))
    return {"folder": folder.name, "nats_per_word": nats_per_word(folder) if folder.is_dir() else None}


def _of_parser(
    settings: Settings, models: Mapping[str, Path], name: str, parser: Path | str, sentences: list[Sentence]
) -> Iterator[Row]:
    """Perplexity and reranking with the trees that one parser proposes."""
    words = [sentence.words for sentence in sentences]
    loaded = load_parser(parser)
    proposed = list(propose(loaded, words, settings.evaluation.trees, METHODS["sample"], settings.run.seed))
    choices = {}
    for model, folder in models.items():
        scores = scores_at(settings, folder, parser)
        # A labelled tree begins with its heads, one for each word.
        choices[model] = [score.best and score.best[: score.words] for score in scores]
        yield {"part": "perplexity", "model": model, "parser": name, **reports.perplexity_row(scores)}
    for row in reranked(sentences, favourites(loaded, words), proposed, choices):
        yield {"part": "reranking", "parser": name, **row}
