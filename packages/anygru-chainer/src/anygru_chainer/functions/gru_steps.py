"""One step of Chainer's step-by-step GRU, computed by `anygru.functional.gru_cell`.

It resets before the product with the state (`U(r * h)`) and blends `(1 - z) * h + z * c`, the other way round than the
core: its update rows are negated.
"""

from typing import Any

import torch

from anygru import functional
from anygru.extend import gates

from .._torch_function import TorchFunction
from ..types import VariableLike
from ..utils import type_check
from ..variable import Variable
from ._checks import expect

Tensor = torch.Tensor


class GRUStep(TorchFunction):
    """The node of a step. Its inputs are h, x, and W and b of the links W_r, W_z, W, U_r, U_z, U."""

    label = "GRU step"

    def check_type_forward(self, in_types: Any) -> None:
        h, x, w_x, b_x = in_types[:4]
        w_h, b_h = in_types[8:10]
        type_check._argname((h, x, w_x, w_h), ("h", "x", "W", "U"))
        expect(x.dtype.kind == "f", x.dtype == b_x.dtype, x.ndim == 2, x.shape[1] == w_x.shape[1])
        expect(h.dtype == b_h.dtype, h.ndim == 2, h.shape[1] == w_h.shape[1], h.shape[0] == x.shape[0])

    def compute(self, h: Tensor, x: Tensor, *parameters: Tensor) -> Tensor:  # type: ignore[override]
        return gru_step(h, x, parameters)


class GRUFirstStep(TorchFunction):
    """The node of a step from no state, which sees W_z and W alone. Its inputs are x, and W and b of these two links."""

    label = "GRU first step"

    def check_type_forward(self, in_types: Any) -> None:
        x, w_z, b_z = in_types[:3]
        type_check._argname((x, w_z), ("x", "W"))
        expect(x.dtype.kind == "f", x.dtype == b_z.dtype, x.ndim == 2, x.shape[1] == w_z.shape[1])

    def compute(self, x: Tensor, w_z: Tensor, b_z: Tensor, w: Tensor, b: Tensor) -> Tensor:  # type: ignore[override]
        size = len(b)
        no_matrix, no_bias = w.new_zeros(size, size), b.new_zeros(size)
        unused = (no_matrix, no_bias)
        reset = (torch.zeros_like(w), no_bias)
        return gru_step(x.new_zeros(len(x), size), x, (*reset, w_z, b_z, w, b, *unused, *unused, *unused))


def gru_step(h: Tensor, x: Tensor, parameters: tuple[Tensor, ...]) -> Tensor:
    """The state [B, N] after x [B, I] from h [B, N]."""
    w_ih, b_ih, w_hh, b_hh = core_weights(parameters)
    return functional.gru_cell(x, h, w_ih, w_hh, b_ih, b_hh, reset="before")


def core_weights(parameters: tuple[Tensor, ...]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """weight_ih, bias_ih, weight_hh, bias_hh from W and b of the links W_r, W_z, W, U_r, U_z, U."""
    stacked = [gates.negate_update(gates.stack(parameters[start : start + 6 : 2])) for start in (0, 1, 6, 7)]
    return stacked[0], stacked[1], stacked[2], stacked[3]


def step(h: VariableLike, x: VariableLike, parameters: list[Any]) -> Variable:
    """The state after x from h; `parameters` are W and b of W_r, W_z, W, U_r, U_z, U."""
    return GRUStep().apply((h, x, *parameters))[0]


def first_step(x: VariableLike, parameters: list[Any]) -> Variable:
    """The state after x from no state; `parameters` are W and b of W_z and W."""
    return GRUFirstStep().apply((x, *parameters))[0]
