"""A process knows the code that it runs, and whether a new one would run the same."""

import shutil
import subprocess
import sys

import pytest
from running import PACKAGE

PROGRAM = """
from pathlib import Path
from dtglib.code import RUNNING, is_on_disk, require_unchanged
before, path = dict(RUNNING), Path("dtglib") / {name!r}
path.parent.mkdir(exist_ok=True)
require_unchanged()
path.open("a").write("# There is a difference")
print(is_on_disk(), RUNNING == before)
require_unchanged()
"""


def changing(name: str, folder) -> subprocess.CompletedProcess:
    """What a process says that runs a copy of the package, in which somebody changes a module."""
    shutil.copytree(PACKAGE, folder / "dtglib", ignore=shutil.ignore_patterns("__pycache__"))
    program = [sys.executable, "-c", PROGRAM.format(name=name)]
    return subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name", ["model.py", "decode/beam.py", "new.py"])
def test_a_module_that_is_changed_or_new_is_noticed(name, tmp_path):
    found = changing(name, tmp_path)
    assert found.stdout == "False True\n"
    assert "somebody has changed the package since it was imported; run the same command again" in found.stderr


@pytest.mark.parametrize("name", [".model.py", ".ipynb_checkpoints/model-checkpoint.py", "notes.txt"])
def test_what_is_no_module_does_not_count(name, tmp_path):
    found = changing(name, tmp_path)
    assert (found.returncode, found.stdout) == (0, "True True\n")
