"""The class that wraps a tensor, and functions that run operators on it, for `mx.nd` and `mx.np`."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..base import MXNetError, is_refusal
from ..context import Context, as_context
from ..operators import Operator
from ..operators.arithmetic import as_number, whole_of
from ..state import state, without_torch_grad
from .tape import remember
from .whole import carry, in_graph

if TYPE_CHECKING:
    from .ndarray import NDArray

IN_GRAPH = (
    "Assigning to NDArrays that are already in a computational graph will cause undefined behavior when evaluating "
    "gradients. Please call backward first to clear the graph or do this out side of a record section."
)
IN_PLACE = "Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd."


class Array:
    """A tensor with its nominal context and the gradient of the last `backward`.

    Args:
        tensor: the values.
        ctx: the context; by default the current context.
    """

    __slots__ = ("__weakref__", "_carrier", "_ctx", "_fresh", "_grad", "_t")

    def __init__(self, tensor: Tensor, ctx: Context | None = None) -> None:
        self._t = tensor
        self._ctx = as_context(ctx)
        self._grad: NDArray | None = None
        self._fresh = False
        self._carrier: Tensor | None = None


_kinds: dict[bool, type[Array]] = {}


def wrapped_by(numpy_semantics: bool, kind: type[Array]) -> None:
    """Set the class of arrays that `wrap` creates for `mx.nd`, or for `mx.np` under `npx.set_np`."""
    _kinds[numpy_semantics] = kind


def wrap(tensor: Tensor, ctx: Context, numpy_semantics: bool | None = None) -> "NDArray":
    """An array that wraps a tensor, without the checks of the constructor. It is an array of `mx.np` if the argument or
    `npx.set_np` requires it."""
    array: Any = object.__new__(_kinds[state.numpy if numpy_semantics is None else numpy_semantics])
    array._t = tensor
    array._ctx = ctx
    array._grad = None
    array._fresh = False
    array._carrier = None
    if tensor.requires_grad and state.recording:
        remember(array)
    return array


def move(tensor: Tensor, ctx: Context) -> Tensor:
    """A contiguous copy on a context's device, in the graph if the tensor is."""
    copy = tensor.to(ctx.device)
    return copy.clone(memory_format=torch.contiguous_format) if copy.device == tensor.device else copy


def run(function: Callable[..., Any], *tensors: Any) -> Any:
    """Compute on tensors, with a graph only under `autograd.record`."""
    if state.recording:
        return function(*tensors)
    return without_torch_grad(function, *tensors)


def tensor_of(name: str, value: Any) -> Tensor:
    """The tensor of the argument with this name (AssertionError if it is not an array)."""
    if not isinstance(value, Array):
        raise AssertionError(f"Argument {name} must have NDArray type, but got {value}")
    return value._t


def write(target: Array, values: Tensor, within: bool = False) -> None:
    """Replace the elements of an array. Under `autograd.record` the new values are part of the graph.

    Args:
        target: the array.
        values: its new elements.
        within: the values belong to a graph, and the operator works in place, which the graph cannot contain.

    Raises:
        MXNetError: for values of another shape, or a target in the graph being recorded. As in MXNet 1.9.1 the elements are
            replaced before the error about the graph.
    """
    if target._t.shape != values.shape:
        raise MXNetError(f"the output has shape {tuple(target._t.shape)}, the result {tuple(values.shape)}")
    watched = state.recording and in_graph(target).requires_grad
    if state.recording and values.requires_grad and not (watched or within):
        target._t.copy_(values)
        remember(target)
        return
    target._t.data.copy_(values.detach())
    if watched or within:
        raise MXNetError(IN_GRAPH if watched else IN_PLACE)


def mark(array: "NDArray", gradient: "NDArray", grad_req: str) -> None:
    """Make an array a variable with the gradient array `gradient`, which `backward` overwrites ("write"), adds to ("add") or
    ignores ("null")."""
    leaf = array._t.detach()
    array._t = leaf
    array._grad = gradient
    array._carrier = None
    if grad_req == "null" or leaf.dtype == torch.bool:
        return
    if not leaf.dtype.is_floating_point:
        leaf = array._carrier = leaf.double()
    leaf.requires_grad_(True)

    array_dtype = array._t.dtype

    def collect(variable: Tensor) -> None:
        # torch sums `.grad` over passes. Here only the gradient of this pass is added or written.
        fresh = variable.grad
        variable.grad = None
        assert fresh is not None
        if fresh._is_zerotensor():  # zeros without memory, as in second derivatives
            fresh = torch.zeros_like(fresh)
        if array_dtype != fresh.dtype:
            fresh = whole_of(fresh, array_dtype)
        if grad_req == "add":
            gradient._t.data.add_(fresh.detach())
        else:
            gradient._t = fresh.detach()
        gradient._fresh = True

    leaf.register_post_accumulate_grad_hook(collect)


def call(operator: Operator, arguments: tuple, attributes: Mapping[str, Any], out: Any = None) -> Any:
    """Run an operator on arrays.

    Args:
        operator: the operator.
        arguments: the arrays, then attributes in the operator's order.
        attributes: further arrays and attributes by name.
        out: array, or list of arrays, that receives the results.

    Returns:
        An NDArray, or a list of them for an operator with several results.

    Raises:
        AssertionError: for an input that is not an NDArray.
        MXNetError: for an unknown attribute, and for arguments that the operator refuses.
        TypeError: for too many arguments.
    """
    ctx = None
    carried = False
    values: list[Any] = []
    inputs = len(arguments) if operator.variadic else len(operator.inputs)
    for place, argument in enumerate(arguments):
        if isinstance(argument, Array):
            values.append(argument._t)
            ctx = ctx or argument._ctx
            carried = carried or (argument._carrier is not None and state.recording)
        else:
            if place < inputs and (operator.variadic or argument is not None):
                tensor_of(operator.inputs[0 if operator.variadic else place], argument)
            values.append(argument)
    named = {}
    for key, value in attributes.items():
        if isinstance(value, Array):
            ctx = ctx or value._ctx
            carried = carried or (value._carrier is not None and state.recording)
            named[key] = value._t
        elif key in operator.inputs and not operator.variadic:
            if value is not None:
                tensor_of(key, value)
        elif key in operator.attributes:
            named[key] = value
        else:
            operator.check({key: value})
            operator.expect(len(values), {key: value})
    if not operator.variadic and len(values) > operator.places:
        out = _out_by_place(operator, arguments, out)
        return call(operator, arguments[: operator.places], attributes, out)
    if ctx is None:
        ctx = as_context(named.get("ctx"))
    try:
        if operator.checked:
            _fit(operator, values, named)
        if state.recording:
            result = operator.compute(*values, **named)
        else:
            result = without_torch_grad(operator.compute, *values, **named)
        if operator.copies:
            result = _copy_shared(result, values, named)
    except (RuntimeError, IndexError, ValueError, TypeError, AssertionError) as error:
        if is_refusal(error):
            raise
        raise MXNetError(f"{operator.name}: {str(error).replace(operator.compute.__name__, operator.name)}") from error
    except AttributeError as error:
        missing = [name for name, value in zip(operator.inputs, values, strict=False) if value is None]
        if error.obj is not None or not missing:
            raise
        raise MXNetError(f"{operator.name}: {' and '.join(missing)} must be an NDArray, got None") from error
    given = _wrap_results(result, ctx, out)
    if carried or (state.recording and isinstance(result, Tensor) and not result.is_floating_point()):
        _connect_gradients(given, operator, arguments, attributes)
    return given


def _out_by_place(operator: Operator, arguments: tuple, out: Any) -> Any:
    """In MXNet 1.9.1 `out` and `name` are positional arguments after the attributes (inspect.signature of mx.nd.flatten)."""
    given, *more = arguments[operator.places :]
    if len(more) > 1 or (out is not None and given is not None):
        raise TypeError(f"{operator.name} takes {operator.places + 2} arguments, got {len(arguments)}")
    if not isinstance(given, (Array, list, tuple, type(None))):
        raise TypeError(f"{operator.name}: out must be an NDArray or a list of them, got {given!r}")
    return out if given is None else given


def _fit(operator: Operator, values: list, named: Mapping[str, Any]) -> None:
    """Raise an error for arrays that do not fit the attributes, in MXNet's order of inputs."""
    count = len(operator.inputs)
    given = [*values[:count], *(named.get(name) for name in operator.inputs[len(values) :])]
    places = dict(zip(operator.defaults, values[count:], strict=False))
    operator.fit({**places, **named}, [value.shape for value in given if value is not None])


def _connect_gradients(given: Any, operator: Operator, arguments: tuple, attributes: Mapping[str, Any]) -> None:
    """Let gradients flow through integers in the arguments or results of an operator."""
    places = [place for place, argument in enumerate(arguments) if isinstance(argument, Array)]
    names = [name for name, value in attributes.items() if isinstance(value, Array)]
    arrays = [*(arguments[place] for place in places), *(attributes[name] for name in names)]
    fixed = {name: value for name, value in attributes.items() if name in operator.attributes}
    if "scalar" in fixed:  # MXNet truncates it to the array's dtype
        fixed["scalar"] = as_number(fixed["scalar"], arrays[0]._t)

    def compute(*tensors: Tensor) -> Any:
        values = list(arguments)
        for place, tensor in zip(places, tensors, strict=False):
            values[place] = tensor
        return operator.compute(*values, **fixed, **dict(zip(names, tensors[len(places) :], strict=True)))

    for number, part in enumerate(given if isinstance(given, list) else [given]):
        one = compute if part is given else partial(_result_number, compute, number)
        carry(part, one, arrays, operator)


def _result_number(compute: Callable[..., Any], number: int, *tensors: Tensor) -> Any:
    return compute(*tensors)[number]


def _copy_shared(result: Any, values: list, named: Mapping[str, Any]) -> Any:
    """Copy results that share memory with an input."""
    if isinstance(result, tuple):
        return tuple(_copy_shared(part, values, named) for part in result)
    # Only this private method detects views.
    shares = result._is_view() or any(result is v for v in values) or any(result is v for v in named.values())
    if not shares:
        return result
    return run(lambda t: t.clone(memory_format=torch.contiguous_format), result)


def _wrap_results(result: Any, ctx: Context, out: Any) -> Any:
    if out is not None:
        targets = out if isinstance(out, (list, tuple)) else [out]
        results = result if isinstance(result, tuple) else (result,)
        for target, values in zip(targets, results, strict=False):
            write(target, values.to(target._t.dtype))
        return out
    if isinstance(result, tuple):
        return [wrap(part, ctx) for part in result]
    return wrap(result, ctx)
