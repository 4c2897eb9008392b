"""What a clone must hold true: one set of pins, notebooks in pairs, a Makefile that explains itself."""

import re
import subprocess
import sys
from importlib.metadata import metadata, requires

import jupytext
import nbformat
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from running import ROOT

from dtglib import __version__

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))


def pins(lines: list[str]) -> dict[str, str]:
    return dict(line.strip().split("==") for line in lines if "==" in line)


def test_conda_users_get_the_same_versions_as_pip_users():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    (by_pip,) = [part["pip"] for part in environment["dependencies"] if isinstance(part, dict)]
    lock = (ROOT / "requirements.lock").read_text().splitlines()
    assert pins(by_pip) == pins(lock)
    assert by_pip[-1] == "--editable ."  # Binder reads this file and nothing else
    assert len(pins(lock)) == len(lock), "a line of requirements.lock is no exact pin"


def test_torch_is_pinned_to_the_build_that_every_machine_takes():
    assert "torch==2.13.0" in (ROOT / "requirements.lock").read_text().splitlines()


def test_what_is_pinned_runs_on_the_first_python_3_11():
    """The systems' own, in Debian 12 and Ubuntu 22.04, are 3.11.2 and 3.11.0."""
    names = pins((ROOT / "requirements.lock").read_text().splitlines())
    too_new = {name for name in names if "3.11.0" not in SpecifierSet(metadata(name)["Requires-Python"] or "")}
    assert too_new == set()


def test_everything_that_the_package_depends_on_is_locked():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        # Tests of what reads other people's tools make an environment of their own (tests/papers/doors).
        *(item for name, group in project["optional-dependencies"].items() if name != "lm-eval" for item in group),
    ]
    names = {re.split(r"[=<>!~\[ ]", item)[0].lower().replace("_", "-") for item in wanted}
    locked = {name.lower().replace("_", "-") for name in pins((ROOT / "requirements.lock").read_text().splitlines())}
    assert names <= locked | {"dtglib"}  # an extra may name another one


def test_only_what_every_command_needs_is_required():
    needed = {item.name for item in map(Requirement, requires("dtglib")) if not item.marker}
    assert needed == {"conllu", "numba", "numpy", "PyYAML", "safetensors", "sentencepiece", "torch", "tqdm"}


@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_two_halves_of_a_notebook_agree(script):
    pair = script.with_suffix(".ipynb")
    assert pair.is_file(), f"{script.name} has no .ipynb half: run `make notebooks`"
    halves = [[(cell.cell_type, cell.source) for cell in jupytext.read(half).cells] for half in (script, pair)]
    assert halves[0] == halves[1], f"{script.name} and its .ipynb half differ: run `make notebooks`"


@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_takes_its_size_as_a_parameter_and_defaults_to_smoke(script):
    tagged = [cell for cell in jupytext.read(script).cells if "parameters" in cell.metadata.get("tags", [])]
    assert [cell.source for cell in tagged] == ['size = "smoke"']


@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_stored_output_is_an_error_or_names_a_machine(script):
    text = script.with_suffix(".ipynb").read_text()
    assert '"output_type": "error"' not in text
    assert not re.search(r"/(home|root|Users|work|tmp)/", text)
    shown = [output.get("data", {}) for cell in nbformat.reads(text, 4).cells for output in cell.get("outputs", [])]
    pictures = [data for data in shown if {"image/svg+xml", "image/png"} & data.keys()]
    assert pictures and all("image/png" in data for data in pictures), "JupyterLab shows no SVG of others"


def test_make_alone_lists_every_target_with_a_line():
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    described = {line.split()[1] for line in listed if len(line.split()) > 2}
    (targets,) = re.findall(r"^\.PHONY: (help .+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert described == set(targets.split())


def test_make_says_in_one_line_what_is_missing():
    made = subprocess.run(["make", "prerequisites", "PYTHON=no-such-python"], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode != 0
    assert made.stdout.splitlines() == [
        "dtglib needs Python 3.11 or newer: install it, or name one with 'make PYTHON=...'"
    ]


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    shown = subprocess.run([sys.executable, "-m", "dtglib", "--version"], capture_output=True, text=True, check=True)
    assert citation["version"] == __version__
    assert shown.stdout.strip() == f"dtglib {__version__}"


def test_every_recorded_run_stands_in_the_table_of_runs():
    runs = [path.parent.name for path in (ROOT / "results").glob("*/record.json")]
    named = re.findall(r"^\| \[(.+?)\]", (ROOT / "results" / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(runs)


def test_git_runs_the_linter_before_a_commit_where_pre_commit_is_installed():
    hooks = [
        hook
        for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
        for hook in repo["hooks"]
    ]
    assert [(hook["entry"], hook["language"]) for hook in hooks] == [("make lint", "system")]


def test_the_changelog_begins_with_this_version():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == __version__


# What looks like a result: a decimal number, or one with its unit.
RESULT = re.compile(r"(?<![\w.])(\d+\.\d+|\d[\d,]*(?:\.\d+)?(?= ?(?:%|nats|bits|points)))")
# Quotations, formulas, code, addresses and sections of papers, levels of significance and of intervals.
NO_RESULT = re.compile(
    r'\*?"[^"]*"\*?|`[^`]*`|\$[^$]*\$|\]\([^)]*\)|(section|table)s? \[?\d[\d.]*|p < 0\.05|95 %', re.IGNORECASE
)


@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_result_in_the_prose_of_a_notebook_stands_in_an_output(script):
    """Prose and output cannot contradict each other."""
    cells = nbformat.read(script.with_suffix(".ipynb"), as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    shown = "\n".join(str(value) for output in outputs for value in (output.get("text"), output.get("data")) if value)
    for cell in cells:
        if cell.cell_type == "markdown":
            typed = RESULT.findall(NO_RESULT.sub(" ", cell.source))
            assert not [number for number in typed if number not in shown], cell.source
