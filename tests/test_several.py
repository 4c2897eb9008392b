"""Several processes that share an evaluation find what one finds, to the last digit, whatever happens on the way."""

import contextlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from running import ROOT, lines, together, torchrun
from toys import tiny_repository

from dtglib.basics.record import Row
from dtglib.cli.main import main
from dtglib.data import minilang
from dtglib.runs.cache import Computed, kept_rows, rows_now

IDENTITY = {"model": "1a2b3c"}
COSTS = [40, 3, 25, 4, 11, 17, 8, 30, 2, 19, 6]


# ---- Rows


def row(number: int) -> Row:
    return {"third": number / 3, "text": f"Þórr {number}"}


def computing(log: Path, dies_at: int | None = None) -> Computed:
    """Rows in blocks of two; whoever comes to row `dies_at` for the first time is killed."""

    def load() -> Callable[[slice], Iterator[Row]]:
        def rows_of(block: slice) -> Iterator[Row]:
            for number in range(block.start, block.stop):
                if number == dies_at and not (log / "died").exists():
                    (log / "died").touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                (log / f"{number}-by-{os.environ.get('RANK', 'one')}").touch()
                yield row(number)

        return rows_of

    return Computed(COSTS, load, at_once=2)


def keep(path: Path, log: Path, dies_at: int | None = None) -> None:
    found = kept_rows(path, IDENTITY, computing(log, dies_at))
    (log / f"found-by-{os.environ.get('RANK', 'one')}").write_text(json.dumps(found))


@pytest.fixture
def log(tmp_path) -> Path:
    (tmp_path / "log").mkdir()
    return tmp_path / "log"


def computed_by(log: Path) -> dict[int, list[str]]:
    """Who computed each row."""
    found: dict[int, list[str]] = {}
    for file in log.glob("[0-9]*-by-*"):
        number, _, rank = file.name.partition("-by-")
        found.setdefault(int(number), []).append(rank)
    return found


# Slow, like all that follows: nothing faster shares rows among processes.
@pytest.mark.slow
def test_all_processes_get_all_rows_in_order_and_each_row_is_computed_once(tmp_path, log):
    count = 3
    path = tmp_path / "scores" / "rows.jsonl"
    assert together(count, tmp_path, keep, path, log) == [0] * count
    expected = [row(number) for number in range(len(COSTS))]
    for rank in range(count):
        assert json.loads((log / f"found-by-{rank}").read_text()) == expected
    computed = computed_by(log)
    assert sorted(computed) == list(range(len(COSTS)))
    assert all(len(ranks) == 1 for ranks in computed.values())
    assert {rank for (rank,) in computed.values()} == {str(rank) for rank in range(count)}
    assert rows_now(computing(log)) == expected
    assert together(1, tmp_path, keep, path, log) == [0]
    assert json.loads((log / "found-by-0").read_text()) == expected


@pytest.mark.slow
@pytest.mark.parametrize("then", [1, 3])
def test_a_killed_process_loses_what_it_was_computing_and_any_number_of_processes_go_on(then, tmp_path, log):
    path = tmp_path / "scores" / "rows.jsonl"
    first = together(2, tmp_path, keep, path, log, 7)
    assert -signal.SIGKILL in first and 0 not in first and None not in first
    before = {file.name: file.read_bytes() for file in path.parent.glob("rows*.jsonl")}
    assert sum(content.count(b"\n") - 1 for content in before.values()) >= 2
    for file in log.glob("*-by-*"):
        file.unlink()
    assert together(then, tmp_path, keep, path, log, 7) == [0] * then
    for rank in range(then):
        assert json.loads((log / f"found-by-{rank}").read_text()) == [row(number) for number in range(len(COSTS))]
    for name, content in before.items():
        assert (path.parent / name).read_bytes().startswith(content)
    assert len(computed_by(log)) < len(COSTS)


@pytest.mark.slow
def test_a_file_that_the_first_process_finds_damaged_is_an_error_in_all(tmp_path, log):
    path = tmp_path / "scores" / "rows.jsonl"
    path.parent.mkdir()
    path.write_text("My notes\n")
    assert together(2, tmp_path, keep, path, log) == [1, 1]
    assert path.read_text() == "My notes\n"


# ---- torchrun


RESTARTED = """
import sys
from pathlib import Path
from test_several import keep
keep(Path(sys.argv[1]), Path(sys.argv[2]), 7)
"""


@pytest.mark.slow
def test_torchrun_may_restart_processes_of_which_one_was_killed(tmp_path, log, monkeypatch):
    (tmp_path / "restarted.py").write_text(RESTARTED)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'tests'}")
    path = tmp_path / "scores" / "rows.jsonl"
    status, _, err = torchrun(2, "--max-restarts", 1, tmp_path / "restarted.py", path, log)
    assert status == 0, err
    assert (log / "died").exists()
    for rank in range(2):
        assert json.loads((log / f"found-by-{rank}").read_text()) == [row(number) for number in range(len(COSTS))]


THREADS = """
import atexit
from pathlib import Path
# What is registered first is called last.
atexit.register(lambda: print(*(one.read_text() for one in Path("/proc/self/task").glob("*/comm"))))
from dtglib.training.distributed import processes
with processes() as ours:
    print(ours.from_first(lambda: "shared"))
    ours.wait()
"""


@pytest.mark.slow
def test_when_python_shuts_down_no_thread_of_a_group_is_left(tmp_path, monkeypatch):
    # Such a thread may ask for Python's lock too late, which ends the process with a signal: a race, and a rare one.
    (tmp_path / "threads.py").write_text(THREADS)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    status, out, err = torchrun(2, tmp_path / "threads.py")
    assert status == 0, err
    assert out.count("shared") == 2 and "python" in out
    assert "gloo" not in out


# ---- Commands


def say(folder: Path, *arguments: str) -> None:
    """Run a command; what it prints goes to a file of its own."""
    printed = folder / f"stdout-{os.environ.get('RANK', 'one')}"
    with contextlib.chdir(folder), open(printed, "w") as file, contextlib.redirect_stdout(file):
        status = main(arguments)
    sys.exit(status)


def alone(folder: Path, *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        say(folder, *arguments)
    assert ended.value.code == 0
    return (folder / "stdout-one").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("blimp", 2), ("suites", 3)])
def test_syntax_is_tested_to_the_last_digit_as_by_one_process(name, count, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "suites").mkdir()
    for suite in minilang.suites():  # the first items of each
        found = json.loads(suite.as_json())
        (tmp_path / "suites" / f"{suite.name}.json").write_text(json.dumps(found | {"items": found["items"][:3]}))
    what, model = {
        "blimp": (["minilang", "--fraction", "0.1"], "txl-tokens-minilang"),
        "suites": ([str(tmp_path / "suites")], "dtg-minilang"),
    }[name]
    arguments = [name, *what, "--model", model, "--beam", "5", "--json"]
    expected = alone(tmp_path / "one", *arguments)
    assert together(count, tmp_path, say, tmp_path, *arguments) == [0] * count
    assert (tmp_path / "stdout-0").read_text() == expected


@pytest.mark.slow
def test_an_evaluation_is_recorded_by_several_processes_as_by_one(one_thread, tmp_path):
    """Two cannot train what has one batch a step, and say what to do; what one has trained, they find."""
    repository, evaluate = tiny_repository(tmp_path), ["evaluate", "--size", "smoke", "--models", "dtg", "txl-tokens"]
    evaluate += ["--about", "sentences", "syntax", "parsing"]
    assert together(2, repository, say, repository, *evaluate, "--out", "by two") == [2, 2]
    assert "let one process train it first" in (repository / "stderr-0").read_text()
    alone(repository, *evaluate, "--out", "by one")
    shutil.rmtree(repository / "runs" / "scores")
    assert together(2, repository, say, repository, *evaluate, "--out", "by two") == [0, 0]
    one, two = (lines(repository / name) for name in ("by one", "by two"))
    assert one == two and len(one) > 3


@pytest.mark.slow
def test_under_torchrun_a_mistake_is_one_line_once(tmp_path):
    status, out, err = torchrun(2, "-m", "dtglib", "blimp", tmp_path / "nowhere", "--model", "txl-tokens-minilang")
    assert (status != 0, out) == (True, "")
    assert len([line for line in err.splitlines() if line.startswith("dtglib: ")]) == 1


@pytest.mark.slow
def test_an_option_that_makes_no_sense_is_told_once(tmp_path):
    assert together(2, tmp_path, say, tmp_path, "blimp", "--beam=0") == [2, 2]
    assert sum((tmp_path / f"stderr-{rank}").read_text().count("'0' is not a number from 1") for rank in range(2)) == 1
