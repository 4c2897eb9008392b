"""The cache of kernels and sentences: found again, never out of date, and not needed."""

import gc
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from running import PACKAGE

import dtglib.basics.cache_folder
from dtglib.basics.cache_folder import VERSIONS, cache_folder, read_cached, write_cached
from dtglib.basics.jit import njit
from dtglib.data import minilang
from dtglib.data.minilang import corpus


@pytest.fixture(autouse=True)
def empty(nothing_kept) -> Path:
    return nothing_kept


MODULE = "dtglib.transitions.rows"


def forget() -> None:
    """What a new process knows of minilang: nothing."""
    corpus._stream.cache_clear()


def test_what_was_written_is_read_and_what_was_not_is_not():
    write_cached(MODULE, "some/difference", b"There is a difference")
    assert read_cached(MODULE, "some/difference") == b"There is a difference"
    assert read_cached(MODULE, "some/other") is None


def test_nothing_is_cached_and_nothing_fails_in_a_folder_that_cannot_be_written(empty):
    empty.write_text("a file stands in the way")
    write_cached(MODULE, "difference", b"There is a difference")
    assert read_cached(MODULE, "difference") is None
    assert njit(difference).compiled(3, 1) == 2


def test_a_full_disk_leaves_no_half_written_file(monkeypatch):
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    write_cached(MODULE, "difference", b"There is a difference")
    assert list(cache_folder(MODULE).iterdir()) == []


def test_folders_of_other_versions_are_removed_except_for_the_last_used_ones(empty):
    module = empty / "dtglib" / MODULE
    for days in range(12):
        (module / str(days)).mkdir(parents=True)
        os.utime(module / str(days), (time.time() - 86_400 * days,) * 2)
    ours = cache_folder(MODULE)
    left = {path.name for path in module.iterdir()}
    assert left == {ours.name, *map(str, range(VERSIONS - 1))}


FOLDERS = """
from dtglib.basics.cache_folder import cache_folder
for module in ("transitions.arc_eager", "sequences.compile", "parsing.projective", "data.minilang.corpus"):
    print(cache_folder(f"dtglib.{module}").name)
"""
ARC_EAGER, COMPILE, PROJECTIVE, MINILANG = range(4)


def folders_of(package: Path) -> list[str]:
    """The names of some modules' folders in a process that runs this copy of the package."""
    ran = subprocess.run([sys.executable, "-c", FOLDERS], cwd=package.parent, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


# Slow: a process for each of seven changes.
@pytest.mark.slow
def test_a_change_of_a_file_changes_the_folders_of_what_depends_on_it(tmp_path):
    copy = tmp_path / "dtglib"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = folders_of(copy)
    for edited, others in {
        "cli/main.py": set(),
        "evaluate/perplexity.py": set(),
        "transitions/arc_eager.py": {ARC_EAGER, COMPILE},
        "transitions/protocol.py": {ARC_EAGER, COMPILE},  # constants that the kernels of all systems import
        "parsing/projective.py": {PROJECTIVE},
        "data/minilang/english/lexicon.yaml": {MINILANG},
        "basics/jit.py": {ARC_EAGER, COMPILE, PROJECTIVE, MINILANG},
    }.items():
        with open(copy / edited, "a") as file:
            file.write("\n# There is a difference\n")
        after = folders_of(copy)
        assert {i for i in range(4) if after[i] != before[i]} == others, edited
        before = after


CHANGED = """
from pathlib import Path
from dtglib.basics.cache_folder import read_cached, write_cached
import numpy as np
from dtglib.transitions.rows import first_without_tree
module = "dtglib.transitions.rows"
write_cached(module, "before", b"")
Path("dtglib/transitions/protocol.py").open("a").write("# There is a difference")
write_cached(module, "after", b"")
first_without_tree.compiled(np.array([2, 0, 4, 2]), np.array([4]))
print(read_cached(module, "before"), read_cached(module, "after"))
"""


# Slow: it starts processes that import numba.
@pytest.mark.slow
def test_a_process_caches_nothing_after_a_change_of_the_code(tmp_path, empty):
    """The process runs the old code, or some of both."""
    shutil.copytree(PACKAGE, tmp_path / "dtglib", ignore=shutil.ignore_patterns("__pycache__"))
    ran = subprocess.run([sys.executable, "-c", CHANGED], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("b'' None\n", "")
    assert not list(empty.rglob("*.nbi"))


@pytest.mark.parametrize("name", ["sys.version", "version", "NUMBA_OPT"])
def test_other_versions_and_settings_have_another_folder(name, monkeypatch, empty):
    before = cache_folder(MODULE)
    if name == "NUMBA_OPT":
        monkeypatch.setenv(name, "0")
    elif name == "sys.version":
        monkeypatch.setattr(sys, "version", "4.0")
    else:
        monkeypatch.setattr(dtglib.basics.cache_folder, name, lambda package: "another")
    cache_folder.cache_clear()
    assert cache_folder(MODULE) != before


# ---- Kernels


def difference(a, b):
    return a - b


difference.__module__ = MODULE  # only the package's own functions are cached


def test_a_kernel_is_compiled_once_and_then_found_with_the_same_results(empty):
    assert njit(difference).compiled(3, 1) == 2
    gc.collect()
    again = njit(difference).compiled
    assert again(3, 1) == 2
    assert sum(again.stats.cache_hits.values()) == 1
    assert again(np.int32(3), np.int8(1)) == 2, "by the same code"
    assert njit(difference).compiled(3.5, 1.0) == 2.5
    assert len(list(empty.rglob("*difference*.nbc"))) == 2


def test_a_function_outside_the_package_is_compiled_and_not_cached(empty):
    def outside(a, b):
        return a - b

    assert njit(outside).compiled(3, 1) == 2
    assert not list(empty.rglob("*outside*"))


DIFFERENCE = """
import sys
from dtglib.basics.jit import njit
import time
from numba.core.caching import FunctionCache
reduced = FunctionCache._save_overload

def slowly(self, signature, compiled):
    load = self._cache_file._load_index
    def loaded():
        index = load()
        time.sleep(1)
        return index
    self._cache_file._load_index = loaded
    reduced(self, signature, compiled)

FunctionCache._save_overload = slowly
from test_derived import difference
kernel = njit(difference).compiled
print(kernel(*eval(sys.argv[1])), sum(kernel.stats.cache_hits.values()))
"""


def run_difference(arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-c", DIFFERENCE, arguments]
    return subprocess.Popen(command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow  # it starts two processes that compile
def test_of_two_processes_that_need_a_kernel_at_once_one_compiles_it_and_the_other_waits():
    both = [run_difference("(3, 1)") for _ in range(2)]
    assert sorted(process.communicate()[0] for process in both) == ["2 0\n", "2 1\n"]


@pytest.mark.slow  # it starts four processes that compile
def test_two_processes_may_compile_a_function_for_different_types_at_once():
    """Without a lock, numba gives both the same file: one is lost, or read as the other."""
    calls = ["(3, 1)", "(3.0, 1.0)"]
    both = [run_difference(arguments) for arguments in calls]
    assert [process.communicate()[0] for process in both] == ["2 0\n", "2.0 0\n"]
    assert [run_difference(arguments).communicate()[0] for arguments in calls] == ["2 1\n", "2.0 1\n"]


STRUCTURE = ["structure", "--system", "arc-eager", "--words", "There is a difference", "--heads", "2 0 4 2"]
WITHOUT_TORCH = """
import sys
from dtglib.cli.main import main
try:
    main(sys.argv[1:])
finally:
    assert "torch" not in sys.modules
"""


@pytest.mark.parametrize("command", [["--help"], STRUCTURE], ids=["help", "structure"])
def test_what_needs_no_pytorch_does_not_wait_for_it(command):
    ran = subprocess.run([sys.executable, "-c", WITHOUT_TORCH, *command], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout


FEW_HYPOTHESES = """
import sys
from dtglib.cli.main import main
main(["surprisal", "There is a difference."])
import dtglib.runs.prepare
assert "torch" in sys.modules and not {"numba", "pandas", "supar", "torch._dynamo"} & sys.modules.keys()
"""


def test_the_surprisals_of_a_sentence_need_no_compiled_kernels(empty):
    """The first command after an installation answers as soon as any other."""
    ran = subprocess.run([sys.executable, "-c", FEW_HYPOTHESES], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "difference" in ran.stdout
    assert not [path for path in empty.rglob("*") if path.is_file()]


# ---- minilang


def test_sentences_are_drawn_once_and_then_found_whole(monkeypatch):
    drawn = minilang.split("depth", 40)
    forget()
    monkeypatch.setattr(corpus, "_draw", pytest.fail)
    assert minilang.split("depth", 40) == drawn
    assert minilang.split("depth", 3) == drawn[:3]


def test_what_is_added_to_what_was_found_is_what_would_have_been_drawn_anyway(empty):
    long = minilang.split("dev", 100)
    for path in sorted(empty.rglob("dev-0-*")):
        if path.name in ("dev-0-32", "dev-0-64"):
            path.unlink()
    forget()
    assert minilang.split("dev", 20) == long[:20]
    assert minilang.split("dev", 100) == long


def test_other_seeds_and_splits_have_entries_of_their_own():
    first = {split: minilang.split(split, 5) for split in ("train", "dev")}
    assert first["train"] != first["dev"] != minilang.split("dev", 5, seed=1)
    forget()
    assert {split: minilang.split(split, 5) for split in first} == first
