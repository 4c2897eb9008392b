"""A pool of processes that works through the jobs of a size, before its notebooks are run.

    work_through(jobs_of("mini", "dtg"), ("mini", "dtg"), folder)    prints a line for each finished job, with its time

The jobs write their results to disk themselves (runs/cache.py). A worker receives the name of a job and answers
"done" or "failed"; what it prints goes into a log in the folder. A job that fails is reported, and the jobs that need
it are left out: the notebook that needs their results computes them, or shows the error.

Small models gain little from a second thread, and searches among trees even less. So on a CPU there is one worker per
thread. With a GPU there is no pool, because all jobs would wait for the GPU.
"""

import contextlib
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from tqdm import tqdm

from dtglib.basics.files import explain_disk_errors
from dtglib.basics.package_files import PACKAGE
from dtglib.basics.progress import is_quiet
from dtglib.runs.execute import SECONDS_TO_SAVE

# Not imported at run time, because it takes two seconds; annotations that name it are therefore not checked.
if TYPE_CHECKING:
    from dtglib.runs.jobs import Job

MOST = 4  # workers: each holds a corpus and a model, a gigabyte or two where the model is small
DONE, FAILED = "done", "failed"


def is_possible() -> bool:
    """Whether several processes would be faster than the notebooks' own, which compute what they need one by one."""
    return torch.get_num_threads() > 1 and not torch.cuda.is_available()


def work_through(jobs: "Sequence[Job]", asked: tuple[str, str], folder: Path) -> list[str]:
    """Do all jobs of a size and a paper in a pool; returns the names of those that were not done."""
    threads = torch.get_num_threads()
    count = min(threads, MOST, len(jobs))
    if not is_possible() or count < 2:
        return [job.name for job in jobs]
    with _pool(count, threads // count, asked, folder) as workers:
        return _Schedule(jobs, workers).work()


class _Worker:
    """A process of the pool, and its current job."""

    def __init__(self, asked: tuple[str, str], log: Path) -> None:
        self.log, self.job, self.began, self.is_lost = log, None, 0.0, False
        # In a session of its own, which Ctrl-C does not reach. It stops when its input ends, even if we are killed.
        with explain_disk_errors(log), open(log, "wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "dtglib.runs.worker", *asked],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                env=os.environ | {"PYTHONPATH": f"{PACKAGE.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
                start_new_session=True,
                text=True,
            )

    def begin(self, job: "Job") -> None:
        """Give it a job."""
        self.job, self.began = job, time.monotonic()
        with contextlib.suppress(BrokenPipeError):  # it has died; the missing answer will show that
            print(job.name, file=self.process.stdin, flush=True)


class _Schedule:
    """The state of all jobs: waiting, with a worker, done or failed."""

    def __init__(self, jobs: "Sequence[Job]", workers: Sequence[_Worker]) -> None:
        self.waiting, self.count, self.workers = list(jobs), len(jobs), workers
        self.done: set[str] = set()
        self.failed: list[str] = []

    def work(self) -> list[str]:
        """Do all jobs; returns the names of those that could not be done."""
        answers = selectors.DefaultSelector()
        for worker in self.workers:
            answers.register(worker.process.stdout, selectors.EVENT_READ, worker)
        layout = "{desc} {n_fmt}/{total_fmt} [{elapsed}<{remaining}]{postfix}"
        with tqdm(total=self.count, desc="jobs", bar_format=layout, leave=False, disable=is_quiet()) as bar:
            self._hand_out(bar)
            while any(worker.job for worker in self.workers):
                for key, _ in answers.select(timeout=1):
                    self._take(key.data, key.fileobj.readline().strip(), bar)
                    if key.data.is_lost:
                        answers.unregister(key.fileobj)
                self._hand_out(bar)
        return [*self.failed, *(job.name for job in self.waiting)]

    def _hand_out(self, bar: tqdm) -> None:
        """Give every idle worker the first job that it can begin."""
        for worker in self.workers:
            ready = next((job for job in self.waiting if self.done.issuperset(job.needs)), None)
            if ready and not worker.job and not worker.is_lost:
                self.waiting.remove(ready)
                worker.begin(ready)
        bar.set_postfix_str("; ".join(worker.job.name for worker in self.workers if worker.job))

    def _take(self, worker: _Worker, answer: str, bar: tqdm) -> None:
        """Note a worker's answer, which is empty if the worker has died."""
        job, worker.job, worker.is_lost = worker.job, None, not answer
        if job is None:
            return
        seconds = tqdm.format_interval(round(time.monotonic() - worker.began))
        if answer == DONE:
            self.done.add(job.name)
            bar.update()
            tqdm.write(f"[{len(self.done)}/{self.count}] {job.name}: {seconds}", file=sys.stdout)
        else:
            self.failed.append(job.name)
            what = "failed" if answer else "was lost with its process (killed for lack of memory?)"
            tqdm.write(f"{job.name}: {what} after {seconds}; see {worker.log}", file=sys.stdout)
        sys.stdout.flush()


@contextlib.contextmanager
def _pool(count: int, threads: int, asked: tuple[str, str], folder: Path) -> Iterator[list[_Worker]]:
    """`count` workers within this block, with `threads` threads each."""
    workers: list[_Worker] = []
    with explain_disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with _threads(threads):
        try:
            for number in range(1, count + 1):
                workers.append(_Worker(asked, folder / f"worker-{number}.log"))
            yield workers
        finally:
            _end([worker.process for worker in workers])


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    """Give processes that are started within this block `count` threads."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(count)
    try:
        yield
    finally:
        os.environ.pop("OMP_NUM_THREADS", None)
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before


def _end(started: Sequence[subprocess.Popen]) -> None:
    """End all processes, after giving them time to save their work."""
    for process in started:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    if not all(_ends_soon(process) for process in started):
        print("waiting until the other processes have saved what they have", flush=True)
    end = time.monotonic() + SECONDS_TO_SAVE
    for process in started:
        try:
            process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _ends_soon(process: subprocess.Popen) -> bool:
    """Whether a process ends within three seconds."""
    try:
        process.wait(3)
    except subprocess.TimeoutExpired:
        return False
    return True
