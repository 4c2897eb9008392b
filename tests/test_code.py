"""A process knows the code that it runs, and whether a new one would run the same."""

import shutil
import subprocess
import sys
from functools import partial

import pytest
from reference import MODULES
from running import PACKAGE
from test_imports import ROOMS as ROOMS_IN_ORDER

import dtglib.basics.code
from dtglib.basics.code import RUNNING, code_behind_source, code_of, modules_behind
from dtglib.basics.papers import papers
from dtglib.decode.beam import search
from dtglib.families.base import module_of
from dtglib.families.dtg import FAMILIES
from dtglib.runs.syntax_scores import pair_rows
from dtglib.training.loop import train

PROGRAM = """
from pathlib import Path
path = Path("dtglib") / {name!r}
path.parent.mkdir(exist_ok=True)
path.touch()
from dtglib.basics.code import RUNNING, are_on_disk
before = dict(RUNNING)
{change}
print(are_on_disk(before), RUNNING == before)
"""


EDIT = 'path.open("a").write("# There is a difference")'


def changing(name: str, folder, change: str = EDIT) -> subprocess.CompletedProcess:
    """What a process says that runs a copy of the package, in which somebody changes a file."""
    shutil.copytree(PACKAGE, folder / "dtglib", ignore=shutil.ignore_patterns("__pycache__"))
    program = [sys.executable, "-c", PROGRAM.format(name=name, change=change)]
    return subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("change", [EDIT, "path.unlink()"])
def test_a_module_that_is_changed_or_removed_is_noticed(change, tmp_path):
    found = changing("decode/beam.py", tmp_path, change)
    assert found.stdout == "False True\n"


@pytest.mark.parametrize("name", [".model.py", ".ipynb_checkpoints/model-checkpoint.py", "notes.txt"])
def test_what_is_no_module_does_not_count(name, tmp_path):
    found = changing(name, tmp_path)
    assert (found.returncode, found.stdout) == (0, "True True\n")


# ---- What code a result depends on


def test_the_rooms_are_those_of_the_package_in_their_order():
    assert list(dtglib.basics.code.ROOMS) == ROOMS_IN_ORDER


def test_behind_a_module_is_what_it_imports_and_what_that_imports():
    behind = modules_behind("dtglib/decode/trie", "decode")
    assert {
        "dtglib/decode/trie",
        "dtglib/network/transformer",
        "dtglib/network/attention",
        "dtglib/sequences/columns",
        "dtglib/transitions/rows",
    } <= behind
    assert not {"dtglib/decode/beam", "dtglib/training/loop", "dtglib/evaluate/likelihood"} & behind


@pytest.mark.parametrize("module", sorted(MODULES))
def test_behind_no_module_is_one_of_a_room_above_the_one_asked_for_nor_one_that_computes_no_number(module):
    room = module.partition("/")[0]
    if room != "basics":
        rooms = {name.split("/")[1] for name in modules_behind(f"dtglib/{module}", room) if name.startswith("dtglib/")}
        assert rooms <= set(ROOMS_IN_ORDER[1 : ROOMS_IN_ORDER.index(room) + 1])


def test_the_code_of_a_training_is_that_of_its_family_and_of_the_rooms_up_to_training(monkeypatch):
    family = FAMILIES[0]
    before = code_of("training", train, family.build)
    for module in (
        "dtglib/decode/stack_stepper",
        "dtglib/evaluate/perplexity",
        "dtglib/pictures/plot",
        "dtglib/families/txl",
    ):
        monkeypatch.setitem(RUNNING, module, "another")
        assert code_of("training", train, family.build) == before, module
    for module in (
        "dtglib/families/sequence_model",
        "dtglib/network/attention",
        "dtglib/training/schedule",
        "dtglib/transitions/arc_swift",
    ):
        monkeypatch.setitem(RUNNING, module, "another")
        after = code_of("training", train, family.build)
        assert after != before, module
        before = after


# Of each other paper that is installed, the module with its models.
OTHERS = [paper for paper in papers() if paper.name != "dtg" and paper.families]
OF_OTHER_PAPERS = [paper.families[0].partition(":")[0].replace(".", "/") for paper in OTHERS]


@pytest.mark.parametrize(
    "changed",
    [
        "dtglib/families/dtg",
        "dtglib/decode/stack_stepper",
        "dtglib/training/examples",
        "dtglib/data/minilang/english/pairs.yaml",
        "dtglib/evaluate/circuits.csv",
        *OF_OTHER_PAPERS,
    ],
)
def test_a_notebook_that_trains_depends_on_all_families_and_on_data_files(changed, monkeypatch):
    notebook = "from dtglib.runs.prepare import trained\nfrom dtglib.runs.syntax_scores import pairs_of\n"
    before = code_behind_source(notebook, "runs")
    monkeypatch.setitem(RUNNING, changed, "another")
    assert code_behind_source(notebook, "runs") != before


@pytest.mark.parametrize(
    "changed", ["dtglib/runs/syntax_scores", "dtglib/parsing/propose", "dtglib/decode/beam", "dtglib/families/dtg"]
)
def test_rows_depend_on_the_code_that_computes_them(changed, monkeypatch):
    def code() -> str:
        return code_of("evaluate", pair_rows, module_of("dtg"))

    before = code()
    monkeypatch.setitem(RUNNING, "dtglib/runs/tables", "another")
    monkeypatch.setitem(RUNNING, "dtglib/families/txl", "another")
    assert code() == before
    monkeypatch.setitem(RUNNING, changed, "another")
    assert code() != before


def test_what_a_function_is_wrapped_into_does_not_matter():
    assert code_of("decode", partial(partial(search, 1), 2)) == code_of("decode", search)


def test_of_a_users_function_its_file_counts_and_what_that_imports(tmp_path, monkeypatch):
    source = "from dtglib.decode.beam import search\n\n\ndef mine(): ...\n"
    (tmp_path / "somebodys.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    from somebodys import mine

    first = code_of("decode", mine)
    monkeypatch.setitem(RUNNING, "dtglib/decode/beam", "another")
    second = code_of("decode", mine)
    (tmp_path / "somebodys.py").write_text(f"{source}# There is a difference\n")
    third = code_of("decode", mine)
    (tmp_path / "helpers_of_somebody.py").write_text("WIDTH = 1\n")
    (tmp_path / "somebodys.py").write_text(f"from helpers_of_somebody import WIDTH\n{source}")
    fourth = code_of("decode", mine)
    (tmp_path / "helpers_of_somebody.py").write_text("WIDTH = 2\n")
    (tmp_path / "half_written.py").write_text("def (\n")
    assert len({first, second, third, fourth, code_of("decode", mine)}) == 5


def test_the_code_of_a_notebook_is_what_it_imports(monkeypatch):
    notebook = "from dtglib.pictures import plot\n"
    before = code_behind_source(notebook, "runs")
    monkeypatch.setitem(RUNNING, "dtglib/decode/beam", "another")
    assert code_behind_source(notebook, "runs") == before
    monkeypatch.setitem(RUNNING, "dtglib/data/treebank", "another")
    assert code_behind_source(notebook, "runs") != before
