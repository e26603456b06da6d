"""`Variable`: an array that remembers which function made it, and `Parameter`: one that an optimizer updates.

A Variable holds a NumPy array (or `backends.cuda.ndarray`); functions work on torch tensors over the same memory. What
the graph needs of a Variable is its `VariableNode`, so that the Variable itself can be forgotten by the user.
"""

from __future__ import annotations

import copy
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy

from . import backend
from ._backprop import backprop_to_all, check_grad_type
from ._tensors import ARRAYS
from .backends import _cpu, cuda
from .configuration import using_config
from .initializers import fillers
from .utils import argument


def _text(variable: Variable, separator: str) -> str:
    array = _cpu.array_to_cpu(variable.array)
    prefix = f"variable {variable.name}" if variable.name else "variable"
    if array is None:
        content = "None"
    elif separator == ", " and array.size == 0 and array.shape != (0,):
        content = f"[], shape={array.shape!r}"
    else:
        content = numpy.array2string(array, separator=separator, prefix=prefix + "(")
    return f"{prefix}({content})"


class VariableNode:
    """A Variable's place in the graph. It outlives the Variable, and holds the array only if a function retained it."""

    def __init__(self, variable: Variable, name: str | None) -> None:
        self._variable = weakref.ref(variable)
        self.name = name
        self._creator_node: Any = None
        self._rank = 0
        self._data: Any = None
        self._requires_grad = variable.requires_grad
        self._old_style_function: str | None = None
        self.dtype: Any = None
        self.shape: Any = None
        self._update_data_info(variable.array)

    @property
    def creator(self) -> Any:
        """The function that made the variable: a FunctionNode, or the old-style Function; None for a leaf."""
        node = self._creator_node
        return node.function if getattr(node, "is_adapter", False) else node

    @creator.setter
    def creator(self, function: Any) -> None:
        self.creator_node = function

    @property
    def creator_node(self) -> Any:
        """The FunctionNode that made the variable; None for a leaf."""
        return self._creator_node

    @creator_node.setter
    def creator_node(self, function: Any) -> None:
        if getattr(function, "is_old_style", False):
            function = function.node
        self._creator_node = function
        if function is not None:
            self._rank = function.rank + 1

    @property
    def data(self) -> Any:
        """The array, if a function has retained it, else None."""
        return self._data

    @data.setter
    def data(self, array: Any) -> None:
        self._data = array
        self._update_data_info(array)

    @property
    def grad(self) -> Any:
        """The gradient array of the variable, None if the variable is gone."""
        variable = self._variable()
        return None if variable is None else variable.grad

    @property
    def grad_var(self) -> Any:
        """The gradient of the variable as a Variable, None if the variable is gone."""
        variable = self._variable()
        return None if variable is None else variable.grad_var

    @property
    def label(self) -> str:
        """Shape and dtype as text, as in drawn graphs."""
        if self.shape == ():
            return str(self.dtype)
        return f"({', '.join(map(str, self.shape))}), {self.dtype}"

    @property
    def rank(self) -> int:
        """Length of the longest way from a leaf."""
        return self._rank

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient is computed for the variable."""
        return self._requires_grad

    def get_variable(self) -> Variable:
        """The variable, or a new one on the retained array if it is gone."""
        variable = self._variable()
        return self.rebuild(self.data) if variable is None else variable

    def rebuild(self, array: Any) -> Variable:
        """A new variable at this place of the graph, holding `array`."""
        variable = Variable(array, name=self.name, requires_grad=self.requires_grad)
        variable._node = self
        return variable

    def get_variable_or_none(self) -> Variable | None:
        """The variable, None if it is gone."""
        return self._variable()

    def set_creator(self, creator: Any) -> None:
        """Set the function that made the variable."""
        self.creator = creator

    def set_creator_node(self, creator_node: Any) -> None:
        """Set the FunctionNode that made the variable."""
        self.creator_node = creator_node

    def unchain(self) -> None:
        """Cut the variable off the function that made it."""
        self.creator_node = None

    def retain_data(self) -> None:
        """Keep the array with the node (RuntimeError if the variable is gone)."""
        variable = self._variable()
        if variable is None:
            raise RuntimeError("cannot retain variable data: the variable has been already released")
        self.data = variable.array

    def check_old_style_gradient(self) -> None:
        """Raise RuntimeError if this is a gradient made by an old-style Function, which cannot be differentiated."""
        if self._old_style_function is not None:
            raise RuntimeError(f'cannot twice-differentiate an old style Function "{self._old_style_function}"')

    def _update_data_info(self, array: Any) -> None:
        self.dtype = None if array is None else array.dtype
        self.shape = None if array is None else array.shape
        if self._data is not None:
            self._data = array


def _create_variable(array: Any, name: str | None, grad: Any, requires_grad: bool, device: Any = None) -> Variable:
    # Name and arguments as in Chainer's pickles; an array on the CPU says itself where it is.
    return Variable(array, name=name, grad=grad, requires_grad=requires_grad)


class Variable:
    """An array in a graph of functions.

    Args:
        data: the array (NumPy, or on a GPU `backends.cuda.ndarray`), shared, not copied; None for an empty variable.
        name: shown in texts and drawn graphs.
        grad: the gradient array to start with.
        requires_grad: whether `backward` computes a gradient for it.

    Raises:
        TypeError: `data` is no array, or an unknown keyword came.
        ValueError: the keyword `volatile` of the first release came.
    """

    __array_priority__ = 200
    __hash__ = None  # type: ignore[assignment]

    # `variable_operators` sets these and the comparisons.
    T: Variable
    reshape: Callable[..., Variable]
    transpose: Callable[..., Variable]
    mean: Callable[..., Variable]
    __getitem__: Callable[..., Variable]
    __pos__: Callable[..., Variable]
    __neg__: Callable[..., Variable]
    __abs__: Callable[..., Variable]
    __add__: Callable[..., Variable]
    __radd__: Callable[..., Variable]
    __sub__: Callable[..., Variable]
    __rsub__: Callable[..., Variable]
    __mul__: Callable[..., Variable]
    __rmul__: Callable[..., Variable]
    __truediv__: Callable[..., Variable]
    __rtruediv__: Callable[..., Variable]
    __floordiv__: Callable[..., Variable]
    __rfloordiv__: Callable[..., Variable]
    __pow__: Callable[..., Variable]
    __rpow__: Callable[..., Variable]
    __matmul__: Callable[..., Variable]
    __rmatmul__: Callable[..., Variable]

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        name, grad, requires_grad, grad_valid = argument.parse_kwargs(
            kwargs,
            ("name", None),
            ("grad", None),
            ("requires_grad", True),
            ("_grad_valid", True),
            volatile="volatile argument is not supported anymore. Use chainer.using_config",
        )
        if data is not None and not isinstance(data, ARRAYS):
            expected = " or ".join(str(kind) for kind in ARRAYS)
            raise TypeError(f"{expected} are expected. Actual: {type(data)}")
        self._data: list[Any] = [data]  # a cell, which `copy.copy` shares
        self._requires_grad: bool = requires_grad
        self._grad_valid: bool = grad_valid
        self._grad = grad
        self._grad_var: Variable | None = None
        self._loss_scale: float | None = None
        self._node = VariableNode(self, name)

    def __copy__(self) -> Variable:
        return self._copy_to(Variable())

    def _copy_to(self, target: Any) -> Any:
        target.__dict__ = copy.copy(self.__dict__)
        target._node = VariableNode(target, self.name)
        return target

    def __reduce__(self) -> Any:
        return _create_variable, (self.array, self.name, self.grad, self._requires_grad)

    def __repr__(self) -> str:
        return _text(self, ", ")

    def __str__(self) -> str:
        return _text(self, " ")

    def __len__(self) -> int:
        return len(self.array)

    @property
    def array(self) -> Any:
        """The array itself, not a copy."""
        return self._data[0]

    @array.setter
    def array(self, array: Any) -> None:
        self._node._update_data_info(array)
        self._data[0] = array

    @property
    def data(self) -> Any:
        """The same as `array`."""
        return self.array

    @data.setter
    def data(self, array: Any) -> None:
        self.array = array

    @property
    def raw_array(self) -> Any:
        """The same as `array`."""
        return self._data[0]

    @property
    def grad(self) -> Any:
        """The gradient array; None if there is none."""
        if not self._grad_valid:
            raise RuntimeError(
                "Cannot retrieve Variable.grad. Either it must be set manually or Variable.cleargrad() must be called "
                "beforehand."
            )
        return self._grad if self._grad_var is None else self._grad_var.array

    @grad.setter
    def grad(self, gradient: Any) -> None:
        if gradient is not None and self._data[0] is not None:
            check_grad_type(None, self, gradient)
        self._set_grad(gradient)

    def _set_grad(self, gradient: Any) -> None:
        self._grad = gradient
        self._grad_var = None
        self._grad_valid = True

    @property
    def grad_var(self) -> Variable | None:
        """The gradient as a Variable, which has a graph of its own after `backward(enable_double_backprop=True)`."""
        if self._grad_var is None and self._grad is not None:
            self._grad_var = Variable(self._grad)
        return self._grad_var

    @grad_var.setter
    def grad_var(self, gradient: Variable | None) -> None:
        if gradient is not None and self._data[0] is not None:
            check_grad_type(None, self, gradient.array)
        self._set_grad_var(gradient)

    def _set_grad_var(self, gradient: Variable | None) -> None:
        self._grad_var = gradient
        self._grad = None if gradient is None else gradient.array

    @property
    def name(self) -> str | None:
        """The name shown in texts."""
        return self._node.name

    @name.setter
    def name(self, name: str | None) -> None:
        self._node.name = name

    @property
    def shape(self) -> Any:
        """Shape of the array."""
        return self._data[0].shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._data[0].ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._data[0].size

    @property
    def dtype(self) -> Any:
        """Dtype of the array."""
        return self._data[0].dtype

    @property
    def requires_grad(self) -> bool:
        """Whether `backward` computes a gradient for it."""
        return self._requires_grad

    @property
    def layout(self) -> None:
        """The memory layout, which is always the standard one (None)."""
        return

    @property
    def node(self) -> VariableNode:
        """The place in the graph."""
        return self._node

    @property
    def creator(self) -> Any:
        """The function that made it, None for a leaf."""
        return self._node.creator

    @creator.setter
    def creator(self, function: Any) -> None:
        self._node.creator = function

    @property
    def creator_node(self) -> Any:
        """The FunctionNode that made it, None for a leaf."""
        return self._node.creator_node

    @creator_node.setter
    def creator_node(self, function: Any) -> None:
        self._node.creator_node = function

    @property
    def rank(self) -> int:
        """Length of the longest way from a leaf."""
        return self._node.rank

    @property
    def label(self) -> str:
        """Shape and dtype as text."""
        return self._node.label

    def set_creator(self, function: Any) -> None:
        """Set the function that made it."""
        self._node.set_creator(function)

    def set_creator_node(self, function: Any) -> None:
        """Set the FunctionNode that made it."""
        self._node.set_creator_node(function)

    def retain_data(self) -> None:
        """Keep the array with the node."""
        self._node.data = self._data[0]

    def backward(
        self, retain_grad: bool = False, enable_double_backprop: bool = False, loss_scale: float | None = None
    ) -> None:
        """Compute the gradients of all leaves that it depends on and add them to their `grad`.

        It starts from `grad`, or from one if it has a single element and no gradient.

        Args:
            retain_grad: keep the gradients of what lies between, too.
            enable_double_backprop: make the gradients differentiable (`grad_var`).
            loss_scale: factor of the start value, which optimizers divide out again.
        """
        if self.array.size == 1 and self.grad_var is None:
            if self.array.ndim != 0:
                warnings.warn(
                    "Treating a variable with only one element as a scalar in Variable.backward is deprecated. A scalar "
                    "variable must be a 0-dimensional array. Apply chainer.functions.squeeze to obtain a scalar "
                    "variable. If the size of this variable accidentally becomes one, set zero to grad.",
                    DeprecationWarning,
                )
            self.grad = self.xp.ones_like(self.array)
            if loss_scale is not None:
                self.grad *= loss_scale
        start = self.grad_var
        if start is None and self.creator_node is not None:
            raise TypeError(
                f"backward: a variable of shape {self.shape} needs a gradient to start from; set its `grad`, or make it a "
                "scalar (a 0-dimensional array) first"
            )
        self.grad_var = None
        with using_config("enable_backprop", enable_double_backprop):
            backprop_to_all(Variable, [(self.node, start)], retain_grad, loss_scale)

    def unchain(self) -> None:
        """Cut it off the function that made it."""
        self.creator_node = None

    def unchain_backward(self) -> None:
        """Cut all functions behind it out of the graph, so that nothing flows back past it."""
        pending = [self.creator_node]
        seen = set()
        while pending:
            function = pending.pop()
            if function is None or id(function) in seen or function.inputs is None:
                continue
            seen.add(id(function))
            pending += [node.creator_node for node in function.inputs]
            function.unchain()

    def cleargrad(self) -> None:
        """Forget the gradient."""
        self._set_grad(None)

    def zerograd(self) -> None:
        """Set the gradient to zeros. Deprecated: `cleargrad` is faster."""
        warnings.warn("Variable.zerograd is deprecated. Use Variable.cleargrad instead.", DeprecationWarning)
        if self.array is not None:
            self._set_grad(self.xp.zeros_like(self.array))
        self._grad_valid = True

    def copydata(self, var: Variable) -> None:
        """Write another variable's values into its array; initializes whichever of the two parameters is not yet."""
        if var.array is None:
            if self.array is None:
                return
            var.initialize(self.shape)  # type: ignore[attr-defined]
        elif self.array is None:
            self.initialize(var.shape)  # type: ignore[attr-defined]
        backend.copyto(self.array, var.array)

    def addgrad(self, var: Variable) -> None:
        """Add another variable's gradient to its own; does nothing if the other has none."""
        if var.grad is None:
            return
        if self.array is None:
            self.initialize(var.shape)  # type: ignore[attr-defined]
        source, own = var.grad_var, self.grad_var
        assert source is not None
        if source.device != self.device:
            source = Variable(self.device.send(source.array))
        self.grad_var = source if own is None else source + own

    @property
    def device(self) -> backend.Device:
        """Where the array lives."""
        return backend.get_device_from_array(self._data[0])

    @property
    def xp(self) -> Any:
        """The module that makes arrays of this kind: NumPy on the CPU."""
        return self.device.xp

    def to_cpu(self) -> None:
        """Move to the CPU."""
        self.to_device("@numpy")

    def to_gpu(self, device: Any = None) -> None:
        """Move to a GPU (RuntimeError where there is none)."""
        self.to_device(cuda.GpuDevice(cuda.device_or_current(device)))

    def to_intel64(self) -> None:
        """iDeep does not exist here: RuntimeError."""
        raise RuntimeError("iDeep is not available, and anygru has its own CPU kernels: stay on the CPU")

    def to_chx(self) -> None:
        """ChainerX does not exist here: RuntimeError."""
        raise RuntimeError("ChainerX is not available.")

    def from_chx(self) -> None:
        """Nothing to do: the array cannot be one of ChainerX."""

    def to_device(self, device: Any) -> None:
        """Move the array and the gradient to a device."""
        device = backend.get_device(device)
        if self._data[0] is None or self.device == device:
            return
        self._data = [device.send(self._data[0])]
        if self._grad_var is not None or self._grad is not None:
            self._set_grad(device.send(self.grad))
        if self._node.data is not None:
            self._node.retain_data()

    def item(self) -> Any:
        """The only element as a Python number."""
        return self.array.item()

    def summary(self) -> str:
        """The name, or the address if it has none."""
        return f"<variable {self.name}>" if self.name else f"<variable at 0x{id(self):x}>"

    def debug_print(self) -> str:
        """Summary, device, shape, dtype and statistics of array and gradient, as a text of several lines."""

        def statistics(array: Any) -> str:
            return f"mean={float(array.mean()):.8f}, std={float(array.std()):.8f}"

        array, grad = self.array, self.grad
        gradient = None if grad is None else 0 if bool((grad == 0).all()) else statistics(grad)
        return (
            f"{self.summary()}\n"
            f"- device: {None if array is None else 'CPU' if self.xp is numpy else self.device}\n"
            f"- backend: {None if array is None else type(array)}\n"
            f"- shape: {getattr(array, 'shape', None)}\n"
            f"- dtype: {getattr(array, 'dtype', None)}\n"
            f"- statistics: {None if array is None else statistics(array)}\n"
            f"- grad: {gradient}"
        )

    def __bool__(self) -> bool:
        raise TypeError("Variables cannot be evaluated as Python bool.")


def _recover_parameter(
    array: Any,
    name: str | None,
    grad: Any,
    grad_valid: bool,
    initializer: Any,
    update_rule: Any,
    device: Any = None,
) -> Parameter:
    parameter = Parameter(initializer, name=name)
    parameter.array = array
    parameter._grad = grad
    parameter._grad_valid = grad_valid
    parameter.update_rule = update_rule
    return parameter


class Parameter(Variable):
    """A variable that a link registers and an optimizer updates.

    Args:
        initializer: fills the array: a callable, a scalar, or an array; NaN if left out.
        shape: shape of the array; without it (and without an initial array) it is left uninitialized until
            `initialize(shape)`.
        name: set by the link that registers it.

    The gradient of a fresh parameter is NaN, so that an update without `cleargrads()` is seen at once.
    """

    def __init__(
        self, initializer: Any = None, shape: Any = None, name: str | None = None, *, layout: None = None
    ) -> None:
        if layout is not None:
            raise NotImplementedError(
                f"anygru keeps every parameter in the standard memory layout; got layout={layout!r}"
            )
        if initializer is None:
            initializer = fillers.NaN()
        elif numpy.isscalar(initializer):
            initializer = fillers.Constant(initializer)
        self._grad_initializer: Any = None
        if shape is None and isinstance(initializer, ARRAYS):
            super().__init__(initializer, name=name)
        elif shape is None:
            super().__init__(name=name, _grad_valid=False)
            self._grad_initializer = fillers.NaN(getattr(initializer, "dtype", None))
        else:
            xp: Any = numpy
            if isinstance(initializer, ARRAYS):
                xp = backend.get_array_module(initializer)
                initializer = fillers.Constant(initializer)
            array = fillers.generate_array(initializer, shape, xp)
            super().__init__(array, name=name, grad=xp.full_like(array, numpy.nan))
        self._initial_device: backend.Device = backend.get_device_from_array(self._data[0])
        self.update_rule: Any = None
        self.initializer = initializer

    def __copy__(self) -> Parameter:
        return self._copy_to(Parameter())

    def __reduce__(self) -> Any:
        return _recover_parameter, (
            self.array,
            self.name,
            self._grad,
            self._grad_valid,
            self.initializer,
            self.update_rule,
        )

    @property
    def is_initialized(self) -> bool:
        """Whether it has an array."""
        return self._data[0] is not None

    @property
    def dtype(self) -> Any:
        """Dtype of the array, or the one that the initializer will give it (RuntimeError if that is open)."""
        if self._data[0] is not None:
            return self._data[0].dtype
        if not hasattr(self.initializer, "dtype"):
            raise RuntimeError(
                "Dtype of the parameter is not determined yet because it's uninitialized and dtype was not explicitly "
                "given."
            )
        return numpy.dtype(self.initializer.dtype)

    @property
    def device(self) -> backend.Device:
        """Where the array lives or will live."""
        return self._initial_device if self._data[0] is None else backend.get_device_from_array(self._data[0])

    def to_device(self, device: Any) -> None:
        """Move to a device; one that is not initialized yet will be initialized there."""
        self._initial_device = backend.get_device(device)
        super().to_device(self._initial_device)

    def cleargrad(self) -> None:
        super().cleargrad()
        if not self.is_initialized:
            self._grad_initializer = None

    def zerograd(self) -> None:
        super().zerograd()
        if not self.is_initialized:
            self._grad_initializer = fillers.Zero(getattr(self.initializer, "dtype", None))

    def initialize(self, shape: Any) -> None:
        """Make the array with the initializer; the gradient is NaN, or none after `cleargrad`."""
        device = self._initial_device
        self.array = fillers.generate_array(self.initializer, shape, device.xp, device=device)
        if self._grad_initializer is None:
            self._set_grad(None)
        else:
            self._set_grad(fillers.generate_array(self._grad_initializer, shape, device.xp, device=device))

    def update(self) -> None:
        """Update the array by the update rule that an optimizer has set."""
        if self.update_rule is not None:
            self.update_rule.update(self)


def as_variable(obj: Any) -> Variable:
    """A Variable as it is; an array as a Variable that requires no gradient."""
    return obj if isinstance(obj, Variable) else Variable(obj, requires_grad=False)


def as_array(obj: Any) -> Any:
    """The array of a Variable; an array as it is."""
    return obj.array if isinstance(obj, Variable) else obj
