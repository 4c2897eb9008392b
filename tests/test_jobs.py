"""The list of jobs of a size: models are trained before they are scored, and it leaves nothing out."""

from pathlib import Path

import pytest
from running import ROOT
from toys import tiny_repository

import dtglib.runs.jobs
from dtglib.basics.papers import papers
from dtglib.families.base import family, titles
from dtglib.runs.jobs import Job, jobs_of
from dtglib.runs.prepare import prepare, read_corpus, trained
from dtglib.runs.settings import compared_at, read_size
from dtglib.runs.syntax_scores import pairs_of, parsing_of, perplexity_at, suites_of


@pytest.fixture
def repository(tmp_path, monkeypatch, one_thread, few_of_minilang) -> Path:
    """A tiny one, with two parsers; a test may add to its only size."""
    tiny_repository(tmp_path)
    monkeypatch.chdir(tmp_path / "notebooks")
    for kept_by_size in ("_corpus", "_model"):  # an earlier test has had another size of this name
        getattr(dtglib.runs.jobs, kept_by_size).cache_clear()
    return tmp_path


def add(repository: Path, text: str) -> None:
    """To the config of the size."""
    with open(repository / "configs" / "smoke.yaml", "a") as file:
        file.write(text)


def names_of(jobs: list[Job]) -> list[str]:
    names = [job.name for job in jobs]
    assert len(set(names)) == len(names)
    return names


# ---- The list


def test_where_released_models_are_evaluated_nothing_is_trained(monkeypatch):
    monkeypatch.chdir(ROOT)
    names = names_of(jobs_of("smoke", "dtg"))
    assert "scores of dtg, seed 1" in names
    assert not [name for name in names if name.startswith(("train", "ablation"))]


@pytest.mark.parametrize("paper", [paper.name for paper in papers() if paper.notebooks])
def test_models_and_parsers_are_trained_before_anything_asks_them(paper, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = names_of(jobs_of("mini", paper))
    kinds = [name.split()[0] for name in names if not name.startswith(("ablation", "parse "))]
    assert kinds == sorted(kinds, key=lambda kind: kind != "train")


def test_every_seed_that_is_compared_has_its_models_and_what_they_know_of_syntax(repository):
    add(repository, "seed: 4\ncompared_seeds: 2\n")
    names = names_of(jobs_of("smoke", "dtg"))
    for seed in (4, 5):
        for model in titles("dtg"):
            for what in ("train", "pairs of", "suites of"):
                assert f"{what} {model}, seed {seed}" in names
            assert (f"parses of {model}, seed {seed}" in names) == family(model).trees.are_parses


def test_only_the_parser_that_proposes_trees_is_trained_unless_it_was_trained_elsewhere(repository):
    assert [name for name in names_of(jobs_of("smoke", "dtg")) if "train parser" in name] == ["train parser strong"]
    add(repository, "strong_parser: biaffine-dep-en\n")
    assert not [name for name in names_of(jobs_of("smoke", "dtg")) if "train parser" in name]


# ---- What it leads to


def ask_as_the_notebooks_do(size: str) -> None:
    """Call whatever the notebooks 03 to 05 call that is kept, but for a look at a single sentence."""
    first = read_size(size)
    for seed in range(first.run.seed, first.run.seed + first.evaluation.compared_seeds):
        corpus = read_corpus(read_size(size, seed=seed))
        for model in compared_at(size, "dtg"):
            settings = read_size(size, model=model, seed=seed)
            folder = trained(settings, prepare(settings, corpus))
            suites_of(settings, folder)
            pairs_of(settings, folder)
            if family(model).trees.are_parses:
                parsing_of(settings, folder)
            if seed == first.run.seed:
                perplexity_at(settings, folder)


def kept(repository: Path) -> dict[str, set[str]]:
    """The folders of each kind in runs/."""
    return {kind.name: {folder.name for folder in kind.iterdir()} for kind in (repository / "runs").iterdir()}


@pytest.mark.slow
def test_after_all_jobs_the_notebooks_find_everything_that_they_ask_for(repository):
    """The names and order of jobs are seen faster; that nothing is missing, only where all are done."""
    add(repository, "compared_seeds: 2\nparsed_by: weak\ncompared: txl-tokens txl-trans dtg\n")
    for job in jobs_of("smoke", "dtg"):
        job.run()
    before = kept(repository)
    assert before.keys() == {"models", "parsers", "scores", "trees"}
    ask_as_the_notebooks_do("smoke")
    assert kept(repository) == before
