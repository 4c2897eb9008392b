"""Several processes work through a list of jobs: their order, a job that fails, a process that dies, and the end."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

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


def listed(jobs: dict[str, tuple[str, ...]]) -> list[Job]:
    """Jobs by their names, each with its source and its needs."""
    return [Job(name, partial(run, name, source), tuple(needs)) for name, (source, *needs) in jobs.items()]


def work(jobs: dict[str, tuple[str, ...]]) -> list[str]:
    """Let the pool do the jobs; the names of those that were not done."""
    return work_through(listed(jobs), Path("logs"))


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    # The other processes import this module.
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.chdir(tmp_path)
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


# ---- Order


def test_jobs_are_done_at_the_same_time_by_other_processes_that_share_the_threads(threads, capsys):
    threads(4)
    look = "import torch; print(torch.get_num_threads(), 'threads')"
    assert work({"a": (f"wait_for_other('b'); {look}",), "b": (f"wait_for_other('a'); {look}",)}) == []
    assert (sorted(noted("begin")), sorted(noted("end"))) == (["a", "b"], ["a", "b"])
    assert len(processes()) == 2
    assert os.getpid() not in processes()
    assert not any(map(is_alive, processes()))
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("[")]
    assert sorted(line.split("] ")[1].split(":")[0] for line in told) == ["a", "b"]
    assert [line.split("]")[0] for line in told] == ["[1/2", "[2/2"]
    assert (log_of("a"), log_of("b")) == ("2 threads\n", "2 threads\n")
    assert torch.get_num_threads() == 4, "as before"


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
        def __init__(self, workers, *arguments):
            assert (workers, int(os.environ["OMP_NUM_THREADS"])) == pool
            raise InterruptedError

    monkeypatch.setenv("OMP_NUM_THREADS", "9")
    monkeypatch.setattr(dtglib.runs.pool, "ProcessPoolExecutor", Pool)
    threads(count)
    names = [str(number) for number in range(jobs)]
    if pool:
        with pytest.raises(InterruptedError):
            work_through([Job(name, print) for name in names], Path("logs"))
    else:
        assert work_through([Job(name, print) for name in names], Path("logs")) == names
    assert os.environ["OMP_NUM_THREADS"] == "9", "as before"


def test_on_a_gpu_there_is_no_pool(threads, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    threads(4)
    assert work({"a": ("",), "b": ("",)}) == ["a", "b"]
    assert not events()


def test_a_job_begins_after_its_needs_and_otherwise_in_the_order_of_the_list(threads):
    threads(2)
    jobs = {
        "last": ("", "left", "right"),
        "left": ("import time; time.sleep(0.3)", "first"),
        "first": ("wait_for_other('other')",),
        "right": ("import time; time.sleep(0.3)", "first"),
        "other": ("wait_for_other('left')",),
    }
    assert work(jobs) == []
    order = [(event, name) for event, name, _ in events()]
    assert len(order) == 10
    for job in listed(jobs):
        for need in job.needs:
            assert order.index(("end", need)) < order.index(("begin", job.name)), f"{job.name} needs {need}"
    begun = noted("begin")
    assert sorted(begun[:2]) == ["first", "other"], "jobs that can begin do not wait for those before them"
    assert begun[2:] == ["left", "right", "last"]


# ---- Failures


def test_a_job_that_fails_is_named_and_jobs_that_need_it_are_left_out(threads, capsys):
    threads(2)
    fails = "print('so far'); raise ValueError('no trees here')"
    assert work({"a": (fails,), "b": ("", "a"), "c": ("", "b"), "d": ("",), "e": ("", "d")}) == ["a", "b", "c"]
    assert sorted(noted("begin")) == ["a", "d", "e"]
    (told,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("a: failed after"))
    log = Path(told.split("see ")[1]).read_text()
    assert log.startswith("so far\nTraceback") and "ValueError: no trees here" in log


@pytest.mark.slow
def test_nothing_is_computed_once_the_package_has_changed(threads, capsys):
    threads(2)
    change = "import dtglib.basics.code; dtglib.basics.code.RUNNING['basics/code'] = 'as it was'"
    both = {name: (f"wait_for_other('{other}'); {change}",) for name, other in ("ab", "ba")}
    assert work(both | {"c": ("", "a", "b"), "d": ("", "a", "b")}) == ["c", "d"]
    assert sorted(noted("begin")) == ["a", "b"]
    assert capsys.readouterr().out.count("somebody has changed the package") == 2


@pytest.mark.alone
def test_a_process_that_is_killed_is_reported_and_the_rest_is_left_to_the_notebooks(threads, capsys):
    threads(2)
    kill = "import os; print('so far'); os.kill(os.getpid(), 9)"
    assert work({"a": ("",), "b": (f"wait_for_other('c'); {kill}", "a"), "c": ("wait_for_other('b')",)})[:1] == ["b"]
    assert "a process died, most likely for lack of memory, during: " in capsys.readouterr().out
    assert log_of("b") == "so far\n"
    assert not any(map(is_alive, processes()))


# ---- The end

PARENT = """
import sys, torch
from pathlib import Path
from test_pool import SAVES, work
torch.set_num_threads(3)
torch.cuda.is_available = lambda: False
ways = {"a": "raise", "b": "pass", "c": "raise OSError('it could not be closed')"}
sources = {name: SAVES.replace("NAME", name).replace("AND_THEN", way) for name, way in ways.items()}
work({name: (source,) for name, source in sources.items()} | {"d": ("",)})
"""

SAVES = """
import time
try:
    time.sleep(300)
except KeyboardInterrupt:
    time.sleep(0.5)
    open("saved by NAME", "w").write("what there was")
    AND_THEN
"""


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_when_the_parent_ends_jobs_save_their_work_and_no_process_stays(how):
    with subprocess.Popen([sys.executable, "-c", PARENT], stderr=subprocess.PIPE, text=True) as parent:
        try:
            wait_for(lambda: sorted(noted("begin")) == ["a", "b", "c"])
            began = time.monotonic()
        finally:
            parent.send_signal(how)
        said = parent.communicate(timeout=100)[1]
    if how == signal.SIGINT:
        assert said.endswith("KeyboardInterrupt\n")
        assert not any(map(is_alive, processes())), "the parent waits for them"
    wait_for(lambda: not any(map(is_alive, processes())))
    assert time.monotonic() - began < 100
    for name in "abc":
        assert Path(f"saved by {name}").read_text() == "what there was", name
    assert sorted(noted("begin")) == ["a", "b", "c"], "no new job begins"


# ---- Output


def test_all_output_of_a_job_is_in_its_log_in_order(threads, capfd):
    threads(2)
    prints = """
import os, subprocess, sys
print("printed")
os.write(1, b"by the system\\n")
subprocess.run(["echo", "by a child"])
print("aside", file=sys.stderr)
print("last")
"""
    assert work({"a": (prints,), "b": ("", "a")}) == []
    out, err = capfd.readouterr()
    assert (err, out.count("\n")) == ("", 2)
    assert log_of("a").splitlines() == ["printed", "by the system", "by a child", "aside", "last"]
