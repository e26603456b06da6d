"""The rows of a GRU's weights: order, stacking, sign. The only place that permutes, stacks or negates them.

Every core weight has its gates stacked along the first dimension in the order r (reset), z (update), n (candidate):
`weight_ih [3H, I]`, `weight_hh [3H, H]`, `bias_ih [3H]`, `bias_hh [3H]`. Code for a framework with another order calls
these functions. All are differentiable, keep dtype and device, and return views if possible.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import ArgumentError

ORDER = "rzn"


def split(weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The rows of r, z and n of a stacked weight [3H, ...], as views [H, ...]."""
    reset, update, candidate = weight.chunk(3) if _hidden_size(weight) else (weight, weight, weight)
    return reset, update, candidate


def stack(parts: Sequence[Tensor]) -> Tensor:
    """One stacked weight [3H, ...] from the weights of r, z and n, each [H, ...]; ArgumentError if their shapes differ."""
    if len(parts) != 3 or len({part.shape for part in parts}) != 1:
        raise ArgumentError(
            f"parts must be three tensors of one shape (r, z, n), got {[tuple(part.shape) for part in parts]}"
        )
    return torch.cat(tuple(parts))


def reorder(weight: Tensor, source: str, target: str = ORDER) -> Tensor:
    """A stacked weight [3H, ...] with gates in order `source`, rearranged to order `target`.

    Orders are three letters of "rzn", as in `reorder(keras_kernel, "zrn")`.

    Raises:
        ArgumentError: an order does not name each gate once, or the rows do not divide by three.
    """
    for argument, order in (("source", source), ("target", target)):
        if sorted(order) != sorted(ORDER):
            raise ArgumentError(f"{argument} must name each of r, z and n once, got {order!r}")
    _hidden_size(weight)
    if source == target:
        return weight
    rows = dict(zip(source, weight.chunk(3), strict=False))
    return torch.cat([rows[gate] for gate in target]) if rows else weight


def negate_update(weight: Tensor) -> Tensor:
    """The weight [3H, ...] with its update rows negated.

    It turns a blend (1 - z) * h + z * n into (1 - z) * n + z * h and back, since 1 - sigmoid(v) = sigmoid(-v): exact in
    floating point for the weights, and for the gate up to the rounding of the sigmoid.
    """
    reset, update, candidate = split(weight)
    return torch.cat((reset, -update, candidate))


def from_concatenated(
    gate_weight: Tensor, candidate_weight: Tensor, input_size: int, order: str = "rz"
) -> tuple[Tensor, Tensor]:
    """Weights for the concatenation of x and h, as (weight_ih [3H, I], weight_hh [3H, H]).

    Args:
        gate_weight: [I+H, 2H], the two gates side by side in `order`, applied as `cat(x, h) @ gate_weight`.
        candidate_weight: [I+H, H], applied as `cat(x, r * h) @ candidate_weight` (reset="before").
        input_size: I, where the rows of x end.
        order: "rz" or "zr".

    Raises:
        ArgumentError: the shapes do not fit each other, or there is no such order.
    """
    hidden_size = candidate_weight.shape[1]
    if gate_weight.shape != (input_size + hidden_size, 2 * hidden_size) or len(candidate_weight) != len(gate_weight):
        raise ArgumentError(
            f"gate_weight must be [I+H, 2H] and candidate_weight [I+H, H] with I = {input_size}, "
            f"got {list(gate_weight.shape)} and {list(candidate_weight.shape)}"
        )
    stacked = torch.cat((*_rz(gate_weight.t(), order), candidate_weight.t()))
    return stacked[:, :input_size], stacked[:, input_size:]


def to_concatenated(weight_ih: Tensor, weight_hh: Tensor, order: str = "rz") -> tuple[Tensor, Tensor]:
    """The inverse of `from_concatenated`: (gate_weight [I+H, 2H], candidate_weight [I+H, H])."""
    reset, update, candidate = split(torch.cat((weight_ih, weight_hh), 1))
    return torch.cat(_rz(torch.cat((reset, update)), order)).t(), candidate.t()


def bias_from_concatenated(gate_bias: Tensor, candidate_bias: Tensor, order: str = "rz") -> Tensor:
    """One bias [3H] from a bias of the two gates [2H] in `order` and one of the candidate [H]."""
    return torch.cat((*_rz(gate_bias, order), candidate_bias))


def fuse_biases(bias_ih: Tensor, bias_hh: Tensor) -> Tensor:
    """One bias [3H] that replaces two. Exact only for reset="before", which always adds them."""
    return bias_ih + bias_hh


def _rz(gates: Tensor, order: str) -> tuple[Tensor, Tensor]:
    """The two halves of [2H, ...] in the order r, z (or r, z in the order `order`: a swap is its own inverse)."""
    if sorted(order) != ["r", "z"]:
        raise ArgumentError(f"order must be 'rz' or 'zr', got {order!r}")
    first, second = gates.tensor_split(2)
    return (first, second) if order == "rz" else (second, first)


def _hidden_size(weight: Tensor) -> int:
    if weight.dim() == 0 or weight.shape[0] % 3:
        raise ArgumentError(f"weight must have 3*H rows, got {list(weight.shape)}")
    return weight.shape[0] // 3
