"""Environments with other people's packages on top of the running one, which they leave as it is.

    environment(["transformers==4.57.6"]).run("import transformers; print(transformers.__version__)")

An environment is made once, and kept in the user's cache folder under a hash of what is in it. Where the package index
cannot be reached, the test is skipped. PyTorch and its like always come from the running environment.
"""

import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pytest
from running import ROOT

from dtglib.basics.files import only_one_process

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dtglib", "environments")
FROM_BELOW = ("torch", "numpy", "numba", "sentencepiece")  # in the version of the running environment
UNREACHABLE = re.compile("connection broken|NewConnectionError|NameResolutionError|ConnectTimeout|Max retries", re.I)
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}


class Environment(NamedTuple):
    """An environment, by its folder."""

    folder: Path

    @property
    def python(self) -> str:
        """The interpreter."""
        return str(self.folder / "bin" / "python")

    def run(self, program: str, *arguments: object, timeout: float = 600) -> str:
        """The output of a program in Python, which imports the packages of this repository and uses no network."""
        path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
        ran = subprocess.run(
            [self.python, "-c", program, *map(str, arguments)], cwd=ROOT, text=True, capture_output=True,
            timeout=timeout, env={**os.environ, **OFFLINE, "PYTHONPATH": path, "HF_HOME": str(self.folder / "hf")},
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        return ran.stdout


def environment(packages: Sequence[str]) -> Environment:
    """The environment with these packages, each with a version, on top of the running one."""
    constraints = [f"{name}=={version(name)}" for name in FROM_BELOW]
    below = sysconfig.get_path("purelib")
    content = repr([sorted(packages), constraints, sys.version, below])
    folder = CACHE / hashlib.sha256(content.encode()).hexdigest()[:16]
    complete = folder / "complete"
    with only_one_process(folder, "makes an environment"):
        if not complete.exists():
            _make(folder, packages, constraints, below)
            complete.write_text(f"{content}\n")
    return Environment(folder)


def _make(folder: Path, packages: Sequence[str], constraints: Sequence[str], below: str) -> None:
    venv.create(folder, symlinks=True)
    made = Environment(folder)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "below.pth").write_text(f"{below}\n")  # the running environment may be a virtual one itself
    (folder / "constraints.txt").write_text("\n".join(constraints))
    pip = [sys.executable, "-m", "pip", "--python", made.python, "--quiet", "--disable-pip-version-check"]
    install = ["install", "--no-compile", "-c", folder / "constraints.txt"]  # few of their modules will be imported
    ran = subprocess.run([*pip, *install, *packages], capture_output=True, text=True)
    if ran.returncode and UNREACHABLE.search(ran.stderr):
        pytest.skip(f"the package index cannot be reached, so {', '.join(packages)} cannot be installed")
    assert ran.returncode == 0, ran.stderr
