"""Compiled code for the layers of a Transformer: it is made once for all of them, and within a limit of time.

    with compiled_layers(model) as compiling:
        model.loss(batch)                    # the first call compiles a layer, and what the targets are read off by
    compiling.seconds, compiling.in_time     # spent so far; whether compiled code is used

`torch.compile` of a whole loss unrolls the layers, and takes as many times as long. Here it gets `Block.forward`, with
the block as an argument: the weights are inputs of one code (PyTorch calls this regional compilation). Rows packed for
FlexAttention all have one shape, so nothing in a layer is compiled twice; only the number of targets varies, and is
left open. Other batches have many shapes: they are computed uncompiled.

So are held-out sentences: compiled without gradients, PyTorch 2.11's sum of a batch was wrong, or infinite.
"""

import contextlib
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch._dynamo.utils import counters
from torch._functorch import config as of_gradients

from dtglib.network.transformer import Block, Transformer
from dtglib.sequences.structure import Flex

LIMIT = 180.0  # seconds for each of the two; a guess, which no GPU has tried yet
AGAIN = 5  # seconds after which a stop is repeated: where Python collects garbage, an exception is lost

Compiler = Callable[..., Any]  # of a graph and examples of its inputs, as torch.compile takes one
Function = Callable[[Any, Tensor, Any], Tensor]  # of a module, its input, and a record that has a structure


class Compiling:
    """The compilation for one model: what it compiles for, the seconds that it took, and whether it came to its end."""

    def __init__(self, backend: str | Compiler, limit: float, form: type) -> None:
        self.backend, self.limit, self.form = backend, limit, form
        self.seconds, self.in_time = 0.0, True

    @property
    def told(self) -> dict[str, float | bool]:
        """The same for a line of metrics, where anything was compiled."""
        return {"compile_seconds": self.seconds, "is_compiled": self.in_time} if self.seconds else {}

    def compiled(self, function: Function, **options: Any) -> Function:
        """The function, compiled at its first call; where that takes too long, it is uncompiled from then on."""
        fast = torch.compile(function, backend=self.backend, **options)

        def called(module: nn.Module, x: Tensor, given: Any) -> Tensor:
            if not (self.in_time and module.training and isinstance(given.structure, self.form)):
                return function(module, x, given)
            graphs, began = compiled_graphs(), time.monotonic()
            try:
                # Code that goes backwards is compiled at once, too, where there is a way back to uncompiled code.
                with _at_most(self.limit), of_gradients.patch(force_non_lazy_backward_lowering=True):
                    return fast(module, x, given)
            except _TooLong:
                self.in_time = False
                warnings.warn(f"not compiled within {self.limit:g} seconds: it goes on uncompiled", stacklevel=2)
            finally:
                if not self.in_time or compiled_graphs() > graphs:
                    self.seconds += time.monotonic() - began
            return function(module, x, given)

        return called


@contextlib.contextmanager
def compiled_layers(
    model: nn.Module, backend: str | Compiler = "inductor", limit: float = LIMIT, form: type = Flex
) -> Iterator[Compiling]:
    """Within this block, what a model computes in training is compiled for batches whose structure has this form.

    Its weights, and their names, are the same as before. A model without such layers is left as it is.
    """
    compiling, layers = Compiling(backend, limit, form), {}
    changed = []
    for module in model.modules():
        if isinstance(module, Block):
            function = type(module).forward
            if function not in layers:
                layers[function] = compiling.compiled(function)
            changed.append((module, "forward", layers[function]))
        elif isinstance(module, Transformer):
            changed.append((module, "read_off", compiling.compiled(type(module).read_off, dynamic=True)))
    for module, name, function in changed:
        setattr(module, name, partial(function, module))
    try:
        yield compiling
    finally:
        for module, name, _ in changed:
            delattr(module, name)


def compiled_graphs() -> int:
    """The number of graphs that PyTorch has compiled in this process."""
    return counters["stats"]["unique_graphs"]


class _TooLong(BaseException):
    """The time is over. (PyTorch's compiler catches every `Exception`, and raises another one.)"""


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise _TooLong if this block takes longer. Python lets only the main thread be stopped: others go on."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
