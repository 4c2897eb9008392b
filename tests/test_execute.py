"""A notebook is run by papermill: its outputs are kept, and the cell of an error is named."""

import os
from pathlib import Path

import jupytext
import pytest

from dtglib.basics.errors import UserError
from dtglib.runs.execute import Shown, execute

CELLS = """# %% [markdown]
# # A question

# %% tags=["parameters"]
size = "smoke"

# %%
import pandas as pd
from tqdm.notebook import tqdm

assert [*tqdm(range(3))]
print("size is", size)
table = pd.DataFrame({"a": [1, 2]})

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


def run(folder: Path, cells: str) -> list[Shown]:
    notebook = folder / "00_first.ipynb"
    jupytext.write(jupytext.reads(cells, fmt="py:percent"), notebook)
    (folder / "out").mkdir()
    return execute(notebook, "mini", folder / "out", "[1/1] 00_first")


def test_tables_and_pictures_are_returned_and_the_executed_notebook_is_kept(tmp_path):
    shown = run(tmp_path, CELLS)
    assert [output.tags for output in shown] == [["table"], []], "and no progress bar"
    assert shown[0].data["text/plain"] == "   a\n0  1\n1  2"
    assert "image/svg+xml" in shown[1].data
    assert "size is mini" in (tmp_path / "out" / "00_first.html").read_text()
    assert "widget-view" in (tmp_path / "out" / "00_first.ipynb").read_text()
    assert not (tmp_path / "out" / "running.ipynb").exists()


def test_a_notebook_has_no_reader_and_its_threads_do_not_spin(tmp_path, monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "00_outer.ipynb")
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    run(tmp_path, "import os\n\nprint([os.environ.get(name) for name in ('JPY_SESSION_NAME', 'OMP_WAIT_POLICY')])\n")
    assert "[None, 'passive']" in (tmp_path / "out" / "00_first.html").read_text()
    assert os.environ["JPY_SESSION_NAME"] == "00_outer.ipynb"


# Slow: a notebook of its own; test_reproduce.py has one whose cell fails.
@pytest.mark.slow
def test_a_failing_cell_is_counted_without_the_cell_that_papermill_adds(tmp_path):
    with pytest.raises(UserError, match=r"00_first\.ipynb, cell 5: ValueError: no trees here"):
        run(tmp_path, CELLS.replace("    table * 2", "    raise ValueError('no trees here')"))
    assert "size is mini" in (tmp_path / "out" / "running.ipynb").read_text()
