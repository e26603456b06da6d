"""Linear maps."""

from __future__ import annotations

from typing import Any

import torch

from ..._torch_function import TorchFunction
from ...functions._checks import expect
from ...utils import size_of_shape, type_check
from ...variable import Variable


class LinearFunction(TorchFunction):
    def check_type_forward(self, in_types: Any) -> None:
        n_in = in_types.size()
        expect(n_in >= 2, n_in <= 3)
        x, w = in_types[:2]
        type_check._argname((x, w), ("x", "W"))
        expect(x.dtype.kind == "f", w.dtype.kind == "f", x.ndim == 2, w.ndim == 2, x.shape[1] == w.shape[1])
        if type_check.eval(n_in) == 3:
            b = in_types[2]
            type_check._argname((b,), ("b",))
            expect(b.dtype == x.dtype, b.ndim == 1, b.shape[0] == w.shape[0])

    def compute(self, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor | None = None) -> torch.Tensor:  # type: ignore[override]
        if x.dtype == w.dtype:
            return torch.nn.functional.linear(x, w, b)
        common = torch.promote_types(x.dtype, w.dtype)
        y = torch.nn.functional.linear(x.to(common), w.to(common)).to(x.dtype)
        return y if b is None else y + b


def linear(x: Any, W: Any, b: Any = None, n_batch_axes: int = 1) -> Variable:
    """`x @ W.T + b` for x [B, ...], of which all but the batch axes are flattened, W [N, M] and b [N].

    Args:
        n_batch_axes: how many leading axes of `x` are kept (ValueError unless positive).

    Raises:
        InvalidType: sizes or dtypes do not fit.
    """
    if n_batch_axes <= 0:
        raise ValueError("n_batch_axes should be greater than 0.")
    batch_shape = x.shape[:n_batch_axes]
    if n_batch_axes > 1:
        x = x.reshape(size_of_shape(batch_shape), -1)
    elif x.ndim > 2:
        x = x.reshape(x.shape[0], -1)
    y = LinearFunction().apply((x, W) if b is None else (x, W, b))[0]
    return y.reshape((*batch_shape, -1)) if n_batch_axes > 1 else y
