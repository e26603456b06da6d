"""Initial values: the base class, the defaults, and the initializer set for all layers."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...._kit import fans as kit
from ...tensor.tensor import Tensor


class Initializer:
    """Fills a parameter. Subclasses give `values(shape, dtype)`; users may override `forward` or `__call__`."""

    def __call__(self, param: Tensor, block: Any = None) -> Any:
        """Overwrite the values of `param`."""
        return self.forward(param, block)

    def forward(self, param: Tensor, block: Any = None) -> Any:
        """Overwrite the values of `param`."""
        with torch.no_grad():
            torch.Tensor.copy_(param.detach(), self.values(list(param.shape), torch.Tensor.dtype.__get__(param)))  # type: ignore[attr-defined]
        return param

    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        """New values of `shape`."""
        raise NotImplementedError(f"{type(self).__name__} must give values(shape, dtype) or override forward")


def fans(shape: list[int]) -> tuple[int, int]:
    """How many inputs and outputs a weight of `shape` has: [in, out], or [out, in, ...window]."""
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    if len(shape) == 2:
        return shape[0], shape[1]
    return kit.fans(shape)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor recommended for weights before an activation.

    Raises:
        ValueError: for an activation that has none.
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    gains: dict[str, float] = {
        "sigmoid": 1, "linear": 1, "conv1d": 1, "conv2d": 1, "conv3d": 1, "conv1d_transpose": 1,
        "conv2d_transpose": 1, "conv3d_transpose": 1, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4,
    }  # fmt: skip
    if nonlinearity not in gains:
        raise ValueError(f"nonlinearity function {nonlinearity} is not suppported now; known are {', '.join(gains)}")
    return gains[nonlinearity]


_global: dict[bool, Initializer | None] = {True: None, False: None}


def set_global_initializer(weight_init: Initializer | None, bias_init: Initializer | None = None) -> None:
    """Make these the initializers of all parameters whose ParamAttr names none; None goes back to the layers' own.

    Raises:
        TypeError: for anything but an Initializer or None.
    """
    for name, value in (("weight_init", weight_init), ("bias_init", bias_init)):
        if value is not None and not isinstance(value, Initializer):
            raise TypeError(
                f"set_global_initializer: {name} must be an Initializer or None, got {type(value).__name__}"
            )
    _global[False], _global[True] = weight_init, bias_init


def global_initializer(is_bias: bool) -> Initializer | None:
    """The initializer set for all weights or biases, if any."""
    return _global[is_bias]


class _Xavier(Initializer):
    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        from .xavier import XavierUniform

        return XavierUniform().values(shape, dtype)


class _Zero(Initializer):
    def values(self, shape: list[int], dtype: torch.dtype) -> torch.Tensor:
        return torch.zeros(shape, dtype=dtype)


DEFAULT_WEIGHT = _Xavier()
DEFAULT_BIAS = _Zero()
