"""The record of a run: a folder with everything that is needed to trust its numbers and to compute them again.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with Run(folder, question="Is there a difference?", config={"corpus": "minilang"}, seeds=[1]) as run:
    ...         run.metric(step=100, loss=2.5)
    ...     record = read_record(folder)
    >>> record.about["status"], record.config, record.metrics[0]["loss"]
    ('finished', {'corpus': 'minilang'}, 2.5)

The folder then holds

    config.yaml      the settings
    metrics.jsonl    {"seconds": 1.234, "step": 100, "loss": 2.5}: one line per call of `metric`, written at once
    record.json      question, status, commit, versions, checksums of the data, hardware, seeds, start, time, memory

The status is "running" at first and "finished" at the end, so a folder with this status is complete. A run that ends in
an exception is "failed", and one that is stopped by hand "interrupted". `Run` starts an unfinished run anew, but never
overwrites a finished one, nor settings without a record.

A record may be published, so absolute paths in the config and in error messages are cut down to their last part.
"""

import fcntl
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import yaml

from dtglib.basics.config import LOADER
from dtglib.basics.errors import UserError, require
from dtglib.basics.files import write_atomically

# One row of results: the values by the names of their columns.
Row = dict[str, Any]

SETTINGS_FILE, METRICS_FILE = "config.yaml", "metrics.jsonl"
SOURCES = (":/dtglib", ":/dtgpapers", ":/configs", ":/notebooks/*.py", ":/benchmarks/*.py", ":/requirements.lock")
PACKAGES = ("dtglib", "torch", "numpy", "numba", "sentencepiece", "conllu", "nltk", "supar")


class Run:
    """A run, which is recorded within its `with` block."""

    def __init__(
        self,
        folder: str | Path,
        question: str,
        config: Mapping[str, Any],
        seeds: Sequence[int] = (),
        data: Mapping[str, str] | None = None,
        keep: int = 0,
    ) -> None:
        """`data` maps the name of every input file or corpus to its SHA-256 checksum.

        A run that is resumed keeps the first `keep` lines of its metrics, and its clock goes on from there.
        """
        self.folder, self.question, self.config = Path(folder), question, dict(config)
        self._keep = keep
        self._circumstances = {"seeds": list(seeds), "data": dict(data or {})}

    def __enter__(self) -> "Run":
        path = self.folder / "record.json"
        if path.exists() and read_about(self.folder)["status"] == "finished":
            raise UserError(f"{self.folder}: holds a finished run already; choose another folder, or delete this one")
        if not path.exists() and (self.folder / SETTINGS_FILE).exists():
            raise UserError(f"{self.folder}: has a {SETTINGS_FILE}, but no record.json; choose another folder")
        kept = self._kept_lines()
        self._begin = time.monotonic() - (read_record(self.folder).metrics[len(kept) - 1]["seconds"] if kept else 0)
        self.lines = len(kept)  # of metrics
        started = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        self._circumstances |= {"started": started, "code": commit_of_package(), "versions": versions()}
        self.folder.mkdir(parents=True, exist_ok=True)
        self._metrics = open(self.folder / METRICS_FILE, "ab")
        try:
            fcntl.flock(self._metrics, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the end of the process frees it
        except BlockingIOError as error:
            raise UserError(f"{self.folder}: another command records there; wait, or choose another folder") from error
        # The record comes first: from now on an old record no longer vouches for files that are being replaced.
        self._write_record("running")
        with write_atomically(self.folder / SETTINGS_FILE) as file:
            yaml.safe_dump(plain(self.config), file, sort_keys=False, allow_unicode=True)
        self._metrics.truncate(sum(map(len, kept)))
        return self

    def flush(self) -> None:
        """Force the metrics onto the disk, so that they survive a crash of the machine."""
        os.fsync(self._metrics.fileno())

    def _kept_lines(self) -> list[bytes]:
        path = self.folder / METRICS_FILE
        lines = path.read_bytes().splitlines(keepends=True)[: self._keep] if self._keep and path.exists() else []
        if len(lines) < self._keep:
            raise UserError(f"{path}: the run that goes on here wrote {self._keep} lines; delete the folder")
        return lines

    def metric(self, **values: Any) -> None:
        """Append one line of measurements, such as step=100, loss=2.5, with the seconds since the beginning."""
        line = json.dumps({"seconds": self._seconds()} | plain(values), ensure_ascii=False)
        self._metrics.write(f"{line}\n".encode())
        self._metrics.flush()  # the measurements before a crash are the ones that explain it
        self.lines += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.flush()
        self._metrics.close()
        why = {} if isinstance(error, KeyboardInterrupt | None) else {"error": f"{type(error).__name__}: {error}"}
        self._write_record("failed" if why else "interrupted" if error else "finished", **why)

    def _write_record(self, status: str, **error: str) -> None:
        about = {"question": self.question, "status": status, **error, **self._circumstances, "hardware": hardware()}
        about |= {"wall_seconds": self._seconds(), "peak_memory_bytes": peak_memory(), "metrics": self.lines}
        with write_atomically(self.folder / "record.json") as file:
            json.dump(plain(about), file, indent=2, ensure_ascii=False)
            file.write("\n")

    def _seconds(self) -> float:
        return round(time.monotonic() - self._begin, 3)


class Record(NamedTuple):
    """The contents of a run's folder, read back."""

    about: dict[str, Any]  # record.json
    config: dict[str, Any]
    metrics: list[dict[str, Any]]


def read_about(folder: str | Path) -> dict[str, Any]:
    """A run's record.json: its question, how it ended, and in which circumstances."""
    path = Path(folder) / "record.json"
    try:
        about = json.loads(path.read_bytes())
        about["status"], about["metrics"]
        return about
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; the folder of a run has one") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not the record of a run, or half of it; delete its folder, or restore it") from error


def read_record(folder: str | Path) -> Record:
    """Read the folder of a `Run`; if the run did not finish, only whole lines of metrics are read."""
    about, config, metrics = read_about(folder), Path(folder) / SETTINGS_FILE, Path(folder) / METRICS_FILE
    try:
        # A run that was killed at its very beginning has neither file.
        lines = metrics.read_text(encoding="utf-8").split("\n")[:-1] if metrics.exists() else []
        wrong = f"{metrics}: has {len(lines)} lines, but the run wrote {about['metrics']}; the copy is damaged"
        require(about["status"] != "finished" or len(lines) == about["metrics"], wrong)
        settings = yaml.load(config.read_text(encoding="utf-8"), LOADER) if config.exists() else {}
        return Record(about, dict(settings), [json.loads(line) for line in lines])
    except (ValueError, TypeError, yaml.YAMLError) as error:
        damaged = f"{SETTINGS_FILE} or {METRICS_FILE} is damaged"
        raise UserError(f"{folder}: {damaged}; delete the folder, or restore it") from error


def plain(value: Any) -> Any:
    """The value in types of JSON and YAML, without the names of this machine's folders."""
    if isinstance(value, Mapping):
        return {without_folders(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, str | Path):
        return without_folders(str(value))
    if value is None or isinstance(value, bool | int | float):
        return value
    if hasattr(value, "item"):  # a number from NumPy or PyTorch
        return plain(value.item())
    raise TypeError(f"a record holds numbers, texts, lists and dictionaries, not {type(value).__name__}: {value!r}")


def without_folders(text: str) -> str:
    """Cut every absolute path in the text down to its last part: "/data/me/a.conllu:3" becomes "a.conllu:3"."""
    return re.sub(r"(?<![\w.~:/])/(?:[^\s/:'\"]+/)*(?=[^\s/:'\"])", "", text)


def commit_of_package() -> dict[str, Any]:
    """The commit of the package's repository, and whether its files were changed since."""
    package = Path(__file__).parent

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=package, check=True, capture_output=True, text=True).stdout

    try:
        # The package may be installed into an environment inside another repository, whose commit says nothing of it.
        git("ls-files", "--error-unmatch", Path(__file__).name)
        # Only the files that numbers depend on; results and figures change all the time.
        changed = bool(git("status", "--porcelain", "--", *SOURCES).strip())
        return {"commit": git("rev-parse", "HEAD").strip(), "changed": changed}
    except (OSError, subprocess.CalledProcessError):
        return {"commit": "unknown, not a git checkout", "changed": None}


def versions() -> dict[str, str]:
    """Python and the packages that the numbers depend on."""
    found = {name: next(iter(metadata.distributions(name=name)), None) for name in PACKAGES}
    return {"python": platform.python_version(), **{name: one.version for name, one in found.items() if one}}


def hardware() -> dict[str, Any]:
    """The system, processor, memory and GPUs of this machine, without its name."""
    cpuinfo = Path("/proc/cpuinfo")  # Linux has it
    models = re.findall(r"model name\s*: (.*)", cpuinfo.read_text()) if cpuinfo.exists() else []
    machine = {
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": models[0] if models else platform.processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }
    # Importing torch takes seconds. A run that has not imported it has used no GPU.
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_available():
        machine["gpus"] = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
        machine["peak_gpu_memory_bytes"] = torch.cuda.max_memory_allocated()
    return machine


def peak_memory() -> int:
    """The largest peak memory, in bytes, of this process and of the processes that it has waited for (kernels)."""
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts in bytes, others in kilobytes
    own, of_children = (
        unit * resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    status = Path("/proc/self/status")
    # On Linux, the first of these includes the memory of the parent process when it started this one.
    if status.exists() and (high := re.search(r"VmHWM:\s*(\d+) kB", status.read_text())):
        own = 1024 * int(high[1])
    return max(own, of_children)
