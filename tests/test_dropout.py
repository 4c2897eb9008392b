"""Dropout: who is dropped, how often, what the others are multiplied by, and gradients; as PyTorch's own says."""

import pytest
import torch
from torch import nn

from dtglib.network.dropout import Dropout

RATES = (0.1, 0.3, 0.5)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_values_are_dropped_at_the_rate_and_the_others_make_up_for_it(rate, dtype):
    torch.manual_seed(1)
    x = torch.ones(1000, 1001, dtype=dtype)
    found = Dropout(rate)(x)
    assert found.dtype == dtype
    share = (found == 0).float().mean().item()
    assert share == pytest.approx(rate, abs=5 * (rate * (1 - rate) / x.numel()) ** 0.5)
    values = found[found != 0].unique()
    if dtype == torch.bfloat16:
        assert values.tolist() == nn.Dropout(rate)(x).unique()[1:].tolist()
    assert values.float().tolist() == pytest.approx([1 / (1 - rate)], rel=1e-4 if dtype == torch.float32 else 2**-8)


def test_neighbours_are_dropped_independently():
    torch.manual_seed(1)
    dropped = (Dropout(0.5)(torch.ones(2**20)) == 0).view(-1, 4)
    patterns = torch.bincount((dropped * torch.tensor([1, 2, 4, 8])).sum(1), minlength=16) / len(dropped)
    assert patterns.tolist() == pytest.approx([1 / 16] * 16, abs=5 * (15 / 256 / len(dropped)) ** 0.5)


@pytest.mark.parametrize("size", [(), (1,), (3,), (4,), (5, 7), (0, 3)])
def test_any_number_of_values_will_do(size):
    torch.manual_seed(1)
    x = torch.full(size, 3.0, dtype=torch.float64)
    assert set(Dropout(0.5)(x).flatten().tolist()) <= {0.0, 6.0}


def test_gradients_go_where_values_stay():
    torch.manual_seed(1)
    x = torch.randn(40, 5, requires_grad=True)
    found = Dropout(0.3)(x)
    found.sum().backward()
    torch.testing.assert_close(found, x * x.grad)
    assert 0 < (x.grad == 0).sum() < x.numel()


def test_the_same_seed_drops_the_same():
    first, second = (torch.manual_seed(7) and Dropout(0.5)(torch.ones(100)) for _ in range(2))
    assert first.equal(second)


@pytest.mark.parametrize("rate", [0.0, 1.0, 1e-6])
def test_where_all_or_none_are_dropped_it_is_as_pytorch_does(rate):
    x = torch.randn(50)
    torch.testing.assert_close(Dropout(rate)(x), torch.zeros(50) if rate == 1 else x)


def test_nothing_is_dropped_in_evaluation():
    x = torch.randn(50)
    assert Dropout(0.5).eval()(x).equal(x)
