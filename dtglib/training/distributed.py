"""One process, or several that work together, started by `torchrun`.

    with processes() as ours:                # alone: Processes(rank=0, count=1, device=cpu)
        ours.total([nats, transitions])      # sums over all processes
        ours.from_first(read_what_is_done)   # what the function returns in the first process

Training data that do not fit into memory are compiled by all, and written by the first; where a parser draws their
trees, each process parses its share. In training, each process takes its share of every step's batches, and PyTorch's
DistributedDataParallel adds up their gradients; only the first process (rank 0) prints and writes files. In evaluation,
each computes its share of the rows (runs/cache.py). Such blocks may be nested: those within the outermost one
are about the same processes.
"""

import atexit
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from torch import distributed, nn
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from dtglib.basics.errors import UserError, require

Something = TypeVar("Something")

PATIENCE = timedelta(days=365)  # where one process may need much longer than another

# A workaround for two faults of PyTorch 2.13: process groups are kept, and dropped when the process is about to end.
#
# A group must outlive the DistributedDataParallel that uses it. If its last reference is dropped by that module's
# destructor, which holds Python's lock, the group waits for a thread of its own, and this thread may wait for the lock.
# Measured with pairs of processes that had finished a training: without this, one of six runs never ended; with it, all
# of twelve did (tests/test_processes.py, `test_processes_that_are_done_end`).
#
# And a group must not outlive Python. Its threads may still be about to let go of the last tensors that were sent; one
# that asks for Python's lock while Python shuts down ends the process ("terminate called without an active exception").
# Dropped from Python, a group releases the lock and waits for its threads.
_KEPT: list[distributed.ProcessGroup | None] = []
atexit.register(_KEPT.clear)


class Processes(NamedTuple):
    """The rank of this process, the number of processes, and the device of this one."""

    rank: int
    count: int  # type: ignore[assignment]
    device: torch.device

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def total(self, values: Sequence[int | float]) -> list[int | float]:
        """The sum of each value over all processes."""
        if self.count == 1:
            return list(values)
        summed = torch.tensor(values, dtype=torch.float64, device=self.device)
        distributed.all_reduce(summed)
        return summed.tolist()

    def any_of(self, text: str) -> str:
        """The text of the first process whose text is not empty, in every process."""
        if self.count == 1:
            return text
        texts = [""] * self.count
        distributed.all_gather_object(texts, text)
        return next(filter(None, texts), "")

    def from_first(self, compute: Callable[[], Something]) -> Something:
        """The value of a function in the first process, which alone calls it; its UserError is raised in all.

        The others wait for as long as it takes, unless the first process ends.
        """
        if self.count == 1:
            return compute()
        result: list[Any] = [None, ""]
        if self.is_first:
            try:
                result[0] = compute()
            except UserError as error:
                result[1] = str(error)
        distributed.broadcast_object_list(result, 0, _patient(distributed.group.WORLD))
        require(not result[1], result[1])
        return result[0]

    def wait(self) -> None:
        """Wait for all processes, for as long as it takes, unless one of them ends."""
        if self.count > 1:
            distributed.barrier(_patient(distributed.group.WORLD))

    def share(self, module: nn.Module) -> nn.Module:
        """The module with gradients averaged over all processes."""
        if self.count == 1:
            return module
        if self.device.type == "cuda":
            shares = "there are more processes than GPUs; they can score together, but each needs one for training"
            require(distributed.get_backend() == "nccl", shares)
            # Otherwise the compiled graph is cut at DDP's buckets, and FlexAttention's part cannot be compiled.
            torch._dynamo.config.optimize_ddp = False
        return DistributedDataParallel(module, forward_sync_buffers=False)  # they are constants


@cache
def _patient(world: distributed.ProcessGroup) -> distributed.ProcessGroup:
    """A group of all processes that waits without an end; a group on GPUs gives up after minutes."""
    group = distributed.new_group(backend="gloo", timeout=PATIENCE)
    _KEPT.append(group)
    return group


atexit.register(_patient.cache_clear)


def device_at_hand() -> torch.device:
    """The current GPU if there is one, otherwise the CPU."""
    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")


@contextmanager
def processes() -> Iterator[Processes]:
    """This process among those that torchrun started, or alone; on a GPU if there is one."""
    rank, count = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if gpus:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % gpus)
    device = device_at_hand()
    if count == 1 or distributed.is_initialized():
        yield Processes(rank, count, device)
        return
    store, _, _ = next(rendezvous("env://"))
    # After a restart torchrun's store still has the addresses of processes that are gone. All launchers agree on the
    # number of restarts if there is one; several, on several machines, need TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1, which
    # makes a new store (configs/slurm).
    is_one_launcher = os.environ.get("GROUP_WORLD_SIZE", "1") == "1"
    restarts = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") if is_one_launcher else "0"
    store = distributed.PrefixStore(f"restart {restarts}", store)
    has_own_gpu = int(os.environ.get("LOCAL_WORLD_SIZE", count)) <= gpus
    backend = "nccl" if has_own_gpu else "gloo"  # NCCL refuses processes that share a GPU
    distributed.init_process_group(backend, store=store, rank=rank, world_size=count)
    _KEPT.append(distributed.group.WORLD)
    ours = Processes(rank, count, device)
    # Nobody goes on, and may end, before all have come: the first process has what the others need to find each other.
    ours.wait()
    try:
        yield ours
    finally:
        distributed.destroy_process_group()


def has_bfloat16_units(device: torch.device) -> bool:
    """True if the device has units that multiply bfloat16 faster than float32.

    Every processor with AMX has them. AVX-512 alone is not enough: bfloat16 was 1.4 to 1.9 times as fast as float32 on
    AMD's Zen 4 (a layer of width 256), but half as fast on an Intel Xeon without AMX (training of a `mini` DTG).
    """
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    units = torch.cpu.get_capabilities()
    cpuinfo = Path("/proc/cpuinfo")
    is_by_amd = cpuinfo.exists() and "AuthenticAMD" in cpuinfo.read_text()
    return units.get("amx_bf16", False) or (is_by_amd and units.get("avx512_bf16", False))
