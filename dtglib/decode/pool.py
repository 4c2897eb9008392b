"""The pool of a search on its device: keys and values by slot, keys of relative positions, and recordings for a GPU.

A step of a search starts hundreds of small kernels, and a GPU waits for the CPU that starts them. So on a GPU the
network is recorded as a CUDA graph, once for each shape, and then started as a whole (not measured on a GPU yet):

    37 new positions that see up to 20     as 64 (a power of two) that see up to 32 (a multiple of 16)

A graph has fixed addresses, so all are recorded again when the pool or the table of relative positions has grown. When
a search is over, the next one of the same model takes its pool over. It stays on the GPU as long as the model exists.
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
Recorded = tuple[Float[Tensor, "N d"], Callable[[], object]]  # the output, and what computes it again from the inputs

FEWEST, MOST = 64, 2048  # rows of a recording; with more, starting the kernels is a small part of the time
FIRST = {"cpu": (0, 0), "cuda": (2**12, 64)}  # the slots and relative positions that a pool has room for at first
_SPARE: weakref.WeakKeyDictionary[Transformer, list["Pool"]] = weakref.WeakKeyDictionary()
_STREAMS: dict[torch.device, list[Any]] = {}  # those that no pool uses


def on_a_gpu(pool: "Pool", network: Network, inputs: list[Tensor]) -> Recorded:
    """Record the network as a CUDA graph."""
    network(*inputs)  # kernels are compiled when they are first called, which cannot be recorded
    graph, device = torch.cuda.CUDAGraph(), inputs[0].device
    if not pool.stream:  # a pool has one of its own: a graph that is deleted frees cuBLAS's memory of its stream
        free = _STREAMS.setdefault(device, [])
        pool.stream = free.pop() if free else torch.cuda.Stream(device)
        weakref.finalize(pool, free.append, pool.stream).atexit = False
    dtype, enabled = torch.get_autocast_dtype(device.type), torch.is_autocast_enabled(device.type)
    with (
        torch.cuda.device(device),
        # Otherwise the graph would read weights that autocast has converted, and frees when it ends.
        torch.autocast(device.type, dtype, enabled, cache_enabled=False),
        torch.cuda.graph(graph, pool.memory, pool.stream, capture_error_mode="thread_local"),
    ):
        output = network(*inputs)
    pool.memory = graph.pool()
    return output, graph.replay


RECORDERS: dict[str, Callable[["Pool", Network, list[Tensor]], Recorded]] = {"cuda": on_a_gpu}


class Pool:
    """Keys and values, by layer and slot. A slot is in use if the cache of a hypothesis has its number."""

    def __init__(self, model: Transformer) -> None:
        config, device, kind = model.config, model.embedding.weight.device, model.embedding.weight.device.type
        # Under autocast, keys and values have its data type.
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else model.embedding.weight.dtype
        slots, self.nearby = FIRST[kind]
        shape = (slots, config.heads, config.width // config.heads)
        self.keys = [torch.empty(shape, dtype=dtype, device=device) for _ in range(config.layers)]
        self.values = [torch.empty(shape, dtype=dtype, device=device) for _ in range(config.layers)]
        self.places, self.tables = torch.empty(0), []  # of relative positions: sinusoids, and each layer's keys
        self.most = 0  # the largest number of slots that were in use in this search
        self.recorded: dict[tuple[int, ...], tuple[list[Tensor], Recorded]] = {}
        self.stream: Any = None  # that of the recordings on a GPU,
        self.memory: Any = None  # and the memory that they share
        self.made_for = _circumstances_of(model)

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
            self._forget()
        return free[:count].astype(np.int32)

    def reach(self, model: Transformer, farthest: int) -> None:
        """Extend the sinusoids of relative positions up to this one, and the keys that each layer computes of them."""
        if farthest + 1 - NEAREST > len(self.places):
            farthest = max(rounded_up(farthest), self.nearby)
            places = sinusoids(farthest, model.config.width, model.embedding.weight.device)
            self.tables, self.places = [block.table(places) for block in model.blocks], places
            self._forget()

    @torch.no_grad()
    def renew(self, model: Transformer) -> None:
        """Begin another search; since the one before, weights may have been changed in place."""
        self.most = 0
        for table, block in zip(self.tables, model.blocks, strict=False):
            table.copy_(block.table(self.places))

    def _forget(self) -> None:
        self.recorded.clear()
        self.memory = None

    def replay(self, network: Network, inputs: list[Tensor]) -> Float[Tensor, "N d"]:
        """The result of the network, which is recorded if it has not been for inputs of this shape."""
        shape = inputs[-1].shape[1:]
        if shape not in self.recorded:
            self.recorded[shape] = inputs, RECORDERS[inputs[0].device.type](self, network, inputs)
        recorded, (output, replay) = self.recorded[shape]
        for given, own in zip(inputs, recorded, strict=True):
            own.copy_(given)
        replay()
        return output.clone()


def pool_for(search: object, model: Transformer) -> Pool:
    """A pool for a search whose network is recorded; it may be that of an earlier one, which is over."""
    spare, now = _SPARE.setdefault(model, []), _circumstances_of(model)
    spare[:] = [pool for pool in spare if pool.made_for[1:] == now[1:]]  # the weights have not moved
    pool = next((pool for pool in spare if pool.made_for == now), None) or Pool(model)
    spare[:] = [other for other in spare if other is not pool]
    pool.renew(model)
    weakref.finalize(search, spare.append, pool).atexit = False
    return pool


def rounded(looks: Looks) -> Looks:
    """Positions in the shape of a recording: the last one comes several times."""
    count, longest = looks.seen.shape
    rows = np.minimum(np.arange(max(FEWEST, 1 << (count - 1).bit_length())), count - 1)
    columns = (0, rounded_up(longest) - longest)
    wide = (np.pad(x[rows], [(0, 0), columns, (0, 0)][: x.ndim]) for x in looks[4:])
    return Looks(*(x[rows] for x in looks[:4]), *wide)


def _circumstances_of(model: Transformer) -> list[Any]:
    """The things that a recording depends on: first how the network is called, then where its weights are."""
    kind = model.embedding.weight.device.type
    how = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind), torch.is_inference_mode_enabled()
    return [(*how, model.training), *(weight.data_ptr() for weight in model.parameters())]


def _longer(x: Tensor, more: int) -> Tensor:
    return torch.cat([x, x.new_empty((more, *x.shape[1:]))])
