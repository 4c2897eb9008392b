"""The reproduction: several processes compute what the notebooks need, and run each notebook once.

    dtglib reproduce --size mini                         the notebooks of the DTG paper
    dtglib reproduce --size mini --paper NAME            those of another paper; `all` are the notebooks of all papers

The folder `runs/mini/NN_name/` then contains the executed notebook (also as HTML), its tables and figures, and the
record of the run (basics/record.py). The tables of a notebook are the outputs of its cells with the tag `table`; they
are printed as soon as it is done. The notebooks that read no models come first, so that there is something to read
after a minute.

A notebook is up to date as long as nothing that its numbers depend on has changed: its cells, the size's config, the
code that it imports, data, records and cards of released models. A hash of all of them is in the record, which says
"finished" only at the end. So a stopped reproduction continues where it was.
"""

import contextlib
import json
import shutil
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from dtglib.basics.code import code_behind_source, code_of
from dtglib.basics.config import as_dict
from dtglib.basics.errors import UserError
from dtglib.basics.files import only_one_process, repository, sha256, write_atomically
from dtglib.basics.papers import Paper, papers_named
from dtglib.basics.record import Run, read_record
from dtglib.data.registry import checksum_of, read_registry
from dtglib.runs.cache import digest_of
from dtglib.runs.execute import Shown, execute
from dtglib.runs.settings import Settings, checksums_of, read_size

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
        to_run = []
        for path in notebooks:
            if again or not _is_up_to_date(path, size, runs / path.stem):
                to_run.append(path)
            else:
                print(f"{path.stem}: up to date\n{_tables(runs / path.stem)}", flush=True)
        left = _run_in_pool(to_run, size, papers, runs) if to_run else []
        for number, path in enumerate(left, start=1):
            place = f"[{number}/{len(left)}] {path.stem}"
            print(f"{place}: running", flush=True)
            print(f"{place}: {_run(path, size, runs, place)}", flush=True)
    took = tqdm.format_interval(round(time.monotonic() - began))
    print(f"\n{took} in all; the notebooks, as they were run, and their figures are in runs/{size}/")


def _run_in_pool(notebooks: Sequence[Path], size: str, papers: Sequence[Paper], runs: Path) -> list[Path]:
    """Let several processes train and score what notebooks need, and run them; returns those that were not run."""
    # Imported here, because a run that finds everything up to date should not wait for these imports.
    from dtglib.runs.jobs import Job, jobs_of
    from dtglib.runs.pool import work_through

    jobs = {path: Job(path.stem, partial(_run, path, size, runs)) for path in notebooks}
    # Of notebooks that call `trained` or `trained_at` the jobs train the models first, in several processes.
    sources = {path: path.with_suffix(".py").read_text("utf-8") for path in notebooks}
    of_models = [path for path, source in sources.items() if "trained(" in source or "trained_at(" in source]
    queue = [job for path, job in jobs.items() if path not in of_models]
    prepared: dict[Path, tuple[str, list[Job]]] = {}
    for paper in papers:
        # To find out that a job's result is in the cache, its data must be prepared. So it is noted that all are done.
        state = _state(_settings(size, paper.notebooks[0]), code_of("runs", jobs_of))
        readers = [path for path in of_models if path.name[0] in paper.notebooks]
        noted = runs / f"jobs-done-{paper.name}"
        if readers and not (noted.exists() and noted.read_text("utf-8") == state):
            prepared[noted] = state, jobs_of(size, paper.name)
            queue += prepared[noted][1]
        queue += [jobs[path] for path in readers]
    left = set(work_through(list({repr(job): job for job in queue}.values()), runs))  # papers share some jobs
    for noted, (state, done) in prepared.items():
        if left.isdisjoint(job.name for job in done):
            with write_atomically(noted) as file:
                file.write(state)
    return [path for path in notebooks if path.stem in left]


def _tables(folder: Path) -> str:
    return (folder / TABLES_FILE).read_text("utf-8")


def _run(notebook: Path, size: str, runs: Path, label: str = "") -> str:
    """Run one notebook under a bar with this label, and write its outputs into its folder; returns its tables."""
    folder, settings = runs / notebook.stem, _settings(size, notebook.name[0])
    config = {"size": size, STATE: _state_of(notebook, size), **as_dict(*settings)}
    if folder.exists():
        shutil.rmtree(folder)
    question = f"What does {notebook.name} find at size {size}?"
    with Run(folder, question, config, seeds=[settings.run.seed], data=checksums_of(settings)):
        _write_outputs(execute(notebook, size, folder, label), folder)
    return f"done\n{_tables(folder)}"


# ---- What is up to date


def _is_up_to_date(notebook: Path, size: str, folder: Path) -> bool:
    try:
        record = read_record(folder)
    except UserError:
        return False  # there is no record, or it is damaged
    is_whole = all((folder / name).exists() for name in (notebook.name, TABLES_FILE))
    return is_whole and record.about["status"] == "finished" and record.config.get(STATE) == _state_of(notebook, size)


def _state_of(notebook: Path, size: str) -> str:
    """A hash of everything that a notebook's numbers depend on."""
    code = code_behind_source(notebook.with_suffix(".py").read_text("utf-8"), "runs")
    cells = [cell["source"] for cell in json.loads(notebook.read_text("utf-8"))["cells"]]
    return _state(_settings(size, notebook.name[0]), code, *cells)


def _settings(size: str, digit: str) -> Settings:
    """The settings of the first model that the notebooks with this first digit compare."""
    (paper,) = [paper for paper in papers_named("all") if digit in paper.notebooks]
    return read_size(size, **dict(zip(["model"], paper.compared, strict=False)))


def _state(settings: Settings, *code: Any) -> str:
    """A hash of code, of settings and their data, and of all configs, cards of released models, and records."""
    root = repository()
    timed = (root / "benchmarks" / "records").glob("*-*")
    folders = [root / "configs", root / "models", root / "results", *timed]
    files = (path for folder in folders for path in folder.rglob("*"))
    read = sorted(path for path in files if path.suffix in (".yaml", ".json", ".jsonl", ".csv"))
    data = {**{name: checksum_of(name) for name in read_registry()}, **checksums_of(settings)}
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
