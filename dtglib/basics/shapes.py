"""Shapes in signatures: `visible: Bool[Tensor, "B T T"]`.

They come from jaxtyping, and the tests can check them. Where jaxtyping is not installed, as on a machine that has
little more than PyTorch, they are plain tensors.
"""

try:
    from jaxtyping import Bool, Float, Int
except ModuleNotFoundError:
    from torch import Tensor

    class Bool:  # type: ignore[no-redef]
        def __class_getitem__(cls, shape: object) -> type:
            return Tensor

    Float = Int = Bool

__all__ = ["Bool", "Float", "Int"]
