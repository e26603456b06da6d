"""`function` and `elementwise` turn arithmetic on tensors into functions of Variables: one row of a table each."""

import contextlib
import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy
import torch

from anygru.extend import bound

from .._torch_function import TorchFunction
from ..utils import type_check
from ..utils.helpers import force_array
from ..variable import Variable, as_variable

expect = type_check.expect
Check = Callable[..., None]
Type = Any
"""The type of an input: the array itself, or a `type_check.Expression` of its shape and dtype."""
Axes = int | tuple[int, ...] | None


def real(node: object, x: Type, *others: Type) -> None:
    """The first input is floating point."""
    expect(x.dtype.kind == "f")


def all_real(node: object, *xs: Type) -> None:
    """Every input is floating point."""
    expect(*[x.dtype.kind == "f" for x in xs])


def one_dtype(node: object, x: Type, *others: Type) -> None:
    """All inputs have the dtype of the first."""
    expect(*[x.dtype == other.dtype for other in others])


def one_shape(node: object, x: Type, *others: Type) -> None:
    """All inputs have the shape of the first."""
    expect(*[x.shape == other.shape for other in others])


def broadcastable(node: object, *xs: Type) -> None:
    """The shapes can be broadcast together."""
    type_check.expect_broadcast_shapes(*[x.shape for x in xs])


def not_empty(node: object, *xs: Type) -> None:
    """There is an input."""
    expect(type_check.make_variable(len(xs), "in_types.size") > 0)


def numbered(node: object, *xs: Type) -> None:
    """Name the inputs x0, x1, ... for later checks."""
    type_check._argname(xs, [f"x{i}" for i in range(len(xs))])


def has_axes(node: Any, x: Type, *others: Type) -> None:
    """The first input has all of `node.axis`."""
    expect_axes((node.axis,) if isinstance(node.axis, int) else node.axis, x)


def expect_axes(axes: Sequence[int] | None, in_type: Type) -> None:
    """InvalidType unless the array has all these axes."""
    for axis in axes or ():
        if axis >= 0:
            expect(axis < in_type.ndim)
        else:
            expect(-axis - 1 < in_type.ndim)


def expect_alike(in_types: Sequence[Type], free_axis: int | None) -> None:
    """InvalidType unless all arrays have one dtype, one number of axes and, except along the free axis, one shape."""
    for in_type in in_types[1:]:
        expect(in_types[0].dtype == in_type.dtype, in_types[0].ndim == in_type.ndim)
        for axis in range(type_check.eval(in_types[0].ndim)):
            if axis != free_axis:
                expect(in_types[0].shape[axis] == in_type.shape[axis])


@contextlib.contextmanager
def as_runtime_error() -> Iterator[None]:
    """Inside, a failed check is a RuntimeError with the same message.

    As Chainer 7.8.1 in `softmax`, `log_softmax` and `softmax_cross_entropy` (recorded).
    """
    try:
        yield
    except type_check.InvalidType as error:
        if type_check.in_light_mode():
            raise
        raise RuntimeError(str(error)) from error


def as_axes(axis: Axes) -> tuple[int, ...] | None:
    """Axes from None, an int or a tuple of ints (TypeError for another type, ValueError for a repeated axis)."""
    if axis is None:
        return None
    if isinstance(axis, int):
        return (axis,)
    if not (isinstance(axis, tuple) and all(isinstance(a, int) for a in axis)):
        raise TypeError(f"axis: None, int or tuple of int are required, got {axis!r}")
    if len(set(axis)) != len(axis):
        raise ValueError(f"duplicate value in axis: ({', '.join(map(str, axis))})")
    return axis


def int_axis(axis: int) -> tuple[int]:
    """The option `axis` of a row, an int (TypeError)."""
    if not isinstance(axis, int):
        raise TypeError(f"axis must be int, got {axis!r}")
    return (axis,)


def check_axes(axes: Sequence[int], ndim: int) -> None:
    """NumPy's AxisError (an IndexError and a ValueError) unless an array of `ndim` axes has all these."""
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise numpy.exceptions.AxisError(axis, ndim)


def check_reduce(reduce: str, allowed: tuple[str, ...] = ("mean", "no")) -> None:
    """Raise ValueError unless `reduce` is one of the allowed names."""
    if reduce not in allowed:
        names = " and ".join(repr(name) for name in allowed)
        raise ValueError(f"only {names} are valid for 'reduce', but '{reduce}' is given")


Tensor = torch.Tensor
_INPUTS = (Tensor, Tensor | None, Sequence[Tensor])


class Row(TorchFunction):
    """The node of a row. Its class has the name of Chainer's, which labels, hooks and drawn graphs show."""

    body: ClassVar[Callable[..., Any]]
    checks: ClassVar[tuple[Check, ...]] = (real,)
    prepare: ClassVar[Callable[..., tuple[Any, ...]] | None] = None
    inputs_named: ClassVar[tuple[str, ...]] = ("x",)
    """Names of the inputs; empty if there can be any number of them."""
    takes_list: ClassVar[bool] = False
    named: ClassVar[bool] = True
    options: ClassVar[inspect.Signature] = inspect.Signature()
    text: ClassVar[str | Callable[[Any], str] | None] = None
    gives_tuple = False

    def __init__(self, *args: object, **kwargs: object) -> None:
        if kwargs or len(args) != len(self.options.parameters):
            args = bound(self.options, type(self).__name__, args, kwargs).args
        prepare = type(self).prepare
        self._values = args if prepare is None else prepare(*args)
        self.__dict__.update(zip(self.options.parameters, self._values, strict=True))

    @property
    def label(self) -> str:
        text = type(self).text
        return type(self).__name__ if text is None else text if isinstance(text, str) else text(self)

    def check_type_forward(self, in_types: Sequence[Any]) -> None:
        if self.named and self.inputs_named:
            type_check._argname(in_types, self.inputs_named[: max(len(in_types), 1)])
        for check in self.checks:
            check(self, *in_types)

    def compute(self, *inputs: Tensor) -> Any:
        body = type(self).body
        if self.takes_list:
            results = body(inputs, *self._values)
        else:
            results = body(*inputs, *(None,) * (len(self.inputs_named) - len(inputs)), *self._values)
        self.gives_tuple = isinstance(results, tuple)
        return results

    def result(self, inputs: Sequence[Any]) -> Any:
        """The output as a Variable, or several as a tuple."""
        outputs = self.apply(inputs)
        return outputs if self.gives_tuple else outputs[0]


def move(node: Row, *arrays: Any) -> tuple[Any, ...]:
    """The outputs of a function that only moves elements, computed from the indices of the elements.

    It computes arrays of objects or text, which Chainer passes to NumPy (7.8.1, recorded).
    """
    places = torch.arange(sum(array.size for array in arrays)).split([array.size for array in arrays])
    moved = node.compute(*[own.reshape(array.shape) for own, array in zip(places, arrays, strict=True)])
    values = numpy.concatenate([array.ravel() for array in arrays])
    return tuple([force_array(values[own.numpy()]) for own in (moved if isinstance(moved, tuple) else (moved,))])


def function(
    name: str,
    *checks: Check,
    label: str | Callable[[Any], str] | None = None,
    prepare: Callable[..., tuple[Any, ...]] | None = None,
    unless: Callable[..., bool] | None = None,
    named: bool = True,
    is_elementwise: bool = False,
    gradient_inputs: tuple[int, ...] | None = None,
    by_numpy: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate arithmetic on tensors: it becomes a function of Variables and arrays.

    The leading parameters that are annotated as Tensor (`Tensor | None` for optional ones, `Sequence[Tensor]` or
    `*xs: Tensor` for any number) are the inputs, all other parameters are options and become attributes of the node.
    The node's class is defined in the function's module, as in Chainer: `ReLU` for `relu`.

    Args:
        name: name of the node's class.
        checks: called with the node and the types of the inputs; they raise InvalidType.
        label: the text in messages and graphs, or a function of the node that gives it; `name` by default.
        prepare: checks the options and returns the values that the node keeps.
        unless: takes the arguments; True if the result is the unchanged first input.
        named: whether messages call the inputs by their names; "in_types[0]" otherwise.
        is_elementwise: the node's attribute of this name.
        gradient_inputs: the inputs on which Chainer's gradient depends, where torch differs; see `TorchFunction`.
        by_numpy: computes arrays of objects and other dtypes that torch does not have; see `TorchFunction` and `move`.
    """

    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        parameters = [p.replace() for p in inspect.signature(body).parameters.values()]
        n_inputs = sum(p.annotation in _INPUTS for p in parameters)
        spread = parameters[0].kind is inspect.Parameter.VAR_POSITIONAL
        takes_list = parameters[0].annotation == Sequence[Tensor]
        bare = [p.replace(annotation=p.empty) for p in parameters]
        members = {
            "__module__": body.__module__,
            "body": staticmethod(body),
            "checks": checks,
            "prepare": None if prepare is None else staticmethod(prepare),
            "inputs_named": () if spread or takes_list else tuple(p.name for p in parameters[:n_inputs]),
            "takes_list": takes_list,
            "named": named,
            "options": inspect.Signature(bare[n_inputs:]),
            "text": label,
            "is_elementwise": is_elementwise,
            "gradient_inputs": gradient_inputs,
            "by_numpy": by_numpy,
        }
        node: type[Row] = type(name, (Row,), members)
        body.__globals__[name] = node
        signature = inspect.Signature(bare)

        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs or (len(args) != len(bare) and not spread):
                args = bound(signature, body.__name__, args, kwargs).args
            if unless is not None and unless(*args):
                return as_variable(args[0])
            if spread:
                return node().result(args)
            inputs = args[0] if takes_list else [x for x in args[:n_inputs] if x is not None]
            return node(*args[n_inputs:]).result(inputs)

        # Without the annotations: they name Tensor, while callers pass Variables and arrays.
        functools.update_wrapper(call, body, (*functools.WRAPPER_ASSIGNMENTS[:4],))
        del call.__dict__["__wrapped__"]
        call.__dict__["__signature__"] = signature
        return call

    return decorate


def elementwise(
    name: str,
    compute: Callable[[Tensor], Tensor],
    doc: str,
    label: str | None = None,
    gradient_inputs: tuple[int, ...] | None = None,
    by_numpy: Callable[..., Any] | None = None,
) -> tuple[type[Row], Callable[[Any], Variable]]:
    """The node's class and the function of one floating point array.

    Args:
        name: name of the node's class.
        compute: a function of one tensor.
        doc: the function's docstring.
        label: the text in messages and graphs, `name` by default; the function's name in small letters.
        gradient_inputs, by_numpy: see `function`.
    """
    members = {"body": staticmethod(compute), "text": label, "gradient_inputs": gradient_inputs, "by_numpy": by_numpy}
    node: type[Row] = type(name, (Row,), members)

    def call(x: Any) -> Variable:
        return node().result((x,))

    call.__name__ = call.__qualname__ = label or re.sub("(?<=[a-z])(?=[A-Z][a-z])", "_", name).lower()
    # A pickle finds both by the module that keeps them.
    node.__module__ = call.__module__ = sys._getframe(1).f_globals["__name__"]
    call.__doc__ = doc
    return node, call
