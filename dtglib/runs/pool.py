"""A pool of processes that works through the jobs of a paper, before its notebooks are run.

    work_through(jobs_of("mini", "dtg"), folder)        prints a line for each finished job, with its time

The jobs write their results to disk themselves (runs/cache.py); their output goes into folder/jobs/. A job that
fails is reported, and the jobs that need it are left out: the notebook that needs their results computes them, or shows
the error. So it is with all that are left, if a process dies for lack of memory.

Small models gain little from a second thread, and searches among trees even less. So on a CPU there is one process per
thread. With a GPU there is no pool, because all jobs would wait for the GPU.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from pathlib import Path

import torch
from tqdm import tqdm

from dtglib.basics.code import require_unchanged
from dtglib.basics.files import explain_disk_errors
from dtglib.basics.progress import is_quiet, quiet
from dtglib.runs.execute import SECONDS_TO_SAVE
from dtglib.runs.jobs import Job

MOST_WORKERS = 4  # each holds a corpus and a model, a gigabyte or two where the model is small


def is_possible() -> bool:
    """True if several processes are faster than the notebooks' own, which compute what they need one by one."""
    return torch.get_num_threads() > 1 and not torch.cuda.is_available()


def work_through(jobs: Sequence[Job], folder: Path) -> list[str]:
    """Do all jobs in a pool; returns the names of those that were not done."""
    threads = torch.get_num_threads()
    count = min(threads, MOST_WORKERS, len(jobs))
    if not is_possible() or count < 2:
        return [job.name for job in jobs]
    with explain_disk_errors(folder):
        (folder / "jobs").mkdir(parents=True, exist_ok=True)
    schedule = _Schedule(jobs, folder / "jobs")
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    with _threads(threads // count), ProcessPoolExecutor(count, context, _begin, (reader,)) as workers, writer:
        try:
            return schedule.work(workers, count)
        except KeyboardInterrupt:
            writer.close()  # interrupts the jobs
            print("waiting until the other processes have saved their work", flush=True)
            wait(schedule.running, SECONDS_TO_SAVE)
            for process in multiprocessing.active_children():
                process.kill()
            raise


class _Schedule:
    """The jobs that wait, those that run, and the names of those that are done."""

    def __init__(self, jobs: Sequence[Job], logs: Path) -> None:
        self.jobs, self.logs, self.waiting = jobs, logs, list(jobs)
        self.running: dict[Future, tuple[Job, float]] = {}  # with the time of their beginning
        self.done: set[str] = set()

    def work(self, workers: ProcessPoolExecutor, count: int) -> list[str]:
        """Do all jobs, `count` at a time; returns the names of those that could not be done."""
        layout = "{desc} {n_fmt}/{total_fmt} [{elapsed}<{remaining}]{postfix}"
        with tqdm(total=len(self.jobs), desc="jobs", bar_format=layout, leave=False, disable=is_quiet()) as bar:
            try:
                while self._hand_out(workers, count):
                    bar.set_postfix_str("; ".join(job.name for job, _ in self.running.values()))
                    for future in wait(self.running, return_when=FIRST_COMPLETED).done:
                        self._note(future)
                    bar.update(len(self.done) - bar.n)
            except BrokenProcessPool:
                named = "; ".join(job.name for job, _ in self.running.values())
                print(f"a process died, most likely for lack of memory, during: {named}; the notebooks do the rest")
        return [job.name for job in self.jobs if job.name not in self.done]

    def _hand_out(self, workers: ProcessPoolExecutor, count: int) -> bool:
        """Begin jobs whose needs are done, in the order of the list; False if none runs then."""
        ready = [job for job in self.waiting if self.done.issuperset(job.needs)]
        for job in ready[: count - len(self.running)]:
            self.running[workers.submit(_do, job, self._log(job))] = job, time.monotonic()
            self.waiting.remove(job)
        return bool(self.running)

    def _note(self, future: Future) -> None:
        """Report the end of a job."""
        error = future.exception()
        if isinstance(error, BrokenProcessPool):
            raise error
        job, began = self.running.pop(future)
        seconds = tqdm.format_interval(round(time.monotonic() - began))
        if error:
            line = f"{job.name}: failed after {seconds}: {error!r}; see {self._log(job)}"
        else:
            self.done.add(job.name)
            line = f"[{len(self.done)}/{len(self.jobs)}] {job.name}: {seconds}"
        tqdm.write(line, file=sys.stdout)
        sys.stdout.flush()

    def _log(self, job: Job) -> Path:
        return self.logs / f"{job.name.replace('/', '-')}.log"


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    """Give processes that are started within this block `count` threads."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(count)
    try:
        yield
    finally:
        del os.environ["OMP_NUM_THREADS"]
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before


# ---- In the other processes

ENDING = threading.Event()  # no job begins any more
BUSY = threading.Lock()  # held during a job


def _begin(reader: Connection) -> None:
    """Prepare a process: its job is interrupted when the other end of the pipe is closed, by us or by our death."""

    def watch() -> None:
        with contextlib.suppress(EOFError):
            reader.recv()
        ENDING.set()
        os.kill(os.getpid(), signal.SIGINT)
        multiprocessing.parent_process().join()
        with BUSY:
            os._exit(1)

    os.setsid()  # Ctrl-C does not reach this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()


def _do(job: Job, log: Path) -> None:
    """Do a job; everything that it prints goes to the log."""
    with open(log, "wb", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.stdout = sys.stderr  # which is written at once, so that the log is complete even if the process is killed
    require_unchanged()
    with BUSY:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            if ENDING.is_set():
                raise KeyboardInterrupt
            with quiet():
                job.run()
        except Exception:
            traceback.print_exc()
            raise
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
