"""The .py half of a notebook, run without Jupyter: cell by cell; what it shows is kept, mistakes are placed."""

from pathlib import Path

import nbformat
import pytest

from dtglib.basics.errors import UserError
from dtglib.runs.execute import PAPERMILL, SCRIPTS, Runner, Shown

HEADER = "# ---\n# jupyter:\n#   jupytext:\n#     formats: ipynb,py:percent\n# ---\n\n"
SCRIPT = f"""{HEADER}# %% [markdown]
# # A question

# %% tags=["parameters"]
size = "smoke"

# %%
import pandas as pd

print("size is", size)
table = pd.DataFrame({{"a": [1, 2]}})

# %% tags=["table"]
table

# %%
if size == "mini":
    table * 2

# %%
from dtglib.pictures import plot
from dtglib.data.treebank import Sentence

plot.draw_tree(Sentence(("There", "is"), (2, 0)))
"""


@pytest.fixture
def notebook(tmp_path) -> Path:
    folder = tmp_path / "notebooks"
    folder.mkdir()
    (folder / "00_first.py").write_text(SCRIPT)
    cells = SCRIPTS.cells(folder / "00_first.py")
    made = [nbformat.v4.new_markdown_cell(cells[0]), *map(nbformat.v4.new_code_cell, cells[1:])]
    made[1].metadata["tags"], made[3].metadata["tags"] = ["parameters"], ["table"]
    nbformat.write(nbformat.v4.new_notebook(cells=made), folder / "00_first.ipynb")
    return folder / "00_first"


def run(runner: Runner, notebook: Path, size: str = "mini") -> tuple[Path, list[Shown], list[tuple]]:
    folder, told = notebook.parent.parent / "out", []
    folder.mkdir()
    shown = runner.execute(notebook.with_suffix(runner.suffix), size, folder, lambda *cell: told.append(cell))
    return folder, shown, told


def test_a_script_shows_what_the_last_lines_of_its_cells_are_worth_and_keeps_what_it_prints(notebook):
    folder, shown, told = run(SCRIPTS, notebook)
    assert [one.tags for one in shown] == [["table"], []]
    assert shown[0].data == {"text/plain": "   a\n0  1\n1  2"}
    assert shown[1].data["image/svg+xml"].count("There") == 1
    assert "size is mini\n" in (folder / "00_first.txt").read_text()
    assert not (folder / "running.txt").exists()
    assert told[0] == (1, 5, 'size = "smoke"')
    assert [number for number, _, _ in told] == [1, 2, 3, 4, 5]


def test_papermill_shows_the_same(notebook):
    folder, shown, told = run(PAPERMILL, notebook)
    assert [one.tags for one in shown] == [["table"], []]
    assert shown[0].data["text/plain"] == "   a\n0  1\n1  2"
    assert "image/svg+xml" in shown[1].data
    assert (folder / "00_first.ipynb").exists() and (folder / "00_first.html").exists()
    assert told[-1] == (6, 6, "from dtglib.pictures import plot")


def test_a_progress_bar_is_nothing_that_is_shown(notebook):
    made = nbformat.read(notebook.with_suffix(".ipynb"), as_version=4)
    bar = "from tqdm.notebook import tqdm\nassert [*tqdm(range(3))]\n"
    made.cells[3].source = bar + made.cells[3].source
    nbformat.write(made, notebook.with_suffix(".ipynb"))
    folder, shown, _ = run(PAPERMILL, notebook)
    assert [one.tags for one in shown] == [["table"], []]
    assert "widget-view" in (folder / "00_first.ipynb").read_text()


def test_a_cell_that_fails_is_named_by_line_and_what_was_printed_is_kept(notebook):
    script = notebook.with_suffix(".py")
    script.write_text(SCRIPT.replace("    table * 2", "    raise ValueError('no trees here')"))
    line = script.read_text().splitlines().index('if size == "mini":') + 1
    with pytest.raises(UserError, match=rf"00_first\.py, line {line}, cell 4: ValueError: no trees here"):
        run(SCRIPTS, notebook)
    left = (notebook.parent.parent / "out" / "running.txt").read_text()
    assert "size is mini" in left and f"line {line + 1}" in left


def test_what_is_no_python_is_a_mistake_of_its_cell(notebook):
    script = notebook.with_suffix(".py")
    script.write_text(SCRIPT.replace("table = ", "table == = "))
    with pytest.raises(UserError, match="cell 2: SyntaxError"):
        run(SCRIPTS, notebook)


def test_every_notebook_has_the_same_cells_in_both_halves():
    for script in sorted((Path(__file__).parent.parent / "notebooks").glob("*.py")):
        of_script, of_notebook = (half.cells(script.with_suffix(half.suffix)) for half in (SCRIPTS, PAPERMILL))
        assert len(of_script) == len(of_notebook), script.name


def test_papermill_counts_the_cells_of_the_notebook_and_not_its_own(notebook):
    path = notebook.with_suffix(".ipynb")
    path.write_text(path.read_text().replace("table * 2", "raise ValueError('no trees here')"))
    with pytest.raises(UserError, match=r"00_first\.ipynb, cell 5: ValueError: no trees here"):
        run(PAPERMILL, notebook)
