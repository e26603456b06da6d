"""Special functions, integrals by trapezoids, and tensors with replaced parts."""

from typing import Any

import torch

from ..base.errors import paddles
from ..framework.dtype import single
from .operation import need_float, operation, plain, row
from .stat import of_axes

__all__ = [
    "combinations", "cumulative_trapezoid", "diagonal_scatter", "fill_diagonal_tensor", "frexp", "i0e", "i1e",
    "multigammaln", "nanquantile", "polar", "polygamma", "select_scatter", "shard_index", "trapezoid", "vander",
]  # fmt: skip


@operation
def i0e(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """`i0` times exp(-|x|)."""
    need_float(x, "i0e")
    return torch.special.i0e(x)


@operation
def i1e(x: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """`i1` times exp(-|x|)."""
    need_float(x, "i1e")
    return torch.special.i1e(x)


@operation
def polygamma(x: torch.Tensor, n: int, name: str | None = None) -> torch.Tensor:
    """The derivative of `digamma` of order `n`."""
    if not isinstance(n, int):
        raise paddles(TypeError(f"The input of n must be int type, but received: {type(n)} "))
    if n < 0:
        raise ValueError(f"The input of n must be greater than or equal to 0. But received n = {n}")
    need_float(x, "polygamma")
    return torch.polygamma(n, x)


@operation
def multigammaln(x: torch.Tensor, p: int, name: str | None = None) -> torch.Tensor:
    """The logarithm of the gamma function of `p` dimensions."""
    need_float(x, "multigammaln")
    if p < 1:
        raise AssertionError(f"The p must be greater than or equal to 1, But received p is {p}")
    return torch.special.multigammaln(x, p)


@operation
def frexp(x: torch.Tensor, name: str | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Mantissas from 0.5 up to 1 and exponents of 2, both in the dtype of x."""
    if not x.is_floating_point():
        raise paddles(TypeError(f"The data type of input must be one of ['float32', 'float64'], but got {x.dtype}"))
    mantissa, exponent = torch.frexp(x)
    # Paddle 2.6.2 gives a gradient of zeros (recorded), torch gives None.
    return mantissa, torch.add(torch.mul(torch.sign(x), 0), exponent)


@operation
def polar(abs: torch.Tensor, angle: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """Complex numbers of these sizes and angles."""
    need_float(abs, "polar")
    return torch.polar(abs, angle)


trapezoid = row(
    "trapezoid",
    lambda y, x=None, dx=None, axis=-1, name=None: _integral(torch.trapezoid, y, x, dx, axis),
    "The integral of `y` along an axis, over the places `x` or steps of `dx` (1).",
)


@operation
def cumulative_trapezoid(
    y: torch.Tensor, x: torch.Tensor | None = None, dx: float | None = None, axis: int = -1, name: str | None = None
) -> torch.Tensor:
    """As `trapezoid`, up to each place."""
    return _integral(torch.cumulative_trapezoid, y, x, dx, axis)


def _integral(function: Any, y: torch.Tensor, x: torch.Tensor | None, dx: float | None, axis: int) -> Any:
    if x is not None and dx is not None:
        raise ValueError("Not permitted to specify both x and dx input args.")
    if y.dtype not in (torch.float16, torch.float32, torch.float64):
        raise paddles(
            TypeError(
                "The data type of input must be Tensor, and dtype should be one of ['paddle.float16', 'paddle.float32', "
                f"'paddle.float64'], but got {y.dtype}"
            )
        )
    return function(y, dx=1.0 if dx is None else single(dx), dim=axis) if x is None else function(y, x, dim=axis)


@operation
def vander(x: torch.Tensor, n: int | None = None, increasing: bool = False, name: str | None = None) -> torch.Tensor:
    """The powers of x as columns, the highest first unless `increasing`."""
    if x.ndim != 1:
        raise ValueError("The input of x is expected to be a 1-D Tensor.")
    if n is not None and n < 0:
        raise ValueError("N must be non-negative.")
    return torch.vander(x, n, increasing)


@operation
def combinations(x: torch.Tensor, r: int = 2, with_replacement: bool = False, name: str | None = None) -> torch.Tensor:
    """All choices of `r` of the elements; each row is a choice."""
    if x.ndim != 1:
        raise paddles(TypeError(f"Expect a 1-D vector, but got x shape {list(x.shape)}"))
    if not isinstance(r, int) or r < 0:
        raise ValueError(f"Expect a non-negative int, but got r={r}")
    return torch.combinations(x, r, with_replacement)


@operation
def nanquantile(x: torch.Tensor, q: Any, axis: Any = None, keepdim: bool = False) -> torch.Tensor:
    """As `quantile`, of the elements that are numbers, in double precision."""
    return of_axes(torch.nanquantile, torch.Tensor.to(plain(x), torch.float64), q, axis, keepdim)


select_scatter = row(
    "select_scatter",
    lambda x, values, axis, index, name=None: torch.select_scatter(x, values, axis, index),
    "`x` with `values` at one place of an axis.",
)


@operation
def diagonal_scatter(
    x: torch.Tensor, y: torch.Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None
) -> torch.Tensor:
    """`x` with `y` along a diagonal."""
    return torch.diagonal_scatter(x, y, offset, axis1, axis2)


@operation
def fill_diagonal_tensor(
    x: torch.Tensor, y: torch.Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, name: str | None = None
) -> torch.Tensor:
    """`x` with `y` along the diagonal of two axes, the diagonal as the last axis of `y`."""
    return torch.diagonal_scatter(x, y, offset, dim1, dim2)


@operation
def shard_index(
    input: torch.Tensor, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1
) -> torch.Tensor:
    """Numbers of the shard `shard_id` counted from its first one, `ignore_value` for numbers of other shards."""
    if not 0 <= shard_id < nshards:
        raise ValueError(f"The shard_id({shard_id}) should be in [0, {nshards})")
    size = (index_num + nshards - 1) // nshards
    return torch.where(input // size == shard_id, torch.remainder(input, size), ignore_value)
