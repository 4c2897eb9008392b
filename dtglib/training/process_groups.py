"""A workaround for a deadlock in PyTorch 2.13: process groups are kept until the process ends.

A group must outlive the DistributedDataParallel that uses it. If its last reference is dropped by that module's
destructor, which holds Python's lock, the group waits for a thread of its own, and this thread may wait for the lock.

Measured with pairs of processes that had finished a training: without this, one of six runs never ended; with it, all
of twelve did (tests/test_processes.py, `test_processes_that_are_done_end`).
"""

from torch import distributed

_KEPT: list[distributed.ProcessGroup] = []


def keep(group: distributed.ProcessGroup) -> None:
    """Keep a group until the process ends."""
    _KEPT.append(group)
