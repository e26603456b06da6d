"""Questions about a tensor: shape, rank, kind of numbers."""

from collections.abc import Callable

import torch

from ..base.errors import no_kernel
from .operation import need_tensor, row, wrap

__all__ = ["imag", "is_complex", "is_floating_point", "is_integer", "rank", "real", "shape"]


def shape(input: torch.Tensor) -> torch.Tensor:
    """The shape as an int32 tensor."""
    need_tensor(input, "input", "shape")
    return wrap(torch.tensor(list(input.shape), dtype=torch.int32))


def rank(input: torch.Tensor) -> torch.Tensor:
    """The number of axes as an int32 tensor."""
    need_tensor(input, "input", "rank")
    return wrap(torch.tensor(input.ndim, dtype=torch.int32))


def is_complex(x: torch.Tensor) -> bool:
    """Whether the elements are complex."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"Expected Tensor, but received type of x: {type(x)}")
    return torch.is_complex(x)


def is_floating_point(x: torch.Tensor) -> bool:
    """Whether the elements are floating-point numbers."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"Expected Tensor, but received type of x: {type(x)}")
    return torch.is_floating_point(x)


def is_integer(x: torch.Tensor) -> bool:
    """Whether the elements are integers."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"Expected Tensor, but received type of x: {type(x)}")
    return not (torch.is_floating_point(x) or torch.is_complex(x)) and x.dtype != torch.bool


def _part(name: str, compute: Callable[[torch.Tensor], torch.Tensor], what: str) -> Callable[..., torch.Tensor]:
    def part(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
        if not torch.is_complex(x):
            raise no_kernel(f"(NotFound) {part.__name__}() is not implemented for {x.dtype}")
        return compute(x)

    return row(name, part, what)


real = _part("real", torch.real, "The real part.")
imag = _part("imag", torch.imag, "The imaginary part.")
