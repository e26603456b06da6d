"""Values of a graph in C: places in one piece of memory, seen with sizes and strides, and the loops over them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

_ALIGNMENT = 16
"""Floats; a place begins where a vector of any length may be read."""


@dataclass(eq=False)
class Place:
    """Consecutive floats: in the memory of a step, in the state, a constant, or the input.

    Attributes:
        name: in C.
        size: floats.
        lines: the numbers of the first and last lines that use it.
        at: its offset in the memory of a step; None: it is elsewhere.
        constant: whether it is a constant of the file, which C reads by `@_constant`.
    """

    name: str
    size: int
    lines: list[int] = field(default_factory=list)
    at: int | None = None
    constant: bool = False


@dataclass(frozen=True)
class Value:
    """A tensor in C: a place, and a tensor without memory that has the sizes, the strides and the offset."""

    place: Place
    view: Tensor

    @property
    def shape(self) -> list[int]:
        return list(self.view.shape)

    @property
    def text(self) -> str:
        """The address of its first number."""
        offset = self.view.storage_offset()
        return f"{self.place.name} + {offset}" if offset else self.place.name


Operand = Value | Tensor
"""A tensor argument of an operator: a value of the step, or a tensor of weights."""


def dense(shape: Sequence[int]) -> Tensor:
    """A tensor without memory, one number after another."""
    return torch.empty(list(shape), device="meta")


def loops(shape: Sequence[int], values: Sequence[tuple[Value, Sequence[int]]], expression: str) -> str:
    """A line that computes an expression for every index.

    Args:
        shape: the sizes.
        values: a value and strides for each place in the expression, `{0}` the first.
        expression: a statement, such as "{0} = {1} + {2};".
    """
    axes = _merged(shape, [strides for _, strides in values])
    names = "ijkmnpq"[: len(axes)]
    heads = "".join(
        f"for (size_t {name} = 0; {name} < {size}; ++{name}) " for name, (size, _) in zip(names, axes, strict=True)
    )
    places = []
    for number, (value, _) in enumerate(values):
        terms = [
            name if strides[number] == 1 else f"{strides[number]} * {name}"
            for name, (_, strides) in zip(names, axes, strict=True)
            if strides[number]
        ]
        offset = value.view.storage_offset()
        index = " + ".join([*[str(offset)] * (offset > 0), *terms]) or "0"
        name = value.place.name
        places.append(f"@_constant({name} + {index})" if value.place.constant else f"{name}[{index}]")
    return heads + expression.format(*places)


def _merged(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[tuple[int, list[int]]]:
    """The axes with the strides of each value, without axes of size 1; axes that act as one are one."""
    axes: list[tuple[int, list[int]]] = []
    for axis, size in enumerate(shape):
        own = [each[axis] for each in strides]
        if size == 1:
            continue
        if axes and all(outer == size * inner for outer, inner in zip(axes[-1][1], own, strict=True)):
            axes[-1] = (axes[-1][0] * size, own)
        else:
            axes.append((size, own))
    return axes


def arrange(places: Sequence[Place]) -> int:
    """Give each place an offset, so that places in use at the same time share nothing; the size of the memory in floats."""
    total = 0
    done: list[Place] = []
    for place in sorted(places, key=lambda each: -each.size):
        size = _rounded(place.size)
        taken = sorted(
            (other.at, other.at + _rounded(other.size))
            for other in done
            if other.at is not None and other.lines[0] <= place.lines[-1] and place.lines[0] <= other.lines[-1]
        )
        at = 0
        for start, end in taken:
            if start - at >= size:
                break
            at = max(at, end)
        place.at = at
        total = max(total, at + size)
        done.append(place)
    return total


def _rounded(size: int) -> int:
    return -(-max(size, 1) // _ALIGNMENT) * _ALIGNMENT
