"""`InputSpec`: the shape, dtype and name of an input."""

from collections.abc import Sequence

import numpy as np
import torch

from ..framework.dtype import as_dtype, dtype
from ..framework.kinds import DTypeLike

__all__ = ["InputSpec"]


class InputSpec:
    """A description of an input.

    Args:
        shape: lengths; None or a negative number for an unknown length.
        dtype: the element type; a NumPy type is kept.
        name: the input's name.
        stop_gradient: whether it needs no gradient.

    Raises:
        TypeError: unless the shape is a list or tuple.
        ValueError: for a length that is not an int.
    """

    def __init__(
        self,
        shape: Sequence[int | None],
        dtype: DTypeLike = "float32",
        name: str | None = None,
        stop_gradient: bool = False,
    ) -> None:
        if not isinstance(shape, (list, tuple)):
            raise TypeError(
                f"Type of `shape` in InputSpec should be one of (tuple, list), but received {type(shape).__name__}."
            )
        for axis, length in enumerate(shape):
            if not isinstance(length, (int, type(None))):
                raise ValueError(f"shape[{axis}] should be an `int`, but received `{type(length).__name__}`:{length}.")
        self.shape = tuple(-1 if length is None or length < 0 else length for length in shape)
        self.dtype = as_dtype(dtype) if isinstance(dtype, (str, torch.dtype)) else dtype
        self.name = name
        self.stop_gradient = stop_gradient

    @classmethod
    def from_tensor(cls, tensor: torch.Tensor, name: str | None = None) -> "InputSpec":
        """The description of a tensor, under its own name unless another is given."""
        return cls(list(tensor.shape), tensor.dtype, name or getattr(tensor, "name", None))

    @classmethod
    def from_numpy(cls, ndarray: np.ndarray, name: str | None = None) -> "InputSpec":
        """The description of an array."""
        return cls(ndarray.shape, as_dtype(ndarray.dtype), name)

    def batch(self, batch_size: int | Sequence[int]) -> "InputSpec":
        """Put an axis of this length in front, in place.

        Raises:
            ValueError: for a list of other than one length.
            TypeError: for a length that is not an int.
        """
        if isinstance(batch_size, (list, tuple)):
            if len(batch_size) != 1:
                raise ValueError(f"Length of batch_size: {batch_size} shall be 1, but received {len(batch_size)}.")
            batch_size = batch_size[0]
        if not isinstance(batch_size, (int, np.integer)):
            raise TypeError(f"type(batch_size) shall be `int`, but received {type(batch_size).__name__}.")
        self.shape = (int(batch_size), *self.shape)
        return self

    def unbatch(self) -> "InputSpec":
        """Take the first axis away, in place.

        Raises:
            ValueError: if there is none.
        """
        if not self.shape:
            raise ValueError("Not support to unbatch a InputSpec when len(shape) == 0.")
        self.shape = self.shape[1:]
        return self

    def _facts(self) -> tuple[tuple[int, ...], dtype | object, str | None, bool]:
        return self.shape, self.dtype, self.name, self.stop_gradient

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def __repr__(self) -> str:
        return (
            f"InputSpec(shape={self.shape}, dtype={self.dtype}, name={self.name}, stop_gradient={self.stop_gradient})"
        )
