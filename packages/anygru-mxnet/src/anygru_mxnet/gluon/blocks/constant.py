"""`gluon.Constant`: a parameter with constant values."""

import warnings
from typing import Any

from ... import initializer
from ...ndarray.ndarray import NDArray
from ...ndarray.utils import array
from .parameter import Parameter

__all__ = ["Constant"]


class Constant(Parameter):
    """A parameter with constant values.

    Args:
        name: the full name.
        value: the values.
    """

    def __init__(self, name: str, value: Any) -> None:
        self.value = value if isinstance(value, NDArray) else array(value)
        constant = self.value

        class Init(initializer.Initializer):
            def _init_weight(self, _: Any, arr: NDArray) -> None:
                constant.copyto(arr)

        known_as = f"Constant_{name}_{id(self)}"
        initializer.alias(known_as)(Init)
        super().__init__(name, grad_req="null", shape=self.value.shape, dtype=self.value.dtype, init=known_as)

    @property
    def grad_req(self) -> str:
        """Always "null"."""
        return "null"

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req != "null":
            warnings.warn(
                f'Constant parameter "{self.name}" does not support grad_req other than "null", '
                f'and new value "{req}" is ignored.',
                stacklevel=2,
            )
