"""Everything that a paper's notebooks need trained and scored at a size, as a list of jobs.

    for job in jobs_of("mini", "dtg"):
        print(job.name)                         train dtg, seed 1

A job calls a function of this room whose result is cached (cache.py). So no job is done twice, and the notebooks, which
call the same functions, find all results. Models and parsers are trained first, because a job that needs one waits for
the process that trains it, or trains it itself. Long jobs come before short ones, so that all processes end together.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from dtglib.basics.papers import paper_named
from dtglib.data.corpora import part_of
from dtglib.data.treebank import trees_only
from dtglib.families.base import compared, family
from dtglib.runs.ablations import asked, measure
from dtglib.runs.parsers import is_ours, parser_named
from dtglib.runs.prepare import is_released, prepare, read_corpus, trained
from dtglib.runs.sentence_scores import TREES_IN_STUDY, scores_of, studied, test_sentences, tightness_of
from dtglib.runs.settings import Settings, compared_at, read_size
from dtglib.runs.syntax_scores import beam_scores, pairs_of, parsing_of, suites_of, widths_of
from dtglib.runs.trees import parsed


class Job(NamedTuple):
    """Something to be computed."""

    name: str
    run: Callable[[], object]


def jobs_of(size: str, paper: str) -> list[Job]:
    """The jobs for a paper's notebooks at a size."""
    return (paper_named(paper).part("jobs") or jobs_of_models)(size, list(compared_at(size, paper)))


def jobs_of_models(size: str, models: Sequence[str]) -> list[Job]:
    """The jobs that any paper needs: its models are trained, with the parsers that propose their trees, and scored."""
    settings, models = read_size(size, model=models[0]), judged_at(size, models)
    seed, kinds = settings.run.seed, {model: family(model) for model in models}
    parser_of = {
        model: kind.trees.proposed_by.removesuffix("_parser")
        for model, kind in kinds.items()
        if kind.likelihood.sums_over_trees
    }
    jobs = _of_parsers(size, settings, sorted(set(parser_of.values()))) + jobs_of_training(size, settings, models)
    for model in sorted(models, key=lambda model: model not in parser_of):  # sums over trees take longest
        if not kinds[model].likelihood.needs_search:
            jobs += _of_scores(size, parser_of.get(model), [model], seed)
    searched = [model for model in models if kinds[model].likelihood.is_searched]
    return jobs + jobs_of_seed(size, "search by", _search, searched, seed) + _of_syntax(size, settings, models)


def judged_at(size: str, models: Sequence[str]) -> list[str]:
    """The models that are judged at a size: where released models are asked for, those that are released."""
    is_trained_here = not read_size(size, model=models[0]).evaluation.released
    return [model for model in models if is_trained_here or is_released(read_size(size, model=model))]


def jobs_of_dtg(size: str, models: Sequence[str]) -> list[Job]:
    """The jobs of the DTG paper, which also compares parsers, and trains variants of its model."""
    settings, parsers = read_size(size), ["strong", "weak"]
    seed = settings.run.seed
    jobs = _of_parsers(size, settings, parsers) + jobs_of_training(size, settings, models)
    jobs += [Job(f"parse the treebank, {name}", partial(_silver, size, name)) for name in parsers]
    jobs += [] if settings.evaluation.released else jobs_of_ablations(settings)
    summed = [model for model in models if family(model).likelihood.sums_over_trees]
    for parser in parsers:
        jobs += jobs_of_seed(size, f"tightness by {parser} of", partial(_tightness, size, parser), ["dtg"], seed)
        jobs += _of_scores(size, parser, summed, seed)
    jobs += _of_scores(size, None, [model for model in models if model not in summed], seed)
    return jobs + _of_syntax(size, settings, models)


def _of_parsers(size: str, settings: Settings, names: Sequence[str]) -> list[Job]:
    ours = [name for name in names if is_ours(getattr(settings.parsers, f"{name}_parser"))]
    return [Job(f"train parser {name}", partial(_parser, size, name)) for name in ours]


def jobs_of_training(size: str, settings: Settings, models: Sequence[str]) -> list[Job]:
    """A job for each model and seed, unless the model is released."""
    return [
        Job(f"train {model}, seed {seed}", partial(_model, size, model, seed))
        for seed in seeds_of(settings)
        for model in models
        if not is_released(read_size(size, model=model))
    ]


def seeds_of(settings: Settings) -> list[int]:
    """The seeds whose models are compared."""
    return [settings.run.seed + number for number in range(settings.evaluation.compared_seeds)]


def jobs_of_ablations(settings: Settings, some: Sequence[str] = ()) -> list[Job]:
    """A job for each variant of all questions, or of some; a model may be a variant of several."""
    different = {str(variant): (question, name, variant) for question, name, variant in asked(settings, some)}
    return [
        Job(f"ablation, {question}: {name}", partial(measure, settings, variant))
        for question, name, variant in different.values()
    ]


def _of_scores(size: str, parser: str | None, models: Sequence[str], seed: int) -> list[Job]:
    """The probabilities of the test sentences, by the trees of a parser if the models need them."""
    what = f"scores by {parser} of" if parser else "scores of"
    return jobs_of_seed(size, what, partial(_scores, size, parser), models, seed)


# What is measured of the models of which families.
JUDGEMENTS = {
    "pairs of": (pairs_of, lambda kind: not kind.likelihood.is_conditional),
    "suites of": (suites_of, lambda kind: kind.likelihood.is_searched),
    "parses of": (parsing_of, lambda kind: kind.trees.are_parses),
}


def _of_syntax(size: str, settings: Settings, models: Sequence[str]) -> list[Job]:
    """Minimal pairs, test suites, and the trees that a search finds."""
    return [
        job
        for seed in seeds_of(settings)
        for what, (measured, applies) in JUDGEMENTS.items()
        for job in jobs_of_seed(size, what, measured, [name for name in models if applies(family(name))], seed)
    ]


def jobs_of_seed(
    size: str, what: str, measured: Callable[[Settings, Path], object], models: Sequence[str], seed: int
) -> list[Job]:
    """A job for each model of a seed that measures it."""
    return [Job(f"{what} {model}, seed {seed}", partial(_measured, measured, size, model, seed)) for model in models]


# ---- What the jobs do. The caches below let a process read a corpus only once for neighbouring jobs.


@lru_cache(maxsize=1)
def _corpus(size: str, paper: str, seed: int):
    model = next(iter(compared(paper)))
    return read_corpus(read_size(size, seed=seed, model=model))


@lru_cache(maxsize=16)
def _model(size: str, model: str, seed: int) -> Path:
    settings = read_size(size, model=model, seed=seed)
    return trained(settings, prepare(settings, _corpus(size, settings.family.paper, seed)))


@lru_cache(maxsize=2)
def _parser(size: str, name: str) -> Path | str:
    settings = read_size(size)
    return parser_named(getattr(settings.parsers, f"{name}_parser"), settings)


def _silver(size: str, name: str) -> None:
    """Parse the treebank's train and dev sentences."""
    settings = read_size(size)
    for part in ("train", "dev"):
        parsed(trees_only(part_of(settings.corpus, part)), _parser(size, name))


def _measured(function: Callable[[Settings, Path], object], size: str, model: str, seed: int) -> object:
    return function(read_size(size, model=model, seed=seed), _model(size, model, seed))


def _scores(size: str, parser: str | None, settings: Settings, folder: Path) -> object:
    trees, seed = settings.evaluation.trees, settings.run.seed
    return scores_of(folder, test_sentences(settings), parser and _parser(size, parser), trees=trees, seed=seed)


def _search(settings: Settings, folder: Path) -> object:
    return beam_scores(folder, test_sentences(settings), widths_of(settings))


def _tightness(size: str, parser: str, settings: Settings, folder: Path) -> object:
    trees, seed = TREES_IN_STUDY * settings.evaluation.trees, settings.run.seed
    return tightness_of(folder, studied(settings), _parser(size, parser), trees=trees, seed=seed)
