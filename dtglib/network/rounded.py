"""Linear maps in bfloat16, for trained models, on machines with units for it (AMX, GPUs).

    round_maps(load_model("dtg-ud")).save("my-dtg")
    load_model("my-dtg")                                   its model.yaml says so: linear_maps: bfloat16

More than half of the time of a search is spent in the linear maps of the layers. Their weights are converted once
(autocast converts them in every call); vectors are converted before and after each map, so that norms, attention, the
output layer and all sums are as exact as before. The effects are recorded in benchmarks/records (beam, rounding): on
average, surprisals differ by some thousandths of a nat per word, in single regions by half a nat; wide beams of a model
of width 256 are up to 1.3 times as fast, and narrow ones slower, down to 0.7. So rounding is off by default, and a
rounded model has a folder and a checksum of its own: its results are never mistaken for those of the exact model.
"""

import torch
from torch import Tensor, nn

BFLOAT16, FLOAT32 = "bfloat16", "float32"


class RoundedMap(nn.Module):
    """A linear map whose products are in bfloat16; it learns nothing."""

    def __init__(self, exact: nn.Linear) -> None:
        super().__init__()
        self.weight = _rounded(exact.weight)
        self.bias = None if exact.bias is None else _rounded(exact.bias)

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.linear(x.to(self.weight.dtype), self.weight, self.bias).to(x.dtype)


def _rounded(exact: Tensor) -> nn.Parameter:
    return nn.Parameter(exact.detach().to(torch.bfloat16), requires_grad=False)


def round_maps(network: nn.Module) -> nn.Module:
    """Round the maps in `may_be_rounded` of each layer; returns the network."""
    for block in network.blocks:
        for name in block.may_be_rounded:
            setattr(block, name, RoundedMap(getattr(block, name)))
    return network


def is_rounded(network: nn.Module) -> bool:
    """True if the maps of a network are rounded."""
    return any(isinstance(module, RoundedMap) for module in network.modules())
