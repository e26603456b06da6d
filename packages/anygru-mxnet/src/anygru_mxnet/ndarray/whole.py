"""Gradients through arrays of integers, which torch does not have.

Each such array has a carrier: a float64 tensor in torch's graph, through which the gradients flow. MXNet 1.9.1 computes the
    gradients in the arrays' dtype: each derivative is truncated to an integer before it is multiplied (recorded).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from anygru import extend

from ..operators import Operator
from ..operators.arithmetic import BINARY, whole_of
from .tape import remember

if TYPE_CHECKING:
    from .array import Array


def in_graph(array: "Array") -> Tensor:
    """The tensor of an array in torch's graph: its values, or the carrier of its gradients."""
    return array._t if array._carrier is None else array._carrier


def carry(array: "Array", compute: Callable[..., Any], inputs: Sequence[Any], operator: Operator | None) -> None:
    """Let gradients flow to the inputs of an operation that torch's graph does not contain.

    Args:
        array: the result.
        compute: the function of tensors that computed it. inputs: the arguments of the function. operator: the operator that
            `compute` runs; None for an elementwise operation.
    """
    result = array._t
    whole = not result.is_floating_point()
    carriers = [in_graph(each) if whole or each._carrier is not None else each._t.detach() for each in inputs]
    if not any(carrier.requires_grad for carrier in carriers):
        return
    step = _Step(compute, [each._t.detach() for each in inputs], result, operator)
    carried = _Carried.apply(step, result.double() if whole else result, *carriers)
    if whole:
        array._carrier = carried
    else:
        array._t = carried
    remember(array)


# Derivatives that MXNet 1.9.1 computes from the truncated result (recorded).
_FROM_RESULT: dict[str, Callable[[Tensor], Tensor]] = {
    "sqrt": lambda y: 0.5 / y,
    "tan": lambda y: 1 + y * y,
    "tanh": lambda y: 1 - y * y,
}


class _Step:
    """A node of torch's graph for an operation, its inputs and its result."""

    def __init__(
        self, compute: Callable[..., Any], values: list[Tensor], result: Tensor, operator: Operator | None
    ) -> None:
        self.compute = compute
        self.values = values
        self.dtype = result.dtype
        self.result = result
        self.from_result = None if operator is None else _FROM_RESULT.get(operator.name)
        self.cast = operator is not None and operator.name == "Cast"
        self.pointwise = operator is None or operator.pointwise
        # MXNet 1.9.1 has no derivative of a remainder of integers (recorded).
        self.constant = compute is BINARY["mod"] or (operator is not None and "mod" in operator.name)

    def gradients(self, seed: Tensor) -> list[Tensor | None]:
        """The gradients of the inputs from the gradient of the result."""
        if self.constant:
            return [torch.zeros_like(value, dtype=torch.float64) for value in self.values]
        if self.cast:
            return [_truncate(seed, value.dtype) for value in self.values]
        if self.from_result is not None:
            return [self._truncated_gradient(self.from_result(self.result.double()), self.values[0], seed)]
        with torch.enable_grad():
            reals = [value.double() for value in self.values]
            if self.pointwise:
                reals = [real.expand(seed.shape) for real in reals]
            reals = [real.detach().requires_grad_() for real in reals]
            result = self.compute(*reals)
            if not (isinstance(result, Tensor) and result.requires_grad):
                return [torch.zeros_like(value, dtype=torch.float64) for value in self.values]
            begin = torch.ones_like(result) if self.pointwise else seed.to(result.dtype)
            found = extend.gradients([result], reals, [begin])
        return [self._truncated_gradient(part, value, seed) for part, value in zip(found, self.values, strict=True)]

    def _truncated_gradient(self, found: Tensor | None, value: Tensor, seed: Tensor) -> Tensor:
        if found is None:
            return torch.zeros_like(value, dtype=torch.float64)
        found = _truncate(found, value.dtype)
        return (found * _truncate(seed, value.dtype)).sum_to_size(value.shape) if self.pointwise else found


def _truncate(real: Tensor, dtype: torch.dtype) -> Tensor:
    """Numbers rounded to a dtype."""
    return real.double() if dtype.is_floating_point else whole_of(real, dtype).double()


class _Carried(torch.autograd.Function):
    """A known result, added to the graph of its inputs' carriers."""

    @staticmethod
    def forward(ctx: Any, step: _Step, result: Tensor, *carriers: Tensor) -> Tensor:
        ctx.step = step
        ctx.dtypes = [carrier.dtype for carrier in carriers]
        return result.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (seed,) = gradients
        found = ctx.step.gradients(seed if ctx.step.dtype.is_floating_point else _truncate(seed, ctx.step.dtype))
        return None, seed, *(part.to(dtype) for part, dtype in zip(found, ctx.dtypes, strict=True) if part is not None)
