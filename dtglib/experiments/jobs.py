"""Everything that the notebooks of a size need trained and scored, as a list of jobs.

    for job in jobs_of("mini"):
        print(job.name, job.needs)              score dtg, strong ('train dtg', 'train parser strong')

A job calls a function of this room whose result is cached (cache.py). So no job is done twice, and the notebooks, which
call the same functions, find all results. Long jobs come first in the list: if several processes work through it, the
last jobs should be short.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from dtglib.data.corpora import part_of
from dtglib.data.treebank import trees_only
from dtglib.experiments.ablations import Variant, asked, measure, settings_of
from dtglib.experiments.parsers import is_ours, parser_named
from dtglib.experiments.prepare import is_released, prepare, read_corpus, trained
from dtglib.experiments.sentence_scores import TREES_IN_STUDY, scores_of, studied, test_sentences, tightness_of
from dtglib.experiments.settings import Settings, read_size
from dtglib.experiments.silver import parsed
from dtglib.experiments.syntax_scores import pairs_of, parsing_of, suites_of
from dtglib.families.base import family, titles


class Job(NamedTuple):
    """Something to be computed, after the jobs whose names it needs."""

    name: str
    run: Callable[[], object]
    needs: tuple[str, ...] = ()


def jobs_of(size: str) -> list[Job]:
    """The jobs for the notebooks of the DTG paper at a size."""
    settings = read_size(size)
    seeds = [settings.run.seed + number for number in range(settings.evaluation.compared_seeds)]
    parsers = {name: getattr(settings.parsers, f"{name}_parser") for name in ("strong", "weak")}
    jobs = [Job(f"train parser {name}", partial(_parser, size, name)) for name in parsers if is_ours(parsers[name])]
    for seed in seeds:
        jobs += [
            Job(f"train {model}, seed {seed}", partial(_model, size, model, seed), _trees_of(settings))
            for model in titles("dtg")
            if not is_released(read_size(size, model=model))
        ]
    jobs += [
        Job(f"parse the treebank, {name}", partial(_silver, size, name), (f"train parser {name}",)) for name in parsers
    ]
    jobs += [] if settings.evaluation.released else _of_ablations(size, settings)
    jobs += _of_sentences(size, settings.run.seed, list(parsers))
    for seed in seeds:
        jobs += _of_syntax(size, seed)
    # A parser that was trained elsewhere has no job to wait for.
    names = {job.name for job in jobs}
    return [job._replace(needs=tuple(need for need in job.needs if need in names)) for job in jobs]


def _trees_of(settings: Settings) -> tuple[str, ...]:
    """The jobs that draw the training trees; none if they are the corpus's own."""
    chosen = settings.parsers
    drawn_by = {"strong": chosen.strong_parser, "weak": chosen.weak_parser}
    return tuple(f"parse the treebank, {name}" for name in drawn_by if drawn_by[name] == chosen.parsed_by)


def _of_ablations(size: str, settings: Settings) -> list[Job]:
    """A job for each variant that is not a model of the paper, because those have jobs of their own."""
    jobs: list[Job] = []
    of_paper = {settings_of(Variant({"model": model}), settings): model for model in titles("dtg")}
    trained_by = {chosen: f"train {model}, seed {settings.run.seed}" for chosen, model in of_paper.items()}
    for number, variant in {str(variant): variant for _, _, variant in asked(settings)}.items():
        chosen = settings_of(variant, settings)
        if chosen in of_paper and variant.summed_over == "strong":
            continue
        name = f"ablation {_in_words(variant)}"
        needs = [f"train parser {variant.summed_over}", *_trees_of(chosen)]
        if chosen in trained_by:  # the same model, summed over another parser's trees
            needs.append(trained_by[chosen])
        trained_by[chosen] = name
        jobs.append(Job(name, partial(_ablation, size, number), tuple(needs)))
    return jobs


def _in_words(variant: Variant) -> str:
    changed = [f"{key}={value}" for key, value in variant.model.items()]
    parser = [f"trees by {variant.parsed_by}, summed over {variant.summed_over}"] if variant.parsed_by else []
    return ", ".join(changed + parser)


def _of_sentences(size: str, seed: int, parsers: Sequence[str]) -> list[Job]:
    """The probabilities of the test sentences, and how tight the bounds are."""
    jobs = [
        Job(
            f"tightness of dtg, {parser}",
            partial(_tightness, size, parser),
            (f"train dtg, seed {seed}", f"train parser {parser}"),
        )
        for parser in parsers
    ]
    for model in titles("dtg"):
        trained_model = f"train {model}, seed {seed}"
        if family(model).likelihood.sums_over_trees:
            jobs += [
                Job(
                    f"score {model}, {parser}",
                    partial(_scores, size, model, parser),
                    (trained_model, f"train parser {parser}"),
                )
                for parser in parsers
            ]
        else:
            jobs.append(Job(f"score {model}", partial(_scores, size, model, None), (trained_model,)))
    return jobs


def _of_syntax(size: str, seed: int) -> list[Job]:
    """Minimal pairs, test suites, and the trees that a search finds."""
    jobs = []
    for what, function in (("pairs", pairs_of), ("suites", suites_of), ("parses", parsing_of)):
        for model in titles("dtg"):
            if family(model).parses or what != "parses":
                run = partial(_syntax, function, size, model, seed)
                jobs.append(Job(f"{what} of {model}, seed {seed}", run, (f"train {model}, seed {seed}",)))
    return jobs


# ---- What the jobs do. The caches below let a process read a corpus only once for neighbouring jobs.


def _settings(size: str, model: str, seed: int) -> Settings:
    return read_size(size, model=model, seed=seed)


@lru_cache(maxsize=1)
def _corpus(size: str, seed: int):
    return read_corpus(read_size(size, seed=seed))


@lru_cache(maxsize=16)
def _model(size: str, model: str, seed: int) -> Path:
    settings = _settings(size, model, seed)
    return trained(settings, prepare(settings, _corpus(size, seed)))


@lru_cache(maxsize=2)
def _parser(size: str, name: str) -> Path | str:
    settings = read_size(size)
    return parser_named(getattr(settings.parsers, f"{name}_parser"), settings)


def _ablation(size: str, variant: str) -> object:
    settings = read_size(size)
    return measure(settings, next(one for _, _, one in asked(settings) if str(one) == variant))


def _silver(size: str, name: str) -> None:
    """Parse the treebank's train and dev sentences."""
    settings = read_size(size)
    for part in ("train", "dev"):
        parsed(trees_only(part_of(settings.corpus, part)), _parser(size, name))


def _scores(size: str, model: str, parser: str | None) -> object:
    settings = read_size(size, model=model)
    folder, trees = _model(size, model, settings.run.seed), settings.evaluation.trees
    proposer = parser and _parser(size, parser)
    return scores_of(folder, test_sentences(settings), proposer, trees=trees, seed=settings.run.seed)


def _tightness(size: str, parser: str) -> object:
    settings = read_size(size, model="dtg")
    folder, trees = _model(size, "dtg", settings.run.seed), TREES_IN_STUDY * settings.evaluation.trees
    return tightness_of(folder, studied(settings), _parser(size, parser), trees=trees, seed=settings.run.seed)


def _syntax(function: Callable[[Settings, Path], object], size: str, model: str, seed: int) -> object:
    return function(_settings(size, model, seed), _model(size, model, seed))
