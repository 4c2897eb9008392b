"""supar's LSTM on PyTorch's own kernels, for sentences that are parsed.

supar's LSTM drops parts of its state in training, and takes its steps one by one; on a GPU a step is ten launches of
almost no work. Without dropout it is an ordinary LSTM, whose layers are one call each. The weights are the same.
"""

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from dtglib.parsing.from_supar import VariationalLSTM


@contextlib.contextmanager
def fused(network: nn.Module) -> Iterator[None]:
    """Within this block, an LSTM encoder computes a layer in one call; other encoders stay."""
    encoder = network.encoder
    if not isinstance(encoder, VariationalLSTM):
        yield
        return
    encoder.forward = lambda sequence: (_forward(encoder, sequence), None)
    try:
        yield
    finally:
        del encoder.forward


def _forward(lstm: VariationalLSTM, sequence: PackedSequence) -> PackedSequence:
    x, sizes = sequence.data, sequence.batch_sizes
    begin = x.new_zeros(2, int(sizes[0]), lstm.hidden_size)
    for cells in zip(lstm.f_cells, lstm.b_cells, strict=True):
        weights: list[Tensor] = [
            weight for cell in cells for weight in (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
        ]
        x, _, _ = torch._VF.lstm(x, sizes, (begin, begin), weights, True, 1, 0.0, False, True)
    return sequence._replace(data=x)
