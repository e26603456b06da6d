"""`paddle.fft`: torch's transforms with Paddle's argument names."""

from collections.abc import Sequence
from typing import Any

import torch

from .framework.framework import default_torch_dtype
from .framework.kinds import DTypeLike
from .tensor.operation import operation, plain, row

_ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
_TWO = [f"{name}2" for name in _ONE]
_MANY = [f"{name}n" for name in _ONE]
__all__ = [*_ONE, *_TWO, *_MANY, "fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def _transform(called: str) -> Any:
    compute = getattr(torch.fft, called.replace("2", "n"))  # axes=None are all axes, also of two (recorded, 2.6.2)
    if called in _ONE:

        def function(
            x: torch.Tensor, n: int | None = None, axis: int = -1, norm: str = "backward", name: str | None = None
        ) -> torch.Tensor:
            # torch marks some results as conjugates; `numpy()` and others read the memory.
            return compute(plain(x), n, axis, norm).resolve_conj()
    else:

        def function(  # type: ignore[misc]
            x: torch.Tensor,
            s: Sequence[int] | None = None,
            axes: Sequence[int] | None = (-2, -1) if called in _TWO else None,
            norm: str = "backward",
            name: str | None = None,
        ) -> torch.Tensor:
            if called in _TWO and axes is not None and len(axes) != 2:
                raise ValueError(f"Invalid FFT axes ({axes}), it should be a sequence of 2 integers.")
            return compute(plain(x), s, axes, norm).resolve_conj()

    return row(called, function, f"`torch.fft.{called}`.")


globals().update({called: _transform(called) for called in (*_ONE, *_TWO, *_MANY)})


@operation
def fftfreq(n: int, d: float = 1.0, dtype: DTypeLike = None, name: str | None = None) -> torch.Tensor:
    """The frequencies of `fft`, in the default dtype for any `dtype`, as in Paddle 2.6.2 (recorded)."""
    return torch.fft.fftfreq(n, d, dtype=default_torch_dtype())


@operation
def rfftfreq(n: int, d: float = 1.0, dtype: DTypeLike = None, name: str | None = None) -> torch.Tensor:
    """The frequencies of `rfft`, in the default dtype."""
    return torch.fft.rfftfreq(n, d, dtype=default_torch_dtype())


fftshift = row(
    "fftshift", lambda x, axes=None, name=None: torch.fft.fftshift(plain(x), axes), "The frequency 0 in the middle."
)
ifftshift = row(
    "ifftshift", lambda x, axes=None, name=None: torch.fft.ifftshift(plain(x), axes), "The inverse of `fftshift`."
)
