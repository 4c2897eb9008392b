"""Dropout with sixteen random bits for each value; PyTorch on a CPU draws a whole random number for each.

These draws took a tenth of the time of a training on a CPU. A value is dropped with probability p, rounded to a
65,536th, and the others are divided by the probability that they stay. On a GPU this is PyTorch's own dropout.

    >>> _ = torch.manual_seed(1)
    >>> Dropout(0.5)(torch.ones(12)).tolist()
    [0.0, 0.0, 0.0, 2.0, 2.0, 0.0, 2.0, 0.0, 0.0, 2.0, 2.0, 2.0]
"""

import torch
from torch import Tensor, nn

STEPS = 2**16
PER_NUMBER = 4  # draws of 16 bits from one number of 64


class Dropout(nn.Dropout):
    """A replacement for PyTorch's dropout."""

    def forward(self, x: Tensor) -> Tensor:
        dropped = round(self.p * STEPS)
        if not (self.training and 0 < dropped < STEPS) or x.device.type != "cpu":
            return super().forward(x)
        numbers = torch.empty(-(-x.numel() // PER_NUMBER), dtype=torch.int64).random_(-(2**63), None)
        drawn = numbers.view(torch.int16)[: x.numel()].view(x.shape)  # from -32,768 to 32,767, all equally likely
        stays = drawn >= dropped - STEPS // 2
        return x * stays.to(x.dtype).mul_(STEPS / (STEPS - dropped))
