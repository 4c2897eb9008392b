"""Several processes work through a list of jobs: their order, a job that fails, a process that dies, and the end."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from running import wait_for

import dtglib.runs.pool
from dtglib.runs.jobs import Job
from dtglib.runs.pool import MOST_WORKERS, work_through


def note(event: str, name: str) -> None:
    with open("noted", "a") as file:
        file.write(f"{event} {name} {os.getpid()}\n")


def wait_for_other(name: str) -> None:
    wait_for(lambda: f"begin {name} " in Path("noted").read_text())


def run(name: str, source: str) -> None:
    """A job: it notes its beginning and its end, and runs a few lines in between."""
    note("begin", name)
    exec(source, {"wait_for_other": wait_for_other})
    note("end", name)


def work(jobs: dict[str, str]) -> list[str]:
    """Let the pool do jobs, whose sources are given by their names; the names of those that were not done."""
    return work_through([Job(name, partial(run, name, source)) for name, source in jobs.items()], Path("logs"))


def into(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Go into a folder, on a machine without a GPU, so that other processes can import this module."""
    patch.setattr(torch.cuda, "is_available", lambda: False)
    patch.syspath_prepend(Path(__file__).parent)
    patch.setenv("PYTHONPATH", f"{Path(__file__).parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    patch.chdir(folder)


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    into(tmp_path, monkeypatch)
    yield
    for pid in filter(is_alive, processes() - {os.getpid()}):  # where a test has failed
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def threads():
    """A function that sets how many there are."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def noted(event: str) -> list[str]:
    """The names of the jobs that have begun, or ended, in this order."""
    return [name for kind, name, _ in events() if kind == event]


def processes() -> set[int]:
    return {int(pid) for _, _, pid in events()}


def events() -> list[list[str]]:
    """All notes of jobs, except for a line that is being written."""
    path = Path("noted")
    return [line.split() for line in path.read_text().splitlines() if line.count(" ") == 2] if path.exists() else []


def log_of(name: str) -> str:
    return Path("logs", "jobs", f"{name}.log").read_text()


def is_alive(pid: int) -> bool:
    """False for a zombie, too."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


# ---- Three jobs, of which one fails

PRINTS = """
import os, subprocess, sys, torch
print(torch.get_num_threads(), "threads")
os.write(1, b"by the system\\n")
subprocess.run(["echo", "by a child"])
print("aside", file=sys.stderr)
print("last")
"""


class Worked(NamedTuple):
    """What a pool was seen to do."""

    failed: list[str]  # the names of the jobs that it reports as not done
    printed: str
    events: list[list[str]]
    threads: int  # of this process, afterwards
    folder: Path


@pytest.fixture(scope="module")
def worked(tmp_path_factory) -> Worked:
    """A pool that has done three jobs, the first two at the same time, with two threads each."""
    folder = tmp_path_factory.mktemp("worked")
    before = torch.get_num_threads()
    jobs = {
        "a": "wait_for_other('b')" + PRINTS,
        "b": "wait_for_other('a'); print('so far'); raise ValueError('no trees here')",
        "c": "",
    }
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
        patch.setattr(dtglib.runs.pool, "MOST_WORKERS", 2)
        into(folder, patch)
        torch.set_num_threads(4)
        failed = work(jobs)
        after = torch.get_num_threads()
        torch.set_num_threads(before)
        return Worked(failed, printed.getvalue(), events(), after, folder)


# Slow, like the next three: two processes, each of which imports PyTorch.
@pytest.mark.slow
def test_jobs_are_done_at_the_same_time_by_other_processes_that_share_the_threads(worked):
    begun = [name for kind, name, _ in worked.events if kind == "begin"]
    assert (sorted(begun), sorted(begun[:2])) == (["a", "b", "c"], ["a", "b"])
    assert len(worked_by := {int(pid) for _, _, pid in worked.events}) == 2
    assert os.getpid() not in worked_by
    assert not any(map(is_alive, worked_by))
    assert (worked.folder / "logs/jobs/a.log").read_text().startswith("2 threads\n")
    assert worked.threads == 4, "as before"


@pytest.mark.slow
def test_a_line_tells_each_job_that_was_done(worked):
    told = [line for line in worked.printed.splitlines() if line.startswith("[")]
    assert sorted(line.split("] ")[1].split(":")[0] for line in told) == ["a", "c"]
    assert [line.split("]")[0] for line in told] == ["[1/3", "[2/3"]


@pytest.mark.slow
def test_a_job_that_fails_is_named_and_the_others_are_done(worked):
    assert worked.failed == ["b"]
    (told,) = (line for line in worked.printed.splitlines() if line.startswith("b: failed"))
    log = (worked.folder / told.split("see ")[1]).read_text()
    assert log.startswith("so far\nTraceback") and "ValueError: no trees here" in log


@pytest.mark.slow
def test_all_output_of_a_job_is_in_its_log_in_order(worked):
    lines = ["2 threads", "by the system", "by a child", "aside", "last"]
    assert (worked.folder / "logs/jobs/a.log").read_text().splitlines() == lines
    assert not any(line in worked.printed for line in lines)


# ---- Processes and threads


@pytest.mark.parametrize(
    ("count", "jobs", "pool"),
    [
        (1, 9, None),
        (9, 0, None),
        (9, 1, None),
        (2, 9, (2, 1)),
        (7, 2, (2, 3)),
        (MOST_WORKERS + 1, 9, (MOST_WORKERS, 1)),
    ],
)
def test_threads_are_shared_out_among_as_many_processes_as_can_be_busy(count, jobs, pool, threads, monkeypatch):
    class Pool:
        def __init__(self, workers, context, begin, arguments):
            assert (workers, *arguments) == pool
            raise InterruptedError

    monkeypatch.setattr(dtglib.runs.pool, "ProcessPoolExecutor", Pool)
    threads(count)
    names = [str(number) for number in range(jobs)]
    if pool:
        with pytest.raises(InterruptedError):
            work_through([Job(name, print) for name in names], Path("logs"))
    else:
        assert work_through([Job(name, print) for name in names], Path("logs")) == names


def test_on_a_gpu_there_is_no_pool(threads, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    threads(4)
    assert work({"a": "", "b": ""}) == ["a", "b"]
    assert not events()


# ---- Failures


# Slow: it starts processes that import PyTorch.
@pytest.mark.slow
def test_a_process_that_is_killed_is_reported_and_the_rest_is_left_to_the_notebooks(threads, capsys):
    threads(2)
    kill = "import os; print('so far'); os.kill(os.getpid(), 9)"
    assert "b" in work({"a": "", "b": f"wait_for_other('c'); {kill}", "c": "wait_for_other('b')"})
    assert "a process died, most likely for lack of memory; the notebooks do the rest" in capsys.readouterr().out
    assert log_of("b") == "so far\n"
    assert not any(map(is_alive, processes()))


# ---- The end

PARENT = """
import torch
from test_pool import work
torch.set_num_threads(3)
torch.cuda.is_available = lambda: False
work({name: "import time; time.sleep(300)" for name in "abcd"})
"""


# Slow: signals to a pool that works.
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_when_the_parent_ends_no_process_stays(how):
    with subprocess.Popen([sys.executable, "-c", PARENT], stderr=subprocess.PIPE, text=True) as parent:
        try:
            wait_for(lambda: sorted(noted("begin")) == ["a", "b", "c"])
            began = time.monotonic()
        finally:
            parent.send_signal(how)
        said = parent.communicate(timeout=100)[1]
    if how == signal.SIGINT:
        assert said.endswith("KeyboardInterrupt\n")
    wait_for(lambda: not any(map(is_alive, processes())))
    assert time.monotonic() - began < 100
    assert sorted(noted("begin")) == ["a", "b", "c"], "no new job begins"
