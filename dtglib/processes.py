"""One process, or several that train one model together, as `torchrun` starts them.

    with processes() as ours:                # alone: Processes(rank=0, count=1, device=cpu)
        ours.total([nats, transitions])      # sums over all processes

Each process takes its share of every step's batches, and PyTorch's DistributedDataParallel adds their gradients up. The
first one (rank 0) alone talks, and writes files.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from dtglib.errors import UserError


class Processes(NamedTuple):
    """Which of how many processes this is, and the device that it computes on."""

    rank: int
    count: int
    device: torch.device

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def total(self, values: Sequence[int | float]) -> list[int | float]:
        """Each value summed over all processes."""
        if self.count == 1:
            return list(values)
        summed = torch.tensor(values, dtype=torch.float64, device=self.device)
        distributed.all_reduce(summed)
        return summed.tolist()

    def any_of(self, text: str) -> str:
        """The text of the first process that has one; every process learns it."""
        if self.count == 1:
            return text
        texts = [""] * self.count
        distributed.all_gather_object(texts, text)
        return next(filter(None, texts), "")

    def share(self, module: nn.Module) -> nn.Module:
        """The module with gradients that are averages over all processes."""
        if self.count == 1:
            return module
        if self.device.type == "cuda":
            # What is compiled stays in one piece: cut at DDP's buckets, FlexAttention's part of it would fall apart.
            torch._dynamo.config.optimize_ddp = False
        return DistributedDataParallel(module)


# A group must outlive the DistributedDataParallel that uses it. Freed by that one's destructor, which holds Python's
# lock, it would wait for a thread of its own that may be waiting for the lock.
_GROUPS: list[distributed.ProcessGroup] = []


def device_at_hand() -> torch.device:
    """The GPU, where there is one: this process's own, if there are several."""
    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")


@contextmanager
def processes() -> Iterator[Processes]:
    """What torchrun's environment says, or one process; on the GPU where there is one."""
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
    _GROUPS.append(distributed.group.WORLD)
    try:
        yield Processes(rank, count, device)
    finally:
        distributed.destroy_process_group()


def has_bfloat16_units(device: torch.device) -> bool:
    """Whether products of bfloat16 are faster there than those of float32, by what the processor says of itself."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return any(torch.cpu.get_capabilities().get(unit, False) for unit in ("amx_bf16", "avx512_bf16"))
