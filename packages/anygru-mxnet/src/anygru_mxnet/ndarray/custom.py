"""`mx.nd.Custom`: operators written in Python and known by a name, which `mx.operator` registers."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..base import MXNetError
from ..context import Context
from ..state import state
from .function import Function
from .ndarray import NDArray
from .utils import zeros

Shapes = list[Any]
Property = TypeVar("Property", bound=type)
_registry: dict[str, type["CustomOpProp"]] = {}


class CustomOp:
    """What an operator computes; a subclass defines `forward` and `backward`, which assign to the arrays given to them."""

    def forward(self, is_train: bool, req: list[str], in_data: list, out_data: list, aux: list) -> None:
        """Assign the results to `out_data`."""

    def backward(self, req: list[str], out_grad: list, in_data: list, out_data: list, in_grad: list, aux: list) -> None:
        """Assign the gradients of the inputs to `in_grad`."""

    def assign(self, dst: NDArray, req: str, src: Any) -> None:
        """Write ("write", "inplace") or add ("add") values, or do nothing ("null")."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] += src


class CustomOpProp:
    """The names, shapes and dtypes of an operator. A subclass is registered; its arguments arrive as texts.

    Args:
        need_top_grad: whether the gradients of the results matter; a loss needs none.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape: Shapes) -> tuple[Shapes, ...]:
        """The shapes of inputs, results and states, given those of the inputs: the first input's for each result."""
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list) -> tuple[list, ...]:
        """The dtypes, likewise."""
        return in_type, [in_type[0]] * len(self.list_outputs()), [in_type[0]] * len(self.list_auxiliary_states())

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Names of the results."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the states, which come behind the inputs."""
        return []

    def declare_backward_dependency(self, out_grad: list, in_data: list, out_data: list) -> list:
        """What the backward pass reads; here it has everything."""
        return [*(out_grad if self.need_top_grad_ else []), *in_data, *out_data]

    def create_operator(self, ctx: Context, in_shapes: Shapes, in_dtypes: list) -> CustomOp:
        """The operator for inputs of these shapes and dtypes."""
        return CustomOp()


def register(reg_name: str) -> Callable[[Property], Property]:
    """Make a `CustomOpProp` known by a name."""

    def do_register(prop_cls: Property) -> Property:
        _registry[reg_name] = prop_cls
        return prop_cls

    return do_register


class _Call(Function):
    """One call of an operator, in the graph of gradients."""

    def __init__(self, operator: CustomOp, results: list[NDArray], aux: list[NDArray]) -> None:
        super().__init__()
        self._operator = operator
        self._results = results
        self._aux = aux
        self._inputs: list[NDArray] = []

    def forward(self, *inputs: NDArray) -> Any:
        """The results."""
        self._inputs = list(inputs)
        requests = ["write"] * len(self._results)
        self._operator.forward(state.training, requests, self._inputs, self._results, self._aux)
        return self._results[0] if len(self._results) == 1 else self._results

    def backward(self, *output_grads: NDArray) -> list[NDArray]:
        """The gradients of the inputs."""
        gradients = [zeros(array.shape, array.context, array.dtype) for array in self._inputs]
        self._operator.backward(
            ["write"] * len(gradients), list(output_grads), self._inputs, self._results, gradients, self._aux
        )
        return gradients


def Custom(*inputs: NDArray, op_type: str, name: str | None = None, **given: Any) -> Any:
    """Call an operator that was registered by name; inputs by place or by name, other arguments go to its `CustomOpProp`.

    Raises:
        MXNetError: for a name that is not registered, and another number of inputs.
    """
    if op_type not in _registry:
        raise MXNetError(f"Custom: Cannot find custom operator type {op_type}")
    named = {key: given.pop(key) for key in list(given) if isinstance(given[key], NDArray)}
    make: Any = _registry[op_type]
    prop: CustomOpProp = make(**{key: str(value) for key, value in given.items()})
    arguments, states = prop.list_arguments(), prop.list_auxiliary_states()
    arrays = [*inputs, *(named[key] for key in [*arguments, *states] if key in named)]
    if len(arrays) != len(arguments) + len(states):
        raise MXNetError(f"Custom: {op_type} takes {', '.join([*arguments, *states])}; got {len(arrays)} arrays")
    data, aux = arrays[: len(arguments)], arrays[len(arguments) :]
    ctx = data[0].context
    in_shapes, out_shapes, *_ = prop.infer_shape([list(array.shape) for array in data])
    in_types, out_types, *_ = prop.infer_type([array.dtype for array in data])
    operator = prop.create_operator(ctx, in_shapes, in_types)
    results = [zeros(tuple(shape), ctx, np.dtype(kind).type) for shape, kind in zip(out_shapes, out_types, strict=True)]
    return _Call(operator, results, aux)(*data)
