"""Other processes take the notebooks from the end; whatever becomes of them, nothing changes but the time it takes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
import torch

from dtglib.forerunner import MOST, forerunners
from dtglib.reproduce import reproduce

NAMES = ["00_first", "01_second", "02_third", "03_fourth"]
NOTE = "import os, pathlib; open('ran', 'a').write(f'{os.getpid()} {pathlib.Path(__file__).name[:2]} {size}\\n')"


@pytest.fixture(autouse=True)
def cpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def threads():
    """A function that sets how many there are."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def scripts_of(folder: Path, source: str = NOTE) -> list[Path]:
    """Four scripts that do the same."""
    folder.mkdir(exist_ok=True)
    for name in NAMES:
        (folder / f"{name}.py").write_text(f'# %% tags=["parameters"]\nsize = "unset"\n\n# %%\n{source}\n')
    return [folder / f"{name}.py" for name in NAMES]


def wait_for(happened: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def is_alive(pid: int) -> bool:
    """Dead ones that nobody has asked for yet are dead."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_each_begins_elsewhere_and_goes_backwards_through_all(tmp_path, threads):
    threads(3)
    scripts, ran = scripts_of(tmp_path / "notebooks"), tmp_path / "notebooks" / "ran"
    with forerunners(scripts, "smoke", tmp_path) as count:
        assert (count, torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]) == (2, 1, "1")
        wait_for(lambda: len(lines(ran)) == 8)
    orders: dict[str, str] = {}
    for pid, number, size in map(str.split, lines(ran)):
        assert size == "smoke" and pid != str(os.getpid())
        orders[pid] = f"{orders.get(pid, '')} {number}"
    assert sorted(orders.values()) == [" 01 00 03 02", " 03 02 01 00"]


@pytest.mark.parametrize(("count", "others", "share"), [(1, 0, 1), (2, 1, 1), (MOST + 1, MOST - 1, 1), (9, 3, 2)])
def test_all_threads_are_shared_out_and_are_back_afterwards(count, others, share, tmp_path, threads, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "9")
    monkeypatch.setattr(subprocess, "Popen", Started)
    threads(count)
    scripts = [Path(f"{number}.py") for number in range(MOST)]
    with forerunners(scripts, "smoke", tmp_path) as found:
        assert (found, torch.get_num_threads()) == (others, share)
        assert os.environ["OMP_NUM_THREADS"] == (str(share) if others else "9")
    assert (torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]) == (count, "9")


class Started(subprocess.Popen):
    """A process that only seems to have been started."""

    def __init__(self, command, stdin, **options):
        self.stdin = open(os.devnull, "wb")  # noqa: SIM115  (whoever started it closes this)

    def wait(self, seconds):
        return 0


def test_on_a_gpu_there_are_none(tmp_path, threads, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    threads(4)
    with forerunners([Path("0.py"), Path("1.py")], "smoke", tmp_path) as count:
        assert (count, torch.get_num_threads()) == (0, 4)


@pytest.mark.parametrize(("scripts", "others"), [(0, 0), (1, 0), (2, 1), (3, 2)])
def test_no_two_begin_with_the_same_notebook(scripts, others, tmp_path, threads, monkeypatch):
    started: list[list[str]] = []
    monkeypatch.setattr(
        subprocess, "Popen", lambda command, **options: started.append(command) or Started(command, **options)
    )
    threads(MOST)
    with forerunners([Path(f"{number}.py") for number in range(scripts)], "smoke", tmp_path) as count:
        assert (count, torch.get_num_threads()) == (others, MOST // (others + 1))
    firsts = ["0.py", *(command[5] for command in started)] if scripts else []
    assert len(set(firsts)) == len(firsts) == (others + 1 if scripts else 0)


def test_one_that_fails_says_so_in_its_log_and_goes_on(tmp_path, threads):
    threads(2)
    scripts, ran = scripts_of(tmp_path / "notebooks"), tmp_path / "notebooks" / "ran"
    scripts[-1].write_text("# %%\nraise ValueError('no trees here')\n")
    with forerunners(scripts, "smoke", tmp_path):
        wait_for(lambda: len(lines(ran)) == 3)
    log = (tmp_path / "forerunner-1" / "log.txt").read_text()
    assert "ValueError: no trees here" in log and log.index("03_fourth") < log.index("02_third")


def forerunner(program: str, folder: Path, scripts: list[Path]) -> subprocess.CompletedProcess:
    """One that nobody ends."""
    reading, writing = os.pipe()
    try:
        arguments = [sys.executable, *program.split(" ", 1), "smoke", str(folder), *map(str, scripts)]
        return subprocess.run(arguments, stdin=reading, capture_output=True, text=True, timeout=60)
    finally:
        os.close(reading)
        os.close(writing)


def test_one_that_is_through_ends_well(tmp_path):
    scripts = scripts_of(tmp_path / "notebooks")
    found = forerunner("-m dtglib.forerunner", tmp_path, scripts)
    assert (found.returncode, found.stdout.split(), found.stderr) == (0, NAMES, "")
    assert len(lines(tmp_path / "notebooks" / "ran")) == len(NAMES)


def test_it_computes_nothing_more_once_the_package_has_changed(tmp_path):
    changes = "import dtglib.code\ndtglib.code.RUNNING['code'] = 'as it was'"
    scripts = scripts_of(tmp_path / "notebooks")
    scripts[1].write_text(f"{scripts[1].read_text()}\n# %%\n{changes}\n")
    found = forerunner("-m dtglib.forerunner", tmp_path, scripts)
    assert found.returncode == 0 and found.stderr.count("UserError: somebody has changed") == 2
    assert len(lines(tmp_path / "notebooks" / "ran")) == 2


SAVES = "import signal, sys, time\nsignal.signal(15, lambda *_: (open('saved', 'w').write('x'), sys.exit()))\n"


@pytest.mark.alone
def test_it_ends_with_the_block_and_may_save_what_it_has(tmp_path, threads):
    threads(2)
    scripts = scripts_of(tmp_path / "notebooks", f"{SAVES}{NOTE}\ntime.sleep(60)")
    ran = tmp_path / "notebooks" / "ran"
    with pytest.raises(KeyboardInterrupt), forerunners(scripts, "smoke", tmp_path):
        wait_for(lambda: lines(ran))
        began = time.monotonic()
        raise KeyboardInterrupt
    assert time.monotonic() - began < 30
    assert (tmp_path / "notebooks" / "saved").exists()
    assert not is_alive(int(lines(ran)[0].split()[0]))


@pytest.mark.alone
def test_it_ends_when_whom_it_helps_is_killed(tmp_path):
    scripts = scripts_of(tmp_path / "notebooks", f"import time\n{NOTE}\ntime.sleep(60)")
    ran = tmp_path / "notebooks" / "ran"
    program = (
        "import sys, time, torch\nfrom pathlib import Path\nfrom dtglib.forerunner import forerunners\n"
        "torch.set_num_threads(2); torch.cuda.is_available = lambda: False\n"
        "with forerunners(list(map(Path, sys.argv[2:])), 'smoke', Path(sys.argv[1])): time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path), *map(str, scripts)]) as helped:
        wait_for(lambda: lines(ran))
        helped.send_signal(signal.SIGKILL)
    forerunner = int(lines(ran)[0].split()[0])
    wait_for(lambda: not is_alive(forerunner), 20)


KEPT = """
import os, time
from pathlib import Path
from dtglib.kept import kept_rows

def rows_from(first):
    for number in range(first, 3):
        open("computed", "a").write(f"{os.getpid()} {name} {number}\\n")
        time.sleep(0.5)
        yield {"number": number}

for name in ("a", "b", "c", "d"):
    kept_rows(Path(name) / "rows.jsonl", {"name": name}, 3, rows_from)
"""


@pytest.mark.slow
@pytest.mark.alone
def test_what_one_has_computed_the_other_finds(tmp_path, monkeypatch, threads, capsys):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "smoke.yaml").write_text("seed: 1\ncorpus: minilang\n")
    scripts_of(tmp_path / "notebooks", KEPT)
    cells = [
        nbformat.v4.new_code_cell('size = "unset"', metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell("import time; time.sleep(4)"),  # so that the other one is the first
        nbformat.v4.new_code_cell(KEPT),
    ]
    for name in NAMES:
        nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "notebooks" / f"{name}.ipynb")
    monkeypatch.chdir(tmp_path)
    threads(2)
    reproduce("smoke")
    assert "on the other cores another process goes" in capsys.readouterr().out
    computed = [line.split() for line in lines(tmp_path / "notebooks" / "computed")]
    assert [work[1:] for work in computed] == [[name, str(number)] for name in "abcd" for number in range(3)]
    reproduce("smoke")
    assert "other cores" not in capsys.readouterr().out
    (tmp_path / "runs" / "smoke" / NAMES[1] / "record.json").unlink()
    reproduce("smoke")
    assert "other cores" not in capsys.readouterr().out, "one notebook is nothing to share"
