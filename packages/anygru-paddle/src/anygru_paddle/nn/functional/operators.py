"""The operators that an argument `act` names: Paddle's kernels have different names and defaults.

`act="leaky_relu"` has the slope 0.02 where `paddle.nn.functional.leaky_relu` has 0.01 (recorded, 2.6.2).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import hardtanh  # as in Paddle's kernels, its gradient at both ends is 0; `clamp` has 1

from ...tensor import math, ops
from ...tensor.operation import row
from . import activation


def _brelu(x: torch.Tensor, t_min: float = 0.0, t_max: float = 24.0) -> torch.Tensor:
    return hardtanh(x, t_min, t_max)


def _relu6(x: torch.Tensor, threshold: float = 6.0) -> torch.Tensor:
    return hardtanh(x, 0.0, threshold)


def _hard_swish(x: torch.Tensor, threshold: float = 6.0, scale: float = 6.0, offset: float = 3.0) -> torch.Tensor:
    return x * hardtanh(x + offset, 0.0, threshold) / scale


def _soft_relu(x: torch.Tensor, threshold: float = 40.0) -> torch.Tensor:
    return torch.log(1 + torch.exp(hardtanh(x, -threshold, threshold)))


brelu, relu6, hard_swish, soft_relu = (
    row(each.__name__.lstrip("_"), each, f"`{each.__name__.lstrip('_')}` of Paddle 1.x.")
    for each in (_brelu, _relu6, _hard_swish, _soft_relu)
)

_OF_OPS = """abs acos acosh asin asinh atan atanh ceil cos cosh erf exp expm1 floor log log10 log1p log2 reciprocal round rsqrt
    sigmoid sin sinh sqrt square tan tanh"""
_ACTIVATIONS = (
    """celu elu gelu log_softmax mish relu selu silu softmax softplus softshrink softsign swish thresholded_relu"""
)

OPERATORS: dict[str, Callable[..., Any]] = {
    **{name: getattr(ops, name) for name in _OF_OPS.split()},
    **{name: getattr(activation, name) for name in _ACTIVATIONS.split()},
    "brelu": brelu,
    "hard_shrink": activation.hardshrink,
    "hard_sigmoid": lambda x: activation.hardsigmoid(x, 0.2, 0.5),
    "hard_swish": hard_swish,
    "leaky_relu": lambda x: activation.leaky_relu(x, 0.02),
    "logit": lambda x: math.logit(x, 1e-6),
    "logsigmoid": activation.log_sigmoid,
    "relu6": relu6,
    "soft_relu": soft_relu,
    "stanh": math.stanh,
    "tanh_shrink": activation.tanhshrink,
}
"""By the operator's name, a function of one tensor with the operator's defaults."""


def activation_of(name: str | None) -> Callable[[Any], Any]:
    """The operator that the argument `act` names; None leaves values unchanged.

    Raises:
        ValueError: for another name.
    """
    if name is None:
        return lambda value: value
    found = OPERATORS.get(name) if isinstance(name, str) else None
    if found is None:
        raise ValueError(f"act must be one of {', '.join(sorted(OPERATORS))}, got {name!r}")
    return found
