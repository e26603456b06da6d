"""Given values."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...tensor.tensor import Tensor
from .initializer import Initializer


class Assign(Initializer):
    """The values of a tensor, array or list; as in Paddle the parameter takes their shape too.

    Raises:
        AssertionError: for values of another kind.
    """

    def __init__(self, value: Any, name: str | None = None) -> None:
        if not isinstance(value, (torch.Tensor, np.ndarray, list, tuple)):
            raise AssertionError(
                f"Assign: value must be a Tensor, a numpy array, a list or a tuple, got {type(value).__name__}"
            )
        self._value = value.numpy() if isinstance(value, torch.Tensor) else np.asarray(value)

    def forward(self, param: Tensor, block: Any = None) -> Tensor:
        """Overwrite values and shape of `param`."""
        value = torch.from_numpy(np.array(self._value)).to(param.device, torch.Tensor.dtype.__get__(param))  # type: ignore[attr-defined]
        with torch.no_grad():
            param.data = value
        return param


class NumpyArrayInitializer(Assign):
    """The name of `Assign` in fluid."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
