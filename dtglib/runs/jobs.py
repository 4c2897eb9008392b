"""Everything that a paper's notebooks need trained and scored at a size, as a list of jobs.

    for job in jobs_of("mini", "dtg"):
        print(job.name, job.needs)              score dtg, strong ('train dtg', 'train parser strong')

A job calls a function of this room whose result is cached (cache.py). So no job is done twice, and the notebooks, which
call the same functions, find all results. Long jobs come first in the list: if several processes work through it, the
last jobs should be short.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from dtglib.basics.papers import paper_named
from dtglib.data.corpora import part_of
from dtglib.data.treebank import trees_only
from dtglib.families.base import Variant, compared, family, titles
from dtglib.runs.ablations import asked, less, measure, settings_of, variants_studied
from dtglib.runs.parsers import is_ours, parser_named
from dtglib.runs.prepare import is_released, prepare, read_corpus, trained
from dtglib.runs.sentence_scores import TREES_IN_STUDY, scores_of, studied, test_sentences, tightness_of
from dtglib.runs.settings import Settings, compared_at, read_size
from dtglib.runs.syntax_scores import beam_scores, pairs_of, parsing_of, suites_of, widths_of
from dtglib.runs.trees import parsed


class Job(NamedTuple):
    """Something to be computed, after the jobs whose names it needs."""

    name: str
    run: Callable[[], object]
    needs: tuple[str, ...] = ()


def jobs_of(size: str, paper: str) -> list[Job]:
    """The jobs for a paper's notebooks at a size."""
    models = list(compared_at(size, paper))
    settings = read_size(size, model=models[0])
    jobs = [] if settings.evaluation.released else _of_study(size, settings, paper)
    jobs += (paper_named(paper).part("jobs") or jobs_of_models)(size, models)
    # A parser that was trained elsewhere has no job to wait for.
    names = {job.name for job in jobs}
    return [job._replace(needs=tuple(need for need in job.needs if need in names)) for job in jobs]


def jobs_of_models(size: str, models: Sequence[str]) -> list[Job]:
    """The jobs that any paper needs: its models are trained, with the parsers that propose their trees, and scored."""
    settings, models = read_size(size, model=models[0]), judged_at(size, models)
    proposed = {model: family(model).trees.proposed_by for model in models if family(model).likelihood.sums_over_trees}
    parsers = {model: setting.removesuffix("_parser") for model, setting in proposed.items()}
    jobs = _of_parsers(size, settings, sorted(set(parsers.values())))
    jobs += jobs_of_training(size, settings, models)
    seed = settings.run.seed
    jobs += [
        _of_scores(size, seed, model, parsers.get(model))
        for model in models
        if not family(model).likelihood.needs_search
    ]
    jobs += [
        Job(f"search {model}", partial(_search, size, model), (f"train {model}, seed {seed}",))
        for model in models
        if family(model).likelihood.is_searched
    ]
    return jobs + _of_syntax(size, settings, models)


def judged_at(size: str, models: Sequence[str]) -> list[str]:
    """The models that are judged at a size: where released models are asked for, those that are released."""
    is_trained_here = not read_size(size, model=models[0]).evaluation.released
    return [model for model in models if is_trained_here or is_released(read_size(size, model=model))]


def jobs_of_dtg(size: str, models: Sequence[str]) -> list[Job]:
    """The jobs of the DTG paper, which also compares parsers, and trains variants of its model."""
    settings = read_size(size)
    parsers = ["strong", "weak"]
    jobs = _of_parsers(size, settings, parsers)
    jobs += jobs_of_training(size, settings, models)
    jobs += [
        Job(f"parse the treebank, {name}", partial(_silver, size, name), (f"train parser {name}",)) for name in parsers
    ]
    jobs += [] if settings.evaluation.released else jobs_of_ablations(size, settings)
    jobs += _of_sentences(size, settings.run.seed, models, parsers)
    return jobs + _of_syntax(size, settings, models)


def _of_parsers(size: str, settings: Settings, names: Sequence[str]) -> list[Job]:
    ours = [name for name in names if is_ours(getattr(settings.parsers, f"{name}_parser"))]
    return [Job(f"train parser {name}", partial(_parser, size, name)) for name in ours]


def jobs_of_training(size: str, settings: Settings, models: Sequence[str]) -> list[Job]:
    return [
        Job(f"train {model}, seed {seed}", partial(_model, size, model, seed), _trees_of(settings))
        for seed in seeds_of(settings)
        for model in models
        if not is_released(read_size(size, model=model))
    ]


def seeds_of(settings: Settings) -> list[int]:
    return [settings.run.seed + number for number in range(settings.evaluation.compared_seeds)]


def _trees_of(settings: Settings) -> tuple[str, ...]:
    """The jobs that draw the training trees; none if they are the corpus's own."""
    chosen = settings.parsers
    drawn_by = {"strong": chosen.strong_parser, "weak": chosen.weak_parser}
    return tuple(f"parse the treebank, {name}" for name in drawn_by if drawn_by[name] == chosen.parsed_by)


def jobs_of_ablations(size: str, settings: Settings, some: Sequence[str] = ()) -> list[Job]:
    """A job for each variant (of some questions) that is no model of the paper: those have jobs of their own."""
    jobs: list[Job] = []
    alike = [name for name in titles(settings.family.paper) if family(name).config is settings.family.config]
    of_paper = {settings_of(Variant({"model": model}), settings): model for model in alike}
    trained_by = {chosen: f"train {model}, seed {settings.run.seed}" for chosen, model in of_paper.items()}
    for number, variant in {str(variant): variant for _, _, variant in asked(settings, some)}.items():
        chosen = settings_of(variant, settings)
        if chosen in of_paper and variant.summed_over == "strong":
            continue
        name = f"ablation {_in_words(variant)}"
        needs = [f"train parser {variant.summed_over}", *_trees_of(chosen)]
        if chosen in trained_by:  # the same model, summed over another parser's trees
            needs.append(trained_by[chosen])
        trained_by[chosen] = name
        run = partial(_ablation, size, settings.model.model, number)
        jobs.append(Job(name, run, tuple(needs)))
    return jobs


def _of_study(size: str, settings: Settings, paper: str) -> list[Job]:
    """A job for each variant that the paper's notebooks train on less."""
    different = {(model, str(variant)): variant for model, _, _, variant in variants_studied(size, paper)}
    return [
        Job(f"study {model} {_in_words(variant)}".rstrip(), partial(_study, size, model, variant), _trees_of(settings))
        for (model, _), variant in different.items()
    ]


def _in_words(variant: Variant) -> str:
    changed = [f"{key}={value}" for key, value in variant.model.items()]
    changed += [f"{100 * variant.share:g} % of the sentences"] if variant.share < 1 else []
    parser = [f"trees by {variant.parsed_by}, summed over {variant.summed_over}"] if variant.parsed_by else []
    return ", ".join(changed + parser)


def _of_sentences(size: str, seed: int, models: Sequence[str], parsers: Sequence[str]) -> list[Job]:
    """The probabilities of the test sentences, and how tight the bounds are."""
    jobs = [
        Job(
            f"tightness of dtg, {parser}",
            partial(_tightness, size, parser),
            (f"train dtg, seed {seed}", f"train parser {parser}"),
        )
        for parser in parsers
    ]
    for model in models:
        asked_for = parsers if family(model).likelihood.sums_over_trees else [None]
        jobs += [_of_scores(size, seed, model, parser) for parser in asked_for]
    return jobs


def _of_scores(size: str, seed: int, model: str, parser: str | None) -> Job:
    """The probabilities of the test sentences, by the trees of a parser if the model needs them."""
    needs, run = (f"train {model}, seed {seed}",), partial(_scores, size, model, parser)
    if parser is None:
        return Job(f"score {model}", run, needs)
    return Job(f"score {model}, {parser}", run, (*needs, f"train parser {parser}"))


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
        for what, (function, is_wanted) in JUDGEMENTS.items()
        for job in jobs_of_seed(size, what, function, list(filter(lambda name: is_wanted(family(name)), models)), seed)
    ]


def jobs_of_seed(
    size: str, what: str, function: Callable[[Settings, Path], object], models: Sequence[str], seed: int
) -> list[Job]:
    """A job for each model of a seed that measures it, after its training."""
    return [
        Job(
            f"{what} {model}, seed {seed}",
            partial(_measured, function, size, model, seed),
            (f"train {model}, seed {seed}",),
        )
        for model in models
    ]


# ---- What the jobs do. The caches below let a process read a corpus only once for neighbouring jobs.


def _settings(size: str, model: str, seed: int) -> Settings:
    return read_size(size, model=model, seed=seed)


@lru_cache(maxsize=1)
def _corpus(size: str, paper: str, seed: int):
    model = next(iter(compared(paper)))
    return read_corpus(read_size(size, seed=seed, model=model))


@lru_cache(maxsize=16)
def _model(size: str, model: str, seed: int) -> Path:
    settings = _settings(size, model, seed)
    return trained(settings, prepare(settings, _corpus(size, settings.family.paper, seed)))


@lru_cache(maxsize=2)
def _parser(size: str, name: str) -> Path | str:
    settings = read_size(size)
    return parser_named(getattr(settings.parsers, f"{name}_parser"), settings)


def _ablation(size: str, model: str, variant: str) -> object:
    settings = read_size(size, model=model)
    return measure(settings, next(one for _, _, one in asked(settings) if str(one) == variant))


def _study(size: str, model: str, variant: Variant) -> object:
    return measure(less(size, model), variant, in_short=True)


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


def _search(size: str, model: str) -> object:
    settings = read_size(size, model=model)
    return beam_scores(_model(size, model, settings.run.seed), test_sentences(settings), widths_of(settings))


def _tightness(size: str, parser: str) -> object:
    settings = read_size(size, model="dtg")
    folder, trees = _model(size, "dtg", settings.run.seed), TREES_IN_STUDY * settings.evaluation.trees
    return tightness_of(folder, studied(settings), _parser(size, parser), trees=trees, seed=settings.run.seed)


def _measured(function: Callable[[Settings, Path], object], size: str, model: str, seed: int) -> object:
    return function(_settings(size, model, seed), _model(size, model, seed))
