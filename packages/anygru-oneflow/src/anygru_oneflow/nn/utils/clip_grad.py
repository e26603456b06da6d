"""Limits for gradients: torch's functions."""

from collections.abc import Iterable

import torch
from torch.nn import utils as _torch

from ...framework.dressing import inside_torch
from ...framework.tensor import Tensor

clip_grad_norm_ = inside_torch(_torch.clip_grad_norm_)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Limit each gradient's values to -clip_value .. clip_value; parameters without a gradient are passed over."""
    given = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
    limited = [parameter for parameter in given if parameter.grad is not None]
    if limited:
        with torch._C.DisableTorchFunctionSubclass():
            _torch.clip_grad_value_(limited, clip_value)
