"""Compiled code for the layers of a Transformer: it is made once for all of them.

    with compiled_layers(model) as compiling:
        model.loss(batch)                    # the first call compiles a layer, and what the targets are read off by
    compiling.seconds                        # spent so far

`torch.compile` of a whole loss unrolls the layers, and takes as many times as long. Here it gets `Block.forward`, with
the block as an argument: the weights are inputs of one code (PyTorch calls this regional compilation). Rows packed for
FlexAttention all have one shape, so nothing in a layer is compiled twice; only the number of targets varies, and is
left open. Other batches have many shapes: they are computed uncompiled.

So are held-out sentences: compiled without gradients, PyTorch 2.11's sum of a batch was wrong, or infinite.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn

from dtglib.network.transformer import Block, Transformer
from dtglib.sequences.structure import Flex

Compiler = Callable[..., Any]  # of a graph and examples of its inputs, as torch.compile takes one
Function = Callable[[Any, Tensor, Any], Tensor]  # of a module, its input, and a record that has a structure


class Compiling:
    """The compilation for one model: the form of the batches that it compiles for, and the seconds that it took."""

    def __init__(self, backend: str | Compiler, form: type) -> None:
        self.backend, self.form = backend, form
        self.seconds = 0.0

    @property
    def for_metrics(self) -> dict[str, float]:
        """The seconds for a line of metrics, where anything was compiled."""
        return {"compile_seconds": self.seconds} if self.seconds else {}

    def compiled(self, function: Function, **options: Any) -> Function:
        """The function, compiled at its first call with a batch of this form in training."""
        fast = cache(lambda: torch.compile(function, backend=self.backend, **options))

        def called(module: nn.Module, x: Tensor, given: Any) -> Tensor:
            if not (module.training and isinstance(given.structure, self.form)):
                return function(module, x, given)
            from torch._functorch import config as of_gradients  # which, as torch.compile, takes seconds to import

            graphs, began = compiled_graphs(), time.monotonic()
            # The backward code is compiled in the same call, so that its time is counted.
            with of_gradients.patch(force_non_lazy_backward_lowering=True):
                result = fast()(module, x, given)
            if compiled_graphs() > graphs:
                self.seconds += time.monotonic() - began
            return result

        return called


@contextlib.contextmanager
def compiled_layers(model: nn.Module, backend: str | Compiler = "inductor", form: type = Flex) -> Iterator[Compiling]:
    """Within this block, what a model computes in training is compiled for batches whose structure has this form.

    Its weights, and their names, are the same as before. A model without such layers is left as it is.
    """
    compiling, layers, changed = Compiling(backend, form), {}, []
    for module in model.modules():
        if isinstance(module, Block):
            function = type(module).forward
            if function not in layers:
                layers[function] = compiling.compiled(function)
            changed.append((module, "forward", layers[function]))
        elif isinstance(module, Transformer):
            changed.append((module, "read_off", compiling.compiled(type(module).read_off, dynamic=True)))
    for module, name, computed in changed:
        setattr(module, name, partial(computed, module))
    try:
        yield compiling
    finally:
        for module, name, _ in changed:
            delattr(module, name)


def compiled_graphs() -> int:
    """The number of graphs that PyTorch has compiled in this process."""
    from torch._dynamo.utils import counters

    return counters["stats"]["unique_graphs"]
