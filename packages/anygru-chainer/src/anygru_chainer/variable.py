"""`Variable`, an array that records the function that made it, and `Parameter`.

An array is NumPy's (or `backends.cuda.ndarray`); functions work on torch tensors over the same memory.
"""

import copy
import warnings
from typing import Any

import numpy

from . import backend, initializers
from ._backprop import backprop_to_all, check_grad_type, start_gradient, unchain_all
from ._variable_node import NodeWhenAsked, VariableNode, debug_text, text
from .backends import cuda
from .backends._tensors import ARRAYS
from .configuration import using_config
from .types import DeviceSpec, NdArray
from .utils import argument

__all__ = ["Parameter", "Variable", "VariableNode", "as_array", "as_variable"]


def _create_variable(array: NdArray, name: str | None, grad: Any, requires_grad: bool, device: Any = None) -> Any:
    # Name and arguments as in Chainer's pickles. The device follows from the array.
    return Variable(array, name=name, grad=grad, requires_grad=requires_grad)


def _in_functions(self: "Variable", *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError("functions/_operators.py replaces this method")


def _of_node(name: str, doc: str) -> Any:
    """An attribute of the Variable's node, which can be read and set."""
    return property(lambda self: getattr(self._node, name), lambda self, x: setattr(self._node, name, x), doc=doc)


class Variable(backend.WithoutOtherDevices):
    """An array in a graph of functions.

    Args:
        data: the array (NumPy, or on a GPU `backends.cuda.ndarray`), shared, not copied; None for an empty variable.
        name: shown in texts and drawn graphs.
        grad: the gradient array to start with.
        requires_grad: whether `backward` computes a gradient for it.

    Raises:
        TypeError: `data` is not an array, or a keyword is unknown. ValueError: a keyword of an earlier release.
    """

    __array_priority__ = 200  # above NumPy's arrays, so that `array + variable` asks the Variable
    _node: VariableNode = NodeWhenAsked()  # type: ignore[assignment]
    _partial_sum: Any = None
    """The tensor of a gradient that only the present backward pass has seen, so that it may be added to."""
    # As in Chainer 7.8.1 (`variable.py`, read): `==` of Variables raises an error, so they cannot be keys.
    __hash__ = None  # type: ignore[assignment]

    T: Any
    # `functions/_operators.py` sets these, and the comparisons.
    reshape = transpose = mean = __getitem__ = __pos__ = __neg__ = __abs__ = _in_functions
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __pow__ = __rpow__ = __matmul__ = _in_functions
    __rmatmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _in_functions

    def __init__(
        self,
        data: Any = None,
        *,
        name: str | None = None,
        grad: Any = None,
        requires_grad: bool = True,
        _grad_valid: bool = True,
        **kwargs: Any,
    ) -> None:
        if kwargs:
            volatile = "volatile argument is not supported anymore. Use chainer.using_config"
            argument.parse_kwargs(kwargs, volatile=volatile)
        if data is not None and not isinstance(data, ARRAYS):
            expected = " or ".join(str(kind) for kind in ARRAYS)
            raise TypeError(f"{expected} are expected. Actual: {type(data)}")
        self._data: list[Any] = [data]  # a list, which `copy.copy` shares
        self._requires_grad: bool = requires_grad
        self._grad_valid = _grad_valid
        self._grad = grad
        self._grad_var: Variable | None = None
        self._loss_scale: float | None = None
        if name is not None:
            self._node = VariableNode(self, name)

    def __copy__(self) -> Any:
        target: Any = object.__new__(Parameter if isinstance(self, Parameter) else Variable)
        target.__dict__ = copy.copy(self.__dict__)
        target._node = VariableNode(target, self.name)
        return target

    def __reduce__(self) -> Any:
        return _create_variable, (self.array, self.name, self.grad, self._requires_grad)

    def __repr__(self) -> str:
        return text(self, ", ")

    def __str__(self) -> str:
        return text(self, " ")

    def __len__(self) -> int:
        return len(self.array)

    @property
    def array(self) -> Any:
        """The array itself, not a copy."""
        return self._data[0]

    @array.setter
    def array(self, array: NdArray) -> None:
        self._node._update_data_info(array)
        self._data[0] = array

    data = raw_array = array

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
    def grad_var(self) -> "Variable | None":
        """The gradient as a Variable, which can be differentiated after `backward(enable_double_backprop=True)`."""
        if self._grad_var is None and self._grad is not None:
            self._grad_var = Variable(self._grad)
        return self._grad_var

    @grad_var.setter
    def grad_var(self, gradient: "Variable | None") -> None:
        if gradient is not None and self._data[0] is not None:
            check_grad_type(None, self, gradient.array)
        self._set_grad_var(gradient)

    def _set_grad_var(self, gradient: "Variable | None") -> None:
        self._grad_var = gradient
        self._grad = None if gradient is None else gradient.array

    node = property(lambda self: self._node, doc="The place in the graph.")
    name = _of_node("name", "The name shown in texts.")
    creator = _of_node("creator", "The function that made it, None for a leaf.")
    creator_node = _of_node("creator_node", "The FunctionNode that made it, None for a leaf.")
    rank = property(lambda self: self._node.rank, doc="Length of the longest path from a leaf.")
    label = property(lambda self: self._node.label, doc="Shape and dtype as text.")
    shape = property(lambda self: self._data[0].shape, doc="Shape of the array.")
    ndim = property(lambda self: self._data[0].ndim, doc="Number of axes.")
    size = property(lambda self: self._data[0].size, doc="Number of elements.")
    dtype = property(lambda self: self._data[0].dtype, doc="Dtype of the array.")
    requires_grad = property(lambda self: self._requires_grad, doc="Whether `backward` computes a gradient for it.")
    layout = property(lambda self: None, doc="The memory layout, which is always the standard one (None).")

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
            retain_grad: also keep the gradients of intermediate Variables.
            enable_double_backprop: make the gradients differentiable (`grad_var`).
            loss_scale: factor of the start value, which optimizers divide out again.
        """
        start = start_gradient(self, loss_scale)
        self.grad_var = None
        with using_config("enable_backprop", enable_double_backprop):
            backprop_to_all(Variable, [(self.node, start)], retain_grad, loss_scale)

    def unchain(self) -> None:
        """Remove the reference to the function that made it."""
        self.creator_node = None

    def unchain_backward(self) -> None:
        """Remove all functions behind it from the graph, so that backward ends at it."""
        unchain_all(self.creator_node)

    def cleargrad(self) -> None:
        """Remove the gradient."""
        self._set_grad(None)

    def zerograd(self) -> None:
        """Set the gradient to zeros. Deprecated: `cleargrad` is faster."""
        warnings.warn("Variable.zerograd is deprecated. Use Variable.cleargrad instead.", DeprecationWarning)
        if self.array is None:
            self._grad_valid = True
        elif self.grad_var is None:
            self._set_grad(self.xp.zeros_like(self.array))
        else:  # in place, so that other references to the array also get zeros (Chainer 7.8.1, recorded)
            self.grad_var.unchain()
            self.grad_var.array.fill(0)

    def copydata(self, var: "Variable") -> None:
        """Write another variable's values into its array; initializes the parameter of the two that is not initialized."""
        if var.array is None:
            if self.array is None:
                return
            var.initialize(self.shape)  # type: ignore[attr-defined]
        elif self.array is None:
            self.initialize(var.shape)  # type: ignore[attr-defined]
        backend.copyto(self.array, var.array)

    def addgrad(self, var: "Variable") -> None:
        """Add another variable's gradient to its own; does nothing without that gradient."""
        if var.grad is None:
            return
        if self.array is None:
            self.initialize(var.shape)  # type: ignore[attr-defined]
        source, own = var.grad_var, self.grad_var
        assert source is not None
        if source.device != self.device:
            source = Variable(self.device.send(source.array))
        self.grad_var = source if own is None else source + own

    device = property(lambda self: backend.get_device_from_array(self._data[0]), doc="The device of the array.")
    xp = property(lambda self: self.device.xp, doc="The module that makes arrays of this kind: NumPy on the CPU.")

    def to_cpu(self) -> None:
        """Move to the CPU."""
        self.to_device("@numpy")

    def to_gpu(self, device: DeviceSpec = None) -> None:
        """Move to a GPU (RuntimeError where there is none)."""
        self.to_device(cuda.GpuDevice(cuda.device_or_current(device)))

    def to_device(self, device: DeviceSpec) -> None:
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
        """The name, or without a name the address."""
        return f"<variable {self.name}>" if self.name else f"<variable at 0x{id(self):x}>"

    debug_print = debug_text

    def __bool__(self) -> bool:
        raise TypeError("Variables cannot be evaluated as Python bool.")


def _recover_parameter(array: NdArray, name: str | None, grad: Any, *rest: Any) -> "Parameter":
    # Pickles of older versions of Chainer have six values, without `grad_valid` (7.8.1, read); the device follows from
    # the array.
    grad_valid, initializer, update_rule, _device = (True, *rest) if len(rest) == 3 else rest
    parameter = Parameter(initializer, name=name)
    parameter.array = array
    parameter._grad = grad
    parameter._grad_valid = grad_valid
    parameter.update_rule = update_rule
    return parameter


class Parameter(Variable):
    """A variable that a link registers and an optimizer updates.

    Args:
        initializer: fills the array: a callable, a scalar, or an array; by default NaN.
        shape: shape of the array; without it (and without an initial array) it is uninitialized until
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
            initializer = initializers.NaN()
        elif numpy.isscalar(initializer):
            initializer = initializers.Constant(initializer)
        self._grad_initializer: Any = None
        if shape is None and isinstance(initializer, ARRAYS):
            super().__init__(initializer, name=name)
        elif shape is None:
            super().__init__(name=name, _grad_valid=False)
            self._grad_initializer = initializers.NaN(getattr(initializer, "dtype", None))
        else:
            xp: Any = numpy
            if isinstance(initializer, ARRAYS):
                xp = backend.get_array_module(initializer)
                initializer = initializers.Constant(initializer)
            array = initializers.generate_array(initializer, shape, xp)
            with numpy.errstate(invalid="ignore"):  # integers, too
                nan = xp.full_like(array, numpy.nan)
            super().__init__(array, name=name, grad=nan)
        self._initial_device: backend.Device = backend.get_device_from_array(self._data[0])
        self.update_rule: Any = None
        self.initializer = initializer

    def __reduce__(self) -> Any:
        values = (self.array, self.name, self._grad, self._grad_valid, self.initializer, self.update_rule, self.device)
        return _recover_parameter, values

    is_initialized = property(lambda self: self._data[0] is not None, doc="Whether it has an array.")

    @property
    def dtype(self) -> Any:
        """Dtype of the array, or the dtype that the initializer will give it (RuntimeError if that is open)."""
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
        """The device of the array, or of its later values."""
        return self._initial_device if self._data[0] is None else backend.get_device_from_array(self._data[0])

    def to_device(self, device: DeviceSpec) -> None:
        """Move to a device; a parameter without values will be initialized there."""
        self._initial_device = backend.get_device(device)
        super().to_device(self._initial_device)

    def cleargrad(self) -> None:
        super().cleargrad()
        if not self.is_initialized:
            self._grad_initializer = None

    def zerograd(self) -> None:
        super().zerograd()
        if not self.is_initialized:
            self._grad_initializer = initializers.Zero(getattr(self.initializer, "dtype", None))

    def initialize(self, shape: Any) -> None:
        """Make the array with the initializer; the gradient is NaN, or none after `cleargrad`."""
        device = self._initial_device
        self.array = initializers.generate_array(self.initializer, shape, device.xp, device=device)
        if self._grad_initializer is None:
            self._set_grad(None)
        else:
            self._set_grad(initializers.generate_array(self._grad_initializer, shape, device.xp, device=device))

    def update(self) -> None:
        """Update the array by the update rule that an optimizer has set."""
        if self.update_rule is not None:
            self.update_rule.update(self)


def as_variable(obj: Any) -> Variable:
    """The Variable itself; for an array a Variable that requires no gradient."""
    return obj if isinstance(obj, Variable) else Variable(obj, requires_grad=False)


def as_array(obj: Any) -> Any:
    """The array of a Variable; an array itself."""
    return obj.array if isinstance(obj, Variable) else obj


VariableNode.variable_class = Variable
VariableNode.__module__ = __name__  # pickles name this module, as Chainer's do
