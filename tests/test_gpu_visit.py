"""A visit to a GPU, rehearsed on a CPU: what is packed is unpacked, parsed, compiled and learnt from, by the clock."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import BENCHMARKS

from dtglib.data.corpora import load
from dtglib.families.base import load_model
from dtglib.network.saved import WEIGHTS_FILE

TINY = ["layers=1", "width=16", "heads=1", "inner=16", "batch_positions=512", "warmup_steps=1", "corpus=minilang"]


def run(script: str, *options: str | Path) -> str:
    path = os.pathsep.join([str(BENCHMARKS.parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, BENCHMARKS / "gpu" / script, *map(str, options)]
    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture
def here(benchmarks, monkeypatch, capsys) -> Callable[..., str]:
    """A function that does the same in this process, which has imported PyTorch already."""
    monkeypatch.syspath_prepend(BENCHMARKS / "gpu")

    def run_here(script: str, *options: str | Path) -> str:
        monkeypatch.setattr(sys, "argv", [script, *map(str, options)])
        benchmarks(script.removesuffix(".py")).main()
        return capsys.readouterr().out

    return run_here


# Slow: nothing faster runs these scripts.
@pytest.mark.slow
def test_texts_are_packed_parsed_compiled_and_learnt_from(here, one_thread, tmp_path, monkeypatch):
    monkeypatch.setenv("DTG_DATA", str(tmp_path))  # no treebanks: the parser is a released one
    texts, folder, out = tmp_path / "texts", tmp_path / "folder", tmp_path / "dtg"
    texts.mkdir()
    for part, count in (("train", 60), ("dev", 5), ("test", 5)):
        lines = [" ".join(sentence.words) for sentence in load("minilang", part, count).sentences]
        (texts / f"{part}.txt").write_text("\n".join(lines))
    packed = here("pack.py", texts, folder, "--pieces", "400")
    assert "train: 60 of 60 sentences" in packed and "held-out: 10 of 10 sentences" in packed
    here("open.py", "unpack", folder)
    assert (folder / "train.txt").read_text() == (texts / "train.txt").read_text()

    run("open.py", "parse", folder, "parser-minilang", "--processes", "2")
    heads, words = np.load(folder / "train.heads.npy"), (folder / "train.txt").read_text().split()
    assert len(heads) == len(words) and (heads == 0).sum() == 60
    ways = np.frombuffer((folder / "train.ways").read_bytes(), np.uint8).reshape(2, -1).T.copy().view("<i2")[:, 0]
    places = np.concatenate(
        [1 + np.arange(line.count(" ") + 1) for line in (folder / "train.txt").read_text().splitlines()]
    )
    assert np.where(ways, places + ways, 0).tolist() == heads.tolist()

    here("open.py", "compile-sequences", folder, "dtg", "--processes", "2")
    trained = run("open.py", "train-model", folder, "dtg", "--seconds", "1", "--out", out, "--set", *TINY)
    assert "60 sentences" in trained
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["step"] >= 2
    assert load_model(out).config.width == 16
    assert (out / WEIGHTS_FILE).stat().st_size < 2 * sum(p.numel() for p in load_model(out).parameters())  # 8 bits each
