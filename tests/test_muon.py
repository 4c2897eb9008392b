"""Muon's steps against their definition by singular values, and against PyTorch's, which are in bfloat16."""

import pytest
import torch
from torch import Tensor

from dtglib.training.muon import COEFFICIENTS, Muon, orthogonal

SHAPES = [(4, 4), (8, 3), (3, 8), (1, 5), (5, 1)]


def drawn(shape: tuple[int, ...], seed: int = 1) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def by_singular_values(matrix: Tensor) -> Tensor:
    left, values, right = torch.linalg.svd(matrix.double(), full_matrices=False)
    values = values / values.norm()
    for _ in range(5):
        values = sum(factor * values**power for factor, power in zip(COEFFICIENTS, (1, 3, 5), strict=True))
    return ((left * values) @ right).float()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_singular_values_go_through_the_polynomial_and_singular_vectors_stay(shape):
    matrix = drawn(shape)
    torch.testing.assert_close(orthogonal(matrix), by_singular_values(matrix), rtol=0, atol=1e-3)
    torch.testing.assert_close(orthogonal(matrix), orthogonal(matrix * 1000), rtol=0, atol=1e-3)


@pytest.mark.parametrize("shape", [(50, 50), (200, 50), (50, 200)], ids=str)
def test_most_singular_values_become_nearly_one(shape):
    values = torch.linalg.svdvals(orthogonal(drawn(shape)))
    assert ((values > 0.65) & (values < 1.25)).float().mean() > 0.9


def test_without_a_gradient_there_is_no_direction_either():
    assert orthogonal(torch.zeros(3, 4)).equal(torch.zeros(3, 4))


def taken(kind: str, decay: float = 0.0) -> list[Tensor]:
    """Matrices, a vector and a matrix that AdamW gets, after four steps of Muon, PyTorch's, or as defined."""
    parameters = [torch.nn.Parameter(drawn(shape)) for shape in [*SHAPES, (6,), (6, 2)]]
    matrices, others = parameters[: len(SHAPES)], parameters[len(SHAPES) :]
    rest = torch.optim.AdamW(others, lr=0.03, weight_decay=decay)
    if kind == "ours":
        groups = [{"params": matrices, "orthogonal": True, "lr": 0.01}, {"params": others, "lr": 0.03}]
        optimizers = [Muon(groups, weight_decay=decay)]
    else:
        optimizers = [rest, *([torch.optim.Muon(matrices, lr=0.01, weight_decay=decay)] if kind == "PyTorch's" else [])]
    averages = [torch.zeros(shape) for shape in SHAPES]
    for number in range(4):
        for parameter in parameters:
            parameter.grad = drawn(parameter.shape, seed=number + 2)
        if kind == "defined":
            for matrix, average in zip(matrices, averages, strict=True):
                average.copy_(0.95 * average + 0.05 * matrix.grad)
                step = by_singular_values(0.95 * average + 0.05 * matrix.grad)
                step *= max(1, matrix.shape[0] / matrix.shape[1]) ** 0.5
                matrix.data = matrix.data * (1 - 0.01 * decay) - 0.01 * step
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
    return [parameter.detach() for parameter in parameters]


@pytest.mark.parametrize("decay", [0.0, 2.0])
def test_steps_are_those_of_the_definition_and_nearly_those_of_pytorch(decay):
    for ours, defined, theirs in zip(
        taken("ours", decay), taken("defined", decay), taken("PyTorch's", decay), strict=True
    ):
        torch.testing.assert_close(ours, defined, rtol=0, atol=1e-4)
        torch.testing.assert_close(ours, theirs, rtol=0, atol=3e-3)


def test_a_matrix_without_a_gradient_stays_as_it_is():
    idle, other = (torch.nn.Parameter(drawn((3, 2))) for _ in range(2))
    optimizer = Muon([{"params": [idle, other], "orthogonal": True}], lr=0.1)
    other.grad = drawn((3, 2), seed=2)
    optimizer.step()
    assert idle.equal(drawn((3, 2))) and not other.equal(drawn((3, 2)))
    assert idle not in optimizer.state
