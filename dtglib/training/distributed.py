"""One process, or several that train one model together, started by `torchrun`.

    with processes() as ours:                # alone: Processes(rank=0, count=1, device=cpu)
        ours.total([nats, transitions])      # sums over all processes

Each process takes its share of every step's batches, and PyTorch's DistributedDataParallel adds up their gradients.
Only the first process (rank 0) prints and writes files.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from dtglib.basics.errors import UserError
from dtglib.training import process_groups


class Processes(NamedTuple):
    """The rank of this process, the number of processes, and the device of this one."""

    rank: int
    count: int
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

    def share(self, module: nn.Module) -> nn.Module:
        """The module with gradients averaged over all processes."""
        if self.count == 1:
            return module
        if self.device.type == "cuda":
            # Otherwise the compiled graph is cut at DDP's buckets, and FlexAttention's part cannot be compiled.
            torch._dynamo.config.optimize_ddp = False
        return DistributedDataParallel(module)


def device_at_hand() -> torch.device:
    """The current GPU if there is one, otherwise the CPU."""
    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")


@contextmanager
def processes() -> Iterator[Processes]:
    """This process among those that torchrun started, or alone; on a GPU if there is one."""
    rank, count = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if torch.cuda.is_available():
        local, gpus = int(os.environ.get("LOCAL_RANK", 0)), torch.cuda.device_count()
        if local >= gpus:
            raise UserError(f"there are more processes than the {gpus} GPUs of this machine; start no more than those")
        torch.cuda.set_device(local)
    device = device_at_hand()
    if count == 1:
        yield Processes(rank, count, device)
        return
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    process_groups.keep(distributed.group.WORLD)
    try:
        yield Processes(rank, count, device)
    finally:
        distributed.destroy_process_group()


def has_bfloat16_units(device: torch.device) -> bool:
    """Whether the device has units that multiply bfloat16 faster than float32.

    Every processor with AMX has them. AVX-512 alone is not enough: bfloat16 was 1.4 to 1.9 times as fast as float32 on
    AMD's Zen 4 (a layer of width 256), but half as fast on an Intel Xeon without AMX (training of a `mini` DTG).
    """
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    units = torch.cpu.get_capabilities()
    return units.get("amx_bf16", False) or (units.get("avx512_bf16", False) and _is_by_amd())


def _is_by_amd() -> bool:
    cpuinfo = Path("/proc/cpuinfo")
    return cpuinfo.exists() and "AuthenticAMD" in cpuinfo.read_text()
