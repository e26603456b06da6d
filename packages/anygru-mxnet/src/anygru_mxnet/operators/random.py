"""Random numbers, on a CPU equal to MXNet 1.9.1's, on a GPU from torch. `mx.random.seed` seeds both.

Each distribution is a row of `_DRAWS` and has three operators. `_random_name` takes numbers, `_sample_name` arrays with the
parameters of a distribution in each element, and `_random_name_like` numbers and an array with the shape of the result.
"""

import math
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..base import DtypeLike, MXNetError, Sizes, torch_dtype
from ..context import ContextLike, as_context
from .generator import Lanes, generator
from .registry import operator, truth


def _sizes(shape: Any) -> tuple[int, ...]:
    if shape is None:
        # MXNet 1.9.1 then draws one number, in an array of shape (1,).
        return (1,)
    return tuple(int(n) for n in shape) if isinstance(shape, (tuple, list)) else (int(shape),)


def _empty(shape: Sizes, ctx: ContextLike, dtype: DtypeLike) -> Tensor:
    # A missing dtype is "None" in a symbol's file.
    kind = torch.float32 if dtype in (None, "None") else torch_dtype(dtype)
    return torch.empty(_sizes(shape), dtype=kind, device=as_context(ctx).device)


def _sampled(shape: Sizes) -> tuple[int, ...]:
    return () if shape is None else _sizes(shape)


def _repeat_parameter(parameter: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Repeat each distribution's parameter over its samples."""
    return parameter.reshape(parameter.shape + (1,) * len(shape)).expand(parameter.shape + shape)


Number = Any  # a float, or a tensor with a number for each draw
Draw = Callable[..., np.ndarray]


def _kind(dtype: torch.dtype) -> type[np.floating]:
    """The dtype in which MXNet draws the numbers of an array."""
    return np.float32 if dtype is torch.float32 else np.float64


def drawn_by_torch(tensor: Tensor) -> bool:
    """Whether torch's generator draws the numbers: on a GPU, and in a graph that torch compiles."""
    return tensor.device.type == "cuda" or torch.compiler.is_compiling()


def _numbers(value: Number, count: int) -> np.ndarray:
    """A parameter for each draw, in float32 as in MXNet."""
    if isinstance(value, Tensor):
        return value.detach().float().cpu().reshape(-1).numpy()
    return np.full(count, value, np.float32)


def filled(blank: Tensor, values: np.ndarray) -> Tensor:
    """A tensor of numbers with the shape, dtype and device of another. float64 becomes float16 through float32, as in MXNet."""
    if blank.dtype is torch.float16:
        values = values.astype(np.float32)
    return torch.from_numpy(values).reshape(blank.shape).to(blank.device, blank.dtype)


def _linear(numbers: Callable[[int, type[np.floating]], np.ndarray], by_torch: Callable[[Tensor], Tensor]) -> Any:
    """Draws that are scaled and shifted."""

    def draw(blank: Tensor, low: Number, factor: Number) -> Tensor:
        if blank.device.type == "meta":
            return blank
        if drawn_by_torch(blank):
            return low + factor * by_torch(blank)
        kind = _kind(blank.dtype)
        values = numbers(blank.numel(), kind) * _numbers(factor, 1).astype(kind)
        return filled(blank, values + _numbers(low, 1).astype(kind))

    return draw


def _one_at_a_time(sample: Callable[..., np.ndarray]) -> Callable[..., Tensor]:
    """Draws of a number at a time. The arguments of `sample` are the lanes, the dtype, and the parameters of their numbers."""

    def draw(blank: Tensor, *parameters: Number) -> Tensor:
        if blank.device.type == "meta":
            return blank
        if torch.compiler.is_compiling():
            raise NotImplementedError("random numbers of this kind cannot be compiled; in PyTorch: torch.distributions")
        columns, kind = [_numbers(parameter, blank.numel()) for parameter in parameters], _kind(blank.dtype)
        one = lambda lanes, places: sample(lanes, kind, *(column[places] for column in columns))  # noqa: E731
        return filled(blank, generator.one_by_one(blank.numel(), one))

    return draw


def _exponential(blank: Tensor, lam: Number) -> Tensor:
    if blank.device.type == "meta":
        return blank
    if drawn_by_torch(blank):
        return blank.exponential_() / lam
    uniform = generator.uniform(blank.numel(), _kind(blank.dtype)).astype(np.float64)
    return filled(blank, -np.log(1.0 - uniform) / _numbers(lam, 1))


def _negative_binomial(lanes: Lanes, _: type, k: np.ndarray, p: np.ndarray) -> np.ndarray:
    # Failures before k successes are a Poisson draw with a gamma draw as its rate.
    return lanes.poisson(lanes.gamma(k, (1 - p) / p))


def _generalized(lanes: Lanes, _: type, mu: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    rates = mu.copy()
    if (alpha != 0).all():
        rates = lanes.gamma(1 / alpha, alpha * mu)
    return lanes.poisson(rates)


_uniform = _linear(generator.uniform, lambda blank: blank.uniform_())
# name -> (parameters with their defaults, their names with arrays if they differ, how to draw)
_DRAWS: dict[str, tuple[dict[str, float], tuple[str, ...], Callable[..., Tensor]]] = {
    "uniform": ({"low": 0.0, "high": 1.0}, (), lambda blank, low, high: _uniform(blank, low, _width(low, high))),
    "normal": ({"loc": 0.0, "scale": 1.0}, ("mu", "sigma"), _linear(generator.normal, lambda blank: blank.normal_())),
    "exponential": ({"lam": 1.0}, (), _exponential),
    # beta is a scale (draws for alpha = 2, beta = 3 have the mean 6 in MXNet 1.9.1, observed), and a rate in torch and most
    # papers.
    "gamma": (
        {"alpha": 1.0, "beta": 1.0},
        (),
        _one_at_a_time(lambda lanes, kind, alpha, beta: lanes.gamma(alpha, beta, kind)),
    ),
    "poisson": ({"lam": 1.0}, (), _one_at_a_time(lambda lanes, kind, lam: lanes.poisson(lam))),
    "negative_binomial": ({"k": 1.0, "p": 1.0}, (), _one_at_a_time(_negative_binomial)),
    "generalized_negative_binomial": ({"mu": 1.0, "alpha": 1.0}, (), _one_at_a_time(_generalized)),
}


def _width(low: Number, high: Number) -> Number:
    """The difference in float32, as MXNet holds both."""
    return high - low if isinstance(low, Tensor) else np.float32(high) - np.float32(low)


_POSITIVE = {"normal": ("scale",), "exponential": ("lam",), "gamma": ("alpha", "beta")}
_NOT_NEGATIVE = {"poisson": ("lam",), "negative_binomial": ("k",), "generalized_negative_binomial": ("mu", "alpha")}


def _check(name: str, parameters: dict[str, float]) -> None:
    """Raise an error for parameters that are errors in MXNet.

    Raises:
        MXNetError: naming the parameter.
    """
    if name == "uniform" and not parameters["low"] <= parameters["high"]:
        raise MXNetError(f"random.uniform: low must be less or equal to high, got {parameters}")
    for key in _POSITIVE.get(name, ()):
        if not parameters[key] > 0:
            raise MXNetError(f"random.{name}: {key} has to be positive, got {parameters[key]}")
    for key in _NOT_NEGATIVE.get(name, ()):
        if not parameters[key] >= 0:
            raise MXNetError(f"random.{name}: {key} has to be at least 0, got {parameters[key]}")


def _signed(compute: Callable[..., Tensor], **defaults: Any) -> Callable[..., Tensor]:
    """A function of keywords with a signature for the operator's inputs and attributes."""

    def operation(*args: Any, **kwargs: Any) -> Tensor:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return compute(**bound.arguments)

    kind = Parameter.POSITIONAL_OR_KEYWORD
    signature = Signature([Parameter(name, kind, default=value) for name, value in defaults.items()])
    operation.__signature__ = signature  # type: ignore[attr-defined]
    return operation


def _register(name: str, numbers: dict[str, float], arrays: tuple[str, ...], draw: Callable[..., Tensor]) -> None:
    def of_numbers(shape: Sizes, ctx: ContextLike, dtype: DtypeLike, **parameters: float) -> Tensor:
        _check(name, parameters)
        return draw(_empty(shape, ctx, dtype), *parameters.values())

    def of_arrays(shape: Sizes, dtype: DtypeLike, **parameters: Tensor) -> Tensor:
        sizes = _sampled(shape)
        spread = [_repeat_parameter(parameter, sizes) for parameter in parameters.values()]
        drawn = draw(torch.empty_like(spread[0], memory_format=torch.contiguous_format), *spread)
        return drawn if dtype in (None, "None") else drawn.to(torch_dtype(dtype))

    def like(data: Tensor, **parameters: float) -> Tensor:
        _check(name, parameters)
        return draw(torch.empty_like(data), *parameters.values())

    short = [name] if name in ("uniform", "normal") else []
    operator(f"_random_{name}", f"random_{name}", *short, inputs=0)(
        _signed(of_numbers, **numbers, shape=None, ctx=None, dtype=None)
    )
    each = dict.fromkeys(arrays or tuple(numbers), Parameter.empty)
    operator(f"_sample_{name}", f"sample_{name}", inputs=len(each))(_signed(of_arrays, **each, shape=None, dtype=None))
    operator(f"_random_{name}_like")(_signed(like, data=Parameter.empty, **numbers))


for _name, _row in _DRAWS.items():
    _register(_name, *_row)


@operator("_random_randint", "random_randint", inputs=0)
def _randint(low: int, high: int, shape: Sizes = None, ctx: ContextLike = None, dtype: DtypeLike = "int32") -> Tensor:
    blank = _empty(shape, ctx, "int32" if dtype in (None, "None") else dtype)
    low, high = int(low), int(high)
    if low >= high:
        raise MXNetError(f"random.randint: high must be above low, got low={low}, high={high}")
    if blank.device.type == "meta":
        return blank
    if drawn_by_torch(blank):
        return blank.random_(low, high)
    return filled(blank, generator.integers(blank.numel(), low, high))


@operator(
    "_sample_multinomial",
    "sample_multinomial",
    visible=lambda attributes: 2 if truth(attributes.get("get_prob", False)) else 1,
)
def _sample_multinomial(
    data: Tensor, shape: Sizes = None, get_prob: bool = False, dtype: DtypeLike = "int32"
) -> Tensor | tuple[Tensor, Tensor]:
    sizes = _sampled(shape)
    count = torch.Size(sizes).numel()
    rows = data.reshape(-1, data.shape[-1])
    lead = data.shape[:-1]
    if data.device.type == "meta":
        drawn = torch.empty((len(rows), count), dtype=torch.int64, device="meta")
    elif drawn_by_torch(data):
        drawn = torch.multinomial(rows.detach(), count, replacement=True)
    else:
        chances = rows.detach().double().cumsum(1)
        uniform = filled(chances.new_empty(len(rows), count), generator.one_uniform(len(rows) * count))
        drawn = torch.searchsorted(chances, uniform, right=True).clamp_(max=data.shape[-1] - 1)
    samples = drawn.to(torch_dtype(dtype)).reshape((*lead, *sizes) or (1,))
    if not truth(get_prob):
        return samples
    return samples, torch.log(rows.gather(1, drawn)).reshape(samples.shape)


@operator("_shuffle", "shuffle")
def shuffle(data: Tensor) -> Tensor:
    """The rows in random order."""
    if data.device.type == "meta":
        return torch.empty_like(data)
    if drawn_by_torch(data):
        return data[torch.randperm(data.shape[0], device=data.device)]
    return data[torch.from_numpy(generator.one_order(data.shape[0], data.ndim == 1))]


@operator("_sample_unique_zipfian", inputs=0, visible=2)
def _sample_unique_zipfian(range_max: int, shape: Sizes = None) -> tuple[Tensor, Tensor]:
    """For each row, different integers below `range_max` (small ones are more frequent), and the number of draws for them."""
    rows, count = _sizes(shape)
    blank = torch.empty((rows, count), dtype=torch.int64)
    if blank.device.type == "meta":
        return blank, blank[:, 0]
    samples, tries = [], []
    for row in range(rows):
        lane, drawn = generator.lane(row), 0
        found: list[int] = []
        while len(found) < count:
            real = lane.uniform(np.arange(1), np.float64)[0]
            value = (math.floor(math.exp(real * math.log(range_max)) + 0.5) - 1) % range_max
            drawn += 1
            if value not in found:
                found.append(value)
        samples.append(found)
        tries.append(drawn)
    return torch.tensor(samples), torch.tensor(tries)
