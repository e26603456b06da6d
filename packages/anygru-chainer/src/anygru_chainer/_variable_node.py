"""`VariableNode`, a Variable's place in the graph, and the texts that describe a Variable."""

import weakref
from typing import TYPE_CHECKING, Any, ClassVar

import numpy

from .backends import _cpu
from .types import NdArray

if TYPE_CHECKING:
    from .variable import Variable


class VariableNode:
    """A Variable's place in the graph. It outlives the Variable, and holds the array only if a function retained it."""

    variable_class: "ClassVar[type[Variable]]"
    """The class `Variable`, set by its own file, which imports this one."""

    def __init__(self, variable: "Variable", name: str | None) -> None:
        self._variable = weakref.ref(variable)
        self.name = name
        self._creator_node: Any = None
        self._rank = 0
        self._data: Any = None
        self._requires_grad = variable._requires_grad
        self._old_style_function: str | None = None
        array = variable._data[0]
        self.dtype: Any = None if array is None else array.dtype
        self.shape: Any = None if array is None else array.shape

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
        """The array if a function has retained it; None otherwise."""
        return self._data

    @data.setter
    def data(self, array: NdArray) -> None:
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

    rank = property(lambda self: self._rank, doc="Length of the longest way from a leaf.")
    requires_grad = property(lambda self: self._requires_grad, doc="Whether a gradient is computed for the variable.")

    def get_variable(self) -> "Variable":
        """The variable, or a new one on the retained array if it is gone."""
        variable = self._variable()
        return self.rebuild(self.data) if variable is None else variable

    def rebuild(self, array: NdArray) -> "Variable":
        """A new variable at this place of the graph, holding `array`."""
        variable = self.variable_class(array, name=self.name, requires_grad=self.requires_grad)
        variable._node = self
        return variable

    def get_variable_or_none(self) -> "Variable | None":
        """The variable, None if it is gone."""
        return self._variable()

    def set_creator(self, creator: Any) -> None:
        """Set the function that made the variable."""
        self.creator = creator

    def set_creator_node(self, creator_node: Any) -> None:
        """Set the FunctionNode that made the variable."""
        self.creator_node = creator_node

    def unchain(self) -> None:
        """Remove the reference to the function that made the variable."""
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

    def _update_data_info(self, array: NdArray) -> None:
        self.dtype = None if array is None else array.dtype
        self.shape = None if array is None else array.shape
        if self._data is not None:
            self._data = array


class NodeWhenAsked:
    """Create the attribute `_node` of a Variable at its first use; most gradients never use it."""

    def __get__(self, variable: "Variable", owner: object = None) -> VariableNode:
        node = variable._node = VariableNode(variable, None)
        return node


def text(variable: "Variable", separator: str) -> str:
    array = _cpu.array_to_cpu(variable.array)
    prefix = f"variable {variable.name}" if variable.name else "variable"
    if array is None:
        content = "None"
    elif separator == ", " and array.size == 0 and array.shape != (0,):
        content = f"[], shape={array.shape!r}"
    else:
        content = numpy.array2string(array, separator=separator, prefix=prefix + "(")
    return f"{prefix}({content})"


def debug_text(variable: "Variable") -> str:
    """Summary, device, shape, dtype and statistics of array and gradient, in several lines."""

    def statistics(array: NdArray) -> str:
        return f"mean={float(array.mean()):.8f}, std={float(array.std()):.8f}"

    array, grad = variable.array, variable.grad
    gradient = None if grad is None else 0 if bool((grad == 0).all()) else statistics(grad)
    return (
        f"{variable.summary()}\n"
        f"- device: {None if array is None else 'CPU' if variable.xp is numpy else variable.device}\n"
        f"- backend: {None if array is None else type(array)}\n"
        f"- shape: {getattr(array, 'shape', None)}\n"
        f"- dtype: {getattr(array, 'dtype', None)}\n"
        f"- statistics: {None if array is None else statistics(array)}\n"
        f"- grad: {gradient}"
    )
