"""The base class of initializers."""

from anygru.extend import fans

from .types import DTypeSpec, NdArray


class Initializer:
    """Fills an array in place when called with it.

    Args:
        dtype: the dtype that arrays made for it should have; None for the configured one.
    """

    def __init__(self, dtype: DTypeSpec = None) -> None:
        self.dtype = dtype

    def __call__(self, array: NdArray) -> None:
        raise NotImplementedError

    def check_dtype(self, array: NdArray) -> None:
        """Raise AssertionError if the array has another dtype than the one asked for."""
        if self.dtype is not None and array.dtype != self.dtype:
            raise AssertionError(f"the array has dtype {array.dtype}, but {type(self).__name__} asks for {self.dtype}")


def get_fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Fan-in and fan-out of a weight of shape (out, in, ...); ValueError below two axes."""
    if not isinstance(shape, tuple):
        raise ValueError(f"shape must be tuple. Actual type: {type(shape)}")
    if len(shape) < 2:
        raise ValueError(f"shape must be of length >= 2. Actual shape: {shape}")
    return fans(shape)
