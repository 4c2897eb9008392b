"""What holds between the papers in dtgpapers: which may import which, and that all of them are installed."""

import re

import pytest
from running import PACKAGE

from dtglib.basics.papers import papers

FOLDER = PACKAGE.parent / "dtgpapers"
# The other parts of dtgpapers that a paper imports. Pushdown Layers read the same brackets, and a score of BabyLM's is
# about the same reading corpus; `batches`, `decisions` and `tuning` are shared parts, not papers.
SHARED = {
    "doors": {"reading"},
    "pushdown": {"constituency", "decisions"},
    "gilt": {"decisions", "tuning"},
    "translation": {"batches"},
    "udgn": {"batches", "tuning"},
}
PAPERS = sorted(path.name for path in (FOLDER).iterdir() if (path / "__init__.py").exists())


@pytest.mark.parametrize("name", PAPERS)
def test_a_paper_imports_dtglib_and_no_other_paper(name):
    allowed = {name, *SHARED.get(name, ())}
    for path in (FOLDER / name).rglob("*.py"):
        imported = re.findall(r"^ *(?:from|import) dtgpapers\.(\w+)", path.read_text("utf-8"), re.MULTILINE)
        assert set(imported) <= allowed, path


def test_each_folder_is_a_paper_that_is_installed_or_a_shared_part():
    installed = {paper.name for paper in papers()}
    assert {name for name in PAPERS if name not in installed} == {"decisions", "tuning"}


def test_the_papers_add_commands():
    commands = {command.name for paper in papers() for command in paper.part("commands")}
    assert {"tape", "induce", "translate", "tune"} <= commands
