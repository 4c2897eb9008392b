"""Notebooks are run in order, each once, and nothing half-done looks done."""

import nbformat
import pytest

from dtglib.errors import UserError
from dtglib.record import read_record
from dtglib.reproduce import reproduce


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A tiny repository with one notebook, whose second cell is the test's to fill."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "smoke.yaml").write_text("seed: 1\n")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "figures").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_notebook(repository, source, name="00_first"):
    parameters = nbformat.v4.new_code_cell('size = "unset"', metadata={"tags": ["parameters"]})
    cells = [parameters, nbformat.v4.new_code_cell(source)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), repository / "notebooks" / f"{name}.ipynb")


def test_a_notebook_is_run_with_its_size_and_kept_and_not_run_again(repository, capsys):
    write_notebook(repository, "print('size is', size); open('ran', 'a').write('x')")
    reproduce("smoke")
    reproduce("smoke")
    assert (repository / "notebooks" / "ran").read_text() == "x"
    assert "size is smoke" in (repository / "runs" / "smoke" / "00_first" / "00_first.html").read_text()
    assert "[1/1] 00_first: up to date" in capsys.readouterr().out
    assert not list((repository / "runs").rglob("running.ipynb"))
    reproduce("smoke", again=True)
    assert (repository / "notebooks" / "ran").read_text() == "xx"


def test_a_changed_notebook_or_config_is_run_again(repository):
    write_notebook(repository, "open('ran', 'a').write('x')")
    reproduce("smoke")
    write_notebook(repository, "open('ran', 'a').write('y')")
    reproduce("smoke")
    (repository / "configs" / "smoke.yaml").write_text("seed: 2\n")
    reproduce("smoke")
    assert (repository / "notebooks" / "ran").read_text() == "xyy"


def test_a_failing_notebook_names_its_cell_and_keeps_what_was_finished(repository):
    write_notebook(repository, "print('fine')", "00_first")
    write_notebook(repository, "raise ValueError('no trees here')", "01_second")
    with pytest.raises(UserError, match=r"01_second\.ipynb, cell \d: ValueError: no trees here"):
        reproduce("smoke")
    runs = repository / "runs" / "smoke"
    assert read_record(runs / "00_first").about["status"] == "finished"
    assert read_record(runs / "01_second").about["status"] == "failed"


def test_a_damaged_record_vouches_for_nothing(repository):
    write_notebook(repository, "open('ran', 'a').write('x')")
    reproduce("smoke")
    (repository / "runs" / "smoke" / "00_first" / "record.json").write_text('{"status": "fini')
    reproduce("smoke")
    assert (repository / "notebooks" / "ran").read_text() == "xx"


def test_a_kernel_that_dies_is_reported(repository):
    write_notebook(repository, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(UserError, match="its kernel died, most likely for lack of memory"):
        reproduce("smoke")


def test_an_unknown_size_names_the_known_ones(repository):
    write_notebook(repository, "pass")
    with pytest.raises(UserError, match="there is no size 'huge'; sizes are smoke"):
        reproduce("huge")
