"""A process of the pool: it reads the names of jobs from its input and does them, until the input ends.

    python -m dtglib.runs.worker mini dtg      reads "train dtg, seed 1", answers "done"

Jobs print to standard error, because standard output is for answers. If the input ends during a job, the parent process
has ended or wants to stop: the job is interrupted, and saves its work.
"""

import contextlib
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Iterator

from dtglib.basics.code import require_unchanged
from dtglib.basics.progress import quiet
from dtglib.runs.jobs import jobs_of
from dtglib.runs.pool import DONE, FAILED


def main(size: str, paper: str) -> None:
    """Do jobs of a paper at a size."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM interrupts a job as Ctrl-C does
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr  # not buffered, so that the log is complete even if the process is killed
    jobs = {job.name: job for job in jobs_of(size, paper)}
    for name in _names():
        print(name)
        try:
            require_unchanged()
            with quiet():
                jobs[name].run()
            print(DONE, file=answers)
        except Exception:
            traceback.print_exc()
            print(FAILED, file=answers)


def _names() -> Iterator[str]:
    """The lines of standard input, which a thread reads; at its end, this process is interrupted."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line.rstrip("\n"))
        os.kill(os.getpid(), signal.SIGTERM)
        lines.put(None)  # in case a job has caught the interruption and returned

    threading.Thread(target=read, daemon=True).start()
    yield from iter(lines.get, None)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(*sys.argv[1:])
