"""The script for Slurm: Bash reads it, and its launcher gets the right arguments, on machines that are made up."""

import os
import subprocess

import pytest
from running import CONFIGS
from torch.distributed.run import parse_args

SCRIPTS = sorted((CONFIGS / "slurm").iterdir())
# What Slurm would run and say; the launcher's arguments are written down, a line each.
STAND_INS = {
    "scontrol": 'echo "$3-a"; echo "$3-b"',
    "srun": 'echo "$1 $2" > cores; shift 2; "$@"',
    "torchrun": 'printf "%s\\n" "$@" > arguments; echo "$OMP_NUM_THREADS" > threads',
}
JOB = {
    "SLURM_JOB_NODELIST": "node", "SLURM_JOB_ID": "70123", "SLURM_NNODES": "2", "SLURM_GPUS_ON_NODE": "8",
    "SLURM_CPUS_PER_TASK": "64",
}  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_each_machine_is_asked_for_a_process_a_gpu_of_the_same_job(script, tmp_path):
    for name, does in STAND_INS.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{does}\n")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", script, "blimp", "--model", "my model", "--out", "report"]
    subprocess.run(command, cwd=tmp_path, env={**os.environ, **JOB, "PATH": path}, check=True)
    asked = parse_args((tmp_path / "arguments").read_text().splitlines())
    assert (asked.nnodes, asked.nproc_per_node, asked.max_restarts) == ("2", "8", 3)
    assert (asked.rdzv_id, asked.rdzv_backend, asked.rdzv_endpoint) == ("70123", "c10d", "node-a:30123")
    assert (asked.module, asked.training_script) == (True, "dtglib")
    assert asked.training_script_args == ["blimp", "--model", "my model", "--out", "report"]
    assert (tmp_path / "threads").read_text() == "8\n"
    assert (tmp_path / "cores").read_text() == "--cpus-per-task 64\n"


def test_a_script_without_a_job_stops_at_once(tmp_path):
    """Not after it has asked for half of what it needs: Slurm's names are unknown outside of a job."""
    for script in SCRIPTS:
        without = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        stopped = subprocess.run(["bash", script], cwd=tmp_path, env=without, capture_output=True, text=True)
        assert stopped.returncode != 0
        assert "SLURM_JOB_NODELIST" in stopped.stderr
        assert not list(tmp_path.iterdir())
