"""Clipping gradients in place, parameters as one vector, and weights as lengths and directions."""

from collections.abc import Iterable
from typing import Any

import torch

from ...tensor.operation import wrap
from ...tensor.tensor import Tensor
from .spectral_norm_hook import spectral_norm as spectral_norm
from .weight_norm_hook import remove_weight_norm as remove_weight_norm
from .weight_norm_hook import weight_norm as weight_norm


def _list(parameters: Any) -> list[Any]:
    return [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale the gradients down together, in place, if their norm is above `max_norm`; the norm before is returned.

    Raises:
        RuntimeError: if the norm is not finite and `error_if_nonfinite` is set.
    """
    if norm_type not in (0, 1, 2, float("inf")):
        raise ValueError("norm_type only support [inf, 0, 1, 2]")
    grads = [each.grad for each in _list(parameters) if each.grad is not None]
    if not grads:
        return wrap(torch.tensor(0.0))
    with torch.no_grad():
        norms = torch.stack([torch.linalg.vector_norm(grad, float(norm_type)) for grad in grads])
        total = torch.linalg.vector_norm(norms, float(norm_type))
        if error_if_nonfinite and not bool(torch.isfinite(total)):
            raise RuntimeError(
                f"The total norm of {norm_type} order of the gradients from `parameters` is non-finite, so it cannot be clipped."
            )
        factor = torch.clamp(float(max_norm) / (total + 1e-6), max=1.0)
        for grad in grads:
            torch.Tensor.mul_(grad, factor)
    return wrap(total)


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Hold every element of the gradients within `clip_value` of 0, in place."""
    with torch.no_grad():
        for each in _list(parameters):
            if each.grad is not None:
                torch.Tensor.clamp_(each.grad, -float(clip_value), float(clip_value))


def parameters_to_vector(parameters: Iterable[Any], name: str | None = None) -> Tensor:
    """All parameters flattened and joined."""
    return wrap(torch.cat([torch.flatten(each) for each in parameters]))


def vector_to_parameters(vec: torch.Tensor, parameters: Iterable[Any], name: str | None = None) -> None:
    """The parts of a vector written into parameters, in place."""
    place = 0
    with torch.no_grad():
        for each in parameters:
            count = torch.Tensor.numel(each)
            torch.Tensor.copy_(each.detach(), torch.reshape(vec[place : place + count], list(each.shape)))
            place += count
