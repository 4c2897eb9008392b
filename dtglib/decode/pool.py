"""The pool of a search on its device: keys and values by slot, keys of relative positions, and recordings for a GPU.

A step of a search starts hundreds of small kernels, and a GPU waits for the CPU that starts them. So on a GPU the
network is recorded as a CUDA graph, once for each shape, and then started as a whole (not measured on a GPU yet):

    37 new positions that see up to 20     as 64 (a power of two) that see up to 32 (a multiple of 16)

A graph has fixed addresses: it is recorded again if the pool has grown, or a weight has changed. When a search is over,
the next one of the same model takes its pool over.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.shapes import Float
from dtglib.decode.stack_rows import Cache, Looks, mark
from dtglib.network.attention import NEAREST, sinusoids
from dtglib.network.transformer import Transformer, rounded_up

Network = Callable[..., Float[Tensor, "N d"]]
Recorded = tuple[Float[Tensor, "N d"], Callable[[], object]]  # what is computed anew by each call, from the same inputs

FEWEST = 64  # rows of a recording
_SPARE: weakref.WeakKeyDictionary[Transformer, list["Pool"]] = weakref.WeakKeyDictionary()


def on_a_gpu(network: Network, inputs: list[Tensor]) -> Recorded:
    """Record the network as a CUDA graph."""
    network(*inputs)  # kernels are compiled when they are first called, which cannot be recorded
    graph, stream, device = torch.cuda.CUDAGraph(), torch.cuda.Stream(inputs[0].device), inputs[0].device.type
    dtype, enabled = torch.get_autocast_dtype(device), torch.is_autocast_enabled(device)
    # Weights that autocast has converted before would be freed with it.
    with (
        torch.autocast(device, dtype, enabled, cache_enabled=False),
        torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"),
    ):
        output = network(*inputs)
    return output, graph.replay


RECORDERS: dict[str, Callable[[Network, list[Tensor]], Recorded]] = {"cuda": on_a_gpu}


class Pool:
    """Keys and values, by layer and slot. A slot is in use if the cache of a hypothesis has its number."""

    def __init__(self, model: Transformer) -> None:
        device, config = model.embedding.weight.device, model.config
        # Under autocast, keys and values have its data type.
        is_autocast = torch.is_autocast_enabled(device.type)
        dtype = torch.get_autocast_dtype(device.type) if is_autocast else model.embedding.weight.dtype
        shape = (0, config.heads, config.width // config.heads)
        self.keys = [torch.empty(shape, dtype=dtype, device=device) for _ in range(config.layers)]
        self.values = [torch.empty(shape, dtype=dtype, device=device) for _ in range(config.layers)]
        self.places, self.tables = torch.empty(0), []  # of relative positions: sinusoids, and each layer's keys
        self.most = 0  # the largest number of slots that were ever in use
        self.recorded: dict[tuple[int, ...], tuple[list[Tensor], Recorded]] = {}
        self.made_for = _weights_of(model)

    def fitted(self, rows: Float[Tensor, "N w"]) -> Float[Tensor, "M w"]:
        """Rows that a stepper keeps by slot, with new ones for slots that were added to the pool."""
        return _longer(rows, more) if (more := len(self.keys[0]) - len(rows)) else rows

    def free(self, caches: Sequence[Cache], count: int) -> np.ndarray:
        """The numbers of `count` slots that none of these hypotheses can see."""
        taken = np.zeros(len(self.keys[0]), bool)
        for cache in caches:
            mark(taken, cache.slot, cache.filled)
        self.most = max(self.most, int(taken.sum()) + count)
        (free,) = np.nonzero(~taken)
        if len(free) < count:
            # The pool is doubled, so that its content is rarely copied.
            more = max(count, len(taken))
            self.keys, self.values = ([_longer(x, more) for x in layers] for layers in (self.keys, self.values))
            free = np.append(free, np.arange(len(taken), len(taken) + more))
            self.recorded.clear()
        return free[:count].astype(np.int32)

    def reach(self, model: Transformer, farthest: int) -> None:
        """Extend the sinusoids of relative positions up to this one, and the keys that each layer computes of them."""
        if farthest + 1 - NEAREST > len(self.places):
            self.places = sinusoids(rounded_up(farthest), model.config.width, model.embedding.weight.device)
            self.tables = [block.table(self.places) for block in model.blocks]
            self.recorded.clear()

    def replay(self, network: Network, inputs: list[Tensor]) -> Float[Tensor, "N d"]:
        """The result of the network, which is recorded if it has not been for inputs of this shape."""
        shape = inputs[-1].shape[1:]
        if shape not in self.recorded:
            self.recorded[shape] = inputs, RECORDERS[inputs[0].device.type](network, inputs)
        recorded, (output, replay) = self.recorded[shape]
        for given, own in zip(inputs, recorded, strict=True):
            own.copy_(given)
        replay()
        return output.clone()


def pool_for(search: object, model: Transformer) -> Pool:
    """A pool for a search: where networks are recorded it may be that of an earlier one, which is over."""
    if model.embedding.weight.device.type not in RECORDERS:
        return Pool(model)
    spare, weights = _SPARE.setdefault(model, []), _weights_of(model)
    spare[:] = [pool for pool in spare if pool.made_for == weights]
    pool = spare.pop() if spare else Pool(model)
    weakref.finalize(search, spare.append, pool).atexit = False
    return pool


def rounded(looks: Looks) -> Looks:
    """Positions in the shape of a recording: the last one comes several times."""
    count, longest = looks.seen.shape
    rows = np.minimum(np.arange(max(FEWEST, 1 << (count - 1).bit_length())), count - 1)
    columns = (0, rounded_up(longest) - longest)
    wide = (np.pad(x[rows], [(0, 0), columns, (0, 0)][: x.ndim]) for x in looks[4:])
    return Looks(*(x[rows] for x in looks[:4]), *wide)


def _weights_of(model: Transformer) -> list[Any]:
    """The things that a recording depends on; a weight that is changed in place has another version."""
    device = model.embedding.weight.device.type
    how = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    return [how, *((weight.data_ptr(), weight._version) for weight in model.parameters())]


def _longer(x: Tensor, more: int) -> Tensor:
    return torch.cat([x, x.new_empty((more, *x.shape[1:]))])
