"""`Variable` and `Parameter`, in Chainer's module."""

from typing import Any

import numpy

from . import backend, initializers
from ._variable import Variable, _create_variable
from ._variable_node import VariableNode
from .backends._tensors import ARRAYS
from .types import DeviceSpec, NdArray


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

    def __copy__(self) -> "Parameter":
        return self._copy_to(Parameter())

    def __reduce__(self) -> Any:
        return _recover_parameter, (
            self.array,
            self.name,
            self._grad,
            self._grad_valid,
            self.initializer,
            self.update_rule,
            self.device,
        )

    @property
    def is_initialized(self) -> bool:
        """Whether it has an array."""
        return self._data[0] is not None

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
        """Where the array lives or will live."""
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


__all__ = ["Parameter", "Variable", "VariableNode", "as_array", "as_variable"]


def as_variable(obj: Any) -> Variable:
    """The Variable itself; for an array a Variable that requires no gradient."""
    return obj if isinstance(obj, Variable) else Variable(obj, requires_grad=False)


def as_array(obj: Any) -> Any:
    """The array of a Variable; an array itself."""
    return obj.array if isinstance(obj, Variable) else obj


# Pickles name this module, as Chainer's do.
for _one in (Parameter, Variable, VariableNode, _create_variable, _recover_parameter):
    _one.__module__ = __name__
