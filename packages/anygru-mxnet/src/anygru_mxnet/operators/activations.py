"""Activations and the softmax as operators."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from anygru.extend import single

from ..base import DtypeLike, MXNetError, torch_dtype
from ..state import state
from .registry import operator, truth

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softrelu": functional.softplus,
    "softsign": functional.softsign,
}


@operator("Activation", alike=True)
def _activation(data: Tensor, act_type: str) -> Tensor:
    if act_type not in ACTIVATIONS:
        raise MXNetError(f"Activation: act_type must be one of {', '.join(ACTIVATIONS)}, got {act_type!r}")
    return ACTIVATIONS[act_type](data)


def _slopes(gamma: Tensor, data: Tensor) -> Tensor:
    """Slopes of a parametric ReLU: for each channel (axis 1), or the same for all channels."""
    return gamma if gamma.numel() == 1 else gamma.reshape((-1,) + (1,) * (data.dim() - 2))


def _slopes_shape(attributes: Mapping[str, Any], shapes: list) -> list:
    if len(shapes) < 2 or shapes[0] is None or shapes[1] is not None:
        return shapes
    return [shapes[0], (shapes[0][min(1, len(shapes[0]) - 1)],)]


@operator(
    "LeakyReLU",
    inputs=2,
    infer=_slopes_shape,
    begins={"gamma": '["Constant", {"value": 0.25}]'},
    needs=lambda attributes: ["data", "gamma"] if attributes.get("act_type") == "prelu" else ["data"],
    visible=lambda attributes: 2 if attributes.get("act_type") == "rrelu" else 1,
    output_names=("output", "mask"),
)
def _leaky_relu(
    data: Tensor,
    gamma: Tensor | None = None,
    act_type: str = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
) -> Tensor | tuple[Tensor, Tensor]:
    # MXNet 1.9.1 stores an operator's numbers in float32 for arrays of every dtype: 0.1 is 0.10000000149 (observed).
    slope = single(slope)
    if act_type == "leaky":
        return functional.leaky_relu(data, slope)
    if act_type == "prelu":
        if gamma is None:
            raise MXNetError("LeakyReLU: act_type='prelu' needs gamma")
        return torch.where(data > 0, data, data * _slopes(gamma, data))
    if act_type == "elu":
        return functional.elu(data, slope)
    if act_type == "selu":
        return functional.selu(data)
    if act_type == "gelu":
        return functional.gelu(data)
    if act_type == "rrelu":
        return _randomized_relu(data, single(lower_bound), single(upper_bound))
    raise MXNetError(f"LeakyReLU: act_type must be leaky, prelu, elu, selu, gelu or rrelu, got {act_type!r}")


def _randomized_relu(data: Tensor, lower: float, upper: float) -> tuple[Tensor, Tensor]:
    """A leaky ReLU with random slopes in training and their mean in prediction. Returns the result and the slopes, as MXNet
    1.9.1.

    On a CPU MXNet crashes in training ("Segmentation fault", observed).
    """
    slopes = torch.full_like(data, (lower + upper) / 2).detach()
    if state.training:
        slopes.uniform_(lower, upper)
    return torch.where(data > 0, data, data * slopes), slopes


def _softmax_input(data: Tensor, temperature: float | None, name: str) -> Tensor:
    # MXNet 1.9.1 has no softmax of integers: "only support floating point types" (observed).
    if not data.dtype.is_floating_point:
        raise MXNetError(f"{name}: data must be of a floating dtype, got {data.dtype}")
    return data if temperature in (None, 1.0) else data / temperature


def _in_dtype(chances: Tensor, dtype: DtypeLike) -> Tensor:
    """Convert the result, which was computed in the input's dtype (1.9.1, recorded)."""
    return chances if dtype is None else chances.to(torch_dtype(dtype))


@operator(
    "softmax",
    inputs=2,
    needs=lambda attributes: ["data", "length"] if truth(attributes.get("use_length", False)) else ["data"],
)
def _softmax(
    data: Tensor,
    length: Tensor | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: DtypeLike = None,
    use_length: bool = False,
) -> Tensor:
    data = _softmax_input(data, temperature, "softmax")
    if length is not None:
        inside = torch.arange(data.shape[axis], device=data.device) < length.unsqueeze(-1)
        inside = inside.movedim(-1, axis) if axis not in (-1, data.dim() - 1) else inside
        # A row of length 0 is NaN in torch and zero in MXNet 1.9.1 (observed), so the padding is filled a second time.
        filled = data.masked_fill(~inside, -math.inf)
        return _in_dtype(torch.softmax(filled, axis).masked_fill(~inside, 0.0), dtype)
    return _in_dtype(torch.softmax(data, axis), dtype)


def _without_length(name: str, use_length: Any) -> None:
    if truth(use_length):  # MXNet's functions have the flag and no argument for the lengths (1.9.1, recorded)
        raise MXNetError(f"{name}: use_length must be False, since there is no input for lengths; use softmax")


@operator("log_softmax", alike=True)
def _log_softmax(
    data: Tensor, axis: int = -1, temperature: float | None = None, dtype: DtypeLike = None, use_length: bool = False
) -> Tensor:
    _without_length("log_softmax", use_length)
    data = _softmax_input(data, temperature, "log_softmax")
    return _in_dtype(torch.log_softmax(data, axis), dtype)


@operator("softmin", alike=True)
def _softmin(
    data: Tensor, axis: int = -1, temperature: float | None = None, dtype: DtypeLike = None, use_length: bool = False
) -> Tensor:
    _without_length("softmin", use_length)
    data = _softmax_input(data, temperature, "softmin")
    return _in_dtype(torch.softmax(-data, axis), dtype)


@operator("SoftmaxActivation", alike=True)
def _softmax_activation(data: Tensor, mode: str = "instance") -> Tensor:
    # In MXNet 1.9.1 "instance" is a softmax over the last axis (recorded), although it is documented as a softmax over each
    # sample.
    return torch.softmax(data, 1 if mode == "channel" else -1)
