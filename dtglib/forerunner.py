"""The other cores: processes that run the notebooks from the last one backwards, while they are reproduced in order.

What takes time in a notebook is kept on disk, and one process at a time computes it (files.only_one_process): whoever
comes second waits, and finds it. So nothing has to be handed over, and no list says what the work is. What a forerunner
prints goes into a log that nobody needs to read: a notebook that fails there is run when its turn comes, and says why
if it fails again.

    processes    on two cores    the notebooks, in the order in which each takes them
    0            thread 1        00 01 02 03 04 05 06 07 90       what is shown and kept
    1            thread 2        90 07 06 05 04 03 02 01 00       what is found when process 0 gets there

Models as small as ours gain little from a second thread, and searches among trees less. On a GPU there is one process,
because it is the GPU that is waited for.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from dtglib.errors import UserError
from dtglib.execute import SCRIPTS, SECONDS_TO_SAVE
from dtglib.files import explain_disk_errors
from dtglib.progress import quiet

MOST = 4  # processes in all: each holds a corpus and a model, a gigabyte or two where the model is small


@contextlib.contextmanager
def forerunners(scripts: Sequence[Path], size: str, folder: Path) -> Iterator[int]:
    """Let them run within this block, with a share of the threads each; how many there are."""
    threads = torch.get_num_threads()
    # Two processes in one notebook would want the same all the time.
    count = 1 if torch.cuda.is_available() or len(scripts) < 2 else min(threads, MOST, len(scripts))
    if count == 1:
        yield 0
        return
    started: list[subprocess.Popen] = []
    with _threads(threads // count):
        try:
            for number in range(count - 1):
                # Each begins at another place, so that they seldom want the same.
                first = number * len(scripts) // (count - 1)
                backwards = [*scripts[::-1][first:], *scripts[::-1][:first]]
                started.append(_start(backwards, size, folder / f"forerunner-{number + 1}"))
            yield count - 1
        finally:
            _end(started)


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    """So many threads for this process, and for those that it starts."""
    threads, told = torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")
    torch.set_num_threads(count)
    os.environ["OMP_NUM_THREADS"] = str(count)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        os.environ.pop("OMP_NUM_THREADS", None)
        if told is not None:
            os.environ["OMP_NUM_THREADS"] = told


def _start(scripts: Sequence[Path], size: str, folder: Path) -> subprocess.Popen:
    """In a session of its own, where Ctrl-C does not reach it: it is told by the end of its input, however we end."""
    command = [sys.executable, "-m", "dtglib.forerunner", size, str(folder), *map(str, scripts)]
    with explain_disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "log.txt", "wb") as log:
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )


def _end(started: Sequence[subprocess.Popen]) -> None:
    """Let all of them save what they have."""
    for process in started:
        process.stdin.close()
    if not all(_is_through(process) for process in started):
        print("waiting until the other processes have saved what they have", flush=True)
    end = time.monotonic() + SECONDS_TO_SAVE
    for process in started:
        try:
            process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _is_through(process: subprocess.Popen) -> bool:
    """Now, or in the moment that it takes to end."""
    try:
        process.wait(3)
    except subprocess.TimeoutExpired:
        return False
    return True


# ---- In the other process


def main(size: str, folder: Path, scripts: Sequence[Path]) -> None:
    """Run the notebooks' .py halves; what they print is then in the folder, too."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whatever is half-written is removed
    threading.Thread(target=_stop_with_input, daemon=True).start()
    for script in scripts:
        print(script.stem, flush=True)
        try:
            with quiet():
                SCRIPTS.execute(script, size, folder, lambda number, count, first_line: None)
        except UserError:
            traceback.print_exc()


def _stop_with_input() -> None:
    """Nobody is left to run ahead of. A training that is under way saves what it has."""
    os.read(sys.stdin.fileno(), 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(sys.argv[1], Path(sys.argv[2]), list(map(Path, sys.argv[3:])))
