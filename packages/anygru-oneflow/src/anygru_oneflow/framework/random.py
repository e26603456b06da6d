"""The functions and methods that draw random numbers: on a CPU from OneFlow's generator (see `generator.py`)."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
import torch
from torch.distributed.tensor import DTensor

from .dressing import dress, torch_dtype
from .dtype import plain
from .functions import making
from .generator import Generator, default_generator, drawn, is_drawn_here
from .tensor import Tensor

__all__ = [
    "Generator", "bernoulli", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "multinomial", "normal",
    "rand", "randint", "randint_like", "randn", "randn_like", "randperm", "seed", "set_rng_state",
]  # fmt: skip


def _real(dtype: torch.dtype | None) -> Any:
    """The type that numbers are drawn in."""
    return np.float64 if (dtype or torch.get_default_dtype()) is torch.float64 else np.float32


def _sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    given = size[0] if len(size) == 1 and isinstance(size[0], Sequence) else size
    return tuple(map(int, given))


def _of_reals(function: Callable[..., torch.Tensor], draw: str) -> Callable[..., torch.Tensor]:
    """torch.rand or torch.randn, from OneFlow's generator on a CPU."""

    @wraps(function)
    def make(
        *sizes: Any, size: Any = None, generator: Any = None, dtype: Any = None, device: Any = None, **keywords: Any
    ) -> torch.Tensor:
        if not sizes and size is None:
            raise TypeError(f"{function.__name__}() needs its sizes, as separate numbers or as size=(2, 3)")
        shape = _sizes(sizes or (size,))
        if not is_drawn_here(device, generator):
            return function(shape, generator=generator, dtype=dtype, device=device, **keywords)
        known = dtype or torch.get_default_dtype()
        if not known.is_floating_point:
            raise NotImplementedError(f"{function.__name__}: dtype must be floating point, got {known}")
        return drawn(generator, draw, shape, 0.0, 1.0, _real(dtype)).to(known)

    return make


def _normal(
    mean: Any,
    std: Any,
    size: Any = None,
    *,
    out: torch.Tensor | None = None,
    generator: Any = None,
    dtype: Any = None,
    device: Any = None,
    **keywords: Any,
) -> torch.Tensor:
    """torch.normal, which takes no number as a size."""
    sizes = () if size is None else (_sizes((size,)),)
    if not sizes or isinstance(mean, torch.Tensor) or not is_drawn_here(device, generator):
        return torch.normal(mean, std, *sizes, generator=generator, **keywords)
    values = drawn(generator, "normal", sizes[0], mean, std, _real(dtype)).to(dtype or torch.get_default_dtype())
    return values if out is None else torch.Tensor.copy_(out, values)


def _randint(
    *arguments: Any,
    low: int = 0,
    high: int | None = None,
    size: Any = None,
    generator: Any = None,
    dtype: torch.dtype | None = None,
    device: Any = None,
    **keywords: Any,
) -> torch.Tensor:
    """torch.randint: `randint(high, size)` or `randint(low, high, size)`."""
    *limits, sizes = arguments if size is None else (*arguments, size)
    if high is None:
        *lower, high = limits
        limits = lower
    low = limits[0] if limits else low
    if not is_drawn_here(device, generator):
        return torch.randint(low, high, sizes, generator=generator, dtype=dtype, device=device, **keywords)
    if low >= high:
        raise RuntimeError(f"randint: low must be less than high, got {low} and {high}")
    return drawn(generator, "integers", tuple(sizes), int(low), int(high)).to(dtype or torch.int64)


def _randint_like(input: torch.Tensor, *limits: Any, dtype: torch.dtype | None = None, **keywords: Any) -> torch.Tensor:
    """torch.randint_like, which gives whole numbers for a tensor of any type (recorded in 0.9.0)."""
    torch_dtype(input)
    if isinstance(input, DTensor):
        return torch.randint_like(input, *limits, dtype=dtype or torch.int64, **keywords)
    return _randint(*limits, size=tuple(input.shape), dtype=dtype, **{"device": input.device, **keywords})


def _randn_like(input: torch.Tensor, *, dtype: torch.dtype | None = None, **keywords: Any) -> torch.Tensor:
    if isinstance(input, DTensor):
        return torch.randn_like(input, dtype=dtype, **keywords)
    return _randn(tuple(input.shape), dtype=dtype or torch_dtype(input), **{"device": input.device, **keywords})


def _randperm(
    n: int, *, generator: Any = None, dtype: torch.dtype | None = None, device: Any = None, **keywords: Any
) -> torch.Tensor:
    if not is_drawn_here(device, generator):
        return torch.randperm(n, generator=generator, dtype=dtype or torch.int64, device=device, **keywords)
    order = (generator or default_generator).permutation(int(n))
    return torch.from_numpy(order).to(dtype or torch.int64)


_randn = _of_reals(torch.randn, "normal")
rand = making(_of_reals(torch.rand, "uniform"))
randn = making(_randn)
randint = making(wraps(torch.randint)(_randint))
randperm = making(wraps(torch.randperm)(_randperm))
normal = making(wraps(torch.normal)(_normal))
randn_like = making(wraps(torch.randn_like)(_randn_like))
randint_like = making(wraps(torch.randint_like)(_randint_like))


def bernoulli(
    input: torch.Tensor, p: float | None = None, *, generator: Any = None, dtype: Any = None, inplace: bool = False
) -> Any:
    """Ones with the probabilities that the tensor has, or `p`, and zeros, as float32 unless another dtype is given."""
    known = plain(dtype) or torch.float32
    if isinstance(input, DTensor) or not is_drawn_here(input.device, generator):
        return torch.bernoulli(input, **({} if p is None else {"p": p}), generator=generator).to(known)
    chances = input.detach().numpy() if p is None else np.float32(p)
    draws = drawn(generator, "canonical", tuple(input.shape), np.float64).numpy() < chances
    result = dress(torch.from_numpy(np.asarray(draws)).to(known))
    return torch.Tensor.copy_(input, result) if inplace else result


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, generator: Any = None) -> Any:
    """`num_samples` places of each row of weights [N] or [B, N].

    Raises:
        RuntimeError: weights below zero, infinite or all zero; more samples than places, without replacement.
    """
    if isinstance(input, DTensor) or not is_drawn_here(input.device, generator):
        return torch.multinomial(input, num_samples, replacement, generator=generator)
    torch.multinomial(input.detach(), num_samples, replacement)  # raises its errors
    weights = input.detach().numpy().reshape(-1, input.shape[-1])
    places = (generator or default_generator).choices(weights, num_samples, bool(replacement))
    return dress(torch.from_numpy(places).reshape(*input.shape[:-1], num_samples))


def _outside_the_graph(fill: Callable[..., Any]) -> Callable[..., Any]:
    """A method that overwrites its tensor without a step of autograd, so also a leaf, as in 0.9.0 (recorded)."""

    @wraps(fill)
    def call(self: Tensor, *arguments: Any, **keywords: Any) -> Tensor:
        fill(self.detach(), *arguments, **keywords)
        return self

    return call


@_outside_the_graph
def _uniform_(self: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Any = None, **named: float) -> Any:
    """Overwrite with numbers from `a` up to `b`."""
    low, high = float(named.get("from", a)), float(named.get("to", b))
    assert low <= high, f"uniform_: b must be at least a, got {low} and {high}"
    if isinstance(self, DTensor) or not is_drawn_here(self.device, generator):
        return torch.Tensor.uniform_(self, low, high, generator=generator)
    return torch.Tensor.copy_(self, drawn(generator, "uniform", tuple(self.shape), low, high, _real(torch_dtype(self))))


@_outside_the_graph
def _normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Overwrite with normal numbers."""
    if isinstance(self, DTensor) or not is_drawn_here(self.device, generator):
        return torch.Tensor.normal_(self, mean, std, generator=generator)
    return torch.Tensor.copy_(self, drawn(generator, "normal", tuple(self.shape), mean, std, _real(torch_dtype(self))))


@_outside_the_graph
def _exponential_(self: Tensor, lambd: float = 1.0, generator: Any = None) -> Any:
    """Overwrite with exponential numbers of a rate."""
    if isinstance(self, DTensor) or not is_drawn_here(self.device, generator):
        return torch.Tensor.exponential_(self, lambd, generator=generator)
    return torch.Tensor.copy_(self, drawn(generator, "exponential", tuple(self.shape), lambd, _real(torch_dtype(self))))


def _bernoulli_(self: Tensor, p: float = 0.5, *, generator: Any = None) -> Any:
    """Overwrite with ones, with probability `p`, and zeros."""
    if isinstance(self, DTensor) or not is_drawn_here(self.device, generator):
        return torch.Tensor.bernoulli_(self, p, generator=generator)
    return torch.Tensor.copy_(self, bernoulli(self.detach(), p, generator=generator))


def manual_seed(seed: int) -> Generator:
    """Restart the default generator, and torch's generators, from a seed."""
    default_generator.manual_seed(seed)
    torch.manual_seed(int(seed))  # for GPUs and workers
    return default_generator


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def seed() -> int:
    """Restart from a seed that the system draws, and return it."""
    return manual_seed(default_generator.seed()).initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, as bytes."""
    return default_generator.get_state()


def set_rng_state(state: Tensor) -> None:
    """Continue the default generator behind the block of numbers of a state, as OneFlow 0.9.0 does."""
    default_generator.set_state(state)


Tensor.uniform_, Tensor.normal_ = _uniform_, _normal_  # type: ignore[method-assign]
Tensor.exponential_, Tensor.bernoulli_ = _exponential_, _bernoulli_  # type: ignore[assignment, method-assign]
Tensor.bernoulli = bernoulli  # type: ignore[assignment, method-assign]
