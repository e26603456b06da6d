"""Einstein summation."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import type_check
from ...variable import Variable

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class EinSum(TorchFunction):
    def __init__(self, subscripts: str) -> None:
        self.subscripts = subscripts

    def check_type_forward(self, in_types: Any) -> None:
        for i, in_type in enumerate(in_types):
            type_check._argname((in_type,), (f"x{i}",))
            expect(in_type.dtype.kind == "f")
        sizes: dict[str, Any] = {}
        for letters, in_type in zip(self.subscripts.split("->")[0].split(","), in_types, strict=True):
            for axis, letter in enumerate(letters if "." not in letters else ""):
                size = in_type.shape[axis]
                expect(sizes.setdefault(letter, size) == size)

    def compute(self, *xs: torch.Tensor) -> torch.Tensor:
        return torch.einsum(self.subscripts, *xs)


def einsum(*operands: Any) -> Variable:
    """Einstein summation, spelled as in `numpy.einsum`: `einsum("ij,jk->ik", a, b)` or `einsum(a, [0, 1], b, [1, 2])`."""
    if not operands:
        raise ValueError("No input operands")
    if isinstance(operands[0], str):
        subscripts, inputs = operands[0].replace(" ", ""), operands[1:]
    else:
        pairs = list(zip(operands[::2], operands[1::2], strict=False))
        inputs = tuple(x for x, _ in pairs)
        subscripts = ",".join(_letters(axes) for _, axes in pairs)
        if len(operands) % 2:
            subscripts += "->" + _letters(operands[-1])
    if len(subscripts.split("->")[0].split(",")) != len(inputs):
        raise ValueError("Number of einsum subscripts must be equal to the number of operands.")
    source, arrow, target = subscripts.partition("->")
    for letter in target.replace("...", ""):
        if letter not in source:
            raise ValueError(f"Output character {letter} did not appear in the input")
    return EinSum(source + arrow + target).apply(inputs)[0]


def _letters(axes: Any) -> str:
    for axis in axes:
        if axis is not Ellipsis and not isinstance(axis, int):
            raise TypeError("For this input type lists must contain either int or Ellipsis")
    return "".join("..." if axis is Ellipsis else _LETTERS[axis] for axis in axes)
