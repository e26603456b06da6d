"""Operators written in Python. `mx.operator` registers them under a name, and `Custom` applies them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import Parameter, Signature
from typing import Any, TypeVar

import numpy as np
from torch import Tensor

from ..base import MXNetError
from ..context import Context, current_context
from ..operators.registry import Operator, Shape
from ..scopes import worker_thread
from ..state import state
from .array import wrap
from .function import Function
from .ndarray import NDArray
from .utils import zeros

Shapes = list[Any]
Property = TypeVar("Property", bound=type)
_registry: dict[str, type["CustomOpProp"]] = {}


# The operators of the running executor. MXNet creates an operator for each node at `bind`, and otherwise for each call.
_kept: ContextVar[dict | None] = ContextVar("kept", default=None)


@contextmanager
def keep_operators(kept: dict) -> Iterator[None]:
    """Use the operators in `kept`, and add new operators to it, until exit."""
    token = _kept.set(kept)
    try:
        yield
    finally:
        _kept.reset(token)


class CustomOp:
    """The computation of an operator; a subclass defines `forward` and `backward`, which assign to their arguments."""

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
    """The names, shapes and dtypes of an operator. A subclass is registered. It gets its arguments as strings.

    Args:
        need_top_grad: whether the operator reads the gradients of its results; a loss does not.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape: Shapes) -> tuple[Shapes, ...]:
        """The shapes of inputs, results and states from the inputs' shapes. By default a result has the shape of the first
        input."""
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list) -> tuple[list, ...]:
        """The dtypes of inputs, results and states. By default all have the dtype of the first input."""
        return in_type, [in_type[0]] * len(self.list_outputs()), [in_type[0]] * len(self.list_auxiliary_states())

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Names of the results."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the states, which follow the inputs."""
        return []

    def declare_backward_dependency(self, out_grad: list, in_data: list, out_data: list) -> list:
        """The arrays that the backward pass reads. It has no effect: the backward pass gets all arrays."""
        return [*(out_grad if self.need_top_grad_ else []), *in_data, *out_data]

    def create_operator(self, ctx: Context, in_shapes: Shapes, in_dtypes: list) -> CustomOp:
        """The operator for inputs of these shapes and dtypes."""
        return CustomOp()


def register(reg_name: str) -> Callable[[Property], Property]:
    """Register a `CustomOpProp` under a name."""

    def do_register(prop_cls: Property) -> Property:
        _registry[reg_name] = prop_cls
        return prop_cls

    return do_register


class _Call(Function):
    """A node of torch's graph for a call of an operator."""

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
        with worker_thread(inputs[0].context, state.training):
            self._operator.forward(state.training, requests, self._inputs, self._results, self._aux)
        return self._results[0] if len(self._results) == 1 else self._results

    def backward(self, *output_grads: NDArray) -> list[NDArray]:
        """The gradients of the inputs."""
        gradients = [zeros(array.shape, array.context, array.dtype) for array in self._inputs]
        requests = ["write"] * len(gradients)
        with worker_thread(self._inputs[0].context, state.training):
            self._operator.backward(requests, list(output_grads), self._inputs, self._results, gradients, self._aux)
        return gradients


def _property(attributes: Mapping[str, str]) -> CustomOpProp:
    """The `CustomOpProp` of a call or a node with these attributes.

    Raises:
        MXNetError: for a name that is not registered.
    """
    given = {key: value for key, value in attributes.items() if not key.startswith("__")}
    op_type = given.pop("op_type", None)
    if op_type not in _registry:
        raise MXNetError(f"Custom: Cannot find custom operator type {op_type}")
    make: Any = _registry[op_type]
    return make(**given)


def operator_of(attributes: Mapping[str, str]) -> Operator:
    """The operator that a node of a graph applies; `attributes` are the node's.

    Raises:
        MXNetError: for a name that is not registered.
    """
    prop = _property(attributes)
    arguments, states = list(prop.list_arguments()), list(prop.list_auxiliary_states())

    def compute(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
        if tensors[0].device.type == "meta":  # only shapes are inferred
            shapes = prop.infer_shape([list(tensor.shape) for tensor in tensors[: len(arguments)]])[1]
            found = [tensors[0].new_empty(tuple(shape)) for shape in shapes]
        else:
            arrays = [wrap(tensor, current_context()) for tensor in tensors]
            found = [array._t for array in _call(prop, arrays, _kept.get())]
        return found[0] if len(found) == 1 else tuple(found)

    def infer(_: Mapping[str, Any], shapes: list[Shape]) -> list[Shape]:
        if not shapes or not shapes[0] or 0 in shapes[0]:
            return shapes
        in_shapes, _out, *aux = prop.infer_shape([list(shape or ()) for shape in shapes[: len(arguments)]])
        return [tuple(shape) or None for shape in (*in_shapes, *(aux[0] if aux else ()))]

    def infer_types(types: list) -> tuple[list, list]:
        in_types, out_types, *aux = prop.infer_type(types[: len(arguments)])
        return [*in_types, *(aux[0] if aux else [])], list(out_types)

    places = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in (*arguments, *states)]
    compute.__signature__ = Signature(places)  # type: ignore[attr-defined]
    outputs = tuple(prop.list_outputs())
    return Operator(
        "Custom", compute, len(places), visible=len(outputs), auxiliary=tuple(states), infer=infer,
        output_names=outputs, loss=not prop.need_top_grad_, infer_types=infer_types,
    )  # fmt: skip


def _call(prop: CustomOpProp, arrays: list[NDArray], kept: dict | None = None) -> list[NDArray]:
    """The results for inputs and states. `kept` contains the operators of earlier calls."""
    count = len(prop.list_arguments())
    data, ctx = arrays[:count], arrays[0].context
    in_shapes, out_shapes, *_ = prop.infer_shape([list(array.shape) for array in data])
    in_types, out_types, *_ = prop.infer_type([array.dtype for array in data])
    key = (id(prop), ctx, str(in_shapes), str(in_types))
    operator = kept.get(key) if kept is not None else None
    if operator is None:
        operator = prop.create_operator(ctx, in_shapes, in_types)
    if kept is not None:
        kept[key] = operator
    results = [zeros(tuple(shape), ctx, np.dtype(kind).type) for shape, kind in zip(out_shapes, out_types, strict=True)]
    called = _Call(operator, results, arrays[count:])(*data)
    return called if isinstance(called, list) else [called]


def Custom(*inputs: NDArray, op_type: str, name: str | None = None, **given: Any) -> Any:
    """Call a registered operator. Inputs are positional or keywords; its `CustomOpProp` gets all other arguments.

    Raises:
        MXNetError: for a name that is not registered, and another number of inputs.
    """
    named = {key: given.pop(key) for key in list(given) if isinstance(given[key], NDArray)}
    prop = _property({"op_type": op_type, **{key: str(value) for key, value in given.items()}})
    places = [*prop.list_arguments(), *prop.list_auxiliary_states()]
    arrays = [*inputs, *(named[key] for key in places if key in named)]
    if len(arrays) != len(places):
        raise MXNetError(f"Custom: {op_type} takes {', '.join(places)}; got {len(arrays)} arrays")
    results = _call(prop, arrays)
    return results[0] if len(results) == 1 else results
