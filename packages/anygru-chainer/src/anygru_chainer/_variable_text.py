"""Variables as texts."""

from typing import TYPE_CHECKING

import numpy

from .backends import _cpu
from .types import NdArray

if TYPE_CHECKING:
    from ._variable import Variable


def text(variable: "Variable", separator: str) -> str:
    array = _cpu.array_to_cpu(variable.array)
    prefix = f"variable {variable.name}" if variable.name else "variable"
    if array is None:
        content = "None"
    elif separator == ", " and array.size == 0 and array.shape != (0,):
        content = f"[], shape={array.shape!r}"
    else:
        content = numpy.array2string(array, separator=separator, prefix=prefix + "(")
    return f"{prefix}({content})"


def debug_text(variable: "Variable") -> str:
    """Summary, device, shape, dtype and statistics of array and gradient, in several lines."""

    def statistics(array: NdArray) -> str:
        return f"mean={float(array.mean()):.8f}, std={float(array.std()):.8f}"

    array, grad = variable.array, variable.grad
    gradient = None if grad is None else 0 if bool((grad == 0).all()) else statistics(grad)
    return (
        f"{variable.summary()}\n"
        f"- device: {None if array is None else 'CPU' if variable.xp is numpy else variable.device}\n"
        f"- backend: {None if array is None else type(array)}\n"
        f"- shape: {getattr(array, 'shape', None)}\n"
        f"- dtype: {getattr(array, 'dtype', None)}\n"
        f"- statistics: {None if array is None else statistics(array)}\n"
        f"- grad: {gradient}"
    )
