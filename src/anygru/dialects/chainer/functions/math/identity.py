"""The identity."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction


class Identity(TorchFunction):
    def compute(self, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(x.view_as(x) for x in xs)


def identity(*inputs: Any) -> Any:
    """The inputs: one Variable for one input, else a tuple."""
    outputs = Identity().apply(inputs)
    return outputs[0] if len(outputs) == 1 else outputs
