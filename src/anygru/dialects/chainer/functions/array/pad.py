"""Padding."""

from __future__ import annotations

from typing import Any

import numpy
import torch

from ...functions._checks import FloatFunction
from ...variable import Variable


class Pad(FloatFunction):
    def __init__(self, pad_width: Any, mode: str, **keywords: Any) -> None:
        if mode != "constant" or set(keywords) - {"constant_values"}:
            raise NotImplementedError(
                f"anygru covers F.pad with mode='constant' (and constant_values), got mode={mode!r} {keywords or ''}; "
                "torch.nn.functional.pad in a FunctionNode does the others"
            )
        self.pad_width = pad_width
        self.values = keywords.get("constant_values", 0)

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        widths = numpy.broadcast_to(numpy.asarray(self.pad_width), (x.ndim, 2))
        values = numpy.broadcast_to(numpy.asarray(self.values), (x.ndim, 2))
        for axis, ((before, after), (low, high)) in enumerate(zip(widths, values, strict=True)):
            parts = [x]
            for width, value, place in ((before, low, 0), (after, high, len(parts))):
                shape = (*x.shape[:axis], int(width), *x.shape[axis + 1 :])
                parts.insert(place if place == 0 else len(parts), x.new_full(shape, float(value)))
            x = torch.cat(parts, axis)
        return x


def pad(x: Any, pad_width: Any, mode: str, **keywords: Any) -> Variable:
    """The array with values around it, as `numpy.pad` with mode "constant" (others: NotImplementedError).

    Args:
        pad_width: an int, (before, after) or one such pair an axis.
        constant_values: likewise, 0 by default.
    """
    return Pad(pad_width, mode, **keywords).apply((x,))[0]
