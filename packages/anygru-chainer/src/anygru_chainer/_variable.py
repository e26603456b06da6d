"""`Variable`: an array that remembers which function made it; its place in the graph is its `VariableNode`.

An array is NumPy's (or `backends.cuda.ndarray`); functions work on torch tensors over the same memory.
"""

import copy
import warnings
from collections.abc import Callable
from typing import Any

from . import backend
from ._backprop import backprop_to_all, check_grad_type
from ._variable_node import NodeWhenAsked, VariableNode, debug_text, text
from .backends import cuda
from .backends._tensors import ARRAYS
from .configuration import using_config
from .types import DeviceSpec, NdArray
from .utils import argument


def _create_variable(array: NdArray, name: str | None, grad: Any, requires_grad: bool, device: Any = None) -> Any:
    # Name and arguments as in Chainer's pickles. The device follows from the array.
    return Variable(array, name=name, grad=grad, requires_grad=requires_grad)


class Variable:
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

    T: "Variable"  # `functions/_operators.py` sets this, the next ones and the comparisons
    reshape: "Callable[..., Variable]"
    transpose: "Callable[..., Variable]"
    mean: "Callable[..., Variable]"
    __getitem__: "Callable[..., Variable]"
    __pos__: "Callable[..., Variable]"
    __neg__: "Callable[..., Variable]"
    __abs__: "Callable[..., Variable]"
    __add__: "Callable[..., Variable]"
    __radd__: "Callable[..., Variable]"
    __sub__: "Callable[..., Variable]"
    __rsub__: "Callable[..., Variable]"
    __mul__: "Callable[..., Variable]"
    __rmul__: "Callable[..., Variable]"
    __truediv__: "Callable[..., Variable]"
    __rtruediv__: "Callable[..., Variable]"
    __floordiv__: "Callable[..., Variable]"
    __rfloordiv__: "Callable[..., Variable]"
    __pow__: "Callable[..., Variable]"
    __rpow__: "Callable[..., Variable]"
    __matmul__: "Callable[..., Variable]"
    __rmatmul__: "Callable[..., Variable]"

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

    def __copy__(self) -> "Variable":
        return self._copy_to(Variable())

    def _copy_to(self, target: Any) -> Any:
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

    @property
    def data(self) -> Any:
        """The same as `array`."""
        return self.array

    @data.setter
    def data(self, array: NdArray) -> None:
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
            retain_grad: also keep the gradients of intermediate Variables.
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
        # An empty output needs no gradient to start from.
        start = self.grad_var if self.array.size or self.creator_node is None else Variable(self.array)
        if start is None and self.creator_node is not None:
            expected = "needs a gradient to start from; set its `grad`, or make it a scalar (no axes) first"
            raise TypeError(f"backward: a variable of shape {self.shape} {expected}")
        self.grad_var = None
        with using_config("enable_backprop", enable_double_backprop):
            backprop_to_all(Variable, [(self.node, start)], retain_grad, loss_scale)

    def unchain(self) -> None:
        """Remove the reference to the function that made it."""
        self.creator_node = None

    def unchain_backward(self) -> None:
        """Remove all functions behind it from the graph, so that backward ends at it."""
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

    def to_gpu(self, device: DeviceSpec = None) -> None:
        """Move to a GPU (RuntimeError where there is none)."""
        self.to_device(cuda.GpuDevice(cuda.device_or_current(device)))

    def to_intel64(self) -> None:
        """iDeep does not exist here: RuntimeError."""
        raise RuntimeError("iDeep is not available, and anygru has its own CPU kernels: stay on the CPU")

    def to_chx(self) -> None:
        """ChainerX does not exist here: RuntimeError."""
        raise RuntimeError("ChainerX is not available.")

    def from_chx(self) -> None:
        """Does nothing: ChainerX arrays do not exist here."""

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

    def debug_print(self) -> str:
        """Summary, device, shape, dtype and statistics of array and gradient, as a text of several lines."""
        return debug_text(self)

    def __bool__(self) -> bool:
        raise TypeError("Variables cannot be evaluated as Python bool.")


VariableNode.variable_class = Variable
