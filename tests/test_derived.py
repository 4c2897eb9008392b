"""The cache of kernels and sentences: found again, never out of date, and not needed."""

import gc
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from running import PACKAGE

import dtglib.basics.cache_folder
from dtglib.basics.cache_folder import FOLDERS, cache_folder, read_cached, write_cached
from dtglib.basics.jit import njit
from dtglib.data import minilang
from dtglib.data.minilang import corpus


@pytest.fixture(autouse=True)
def empty(nothing_kept) -> Path:
    return nothing_kept


def forget() -> None:
    """What a new process knows of minilang: nothing."""
    corpus._stream.cache_clear()


def test_what_was_written_is_read_and_what_was_not_is_not():
    write_cached("some/difference", b"There is a difference")
    assert read_cached("some/difference") == b"There is a difference"
    assert read_cached("some/other") is None


def test_nothing_is_cached_and_nothing_fails_in_a_folder_that_cannot_be_written(empty):
    empty.write_text("a file stands in the way")
    write_cached("difference", b"There is a difference")
    assert read_cached("difference") is None
    assert njit(difference)(3, 1) == 2


def test_a_full_disk_leaves_no_half_written_file(monkeypatch):
    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    write_cached("difference", b"There is a difference")
    assert list(cache_folder().iterdir()) == []


def test_folders_of_other_versions_are_removed_except_for_the_last_used_ones(empty):
    for days in range(12):
        (empty / "dtglib" / str(days)).mkdir(parents=True)
        os.utime(empty / "dtglib" / str(days), (time.time() - 86_400 * days,) * 2)
    ours = cache_folder()
    left = {path.name for path in (empty / "dtglib").iterdir()}
    assert left == {ours.name, *map(str, range(FOLDERS - 1))}


FOLDER = "from dtglib.basics.cache_folder import cache_folder; print(cache_folder().name)"


def folder_of(package: Path) -> str:
    """The name of the folder in a process that runs this copy of the package."""
    return subprocess.run([sys.executable, "-c", FOLDER], cwd=package.parent, capture_output=True, text=True).stdout


def test_a_change_of_any_file_of_the_package_changes_the_folder(tmp_path):
    copy = tmp_path / "dtglib"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    names = {folder_of(copy)}
    for changed in ("transitions/arc_eager.py", "data/minilang/english/lexicon.yaml", "new.py"):
        with open(copy / changed, "a") as file:
            file.write("\n# There is a difference\n")
        names.add(folder_of(copy))
    assert len(names) == 4 and "" not in names


CHANGED = """
from pathlib import Path
from dtglib.basics.cache_folder import read_cached, write_cached
import numpy as np
from dtglib.transitions.rows import first_without_tree
write_cached("before", b"")
Path("dtglib/new.py").write_text("# There is a difference")
write_cached("after", b"")
first_without_tree(np.array([2, 0, 4, 2]), np.array([4]))
print(read_cached("before"), read_cached("after"))
"""


def test_a_process_caches_nothing_after_a_change_of_the_package(tmp_path, empty):
    """The process runs the old code, or some of both."""
    shutil.copytree(PACKAGE, tmp_path / "dtglib", ignore=shutil.ignore_patterns("__pycache__"))
    ran = subprocess.run([sys.executable, "-c", CHANGED], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("b'' None\n", "")
    assert not list(empty.rglob("*.nbi"))


@pytest.mark.parametrize("name", ["sys.version", "version", "NUMBA_OPT"])
def test_other_versions_and_settings_have_another_folder(name, monkeypatch, empty):
    before = cache_folder()
    if name == "NUMBA_OPT":
        monkeypatch.setenv(name, "0")
    elif name == "sys.version":
        monkeypatch.setattr(sys, "version", "4.0")
    else:
        monkeypatch.setattr(dtglib.basics.cache_folder, name, lambda package: "another")
    cache_folder.cache_clear()
    assert cache_folder() != before


# ---- Kernels


def difference(a, b):
    return a - b


difference.__module__ = "dtglib.of_a_test"  # only the package's own functions are cached


@pytest.fixture(autouse=True)
def module_of_difference(monkeypatch):
    """A kernel that is read from a file imports its function's module, as soon as the compiled one is no more."""
    monkeypatch.setitem(sys.modules, "dtglib.of_a_test", ModuleType("dtglib.of_a_test"))


def test_a_kernel_is_compiled_once_and_then_found_with_the_same_results(empty):
    assert njit(difference)(3, 1) == 2
    gc.collect()
    again = njit(difference)
    assert again(3, 1) == 2
    assert sum(again.stats.cache_hits.values()) == 1
    assert njit(difference)(3.5, 1.0) == 2.5
    assert len(list(empty.rglob("*difference*.nbc"))) == 2


def test_a_function_outside_the_package_is_compiled_and_not_cached(empty):
    def outside(a, b):
        return a - b

    assert njit(outside)(3, 1) == 2
    assert not list(empty.rglob("*outside*"))


DIFFERENCE = """
import sys, types
from dtglib.basics.jit import njit
import dtglib.basics.jit, time
reduced = dtglib.basics.jit.FunctionCache._save_overload

def slowly(self, signature, compiled):
    load = self._cache_file._load_index
    def loaded():
        index = load()
        time.sleep(1)
        return index
    self._cache_file._load_index = loaded
    reduced(self, signature, compiled)

dtglib.basics.jit.FunctionCache._save_overload = slowly
from test_derived import difference
sys.modules["dtglib.of_a_test"] = types.ModuleType("dtglib.of_a_test")
kernel = njit(difference)
print(kernel(*eval(sys.argv[1])), sum(kernel.stats.cache_hits.values()))
"""


def run_difference(arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-c", DIFFERENCE, arguments]
    return subprocess.Popen(command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True)


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
