"""Muon (Jordan and others 2024): matrices take steps whose singular values are all nearly the same.

    >>> [f"{value:.1f}" for value in torch.linalg.svdvals(orthogonal(torch.tensor([[3.0, 0.0], [0.0, 0.1]])))]
    ['1.1', '0.7']

`torch.optim.Muon` computes it in bfloat16, which some processors imitate so slowly that training takes five times as
long; this is in float32.
"""

import torch
from torch import Tensor

MOMENTUM = 0.95
COEFFICIENTS = 3.4445, -4.7750, 2.0315  # of a polynomial that, applied five times, takes most of 0 ... 1 to 0.7 ... 1.2


class Muon(torch.optim.AdamW):
    """Muon for groups with `orthogonal`, whose parameters are matrices, and AdamW for the others."""

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """One step of all parameters that have a gradient."""
        for group in self.param_groups:
            for matrix in group["params"] if group.get("orthogonal") else ():
                if matrix.grad is not None:
                    if not (state := self.state[matrix]):  # AdamW, when it reads a checkpoint, wants a step in each
                        state.update(step=torch.zeros(()), average=torch.zeros_like(matrix))
                    state["step"] += 1
                    average = state["average"].lerp_(matrix.grad, 1 - MOMENTUM)
                    step, (rows, columns) = orthogonal(matrix.grad.lerp(average, MOMENTUM)), matrix.shape
                    matrix.mul_(1 - group["lr"] * group["weight_decay"])
                    matrix.sub_(step, alpha=group["lr"] * max(1, rows / columns) ** 0.5)
                    matrix.grad = None  # so that AdamW leaves this matrix as it is
        super().step()


def orthogonal(matrix: Tensor) -> Tensor:
    """A matrix with the same singular vectors, whose singular values are nearly 1, by Newton and Schulz's iteration.

    Each round multiplies the matrix by a polynomial of its product with its transpose. That product is the smaller
    one, so the rounds use it alone, and the matrix is multiplied once, at the end.
    """
    a, b, c = COEFFICIENTS
    is_tall = matrix.shape[0] > matrix.shape[1]
    wide = matrix.T if is_tall else matrix
    wide = wide / wide.norm().clamp(min=1e-7)
    square, factors = wide @ wide.T, []
    for _ in range(5):
        square = factors[-1] @ square @ factors[-1] if factors else square
        factors.append(torch.addmm(square, square, square, beta=b, alpha=c))
        factors[-1].diagonal().add_(a)
    wide = torch.linalg.multi_dot([*factors, wide])
    return wide.T if is_tall else wide
