"""What a machine can do: the rate of products of large matrices, which other times are compared with."""

import _common
import torch


def report_rate(report: _common.Report, dtype: torch.dtype) -> float:
    """Operations a second in the best of several large products, which is what this machine can do in PyTorch."""
    rates = []
    for size in (1024, 1536, 2048, 3072):
        matrix = torch.randn(size, size).to(dtype)
        rates += [2 * size**3 / _common.best(lambda m=matrix: m @ m) for _ in range(5)]
    rate = max(rates)
    report(f"large matrix products, {dtype}", 1, lambda: matrix @ matrix, giga_per_second=rate / 1e9)
    return rate
