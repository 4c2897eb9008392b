"""A reader opens a notebook in JupyterLab and runs it: no cell fails, and its pictures are on the page."""

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from lab import Cell, Lab, browser, find_browser, jupyterlab, wait
from running import ROOT

# Slow: a browser. The kernels of the same notebooks are run by every `make test`.
pytestmark = pytest.mark.alone

WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    """A copy, so that nothing is written into the real one."""
    copy = tmp_path_factory.mktemp("repository")
    for folder in ("configs", "notebooks"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns(".*"))
    shutil.copy(ROOT / "jupytext.toml", copy)
    return copy


@pytest.fixture(scope="module")
def lab(repository, tmp_path_factory) -> Iterator[Lab]:
    if not find_browser():
        pytest.skip("no chromium, chromium-browser or google-chrome here: install one (Debian and Ubuntu: chromium)")
    home = tmp_path_factory.mktemp("lab")
    with jupyterlab(repository / "notebooks", home / "server") as address, browser(home / "browser") as page:
        page.visit(address)
        yield page


@pytest.fixture
def artifacts(tmp_path) -> Path:
    """Where a picture of the page is kept for people to look at."""
    return Path(os.environ.get("DTG_ARTIFACTS") or tmp_path)


def failures(lab: Lab, name: str, cells: list[Cell]) -> list[str]:
    """A line for each cell that has failed; those of widgets are on the page only."""
    errors = [(cell, cell.error) for cell in cells if cell.error]
    errors += [(cell, error) for cell in cells if WIDGET in cell.types and (error := widget_error(lab, cell))]
    return [f"{name}, cell {cell.index + 1}: {error}" for cell, error in errors]


def widget_error(lab: Lab, cell: Cell) -> str | None:
    """What stands on the page where the widgets of a cell should; None where they are."""
    bad = re.compile("Error displaying widget|Traceback")
    with contextlib.suppress(TimeoutError):
        wait(lambda: (shown := lab.look(cell)).widgets or bad.search(shown.text), 60, "the widgets")
    shown = lab.look(cell)
    return None if shown.widgets and not bad.search(shown.text) else shown.text or "no widget"


def run_small(lab: Lab, path: Path, *sources: str) -> list[str]:
    """The failures of a notebook with these cells."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)
    lab.open(path.name)
    return failures(lab, path.name, lab.run_all(60))


def test_the_masks_run_in_jupyterlab_and_their_pictures_are_on_the_page(lab, artifacts):
    name, screenshot = "02_masks.ipynb", artifacts / "02_masks.png"
    try:
        lab.open(name)
        cells = lab.run_all()
        assert not failures(lab, name, cells)
        assert all(cell.has_run for cell in cells)
        masks = [cell for cell in cells if "draw_mask(" in cell.source]
        assert masks
        for cell in reversed(masks):  # the first one comes last, and is in view when the page is kept
            a_picture_is_seen(lab, cell)
    finally:
        lab.screenshot(screenshot)
        print(f"the page, as a picture: {screenshot}")


def test_who_opens_a_notebook_sees_its_stored_pictures(lab):
    """JupyterLab does not trust what it has not run itself, and shows no SVG of it.

    That the pictures of all notebooks are stored in a form that it shows is seen in test_repository.py.
    """
    lab.open("00_data.ipynb")
    drawn = [cell for cell in lab.cells() if {"image/svg+xml", "image/png"} & set(cell.types)]
    assert drawn
    for cell in drawn:
        a_picture_is_seen(lab, cell)


def a_picture_is_seen(lab: Lab, cell: Cell) -> None:
    def large() -> bool:
        # The smallest picture has a line of dots; the sign of a missing picture is smaller.
        return any(min(picture) > 60 for picture in lab.look(cell).pictures)

    wait(large, 60, f"a picture below cell {cell.index + 1}", lambda: lab.look(cell))


# Slow, as the next: whether what the slow test above looks at would show a failure.
def test_a_cell_that_fails_is_named(lab, repository):
    path = repository / "notebooks/one_fails.ipynb"
    assert run_small(lab, path, "1", "1 / 0", "2") == [f"{path.name}, cell 2: ZeroDivisionError: division by zero"]


def test_a_widget_is_seen_on_the_page_and_so_is_its_failure(lab, repository):
    gone = {WIDGET: {"model_id": "gone", "version_major": 2, "version_minor": 0}, "text/plain": "Dropdown()"}
    choice = "system=['arc-standard', 'arc-eager']"
    second, third = run_small(
        lab,
        repository / "notebooks/widgets.ipynb",
        f"from ipywidgets import interact\ninteract(lambda system: system, {choice});",
        f"interact(lambda system: 1 / 0, {choice});",
        f"display({gone}, raw=True)",
    )
    assert "cell 2: " in second and "ZeroDivisionError" in second
    assert "cell 3: Error displaying widget" in third


def test_a_reader_has_a_field_for_a_sentence(lab, repository):
    field = "from dtglib.pictures import plot\nplot.with_field(lambda text: text.upper(), 'she saw him')"
    assert run_small(lab, repository / "notebooks/field.ipynb", field) == []
    (cell,) = lab.cells()
    assert WIDGET in cell.types and "SHE SAW HIM" in lab.look(cell).text
