"""A command in several processes, as `torchrun` starts them: they share its work, and the first one speaks for all.

    torchrun --nproc-per-node 8 -m dtglib blimp --model my-model

Every process runs the whole command. Of rows that are kept (blimp, suites, reading, evaluate) each computes its share,
and all get all of them (runs/cache.py). Only the first process prints, and writes files that the user has named.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

# A mistake of the user's is found by every process. The first one says so and ends, and torchrun then ends the others,
# within this time; a complaint that only another process has is thus not lost.
SECONDS_FOR_THE_FIRST = 5


def is_first() -> bool:
    """True if this process prints and writes files; a process alone does."""
    return os.environ.get("RANK", "0") == "0"


@contextlib.contextmanager
def as_one() -> Iterator[Callable[[str], None]]:
    """Let this process be silent unless it is the first one; yields a function that reports why the command failed."""
    stderr = sys.stderr
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        yield partial(print, file=stderr)
        return
    from dtglib.training.distributed import processes

    with processes():
        if is_first():
            yield partial(print, file=stderr)
            return

        def complain_late(complaint: str) -> None:
            time.sleep(SECONDS_FOR_THE_FIRST)
            print(complaint, file=stderr)

        with open(os.devnull, "w") as null, contextlib.redirect_stdout(null), contextlib.redirect_stderr(null):
            yield complain_late
