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

from dtglib.basics.papers import papers_named
from dtglib.families.base import family
from dtglib.runs.parsers import is_ours, trained_parser
from dtglib.runs.prepare import is_released, read_corpus, trained
from dtglib.runs.sentence_scores import test_sentences
from dtglib.runs.settings import Settings, compared_at, read_size
from dtglib.runs.syntax_scores import beam_scores, pairs_of, parsing_of, perplexity_at, suites_of, widths_of
from dtglib.training.networks import best_on_dev


class Job(NamedTuple):
    """A computation; if `run` returns text, it is a short form of the result."""

    name: str
    run: Callable[[], object]


def jobs_of(size: str, paper: str) -> list[Job]:
    """The jobs for a paper's notebooks at a size."""
    (chosen,) = papers_named(paper)
    return (chosen.part("jobs") or jobs_of_models)(size, list(compared_at(size, paper)))


def jobs_of_models(size: str, models: Sequence[str]) -> list[Job]:
    """The jobs that every paper needs: parsers and models are trained, and the models are scored."""
    settings, models = read_size(size, model=models[0]), judged_at(size, models)
    seed, kinds = settings.run.seed, {model: family(model) for model in models}
    summing = [kind for kind in kinds.values() if kind.likelihood.sums_over_trees]
    parsers = sorted({getattr(settings.parsers, kind.trees.proposed_by) for kind in summing})
    jobs = [Job(f"train parser {name}", partial(trained_parser, name, settings)) for name in parsers if is_ours(name)]
    jobs += jobs_of_training(size, settings, models)
    scored = [name for name in models if not kinds[name].likelihood.needs_search]
    jobs += jobs_of_seed(size, "scores of", _scores, scored, seed)
    # The search that parses sentences gives their probabilities, too.
    of_search = {name: kind for name, kind in kinds.items() if kind.likelihood.is_bounded_by_search}
    searched = [name for name, kind in of_search.items() if not kind.trees.are_parses]
    return jobs + jobs_of_seed(size, "search by", _search, searched, seed) + _of_syntax(size, settings, models)


def judged_at(size: str, models: Sequence[str]) -> list[str]:
    """The models that are scored at a size; if it uses released models, those that are released."""
    is_trained_here = not read_size(size, model=models[0]).evaluation.released
    return [model for model in models if is_trained_here or is_released(read_size(size, model=model))]


def jobs_of_training(size: str, settings: Settings, models: Sequence[str]) -> list[Job]:
    """A job for each model and seed, unless the model is released."""
    return [
        Job(f"train {model}, seed {seed}", partial(_trained, size, model, seed))
        for seed in seeds_of(settings)
        for model in models
        if not is_released(read_size(size, model=model))
    ]


def seeds_of(settings: Settings) -> list[int]:
    """The seeds whose models are compared."""
    return [settings.run.seed + number for number in range(settings.evaluation.compared_seeds)]


def _pairs(settings: Settings, folder: Path) -> str:
    return f"{pairs_of(settings, folder)['accuracy']:.1%} right"


def _suites(settings: Settings, folder: Path) -> str:
    (average, score), *_ = suites_of(settings, folder)["averages"].items()
    return f"{score:.1%}, {average}"


def _parses(settings: Settings, folder: Path) -> str:
    uas = parsing_of(settings, folder).get("UAS")
    return "no trees to compare with" if uas is None else f"UAS {uas:.1%}"


# A measurement by its name: the function, and the families to whose models it applies.
JUDGEMENTS = {
    "pairs of": (_pairs, lambda kind: not kind.likelihood.is_conditional),
    "suites of": (_suites, lambda kind: kind.likelihood.is_searched),
    "parses of": (_parses, lambda kind: kind.trees.are_parses),
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

_corpus = lru_cache(maxsize=1)(read_corpus)


@lru_cache(maxsize=16)
def _model(size: str, model: str, seed: int) -> Path:
    return trained(read_size(size, model=model, seed=seed), read=_corpus)


def _trained(size: str, model: str, seed: int) -> str:
    return f"{best_on_dev(_model(size, model, seed))['nats_per_sentence']:.2f} nats per held-out sentence"


def _measured(function: Callable[[Settings, Path], object], size: str, model: str, seed: int) -> object:
    return function(read_size(size, model=model, seed=seed), _model(size, model, seed))


def _scores(settings: Settings, folder: Path) -> str:
    return f"perplexity {perplexity_at(settings, folder)['per word']:.1f} per word"


def _search(settings: Settings, folder: Path) -> object:
    return beam_scores(folder, test_sentences(settings), widths_of(settings))
