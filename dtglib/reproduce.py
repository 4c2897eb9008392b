"""The reproduction: the notebooks, run in order, each once.

    dtglib reproduce --size mini                         by papermill
    dtglib reproduce --size open --scripts --minutes 9   their .py halves, where there is no Jupyter, and in pieces

runs `notebooks/NN_name` with its parameter `size` set. The folder `runs/mini/NN_name/` then holds the executed notebook
(the same as HTML), its tables and figures, and the record of the run (record.py): config, commit, versions, hardware,
time. At the end the tables are printed: those of the cells that are tagged `table`.

A notebook is up to date as long as nothing that its numbers depend on has changed: its own cells, the size's config,
the package, and which data there are; then it is skipped, so what was stopped goes on where it was. What is being run
is called `running`, and the record says "finished" only at the end, so nothing half-done looks done.
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

from dtglib.config import as_dict
from dtglib.errors import UserError
from dtglib.execute import PAPERMILL, SCRIPTS, Runner, Shown, Told
from dtglib.files import explain_disk_errors, only_one_process, repository, sha256, write_atomically
from dtglib.forerunner import forerunners
from dtglib.progress import is_quiet
from dtglib.record import Run, plain, read_about, read_record
from dtglib.registry import checksums
from dtglib.settings import read_size

TABLES, FIGURES = "tables.txt", "figures"
RECORDED_TIMES = Path("benchmarks/records/reproduce.csv")  # written by benchmarks/reproduction.py


def reproduce(size: str, again: bool = False, runner: Runner = PAPERMILL, minutes: float | None = None) -> None:
    """Run every notebook that is not up to date at this size, and say where things are."""
    read_size(size)  # before anything is made for a size that there is not
    root = repository()
    notebooks = _notebooks(root / "notebooks", runner.suffix)
    folders = [root / "runs" / size / notebook.stem for notebook in notebooks]
    began, work = time.monotonic(), []
    with _stopped_after(minutes), only_one_process(root / "runs" / size, f"reproduces size {size}"):
        for number, (notebook, folder) in enumerate(zip(notebooks, folders, strict=True), start=1):
            place = f"[{number}/{len(notebooks)}] {notebook.stem}"
            if not again and _is_up_to_date(folder, _config(size, notebook, runner), runner):
                print(f"{place}: up to date")
            else:
                work.append((notebook, folder, place))
        with _other_cores([notebook for notebook, *_ in work], size):
            for notebook, folder, place in work:
                # Of now: somebody may have changed something since.
                _run(notebook, folder, place, _config(size, notebook, runner), runner)
    _report(size, root, folders, time.monotonic() - began)


@contextlib.contextmanager
def _other_cores(notebooks: Sequence[Path], size: str) -> Iterator[None]:
    """They run the notebooks, too, from the end."""
    scripts = [notebook.with_suffix(SCRIPTS.suffix) for notebook in notebooks]
    with forerunners(scripts, size, repository() / "runs" / size) as count:
        if count:
            others = "another process goes" if count == 1 else f"{count} other processes go"
            print(f"on the other cores {others} through them from the end; see runs/{size}/forerunner-*/log.txt")
        yield


def _config(size: str, notebook: Path, runner: Runner) -> dict[str, Any]:
    """What a notebook's record says that it was run with."""
    settings = as_dict(*read_size(size))
    return {"size": size, "up to date as": _state(notebook, settings, runner), **settings}


def _run(notebook: Path, folder: Path, place: str, config: dict[str, Any], runner: Runner) -> None:
    """Run one notebook, and keep what it shows."""
    size = config["size"]
    expected, began = _expected_seconds(size, folder), time.monotonic()
    print(f"{place}: running" + (f", about {_clock(expected)}" if expected else ""), flush=True)
    _empty(folder)
    question = f"What does {notebook.name} find at size {size}?"
    with Run(folder, question, config, seeds=[config["seed"]], data=checksums()):
        with _status(place, expected) as told:
            shown = runner.execute(notebook, size, folder, told)
        _keep(shown, folder)
    print(f"{place}: done in {_clock(time.monotonic() - began)}", flush=True)


def _notebooks(folder: Path, suffix: str) -> list[Path]:
    """The halves that are run, in their order; each notebook must have both."""
    halves = [script.with_suffix(suffix) for script in sorted(folder.glob("[0-9]*.py"))]
    if not halves:
        raise UserError(f"{folder}: holds no notebooks")
    if missing := [half.name for half in halves if not half.is_file()]:
        raise UserError(f"{folder}: {', '.join(missing)} must be made from the .py half first: run `make notebooks`")
    return halves


def _is_up_to_date(folder: Path, config: dict[str, Any], runner: Runner) -> bool:
    if not all(
        (folder / name).exists()
        for name in ("record.json", TABLES, *(f"{folder.name}{suffix}" for suffix in runner.results))
    ):
        return False
    try:
        record = read_record(folder)
    except UserError:
        return False  # a damaged record vouches for nothing: run again
    return record.about["status"] == "finished" and record.config == plain(config)


def _state(notebook: Path, settings: dict[str, Any], runner: Runner) -> str:
    """A checksum of all that a notebook's numbers depend on."""
    known = [runner.cells(notebook), settings, checksums(), list(_files_of_corpus(settings["corpus"]))]
    return hashlib.sha256("\n".join([json.dumps(known), *map(sha256, _sources())]).encode()).hexdigest()


def _sources() -> Iterator[Path]:
    """The package, the parsers' configs, and the records that tables and pictures are made of."""
    root = repository()
    timed = sorted((root / RECORDED_TIMES).parent.glob("*-*"))  # but not how long notebooks took
    for folder in (Path(__file__).parent, root / "configs" / "parsers", root / "results", *timed):
        yield from (p for p in sorted(folder.rglob("*")) if p.suffix in (".py", ".yaml", ".json", ".jsonl", ".csv"))


def _files_of_corpus(corpus: str) -> Iterator[tuple[str, int, int]]:
    """Those of a corpus of the user's own: too large to be read for this, so by their sizes and times."""
    named = os.environ.get("BLLIP", "") if corpus == "bllip" else corpus
    path = Path(named)
    for file in [path] if path.is_file() else sorted(path.rglob("*")) if named and path.is_dir() else []:
        about = file.stat()
        yield str(file), about.st_size, about.st_mtime_ns


# ---- What is said while one waits


def _expected_seconds(size: str, folder: Path) -> float | None:
    """How long it took here the last time or, the first time, where it was recorded."""
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
    """A line that says which cell runs, since when, and how long all will take; it moves while a cell does not."""
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
    """Stop after so many minutes, or when a batch system says so, as if somebody had pressed Ctrl-C."""
    stopped: list[str] = []

    def stop(number: int, frame: Any) -> None:
        if number == signal.SIGALRM:
            stopped.append(f"stopped after {minutes:g} minutes, as asked; the same command goes on")
        signal.raise_signal(signal.SIGINT)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {signal.SIGALRM: stop, signal.SIGTERM: stop}
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as of what a shell runs in the background
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


# ---- What is there in the end


def _empty(folder: Path) -> None:
    if folder.exists():
        with explain_disk_errors(folder):
            shutil.rmtree(folder)


def _keep(shown: Sequence[Shown], folder: Path) -> None:
    """Put the pictures of a notebook and the tables that it is about into files of their own."""
    pictures = [one.data["image/svg+xml"] for one in shown if "image/svg+xml" in one.data]
    for number, picture in enumerate(pictures, start=1):
        with write_atomically(folder / FIGURES / f"{folder.name}-{number}.svg") as file:
            file.write(picture)
    tables = [one.data["text/plain"] for one in shown if "table" in one.tags]
    with write_atomically(folder / TABLES) as file:
        file.write("".join(f"{table}\n\n" for table in tables))


def _report(size: str, root: Path, folders: Sequence[Path], seconds: float) -> None:
    for folder in folders:
        if tables := (folder / TABLES).read_text("utf-8"):
            print(f"\n==== {folder.name}\n\n{tables}", end="")
    print("\nfigures:")
    for folder in folders:
        for path in sorted((folder / FIGURES).glob("*.svg"), key=lambda path: int(path.stem.rpartition("-")[2])):
            print(f"  {path.relative_to(root)}")
    print(f"\n{_clock(seconds)} in all; the notebooks, as they were run, are in runs/{size}/")
