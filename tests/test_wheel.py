"""The package as others install it: a wheel and a source distribution, in environments that have nothing else."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from importlib.metadata import requires
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from running import PACKAGES, ROOT

from dtglib.basics.released import cards
from dtglib.families.base import titles

# Slow: what is missing in a wheel is seen by installing one.
pytestmark = pytest.mark.slow

PARTS = (*PACKAGES, "configs", "models", "setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")
PARTS += ("CHANGELOG.md", "CITATION.cff")
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
ELSEWHERE = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "DTG_DATA")}
UNREACHABLE = re.compile("connection broken|NewConnectionError|NameResolutionError|ConnectTimeout|Max retries", re.I)
# The build of PyTorch for machines without a GPU is a tenth as large. Where it cannot be had, no model is tried.
TORCH = "torch==2.13.0+cpu"
REQUIRED = [item.name for item in map(Requirement, requires("dtglib")) if not item.marker and item.name != "torch"]


class Built(NamedTuple):
    """The files that would be published."""

    sdist: Path
    wheel: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Built:
    """A source distribution, and the wheel that pip makes of it."""
    folder = tmp_path_factory.mktemp("built")
    source = folder / "source"
    source.mkdir()
    for name in PARTS:  # a build leaves files where it is made
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    make = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", make, str(folder)], cwd=source, check=True, capture_output=True)
    (sdist,) = folder.glob("*.tar.gz")
    subprocess.run([*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(sdist)], check=True)
    (wheel,) = folder.glob("*.whl")
    return Built(sdist, wheel)


def of_first_paper() -> set[str]:
    """The released models of the DTG paper, but for those of the treebanks, or of public-domain text, alone."""
    released = {name for name, card in cards("model").items() if card.title in titles("dtg").values()}
    return {name for name in released if not name.endswith(("-ud", "-public"))}


def names_in(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_a_wheel_has_the_weights_of_the_first_papers_models_and_the_cards_of_all(built):
    names = names_in(built.wheel)
    of_models = re.compile(r"dtglib/models/([^/]+)/")
    with_weights = {of_models.match(name)[1] for name in names if name.endswith(".safetensors")}
    assert with_weights == of_first_paper() | {name for name, card in cards("parser").items() if card.uas is not None}
    with_cards = {of_models.match(name)[1] for name in names if name.endswith("/card.yaml")}
    assert with_cards == {*cards("model"), *cards("parser")}
    assert built.wheel.stat().st_size < 30e6


def test_a_wheel_has_all_files_of_the_packages_and_the_licences(built):
    names = names_in(built.wheel)
    files = {path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.is_file()}
    assert names >= {path.relative_to(ROOT).as_posix() for path in files if path.parent.name != "__pycache__"}
    assert {name.partition("/licenses/")[2] for name in names if "/licenses/" in name} == {
        "LICENSE", "models/LICENCES.md"
    }  # fmt: skip


@cache
def interpreter(version: str) -> str | None:
    """An interpreter of this version that can make environments, on the search path or among those of pyenv."""
    root = Path(os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv"))
    candidates = [f"python{version}", *map(str, sorted(root.glob(f"versions/{version}.*/bin/python")))]
    for candidate in filter(None, map(shutil.which, candidates)):
        if not subprocess.run([candidate, "-c", "import venv"], capture_output=True).returncode:
            return candidate
    return None


class Installed(NamedTuple):
    """An environment with dtglib."""

    folder: Path
    has_torch: bool

    def run(self, *arguments: object, status: int = 0) -> tuple[str, str]:
        """What a program of the environment prints to its two outputs; there is no repository around it."""
        program, *rest = map(str, arguments)
        command = [str(self.folder / "bin" / program), *rest]
        ran = subprocess.run(command, cwd=self.folder, env=ELSEWHERE, text=True, capture_output=True)
        assert ran.returncode == status, ran.stderr
        return ran.stdout, ran.stderr


def install(environment: Path, *arguments: object) -> None:
    """Install packages into an environment; without a package index the test is skipped."""
    command = [*PIP, "--python", environment / "bin" / "python", "install", "--no-compile", *arguments]
    ran = subprocess.run(list(map(str, command)), env=ELSEWHERE, capture_output=True, text=True)
    if ran.returncode and UNREACHABLE.search(ran.stderr):
        pytest.skip("the package index cannot be reached")
    assert ran.returncode == 0, ran.stderr


def empty(version: str, folder: Path) -> Path:
    """A new environment of this version of Python."""
    if not (python := interpreter(version)):
        pytest.skip(f"there is no Python {version} here")
    subprocess.run([python, "-m", "venv", "--without-pip", str(folder / "environment")], check=True)
    return folder / "environment"


def installed(version: str, distribution: Path, folder: Path) -> Installed:
    """A new environment with the distribution and what it requires, but PyTorch only if there is a small build."""
    environment = empty(version, folder)
    small = [*PIP, "--python", str(environment / "bin" / "python"), "install", "--no-compile", "--no-deps", TORCH]
    if not subprocess.run(small, env=ELSEWHERE, capture_output=True).returncode:
        install(environment, distribution)
        return Installed(environment, has_torch=True)
    install(environment, *REQUIRED)
    install(environment, "--no-deps", distribution)
    return Installed(environment, has_torch=False)


# The oldest Python and the newest.
@pytest.mark.parametrize(("version", "kind"), [("3.11", "wheel"), ("3.13", "sdist")])
def test_in_an_empty_environment_it_installs_and_its_commands_run(version, kind, built, tmp_path):
    here = installed(version, getattr(built, kind), tmp_path)
    out, _ = here.run("python", "-c", "import sys, dtglib; print(sys.version, dtglib.__file__)")
    assert out.startswith(version) and str(here.folder) in out
    assert "surprisal" in here.run("dtglib", "--help")[0]
    assert "dtg-minilang" in here.run("dtglib", "models")[0]
    (tmp_path / "mine.txt").write_text("The farmer is tall .\n")
    assert "mine.txt" in here.run("dtglib", "stats", tmp_path / "mine.txt")[0]
    if not here.has_torch:
        pytest.skip(f"no small build of PyTorch for Python {version} can be had here, so no model was tried")
    rows = here.run("dtglib", "surprisal", "--model", "dtg-minilang", "The farmer is tall .")[0].splitlines()
    assert [row.split()[2] for row in rows[1:7]] == ["The", "farmer", "is", "tall", ".", "<END>"]
    assert "perplexity: " in here.run("dtglib", "score", "--model", "txl-tokens-minilang", tmp_path / "mine.txt")[0]
    for model, complaint in {
        "dtg-minilang": "this needs supar, which is not installed: run `pip install 'dtglib[parser]'`",
        (
            other := min(cards("model").keys() - of_first_paper())
        ): f"{other}: only its card came with this package; name",
    }.items():
        _, err = here.run("dtglib", "score", "--model", model, tmp_path / "mine.txt", status=2)
        assert err.splitlines()[-1].startswith(f"dtglib: {complaint}")


def test_for_the_python_between_them_there_is_all_that_it_requires_and_it_starts(built, tmp_path):
    here = Installed(empty("3.12", tmp_path), has_torch=False)
    install(here.folder, "--dry-run", *REQUIRED)
    install(here.folder, "--no-deps", built.wheel, "tqdm")
    assert "surprisal" in here.run("dtglib", "--help")[0]


def test_a_package_index_would_take_it(built, tmp_path):
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    install(environment, "twine")
    command = [str(environment / "bin" / "twine"), "check", "--strict", str(built.sdist), str(built.wheel)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0 and ran.stdout.count("PASSED") == 2, ran.stdout + ran.stderr
