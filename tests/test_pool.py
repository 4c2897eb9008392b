"""Several processes work through a list of jobs: what they share, what becomes of a lost job, and how they all end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from running import wait_for

from dtglib.runs.jobs import Job
from dtglib.runs.pool import MOST, work_through

# What a worker finds in place of the jobs of a size: each job is noted when it begins and ends, and runs a few lines.
SITE = """
import functools, os, pathlib, time
import dtglib.runs.jobs

def note(what, name):
    with open("noted", "a") as file:
        file.write(f"{what} {name} {os.getpid()}\\n")

def wait_for_other(name):
    end = time.monotonic() + 60
    while f"begin {name} " not in pathlib.Path("noted").read_text():
        assert time.monotonic() < end, f"{name} has not begun"
        time.sleep(0.01)

def run(name, source):
    note("begin", name)
    exec(source, {"wait_for_other": wait_for_other})
    note("end", name)

def jobs_of(size, paper):
    assert (size, paper) == ("smoke", "dtg")
    return [dtglib.runs.jobs.Job(name, functools.partial(run, name, source)) for name, source in SOURCES.items()]

dtglib.runs.jobs.jobs_of = jobs_of
"""


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
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


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    """A function that gives workers jobs, each with its source and with what it needs, and returns the list of them."""

    def give(jobs: dict[str, tuple[str, ...]], before: str = "") -> list[Job]:
        sources = {name: source for name, (source, *_) in jobs.items()}
        (tmp_path / "site").mkdir()
        (tmp_path / "site" / "sitecustomize.py").write_text(f"SOURCES = {sources!r}\n{SITE}\n{before}\n")
        path = f"{tmp_path / 'site'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        monkeypatch.setenv("PYTHONPATH", path)
        return [Job(name, print, tuple(needs)) for name, (_, *needs) in jobs.items()]

    return give


def work(jobs: list[Job]) -> list[str]:
    """Let the pool do the jobs; the names of those that were not done."""
    return work_through(jobs, ("smoke", "dtg"), Path("logs"))


def noted(what: str) -> list[str]:
    """The names of the jobs that have begun, or ended, in this order."""
    return [name for event, name, _ in events() if event == what]


def processes() -> set[int]:
    return {int(pid) for _, _, pid in events()}


def events() -> list[list[str]]:
    """What jobs have noted; of a line that is being written, nothing."""
    path = Path("noted")
    return [line.split() for line in path.read_text().splitlines() if line.count(" ") == 2] if path.exists() else []


def logs() -> str:
    return "".join(path.read_text() for path in sorted(Path("logs").iterdir()))


def is_alive(pid: int) -> bool:
    """Dead ones that nobody has asked for yet are dead."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


# ---- Who does what


def test_jobs_are_done_at_the_same_time_by_other_processes_which_share_the_threads(jobs, threads, capsys):
    threads(4)
    look = "import torch; print(torch.get_num_threads(), 'threads')"
    listed = jobs({"a": (f"wait_for_other('b'); {look}",), "b": (f"wait_for_other('a'); {look}",)})
    assert work(listed) == []
    assert (sorted(noted("begin")), sorted(noted("end"))) == (["a", "b"], ["a", "b"])
    assert len(processes()) == 2
    assert os.getpid() not in processes()
    assert not any(map(is_alive, processes()))
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("[")]
    assert sorted(line.split("] ")[1].split(":")[0] for line in told) == ["a", "b"]
    assert [line.split("]")[0] for line in told] == ["[1/2", "[2/2"]
    assert sorted(logs().splitlines()) == ["2 threads", "2 threads", "a", "b"], "and nothing about how they ended"


class Ended(subprocess.Popen):
    """A process that only seems to have been started, and has ended."""

    def __init__(self, command, **options):
        reading, writing = os.pipe()
        os.close(writing)
        self.stdin, self.stdout, self.returncode = open(os.devnull, "w"), open(reading), 0  # noqa: SIM115

    def poll(self):
        return 0

    def wait(self, seconds=None):
        return 0


@pytest.mark.parametrize(
    ("count", "jobs", "shares"),
    [(1, 9, []), (9, 0, []), (9, 1, []), (2, 9, [1, 1]), (7, 2, [3, 3]), (MOST + 1, 9, MOST * [1]), (9, 9, 4 * [2])],
)
def test_threads_are_shared_out_among_as_many_workers_as_can_be_busy(count, jobs, shares, threads, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "9")
    told: list[str] = []

    def start(command, **options):
        told.append(os.environ["OMP_NUM_THREADS"])
        return Ended(command, **options)

    monkeypatch.setattr(subprocess, "Popen", start)
    threads(count)
    names = [str(number) for number in range(jobs)]
    assert work([Job(name, print) for name in names]) == names
    assert told == list(map(str, shares))
    assert (torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]) == (count, "9"), "as before"


def test_on_a_gpu_there_is_no_pool(threads, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(subprocess, "Popen", lambda *arguments, **options: pytest.fail("a process is started"))
    threads(4)
    assert work([Job("a", print), Job("b", print)]) == ["a", "b"]


def test_a_job_begins_when_what_it_needs_has_ended_and_else_in_the_order_of_the_list(jobs, threads):
    threads(2)
    listed = jobs(
        {
            "last": ("", "left", "right"),
            "left": ("import time; time.sleep(0.3)", "first"),
            "first": ("wait_for_other('other')",),
            "right": ("import time; time.sleep(0.3)", "first"),
            "other": ("wait_for_other('left')",),
        }
    )
    assert work(listed) == []
    order = [(event, name) for event, name, _ in events()]
    assert len(order) == 10
    for job in listed:
        for need in job.needs:
            assert order.index(("end", need)) < order.index(("begin", job.name))
    begun = noted("begin")
    assert sorted(begun[:2]) == ["first", "other"], "what can begin does not wait for what stands before it"
    assert begun[2:] == ["left", "right", "last"]


# ---- What fails, and what is lost


def test_a_job_that_fails_is_named_and_what_needs_it_is_left_out(jobs, threads, capsys):
    threads(2)
    listed = jobs(
        {"a": ("raise ValueError('no trees here')",), "b": ("", "a"), "c": ("", "b"), "d": ("",), "e": ("", "d")}
    )
    assert work(listed) == ["a", "b", "c"]
    assert sorted(noted("begin")) == ["a", "d", "e"]
    (told,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("a: failed after"))
    assert "ValueError: no trees here" in Path(told.split("see ")[1]).read_text()


@pytest.mark.slow
def test_nothing_is_computed_once_the_package_has_changed(jobs, threads, capsys):
    threads(2)
    change = "import dtglib.basics.code; dtglib.basics.code.RUNNING['basics/code'] = 'as it was'"
    listed = jobs(
        {
            "a": (f"wait_for_other('b'); {change}",),
            "b": (f"wait_for_other('a'); {change}",),
            "c": ("", "a", "b"),
            "d": ("", "a", "b"),
        }
    )
    assert sorted(work(listed)) == ["c", "d"]
    assert sorted(noted("begin")) == ["a", "b"]
    assert logs().count("UserError: somebody has changed the package") == 2
    assert capsys.readouterr().out.count("failed after") == 2


@pytest.mark.alone
def test_a_worker_that_is_killed_is_noticed_and_the_others_go_on(jobs, threads, capsys):
    threads(2)
    kill = "import os; print('so far'); os.kill(os.getpid(), 9)"
    listed = jobs({"a": (f"wait_for_other('b'); {kill}",), "b": ("wait_for_other('a')",), "c": ("", "a"), "d": ("",)})
    assert work(listed) == ["a", "c"]
    assert sorted(noted("end")) == ["b", "d"]
    (told,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("a: "))
    assert "was lost with its process" in told
    assert Path(told.split("see ")[1]).read_text().split("\n") == ["a", "so far", ""]


@pytest.mark.slow
@pytest.mark.alone
def test_when_all_workers_are_lost_the_rest_is_left_to_the_notebooks(jobs, threads):
    threads(2)
    kill = "import os; os.kill(os.getpid(), 9)"
    listed = jobs({"a": (f"wait_for_other('b'); {kill}",), "b": (kill,), "c": ("",)})
    assert sorted(work(listed)) == ["a", "b", "c"]
    assert sorted(noted("begin")) == ["a", "b"]


@pytest.mark.slow
@pytest.mark.alone
def test_a_worker_that_can_no_longer_answer_is_given_no_job(jobs, threads):
    """So it is for a moment with each that dies: its answers end before it is known to have ended."""
    threads(2)
    mute = "import os, time; os.closerange(3, 100); time.sleep(3)"
    listed = jobs({"a": (f"wait_for_other('b'); {mute}",), "b": ("wait_for_other('a')",), "c": ("",), "d": ("",)})
    assert work(listed) == ["a"]
    assert sorted(noted("end")) == ["b", "c", "d"]


# ---- How it ends

PARENT = """
import sys, torch
from pathlib import Path
from dtglib.runs.jobs import jobs_of
from dtglib.runs.pool import work_through
torch.set_num_threads(3)
torch.cuda.is_available = lambda: False
work_through(jobs_of("smoke", "dtg"), ("smoke", "dtg"), Path("logs"))
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
def test_when_the_parent_ends_jobs_save_what_they_have_and_no_worker_stays(how, jobs):
    ways = {"a": "raise", "b": "pass", "c": "raise OSError('it could not be closed')"}
    jobs({name: (SAVES.replace("NAME", name).replace("AND_THEN", way),) for name, way in ways.items()} | {"d": ("",)})
    with subprocess.Popen([sys.executable, "-c", PARENT], stderr=subprocess.PIPE, text=True) as parent:
        try:
            wait_for(lambda: sorted(noted("begin")) == ["a", "b", "c"])
            began = time.monotonic()
        finally:
            parent.send_signal(how)
        said = parent.communicate(timeout=60)[1]
    if how == signal.SIGINT:
        assert said.endswith("KeyboardInterrupt\n")
        assert not any(map(is_alive, processes())), "the parent waits for them"
    wait_for(lambda: not any(map(is_alive, processes())))
    assert time.monotonic() - began < 30
    for name in ways:
        assert Path(f"saved by {name}").read_text() == "what there was"
    assert sorted(noted("begin")) == ["a", "b", "c"], "nothing new is begun"


@pytest.mark.slow
@pytest.mark.alone
def test_a_worker_that_is_told_to_end_saves_what_its_job_has(jobs, threads, capsys):
    threads(2)
    told_to_end = "import os; os.kill(os.getpid(), 15)"
    saves = SAVES.replace("NAME", "a").replace("AND_THEN", "raise").replace("try:", f"try:\n    {told_to_end}")
    assert work(jobs({"a": (saves,), "b": ("",)})) == ["a"]
    assert Path("saved by a").exists()
    assert "a: was lost with its process" in capsys.readouterr().out
    assert "Fatal" not in logs()


# ---- What is printed


@pytest.mark.slow
def test_what_a_job_prints_is_in_the_log_in_its_order_and_is_no_answer(jobs, threads, capfd):
    threads(2)
    prints = """
import os, subprocess, sys
print("failed")
os.write(1, b"failed by the system\\n")
subprocess.run(["echo", "failed in a child"])
print("aside", file=sys.stderr)
print("last")
"""
    listed = jobs({"a": (prints,), "b": ("", "a"), "c": (f"{prints}\nraise ValueError('so it ends')",)})
    assert work(listed) == ["c"]
    out, err = capfd.readouterr()
    assert err == ""
    printed = ["failed", "failed by the system", "failed in a child", "aside", "last"]
    assert not set(printed) & set(out.splitlines())
    lines = logs().splitlines()
    for name, after in (("a", None), ("c", "Traceback (most recent call last):")):
        place = lines.index(name) + 1
        assert lines[place : place + 5] == printed
        assert after in (None, *lines[place + 5 : place + 6])
    assert "ValueError: so it ends" in lines
