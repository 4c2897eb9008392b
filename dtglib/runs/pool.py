"""A pool of processes that works through the jobs of papers, and runs their notebooks.

    work_through(jobs_of("mini", "dtg"), folder)        prints a line for each finished job: time, result

The jobs write their results to disk themselves (runs/cache.py); their output goes into folder/jobs/. A job that needs
a model which another process trains waits for it. A job that fails is reported: the notebook that needs its results
computes them, or shows the error. The same holds for all jobs that are left if a process dies for lack of memory. At
Ctrl-C the processes are killed; they have written all finished rows, and a checkpoint every few minutes.

Small models gain little from a second thread, and searches among trees even less. So on a CPU there is one process per
thread, up to four. With a GPU there is no pool, because all jobs would wait for the GPU.
"""

import multiprocessing
import os
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import torch
from tqdm import tqdm

from dtglib.basics.progress import is_quiet, quiet
from dtglib.runs.jobs import Job

MOST_WORKERS = 4  # each holds a corpus and a model, a gigabyte or two where the model is small


def work_through(jobs: Sequence[Job], folder: Path) -> list[str]:
    """Do all jobs in a pool; returns the names of those that were not done."""
    threads = torch.get_num_threads()
    count = min(threads, MOST_WORKERS, len(jobs))
    if count < 2 or torch.cuda.is_available():  # one process is faster
        return [job.name for job in jobs]
    (folder / "jobs").mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _begin, (threads // count,)) as workers:
        try:
            return _all_done(workers, jobs, folder / "jobs")
        except KeyboardInterrupt:
            for process in multiprocessing.active_children():
                process.kill()
            raise


def _all_done(workers: ProcessPoolExecutor, jobs: Sequence[Job], logs: Path) -> list[str]:
    """Do all jobs, with a line for each; returns the names of those that were not done."""
    log_of = {job: logs / f"{job.name.replace('/', '-')}.log" for job in jobs}
    futures = {workers.submit(_do, job, log_of[job]): job for job in jobs}
    left = [job.name for job in jobs]
    layout = "{desc} {n_fmt}/{total_fmt} [{elapsed}<{remaining}]"
    with tqdm(total=len(jobs), desc="jobs", bar_format=layout, leave=False, disable=is_quiet()) as bar:
        for future in as_completed(futures):
            job, error = futures[future], future.exception()
            if isinstance(error, BrokenProcessPool):
                print("a process died, most likely for lack of memory; the notebooks do the rest")
                break
            if error:
                line = f"{job.name}: failed: {type(error).__name__}: {error}; see {log_of[job]}"
            else:
                left.remove(job.name)
                seconds, result = future.result()
                line = f"[{len(jobs) - len(left)}/{len(jobs)}] {job.name}: {tqdm.format_interval(seconds)}{result}"
            tqdm.write(line, file=sys.stdout)
            sys.stdout.flush()
            bar.update()
    return left


# ---- In the other processes


def _begin(threads: int) -> None:
    """Prepare a process: only its parent ends it, and it ends with its parent."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    os.setsid()  # Ctrl-C does not reach this process
    threading.Thread(target=end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    os.environ["OMP_NUM_THREADS"] = str(threads)  # for the kernel of a notebook


def _do(job: Job, log: Path) -> tuple[int, str]:
    """Do a job; returns the seconds that it took and a short form of its result. Its output goes to the log."""
    with open(log, "wb", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.stdout = sys.stderr  # which is written at once, so that the log is complete even if the process is killed
    began = time.monotonic()
    try:
        with quiet():
            result = job.run()
    except Exception:
        traceback.print_exc()
        raise
    return round(time.monotonic() - began), f", {result}" if isinstance(result, str) else ""
