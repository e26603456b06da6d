"""`paddle.signal`: short-time Fourier transforms, by torch's."""

from typing import Any

import torch

from .base.errors import paddles
from .tensor.operation import operation, plain

__all__ = ["istft", "stft"]


def _window(window: torch.Tensor | None, length: int, n_fft: int, like: torch.Tensor) -> torch.Tensor:
    """The window as a tensor of `n_fft` numbers, zeros around one of fewer; ones unless given."""
    if not 0 < length <= n_fft:
        raise AssertionError(f"win_length should be in (0, n_fft({n_fft})], but got {length}.")
    if window is None:
        window = torch.ones(length, dtype=_real(like), device=like.device)
    if list(window.shape) != [length]:
        raise AssertionError(
            f"expected a 1D window tensor of size equal to win_length({length}), but got {list(window.shape)}."
        )
    left = (n_fft - length) // 2
    return torch.nn.functional.pad(plain(window), [left, n_fft - length - left])


def _real(x: torch.Tensor) -> torch.dtype:
    return torch.float64 if x.dtype in (torch.float64, torch.complex128) else torch.float32


@operation
def frame(x: torch.Tensor, frame_length: int, hop_length: int, axis: int = -1, name: str | None = None) -> torch.Tensor:
    """Overlapping parts of the last axis [..., frame_length, count], or of the first one [count, frame_length, ...]."""
    if axis not in (0, -1):
        raise ValueError(f"Unexpected axis: {axis}. It should be 0 or -1.")
    for value, what in ((frame_length, "frame_length"), (hop_length, "hop_length")):
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Unexpected {what}: {value}. It should be an positive integer.")
    parts = plain(x).unfold(axis, frame_length, hop_length)
    return torch.transpose(parts, -1, -2) if axis == -1 else torch.movedim(parts, -1, 1)


@operation
def overlap_add(x: torch.Tensor, hop_length: int, axis: int = -1, name: str | None = None) -> torch.Tensor:
    """The sum of overlapping parts, `hop_length` apart: the inverse of `frame` if no frames overlap."""
    if axis not in (0, -1):
        raise ValueError(f"Unexpected axis: {axis}. It should be 0 or -1.")
    parts = plain(x) if axis == -1 else torch.movedim(plain(x), (0, 1), (-1, -2))
    length, count = parts.shape[-2:]
    places = torch.arange(length).unsqueeze(1) + hop_length * torch.arange(count)
    out = parts.new_zeros(*parts.shape[:-2], (count - 1) * hop_length + length)
    out = out.index_add(-1, places.flatten().to(parts.device), parts.flatten(-2))
    return out if axis == -1 else torch.movedim(out, -1, 0)


@operation
def stft(
    x: torch.Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: torch.Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool = True,
    name: str | None = None,
) -> torch.Tensor:
    """Fourier transforms of overlapping parts of x [T] or [B, T]: complex [B, n_fft // 2 + 1, parts], or n_fft unless `onesided`.

    Args:
        x: a real or complex signal.
        n_fft, hop_length: the length of a part, and the distance between two, n_fft // 4 unless given.
        win_length, window: the factors of each part, [win_length], zeros around them up to n_fft; ones unless given.
        center: the signal is extended at its ends by `pad_mode`, so that part k has its middle at k * hop_length.
        normalized: divide by sqrt(n_fft).

    Raises:
        AssertionError: for lengths, windows or modes that do not fit.
    """
    if x.ndim not in (1, 2):
        raise AssertionError(f"x should be a 1D or 2D real tensor, but got rank of x is {x.ndim}")
    if pad_mode not in ("constant", "reflect"):
        raise AssertionError(f'pad_mode should be "reflect" or "constant", but got "{pad_mode}".')
    if onesided and x.is_complex():
        raise AssertionError("onesided should be False when input or window is a complex Tensor.")
    signal = plain(x)
    hop, length = hop_length or n_fft // 4, win_length or n_fft
    options: dict[str, Any] = {"center": center, "pad_mode": pad_mode, "normalized": normalized, "onesided": onesided}
    return torch.stft(signal, n_fft, hop, n_fft, _window(window, length, n_fft, signal), **options, return_complex=True)


@operation
def istft(
    x: torch.Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: torch.Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool = True,
    length: int | None = None,
    return_complex: bool = False,
    name: str | None = None,
) -> torch.Tensor:
    """The signal of an `stft`; arguments as there, `length` cuts the result.

    Raises:
        AssertionError: for lengths or windows that do not fit.
    """
    if x.ndim not in (2, 3):
        raise AssertionError(f"x should be a 2D or 3D complex tensor, but got rank of x is {x.ndim}")
    if not x.is_complex():
        raise paddles(TypeError(f"istft: x must be complex, got {x.dtype}"))
    spectrum = plain(x)
    own = _window(window, win_length or n_fft, n_fft, spectrum)
    options: dict[str, Any] = {"center": center, "normalized": normalized, "onesided": onesided}
    return torch.istft(
        spectrum, n_fft, hop_length or n_fft // 4, n_fft, own, **options, length=length, return_complex=return_complex
    )
