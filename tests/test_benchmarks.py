"""The benchmark for CUDA stays alive where there is no GPU, and says then that it measured nothing."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

CUDA = Path(__file__).parent.parent / "benchmarks" / "cuda.py"


def output_of(*arguments: str) -> str:
    return subprocess.run([sys.executable, str(CUDA), *arguments], check=True, capture_output=True, text=True).stdout


def test_the_dry_run_compares_both_forms_of_attention_and_takes_a_step():
    lines = output_of("--dry-run").splitlines()
    assert lines[0].startswith("flex against dense: ")
    assert "positions a second" in lines[1]


def test_without_a_gpu_nothing_is_measured():
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA GPU here")
    assert output_of() == "there is no CUDA GPU here: nothing is measured, and nothing recorded\n"
