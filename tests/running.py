"""How tests let something run, in processes of its own, and how they read what it leaves behind and says."""

import contextlib
import itertools
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import Tensor

from dtglib.basics.record import read_record

ROOT = Path(__file__).parent.parent
PACKAGE, CONFIGS = ROOT / "dtglib", ROOT / "configs"
PACKAGES = [name for name in ("dtglib", "dtgpapers") if (ROOT / name).is_dir()]

WEIGHTS_FILE = "model.safetensors"
TIMES = {"seconds", "positions_per_second"}

# Processes that are forked from one that has the imports behind it: PyTorch takes seconds, and so does supar.
ELSEWHERE = multiprocessing.get_context("forkserver")
ELSEWHERE.set_forkserver_preload(["pytest", "hypothesis", "supar", "dtglib.runs.prepare", "torch._dynamo"])


# ---- Processes


def on_one_thread(function: Callable, *arguments: object) -> None:
    torch.set_num_threads(1)
    function(*arguments)


def elsewhere(*calls: tuple) -> list[int | None]:
    """Each function with its arguments in a process of its own, all at the same time: their exit statuses, or None for
    one that hung and had to be killed."""
    started = [ELSEWHERE.Process(target=on_one_thread, args=call) for call in calls]
    for process in started:
        process.start()
    deadline = time.monotonic() + 240  # on a machine that is busy with other things
    for process in started:
        process.join(max(0, deadline - time.monotonic()))
    hung = [process.exitcode is None for process in started]
    for process in started:
        process.kill()
        process.join()
    return [None if has_hung else process.exitcode for process, has_hung in zip(started, hung, strict=True)]


def as_one_of(count: int, rank: int, port: int, folder: Path, function: Callable, *arguments: object) -> None:
    """Run a function as torchrun would start it; its complaints go to a file."""
    where = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    where["CUDA_VISIBLE_DEVICES"] = ""  # of a GPU there may be fewer than processes
    os.environ |= {name: str(value) for name, value in where.items()}
    with open(folder / f"stderr-{rank}", "w") as file, contextlib.redirect_stderr(file):
        function(*arguments)


def together(count: int, folder: Path, function: Callable, *arguments: object) -> list[int | None]:
    """The exit statuses of so many processes that run the same function; None for one that hung."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return elsewhere(*((as_one_of, count, rank, port, folder, function, *arguments) for rank in range(count)))


def torchrun(count: int, *arguments: object) -> tuple[int, str, str]:
    """Exit status and output of so many processes, given what torchrun is to start; a hang is an error."""
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    started = subprocess.Popen(
        [*start, *map(str, arguments)], env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        out, err = started.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        started.terminate()  # torchrun ends its processes, too
        started.wait(30)
        raise
    return started.returncode, out, err


def wait_for(condition: Callable[[], bool], process: subprocess.Popen | None = None) -> None:
    """Wait until a process, if it is named and lives, has come so far."""
    deadline = time.monotonic() + 600  # on a machine that is busy with other things
    while not condition():
        assert time.monotonic() < deadline, "the run has not come so far"
        assert process is None or process.poll() is None, "the run ended before it came so far"
        time.sleep(0.01)


# ---- What a training leaves in its folder


def lines(folder: Path, *parts: str) -> list[dict]:
    """The metrics, but for the times."""
    metrics = read_record(folder).metrics
    return [{k: v for k, v in line.items() if k not in TIMES} for line in metrics if line["part"] in parts or not parts]


def bits(folder: Path) -> bytes:
    """The kept model's."""
    return (folder / WEIGHTS_FILE).read_bytes()


def tensors(folder: Path, name: str) -> dict[str, Tensor]:
    return safetensors.torch.load_file(folder / name)


def written(folder: Path) -> dict[str, int]:
    """When each file was written last; a lock is touched by everyone who asks for the folder."""
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.name != ".lock"}


# ---- What a command reads, and what it says


def raw(folder, **parts):
    """A folder of sentences without trees: train.conllu and the like."""
    folder.mkdir()
    for part, text in parts.items():
        rows = [f"{number}\t{word}" + "\t_" * 8 for number, word in enumerate(text.split(), 1)]
        (folder / f"{part}.conllu").write_text("\n".join([f"# sent_id = {part}-1", *rows, "", ""]))
    return folder


def without_conventions(out: str) -> tuple[list[str], str]:
    """The lines that a command prints but for its conventions, and these without their line breaks."""
    lines = out.splitlines()
    conventions = " ".join(line.removeprefix("# ") for line in lines if line.startswith("# "))
    return [line for line in lines if not line.startswith("# ")], conventions


def assert_one_line(capsys, *parts: str) -> None:
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("dtglib: ")
    for part in parts:
        assert part in line


@contextlib.contextmanager
def interrupted_at(examples: type, number: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Within this block, Ctrl-C comes when the batch of this number is made of some examples."""
    batch, taken = examples.batch, itertools.count(1)

    def interrupting(*arguments):
        if next(taken) == number:
            os.kill(os.getpid(), signal.SIGINT)
        return batch(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(examples, "batch", interrupting)
        yield
