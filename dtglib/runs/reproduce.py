"""The reproduction: several processes compute what the notebooks need, then each notebook is run once, in order.

    dtglib reproduce --size mini                         the notebooks of the DTG paper
    dtglib reproduce --size mini --paper NAME            those of another paper; `all` are the notebooks of all papers

The folder `runs/mini/NN_name/` then contains the executed notebook (also as HTML), its tables and figures, and the
record of the run (basics/record.py). The tables of a notebook are the outputs of its cells with the tag `table`; they
are printed as soon as it is done. Models are trained when the first notebook that reads some is reached, so that there
is something to read after a minute.

A notebook is up to date as long as nothing that its numbers depend on has changed: its cells, the size's config, the
code that it imports, data and records. A hash of all of them is in the record. So a stopped reproduction continues
where it was. The record says "finished" only at the end, so an unfinished notebook never looks finished.
"""

import contextlib
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from dtglib.basics.code import code_behind_source, code_of
from dtglib.basics.config import as_dict
from dtglib.basics.errors import UserError
from dtglib.basics.files import only_one_process, repository, sha256, write_atomically
from dtglib.basics.papers import papers_named
from dtglib.basics.record import Run, read_record
from dtglib.data.registry import checksums
from dtglib.runs.cache import digest_of
from dtglib.runs.execute import Shown, execute
from dtglib.runs.settings import checksums_of, read_size

TABLES_FILE, FIGURES, STATE = "tables.txt", "figures", "up to date as"


def reproduce(size: str, paper: str = "dtg", again: bool = False) -> None:
    """Run every notebook of a paper that is not up to date at this size; print tables."""
    read_size(size)  # an error if there is no such size, before anything is written
    root = repository()
    runs, papers = root / "runs" / size, papers_named(paper)
    tens = "".join(paper.notebooks for paper in papers)
    notebooks = [script.with_suffix(".ipynb") for script in sorted((root / "notebooks").glob(f"[{tens}]*.py"))]
    began = time.monotonic()
    with (
        only_one_process(runs, f"reproduces size {size}"),
        contextlib.chdir(root / "notebooks"),  # a config may name a corpus by a relative path
    ):
        prepared: set[str] = set()
        for number, path in enumerate(notebooks, start=1):
            place, folder = f"[{number}/{len(notebooks)}] {path.stem}", runs / path.stem
            if not again and _is_up_to_date(path, size, folder):
                print(f"{place}: up to date")
            else:
                (paper,) = (paper.name for paper in papers if path.name[0] in paper.notebooks)
                if _needs_models(path) and paper not in prepared:
                    _do_jobs(size, paper, runs)
                    prepared.add(paper)
                _run(path, size, folder, place)
            print((folder / TABLES_FILE).read_text("utf-8"), end="", flush=True)
    took = tqdm.format_interval(round(time.monotonic() - began))
    print(f"\n{took} in all; the notebooks, as they were run, and their figures are in runs/{size}/")


def _needs_models(notebook: Path) -> bool:
    """True if a notebook calls `trained` or `trained_at`; the jobs train its models first, in several processes."""
    source = notebook.with_suffix(".py").read_text("utf-8")
    return "trained(" in source or "trained_at(" in source


def _do_jobs(size: str, paper: str, folder: Path) -> None:
    """Let several processes train and score everything that a paper's notebooks need, unless that is done."""
    # Imported here, because a run that finds everything up to date should not wait for these imports.
    from dtglib.runs.jobs import jobs_of
    from dtglib.runs.pool import is_possible, work_through

    # To find out that a job's result is in the cache, its data must be prepared. So it is noted that all are done.
    state, noted = _state(size, code_of("runs", jobs_of)), folder / f"jobs-done-{paper}"
    if not is_possible() or (noted.exists() and noted.read_text("utf-8") == state):
        return
    if not work_through(jobs_of(size, paper), folder):
        with write_atomically(noted) as file:
            file.write(state)


def _run(notebook: Path, size: str, folder: Path, place: str) -> None:
    """Run one notebook, and write its outputs into its folder."""
    print(f"{place}: running", flush=True)
    began, settings = time.monotonic(), read_size(size)
    config = {"size": size, STATE: _state_of(notebook, size), **as_dict(*settings)}
    if folder.exists():
        shutil.rmtree(folder)
    question = f"What does {notebook.name} find at size {size}?"
    with Run(folder, question, config, seeds=[settings.run.seed], data=checksums_of(settings)):
        shown = execute(notebook, size, folder, place)
        _write_outputs(shown, folder)
    print(f"{place}: done in {tqdm.format_interval(round(time.monotonic() - began))}", flush=True)


# ---- What is up to date


def _is_up_to_date(notebook: Path, size: str, folder: Path) -> bool:
    try:
        record = read_record(folder)
    except UserError:
        return False  # there is no record, or it is damaged
    if not all((folder / name).exists() for name in (notebook.name, TABLES_FILE)):
        return False
    return record.about["status"] == "finished" and record.config.get(STATE) == _state_of(notebook, size)


def _state_of(notebook: Path, size: str) -> str:
    """A hash of everything that a notebook's numbers depend on."""
    code = code_behind_source(notebook.with_suffix(".py").read_text("utf-8"), "runs")
    return _state(size, code, *(cell["source"] for cell in json.loads(notebook.read_text("utf-8"))["cells"]))


def _state(size: str, *code: Any) -> str:
    """A hash of code, of a size's config and data, and of all configs, released models and records."""
    settings, root = read_size(size), repository()
    timed = (root / "benchmarks" / "records").glob("*-*")
    folders = [*(path for path in (root / "configs").glob("*/")), root / "models", root / "results", *timed]
    files = (path for folder in folders for path in folder.rglob("*"))
    read = sorted(path for path in files if path.suffix in (".yaml", ".json", ".jsonl", ".csv"))
    data = {**checksums(), **checksums_of(settings)}
    return digest_of([code, as_dict(*settings), data, [(str(path.relative_to(root)), sha256(path)) for path in read]])


# ---- The end


def _write_outputs(shown: Sequence[Shown], folder: Path) -> None:
    """Write the pictures of a notebook, and its outputs with the tag `table`, into files of their own."""
    pictures = [output.data["image/svg+xml"] for output in shown if "image/svg+xml" in output.data]
    for number, picture in enumerate(pictures, start=1):
        with write_atomically(folder / FIGURES / f"{folder.name}-{number:02}.svg") as file:
            file.write(picture)
    tables = [output.data["text/plain"] for output in shown if "table" in output.tags]
    with write_atomically(folder / TABLES_FILE) as file:
        file.write("".join(f"\n{table}\n" for table in tables))
