"""Broadcasting."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import AnyFunction, expect
from ...utils import type_check
from ...variable import Variable, as_variable


class Broadcast(TorchFunction):
    def check_type_forward(self, in_types: Any) -> None:
        expect(in_types.size() > 0)
        type_check.expect_broadcast_shapes(*[in_type.shape for in_type in in_types])

    def compute(self, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(x.contiguous() for x in torch.broadcast_tensors(*xs))


def broadcast(*args: Any) -> Any:
    """The arrays in their common shape: one Variable for one array, else a tuple."""
    return as_variable(args[0]) if len(args) == 1 else Broadcast().apply(args)


class BroadcastTo(AnyFunction):
    def __init__(self, shape: Any) -> None:
        self._shape = tuple(shape)

    def check_type_forward(self, in_types: Any) -> None:
        super().check_type_forward(in_types)
        expect(in_types[0].ndim <= type_check.make_variable(len(self._shape), "len(shape)"))
        shape = type_check.eval(in_types[0].shape)
        for axis in range(-1, -len(shape) - 1, -1):
            if shape[axis] not in (1, self._shape[axis]):
                raise type_check.InvalidType(
                    f"in_type[0].shape[{axis}] == {self._shape[axis]} or in_type[0].shape[{axis}] == 1",
                    f"in_type[0].shape: {shape}",
                )

    def compute(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.expand(self._shape).contiguous()


def broadcast_to(x: Any, shape: Any) -> Variable:
    """The array repeated along its axes of size 1 and new leading axes until it has this shape."""
    return as_variable(x) if x.shape == shape else BroadcastTo(shape).apply((x,))[0]
