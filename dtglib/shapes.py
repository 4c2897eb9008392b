"""Shapes in signatures: `visible: Bool[Tensor, "B T T"]`.

They are jaxtyping's, and tests can have them checked. Where jaxtyping is not installed, as on a machine that has little
more than PyTorch, they are plain tensors.
"""

try:
    from jaxtyping import Bool, Float, Int
except ModuleNotFoundError:
    from torch import Tensor

    class Bool:
        def __class_getitem__(cls, shape: object) -> type:
            return Tensor

    Float = Int = Bool

__all__ = ["Bool", "Float", "Int"]
