"""The package as others install it: a wheel has the released models, and works where there is no repository."""

import os
import shutil
import subprocess
import sys

import pytest
from running import PACKAGES, ROOT

# Slow: what is missing in a wheel is seen by installing one.
pytestmark = pytest.mark.slow

PARTS = (*PACKAGES, "models", "setup.py", "pyproject.toml", "README.md", "LICENSE")


def test_an_installed_wheel_reads_a_sentence_with_a_released_model(tmp_path):
    source, site = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    for name in PARTS:  # a build leaves files where it is made
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(source)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.stat().st_size < 40e6
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", str(site), str(wheel)], check=True)

    def said(*arguments: str) -> str:
        command, environment = [sys.executable, "-P", *arguments], {**os.environ, "PYTHONPATH": str(site)}
        return subprocess.run(
            command, check=True, cwd=tmp_path, env=environment, capture_output=True, text=True
        ).stdout.strip()

    assert said("-c", "import dtglib; print(dtglib.__file__)") == str(site / "dtglib" / "__init__.py")
    assert "dtg-minilang" in said("-m", "dtglib", "models")
    rows = said("-m", "dtglib", "surprisal", "--model", "dtg-minilang", "The farmer is tall .").splitlines()
    assert [row.split()[2] for row in rows[1:]] == ["The", "farmer", "is", "tall", ".", "<END>"]
