"""How a tensor prints: Paddle's columns, signs, precision and summary of long axes."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..framework.kinds import Operand
from .operation import plain

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["set_printoptions"]

_HEAD = "Tensor("


@dataclass
class PrintOptions:
    """The options that `set_printoptions` sets."""

    precision: int = 8
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool = False


OPTIONS = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sci_mode: bool | None = None,
    linewidth: int | None = None,
) -> None:
    """Set how tensors print; None keeps an option.

    Args:
        precision: digits after the point, 8 at first.
        threshold: number of elements above which long axes are cut short, 1000 at first.
        edgeitems: how many elements stay at each end of an axis cut short, 3 at first.
        sci_mode: write floats as 1.5e+00.
        linewidth: characters a line, 80 at first.
    """
    for name, value, kind in (
        ("precision", precision, int),
        ("threshold", threshold, int),
        ("edgeitems", edgeitems, int),
        ("linewidth", linewidth, int),
        ("sci_mode", sci_mode, bool),
    ):
        if value is None:
            continue
        if not isinstance(value, kind):
            raise TypeError(f"set_printoptions: {name} must be {kind.__name__}, got {type(value).__name__}")
        setattr(OPTIONS, name, value)


def _item(value: Operand) -> str:
    if isinstance(value, float):
        if math.isnan(value):
            return "nan"
        if OPTIONS.sci_mode:
            return f"{value:.{OPTIONS.precision}e}"
        if math.isinf(value) or value == math.ceil(value):
            return f"{value:.0f}."
        return f"{value:.{OPTIONS.precision}f}"
    return str(value)


def _is_negative(value: Any) -> bool:
    """NumPy's order of complex numbers: by real part, then by imaginary part."""
    if isinstance(value, complex):
        return value.real < 0 or (value.real == 0 and value.imag < 0)
    return not isinstance(value, bool) and value < 0


class _Columns:
    """Pads every number to one width; where any is negative, the others get a space for the sign."""

    def __init__(self, shown: list[Any]) -> None:
        self.width = max((len(_item(value)) for value in shown), default=0)
        self.signed = any(_is_negative(value) for value in shown)

    def text(self, value: Any) -> str:
        text = _item(value)
        if self.signed and len(text) < self.width and not _is_negative(value):
            text = " " + text
        return text.ljust(self.width)


def _edges(array: np.ndarray) -> np.ndarray:
    """The elements that stay visible when long axes are cut short."""
    for axis, length in enumerate(array.shape):
        if length > 2 * OPTIONS.edgeitems:
            kept = list(range(OPTIONS.edgeitems)) + list(range(length - OPTIONS.edgeitems, length))
            array = np.take(array, kept, axis=axis)
    return array


def _rows(array: np.ndarray, cut: bool, indent: int, columns: _Columns) -> str:
    if array.ndim == 0:
        return columns.text(array.item())
    short = cut and len(array) > 2 * OPTIONS.edgeitems
    head, tail = (array[: OPTIONS.edgeitems], array[-OPTIONS.edgeitems :]) if short else (array, array[:0])
    if array.ndim == 1:
        texts = [columns.text(value) for value in head.tolist()] + (["..."] if short else [])
        texts += [columns.text(value) for value in tail.tolist()]
        per_line = max(1, (OPTIONS.linewidth - indent) // (columns.width + 2))
        lines = [", ".join(texts[start : start + per_line]) for start in range(0, len(texts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [_rows(row, cut, indent + 1, columns) for row in head] + (["..."] if short else [])
    parts += [_rows(row, cut, indent + 1, columns) for row in tail]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def values_to_string(tensor: torch.Tensor, indent: int) -> str:
    """The numbers alone, continued lines indented by `indent`."""
    value = plain(tensor.detach()).cpu()
    array = (value.float() if value.dtype == torch.bfloat16 else value).numpy()
    # Paddle 2.6.2 takes the width from the edges even where it prints all elements (recorded).
    return _rows(array, array.size > OPTIONS.threshold, indent, _Columns(_edges(array).ravel().tolist()))


def tensor_to_string(tensor: "Tensor") -> str:
    """The text that `print(tensor)` shows."""
    return (
        f"{_HEAD}shape={tensor.shape}, dtype={tensor.dtype.spelling}, place={tensor.place}, "
        f"stop_gradient={tensor.stop_gradient},\n{' ' * len(_HEAD)}{values_to_string(tensor, len(_HEAD))})"
    )
