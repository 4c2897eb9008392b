"""The reproduction: several processes compute what the notebooks need, then each notebook is run once, in order.

    dtglib reproduce --size mini                         by papermill, the notebooks of the DTG paper
    dtglib reproduce --size mini --paper constituency    those of a relative; `all` are the notebooks of all papers
    dtglib reproduce --size open --scripts --minutes 9   the .py halves, without Jupyter; stops after nine minutes

runs `notebooks/NN_name` with its parameter `size` set. The folder `runs/mini/NN_name/` then contains the executed
notebook (also as HTML), its tables and figures, and the record of the run (basics/record.py): config, commit, versions,
hardware, time. At the end the tables are printed, which are the outputs of the cells with the tag `table`.

A notebook is up to date as long as nothing that its numbers depend on has changed: its cells, the size's config, the
code that it imports, and the data. Then it is skipped, so a stopped reproduction continues where it was. The copy of a
notebook in progress is called `running`, and the record says "finished" only at the end, so an unfinished notebook
never looks finished.
"""

import contextlib
import csv
import hashlib
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from dtglib.basics.code import code_behind_source, code_of
from dtglib.basics.config import as_dict
from dtglib.basics.errors import UserError
from dtglib.basics.files import explain_disk_errors, only_one_process, repository, sha256, write_atomically
from dtglib.basics.papers import Paper, papers_named
from dtglib.basics.progress import is_quiet
from dtglib.basics.record import Run, plain, read_about, read_record
from dtglib.data.registry import checksums
from dtglib.runs.cache import KINDS, digest_of
from dtglib.runs.settings import checksums_of, read_size
from dtglib.runs.execute import PAPERMILL, SCRIPTS, Runner, Shown, Told

TABLES_FILE, FIGURES, JOBS_DONE = "tables.txt", "figures", "jobs-done"
READ_BY = {"ud-english": "ud_treebanks", "reading": "read_reading"}  # functions that read public data
RECORDED_TIMES = Path("benchmarks/records/reproduce.csv")  # written by benchmarks/reproduction.py


def reproduce(
    size: str, paper: str = "dtg", again: bool = False, runner: Runner = PAPERMILL, minutes: float | None = None
) -> None:
    """Run every notebook of a paper that is not up to date at this size; print tables and the places of figures."""
    read_size(size)  # an error if there is no such size, before anything is written
    root = repository()
    chosen = papers_named(paper)
    notebooks = _notebooks(root / "notebooks", runner.suffix, chosen)
    folders = [root / "runs" / size / notebook.stem for notebook in notebooks]
    began, work = time.monotonic(), []
    with (
        _stopped_after(minutes),
        only_one_process(root / "runs" / size, f"reproduces size {size}"),
        contextlib.chdir(root / "notebooks"),  # a config may name a corpus by a relative path
    ):
        for number, (notebook, folder) in enumerate(zip(notebooks, folders, strict=True), start=1):
            place = f"[{number}/{len(notebooks)}] {notebook.stem}"
            if not again and _is_up_to_date(folder, _config(size, notebook, runner), runner):
                print(f"{place}: up to date")
            else:
                work.append((notebook, folder, place))
        for one in chosen:
            if any(notebook.name[0] in one.notebooks for notebook, _, _ in work):
                _do_jobs(size, one.name, root / "runs" / size)
        for notebook, folder, place in work:
            # The config is computed again, because files may have changed since the check above.
            _run(notebook, folder, place, _config(size, notebook, runner), runner)
    _report(size, root, folders, time.monotonic() - began)


def _do_jobs(size: str, paper: str, folder: Path) -> None:
    """Let several processes train and score everything that a paper's notebooks need, unless that is done."""
    # Imported in functions, because a run that finds everything up to date should not wait for these imports.
    from dtglib.runs.pool import is_possible, work_through

    if not is_possible():
        return
    from dtglib.runs.jobs import jobs_of

    state, noted = _state_of_jobs(size), folder / f"{JOBS_DONE}-{paper}"
    if noted.exists() and _still_done(noted.read_text("utf-8"), state):
        return
    try:
        jobs = jobs_of(size, paper)
    except UserError as error:
        print(f"no jobs can be listed ({error}); each notebook computes what it needs, or says what is missing")
        return
    if not work_through(jobs, (size, paper), folder):
        with write_atomically(noted) as file:
            file.write("\n".join([state, *_results()]))


def _results() -> list[str]:
    """The folders of all cached results."""
    root = repository() / "runs"
    return sorted(str(path.relative_to(root)) for kind in KINDS for path in (root / kind).glob("*"))


def _still_done(note: str, state: str) -> bool:
    """Whether the note of finished jobs is about this state, and their results have not been deleted."""
    noted_state, *results = note.split("\n")
    return noted_state == state and set(results) <= set(_results())


def _state_of_jobs(size: str) -> str:
    """A hash of everything that the results of the jobs depend on."""
    from dtglib.runs.jobs import jobs_of

    settings = as_dict(*read_size(size))
    configs = list(map(sha256, sorted((repository() / "configs").glob("*/*.yaml"))))
    code = code_of("runs", jobs_of)
    return digest_of([settings, code, checksums(), list(_files_of_corpus(settings["corpus"])), configs])


def _config(size: str, notebook: Path, runner: Runner) -> dict[str, Any]:
    """The config in a notebook's record."""
    settings = as_dict(*read_size(size))
    return {"size": size, "up to date as": _state(notebook, settings, runner), **settings}


def _run(notebook: Path, folder: Path, place: str, config: dict[str, Any], runner: Runner) -> None:
    """Run one notebook, and write its outputs into its folder."""
    size = config["size"]
    expected, began = _expected_seconds(size, folder), time.monotonic()
    print(f"{place}: running" + (f", about {_clock(expected)}" if expected else ""), flush=True)
    _empty(folder)
    question = f"What does {notebook.name} find at size {size}?"
    with Run(folder, question, config, seeds=[config["seed"]], data=_data_of(size, notebook)):
        with _status(place, expected) as told:
            shown = runner.execute(notebook, size, folder, told)
        _keep(shown, folder)
    print(f"{place}: done in {_clock(time.monotonic() - began)}", flush=True)


def _data_of(size: str, notebook: Path) -> dict[str, str]:
    """Checksums of the data that a notebook reads, as far as the functions that it calls tell."""
    source = notebook.with_suffix(SCRIPTS.suffix).read_text("utf-8")
    judged = any(name in source for name in ("pairs_of", "suites_of", "ablations("))
    read = {name for name, function in READ_BY.items() if function in source}
    public = {name: checksum for name, checksum in checksums().items() if name in read}
    return checksums_of(read_size(size), judged) | public


def _notebooks(folder: Path, suffix: str, papers: Sequence[Paper]) -> list[Path]:
    """The files to run, in order; both halves of each notebook must exist."""
    tens = "".join(paper.notebooks for paper in papers)
    halves = [script.with_suffix(suffix) for script in sorted(folder.glob(f"[{tens}]*.py"))]
    if not halves:
        raise UserError(f"{folder}: holds no notebooks")
    if missing := [half.name for half in halves if not half.is_file()]:
        raise UserError(f"{folder}: {', '.join(missing)} must be made from the .py half first: run `make notebooks`")
    return halves


def _is_up_to_date(folder: Path, config: dict[str, Any], runner: Runner) -> bool:
    if not all(
        (folder / name).exists()
        for name in ("record.json", TABLES_FILE, *(f"{folder.name}{suffix}" for suffix in runner.results))
    ):
        return False
    try:
        record = read_record(folder)
    except UserError:
        return False  # the record is damaged
    return record.about["status"] == "finished" and record.config == plain(config)


def _state(notebook: Path, settings: dict[str, Any], runner: Runner) -> str:
    """A hash of everything that a notebook's numbers depend on."""
    cells = runner.cells(notebook)
    code = code_behind_source(notebook.with_suffix(SCRIPTS.suffix).read_text("utf-8"), "reproduce")
    known = [cells, settings, code, checksums(), list(_files_of_corpus(settings["corpus"]))]
    return hashlib.sha256("\n".join([json.dumps(known), *map(sha256, _files())]).encode()).hexdigest()


def _files() -> Iterator[Path]:
    """The files of the repository that notebooks read: configs of parsers and papers, released models, and records."""
    root = repository()
    timed = sorted((root / RECORDED_TIMES).parent.glob("*-*"))  # without the times of the notebooks
    configs = sorted(path for path in (root / "configs").glob("*") if path.is_dir())
    for folder in (*configs, root / "models", root / "results", *timed):
        yield from (p for p in sorted(folder.rglob("*")) if p.suffix in (".yaml", ".json", ".jsonl", ".csv"))


def _files_of_corpus(corpus: str) -> Iterator[tuple[str, int, int]]:
    """The files of a user's own corpus by size and time, because it may be too large to compute checksums."""
    named = os.environ.get("BLLIP", "") if corpus == "bllip" else corpus
    path = Path(named)
    for file in [path] if path.is_file() else sorted(path.rglob("*")) if named and path.is_dir() else []:
        about = file.stat()
        yield str(file), about.st_size, about.st_mtime_ns


# ---- Progress


def _expected_seconds(size: str, folder: Path) -> float | None:
    """The time that the notebook took here the last time; before that, the time in the benchmark's record."""
    try:
        about = read_about(folder)
        if about["status"] == "finished":
            return float(about["wall_seconds"])
    except UserError:
        pass  # it was never run here
    recorded = repository() / RECORDED_TIMES
    if recorded.exists():
        with open(recorded, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if (row["size"], row["notebook"]) == (size, folder.name):
                    return float(row["seconds"])
    return None


@contextlib.contextmanager
def _status(place: str, expected: float | None) -> Iterator[Told]:
    """A line with the current cell, the elapsed time and the expected time, refreshed every second."""
    of = f" of about {_clock(expected)}" if expected else ""
    layout = f"{{desc}} {{n_fmt}}/{{total_fmt}} [{{elapsed}}{of}]{{postfix}}"
    bar = tqdm(desc=f"{place}, cell", total=1, bar_format=layout, leave=False, disable=is_quiet())
    ended = threading.Event()

    def told(number: int, count: int, first_line: str) -> None:
        bar.n, bar.total = number, count
        bar.set_postfix_str(first_line[:60])

    def tick() -> None:
        while not ended.wait(1):
            bar.refresh()

    ticking = threading.Thread(target=tick, daemon=True)
    ticking.start()
    try:
        yield told
    finally:
        ended.set()
        ticking.join()
        bar.close()


def _clock(seconds: float) -> str:
    return tqdm.format_interval(round(seconds))


@contextlib.contextmanager
def _stopped_after(minutes: float | None) -> Iterator[None]:
    """Stop after so many minutes, or at a batch system's SIGTERM, as if Ctrl-C had been pressed."""
    stopped: list[str] = []

    def stop(number: int, frame: Any) -> None:
        if number == signal.SIGALRM:
            stopped.append(f"stopped after {minutes:g} minutes, as asked; the same command goes on")
        signal.raise_signal(signal.SIGINT)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {signal.SIGALRM: stop, signal.SIGTERM: stop}
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell sets it for commands in the background
        handlers[signal.SIGINT] = signal.default_int_handler
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    signal.setitimer(signal.ITIMER_REAL, 60 * (minutes or 0))
    try:
        yield
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(*stopped or [str(error) or "interrupted; the same command goes on"]) from error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


# ---- Results


def _empty(folder: Path) -> None:
    if folder.exists():
        with explain_disk_errors(folder):
            shutil.rmtree(folder)


def _keep(shown: Sequence[Shown], folder: Path) -> None:
    """Write the pictures of a notebook, and its outputs with the tag `table`, into files of their own."""
    pictures = [one.data["image/svg+xml"] for one in shown if "image/svg+xml" in one.data]
    for number, picture in enumerate(pictures, start=1):
        with write_atomically(folder / FIGURES / f"{folder.name}-{number}.svg") as file:
            file.write(picture)
    tables = [one.data["text/plain"] for one in shown if "table" in one.tags]
    with write_atomically(folder / TABLES_FILE) as file:
        file.write("".join(f"{table}\n\n" for table in tables))


def _report(size: str, root: Path, folders: Sequence[Path], seconds: float) -> None:
    for folder in folders:
        if tables := (folder / TABLES_FILE).read_text("utf-8"):
            print(f"\n==== {folder.name}\n\n{tables}", end="")
    print("\nfigures:")
    for folder in folders:
        for path in sorted((folder / FIGURES).glob("*.svg"), key=lambda path: int(path.stem.rpartition("-")[2])):
            print(f"  {path.relative_to(root)}")
    print(f"\n{_clock(seconds)} in all; the notebooks, as they were run, are in runs/{size}/")
