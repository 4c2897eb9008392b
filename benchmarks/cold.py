"""How long a command takes to say something: as the first process, for which nothing is kept yet, and later.

    python benchmarks/cold.py

Each figure is of a whole process, on one core. `to_import_torch` is its time divided by that of a process that only
imports PyTorch. The first process finds an empty cache directory: it draws sentences, and compiles kernels if it has
much to do (basics/jit.py), and leaves them there for the later ones. Surprisals are those of the README, by the
released DTG of books.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from _common import benchmark, best

DTGLIB = [sys.executable, "-m", "dtglib"]
IMPORT_TORCH = [sys.executable, "-c", "import torch"]
STRUCTURE = [*DTGLIB, "structure", "--system", "arc-eager", "--words", "There is a difference", "--heads", "2 0 4 2"]
SURPRISAL = [*DTGLIB, "surprisal", "The keys to the cabinet are on the table ."]
TRAIN_PART = [sys.executable, "-c", "from dtglib.data import minilang; minilang.split('train', 20_000)"]


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as cache,
        benchmark("cold", "How long does a command take to say something?") as report,
    ):
        os.environ["XDG_CACHE_HOME"] = cache
        torch = best(lambda: run(IMPORT_TORCH))

        def report_process(what: str, command: list[str], kept: bool = True) -> None:
            used = []

            def work() -> None:
                if not kept:
                    shutil.rmtree(Path(cache, "dtglib"), ignore_errors=True)
                used.append(run(command))

            beside = {
                "processor_seconds": lambda seconds: min(used),
                "to_import_torch": lambda seconds: seconds / torch,
            }
            report(what, 1, work, **beside)

        report_process("import torch", IMPORT_TORCH)
        report_process("dtglib --help", [*DTGLIB, "--help"])
        report_process("dtglib structure, the first time", STRUCTURE, kept=False)
        report_process("dtglib structure", STRUCTURE)
        report_process("dtglib surprisal, the first time", SURPRISAL, kept=False)
        report_process("dtglib surprisal", SURPRISAL)
        report_process("20,000 sentences of minilang, the first time", TRAIN_PART, kept=False)
        report_process("20,000 sentences of minilang", TRAIN_PART)


def run(command: list[str]) -> float:
    """Run a process to its end; returns the seconds of processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    main()
