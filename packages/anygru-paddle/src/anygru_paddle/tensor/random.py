"""Random tensors."""

import math
from typing import Any

import numpy as np
import torch

from ..base.core import expected_place
from ..base.errors import no_kernel
from ..framework.dtype import single, torch_dtype
from ..framework.framework import default_torch_dtype
from ..framework.kinds import DTypeLike, Shape
from ..framework.random import Generator, default_generator
from .operation import as_sizes, need_tensor, operation, wrap

__all__ = [
    "bernoulli", "multinomial", "normal", "poisson", "rand", "randint", "randint_like", "randn", "randperm",
    "standard_normal", "uniform",
]  # fmt: skip


def _kind(dtype: torch.dtype) -> type[np.floating]:
    # Half precision is drawn in single precision and rounded.
    return np.float64 if dtype == torch.float64 else np.float32


def _count(sizes: list[int]) -> int:
    """How many numbers a shape holds."""
    if min(sizes, default=0) < 0:
        raise no_kernel(f"(PreconditionNotMet) a random tensor needs lengths of 0 or more, got shape {sizes}")
    return int(np.prod(sizes))


def _shaped(values: np.ndarray, sizes: list[int], dtype: torch.dtype) -> torch.Tensor:
    return wrap(torch.from_numpy(values.reshape(sizes)).to(device=expected_place().device, dtype=dtype))


def _float_dtype(dtype: DTypeLike, operation_name: str) -> torch.dtype:
    wanted = default_torch_dtype() if dtype is None else torch_dtype(dtype)
    if not wanted.is_floating_point:
        raise no_kernel(f"(NotFound) {operation_name}(): dtype must be a floating-point type, but received {dtype}")
    return wanted


def _stream(seed: int) -> Generator:
    return Generator.started_plainly(seed) if seed else default_generator


def uniform_values(sizes: list[int], low: float, high: float, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    """Numbers evenly from `low` to `high`, drawn as in Paddle 2.6.2 on a CPU (recorded)."""
    return _shaped(_stream(seed).uniform(_count(sizes), single(low), single(high), _kind(dtype)), sizes, dtype)


def normal_values(sizes: list[int], mean: float, std: float, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    """Normal numbers, drawn as in Paddle 2.6.2 on a CPU (recorded)."""
    return _shaped(_stream(seed).normal(_count(sizes), single(mean), single(std), _kind(dtype)), sizes, dtype)


@operation
def uniform(
    shape: Shape, dtype: DTypeLike = None, min: float = -1.0, max: float = 1.0, seed: int = 0, name: str | None = None
) -> torch.Tensor:
    """Numbers evenly from `min` to `max`; a `seed` other than 0 starts a separate stream."""
    wanted = _float_dtype(dtype, "uniform")
    return uniform_values(as_sizes(shape), float(min), float(max), wanted, seed)


@operation
def rand(shape: Shape, dtype: DTypeLike = None, name: str | None = None) -> torch.Tensor:
    """Numbers evenly from 0 to 1."""
    return uniform_values(as_sizes(shape), 0.0, 1.0, _float_dtype(dtype, "rand"))


@operation
def randn(shape: Shape, dtype: DTypeLike = None, name: str | None = None) -> torch.Tensor:
    """Normal numbers of mean 0 and standard deviation 1."""
    return normal_values(as_sizes(shape), 0.0, 1.0, _float_dtype(dtype, "randn"))


standard_normal = randn


@operation
def normal(mean: Any = 0.0, std: Any = 1.0, shape: Any = None, name: str | None = None) -> torch.Tensor:
    """Normal numbers; the shape comes from `mean` or `std` if one of them is a tensor."""
    for each in (mean, std):
        if isinstance(each, torch.Tensor):
            out = normal_values(list(each.shape), 0.0, 1.0, torch_dtype(each.dtype))
            return torch.add(torch.mul(out, std), mean if isinstance(mean, torch.Tensor) else single(mean))
    return normal_values(as_sizes(shape), float(mean), float(std), default_torch_dtype())


@operation
def randint(
    low: int = 0, high: int | None = None, shape: Shape = (1,), dtype: DTypeLike = None, name: str | None = None
) -> torch.Tensor:
    """Integers from `low` up to, not including, `high` (from 0 up to `low` without it)."""
    if high is None:
        if low <= 0:
            raise ValueError(f"If high is None, low must be greater than 0, but received low = {low}.")
        low, high = 0, low
    if low >= high:
        raise ValueError(f"randint's low must less then high, but received low = {low}, high = {high}")
    sizes = as_sizes(shape)
    wanted = torch.int64 if dtype is None else torch_dtype(dtype)
    if wanted not in (torch.int32, torch.int64):
        raise no_kernel(f"(NotFound) randint(): dtype must be int32 or int64, but received {dtype}")
    return _shaped(default_generator.integers(_count(sizes), int(low), int(high)), sizes, wanted)


@operation
def randint_like(
    x: torch.Tensor, low: int = 0, high: int | None = None, dtype: DTypeLike = None, name: str | None = None
) -> torch.Tensor:
    """As `randint`, in the shape (and dtype) of `x`."""
    need_tensor(x, "x", "randint_like")
    return torch.Tensor.to(randint(low, high, list(x.shape)), torch_dtype(x.dtype if dtype is None else dtype))


@operation
def randperm(n: int, dtype: DTypeLike = "int64", name: str | None = None) -> torch.Tensor:
    """0 .. n - 1 in random order."""
    _count([int(n)])
    return _shaped(default_generator.permutation(int(n)), [int(n)], torch_dtype(dtype))


@operation
def bernoulli(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """1 with the given probability, 0 otherwise."""
    draws = uniform_values(list(x.shape), 0.0, 1.0, torch_dtype(x.dtype))
    return torch.Tensor.to(torch.lt(draws, x), torch_dtype(x.dtype))


@operation
def gaussian(
    shape: Shape, mean: float = 0.0, std: float = 1.0, seed: int = 0, dtype: DTypeLike = None, name: str | None = None
) -> torch.Tensor:
    """Normal numbers; a `seed` other than 0 starts a separate stream."""
    wanted, sizes = _float_dtype(dtype, "gaussian"), as_sizes(shape)
    return normal_values(sizes, float(mean), float(std), wanted, seed)


@operation
def multinomial(
    x: torch.Tensor, num_samples: int = 1, replacement: bool = False, name: str | None = None
) -> torch.Tensor:
    """Positions drawn with the weights of the last axis, as Paddle 2.6.2 draws them on a CPU (recorded).

    Raises:
        ValueError: for weights that are negative or all zeros, or fewer than the draws without replacement.
    """
    count, kind = int(num_samples), _kind(torch_dtype(x.dtype))
    if count < 1 or x.ndim not in (1, 2):
        raise ValueError(f"(InvalidArgument) multinomial(): {count} samples of weights of shape {list(x.shape)}")
    rows = x.detach().numpy().astype(kind).reshape(-1, x.shape[-1])
    if (rows < 0).any() or not rows.any(axis=1).all():
        raise ValueError("(InvalidArgument) multinomial(): weights must be 0 or more, and one of them positive")
    if not replacement and (np.count_nonzero(rows, axis=1) < count).any():
        raise ValueError("(InvalidArgument) multinomial(): without replacement there are too few positive weights")
    draws = default_generator.canonical(len(rows) * count, kind).reshape(len(rows), count)
    places = [_places(np.cumsum(row, dtype=kind), each, replacement) for row, each in zip(rows, draws, strict=True)]
    return _shaped(np.stack(places), [*list(x.shape)[:-1], count], torch.int64)


def _places(sums: np.ndarray, draws: np.ndarray, replacement: bool) -> np.ndarray:
    """For each draw the first place with a sum of weights that reaches it; without replacement a drawn place is removed."""
    sums = sums / sums[-1]
    if replacement:
        return np.searchsorted(sums, draws)
    found = np.empty(len(draws), np.int64)
    for i, draw in enumerate(draws):
        sums[-1] = 1  # it may be rounded below 1, and a draw above it would have no place
        place = found[i] = np.searchsorted(sums, draw)
        share = sums[place] - (sums[place - 1] if place else 0)
        sums[place:] -= share
        sums /= 1 - share
    return found


@operation
def poisson(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """Poisson numbers of the given rates; where a rate is 12 or more, torch's."""
    rates = x.detach().cpu().double().flatten().tolist()
    # GCC takes another method from 12 on, which is not followed here.
    if not all(0 <= rate < 12 for rate in rates):
        return torch.poisson(x)
    drawn = _shaped(np.array(_small_poisson(rates)), list(x.shape), torch_dtype(x.dtype))
    return x * 0 + drawn if x.requires_grad else drawn  # with a gradient, of zeros


def _small_poisson(rates: list[float]) -> list[float]:
    """As std::poisson_distribution of GCC: uniform numbers are multiplied until the product is at most exp(-rate)."""
    found: list[float] = []
    product, factors = 1.0, 0
    while len(found) < len(rates):
        for value in default_generator.canonical(len(rates) - len(found), np.float64).tolist():
            product, factors = product * value, factors + 1
            if product <= math.exp(-rates[len(found)]):
                found.append(factors - 1.0)
                product, factors = 1.0, 0
    return found
