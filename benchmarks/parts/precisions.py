"""What bfloat16 changes in log p of sentences, and in which of each pair is preferred."""

from collections.abc import Callable

import _common
import numpy as np
import torch

# log p of sentences, of which every two are a pair, the better one first.
LogProbs = Callable[[torch.dtype], np.ndarray]


def report_precisions(report: _common.Report, log_probs: LogProbs, trees: int, **more: _common.Beside) -> None:
    """Both precisions, against float32."""
    exact = log_probs(torch.float32)
    for dtype in (torch.float32, torch.bfloat16):
        found = log_probs(dtype)
        preferred, truly = (values[::2] > values[1::2] for values in (found, exact))
        difference = np.abs(found - exact)
        report(
            f"scoring, {trees} trees, {_common.in_words(dtype)}: sentences", len(exact),
            lambda dtype=dtype: log_probs(dtype), mean_difference=float(difference.mean()),
            largest_difference=float(difference.max()), accuracy=float(preferred.mean()),
            changed_decisions=int((preferred != truly).sum()), pairs=len(preferred), **more,
        )  # fmt: skip
