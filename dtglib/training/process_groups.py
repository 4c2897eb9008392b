"""A workaround for two faults of PyTorch 2.13: process groups are kept, and dropped when the process is about to end.

A group must outlive the DistributedDataParallel that uses it. If its last reference is dropped by that module's
destructor, which holds Python's lock, the group waits for a thread of its own, and this thread may wait for the lock.
Measured with pairs of processes that had finished a training: without this, one of six runs never ended; with it, all
of twelve did (tests/test_processes.py, `test_processes_that_are_done_end`).

And a group must not outlive Python. Its threads may still be about to let go of the last tensors that were sent; one
that asks for Python's lock while Python shuts down ends the process ("terminate called without an active exception").
Dropped from Python, a group releases the lock and waits for its threads.
"""

import atexit

from torch import distributed

_KEPT: list[distributed.ProcessGroup | None] = []


def keep(group: distributed.ProcessGroup | None) -> None:
    """Keep a group until the process is about to end."""
    _KEPT.append(group)


atexit.register(_KEPT.clear)
