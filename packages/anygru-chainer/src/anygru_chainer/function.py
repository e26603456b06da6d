"""Functions in the old style, which cannot be differentiated twice, and the switches of backpropagation."""

import operator
import weakref
from typing import Any

from . import variable
from ._backprop import check_grad_type
from .backends import cuda
from .configuration import using_config
from .function_hook import FunctionHook as FunctionHook
from .function_node import FunctionNode


def no_backprop_mode() -> Any:
    """A context in which no graph is built."""
    return using_config("enable_backprop", False)


def force_backprop_mode() -> Any:
    """A context in which the graph is built, even inside `no_backprop_mode`."""
    return using_config("enable_backprop", True)


class FunctionAdapter(FunctionNode):
    """The node of an old-style function."""

    is_adapter = True

    def __init__(self, function: "Function") -> None:
        self.function = function

    label = property(lambda self: self.function.label)
    _impl_name = property(lambda self: type(self.function).__name__)

    def check_type_forward(self, in_types: Any) -> None:
        self.function.check_type_forward(in_types)

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.retain_inputs(range(len(inputs)))
        return self.function.forward(inputs)

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        arrays: list[Any] = [None] * len(self.inputs)
        for i, retained in zip(self._input_indexes_to_retain, self.get_retained_inputs(), strict=True):
            arrays[i] = None if retained is None else retained.array
        grads = self.function.backward(tuple(arrays), tuple(None if g is None else g.array for g in grad_outputs))
        results = []
        for i in target_input_indexes:
            gradient = None
            if grads[i] is not None:
                check_grad_type(self, self.inputs[i], grads[i])
                gradient = variable.Variable(grads[i])
                gradient.node._old_style_function = self.function.label
            results.append(gradient)
        return tuple(results)


def _of_node(name: str, doc: str) -> property:
    """An attribute or a method of a function's node."""
    return property(operator.attrgetter(f"node.{name}"), doc=doc)


class Function:
    """A differentiable function; its `forward(inputs)` and `backward(inputs, grad_outputs)` take and return arrays.

    An object is called once. New code derives from `FunctionNode`, which can be differentiated twice.
    """

    is_old_style = True
    _node: weakref.ref[FunctionAdapter] | None = None
    _owned_node: FunctionAdapter | None = None

    def __call__(self, *inputs: Any) -> Any:
        node = self.node
        self._node, self._owned_node = weakref.ref(node), None
        outputs = node.apply(inputs)
        return outputs[0] if len(outputs) == 1 else outputs

    @property
    def node(self) -> FunctionAdapter:
        """The function's node in the graph."""
        node = self._owned_node or (self._node() if self._node is not None else None)
        if node is None:
            node = self._owned_node = FunctionAdapter(self)
        return node

    inputs = _of_node("inputs", "The inputs' nodes.")
    outputs = _of_node("outputs", "Weak references to the outputs' nodes.")
    output_data = _of_node("output_data", "The retained output arrays.")
    rank = _of_node("rank", "Length of the longest way from a leaf.")
    stack = _of_node("stack", "The stack at the call, in debug mode.")
    local_function_hooks = _of_node("local_function_hooks", "The hooks of this function alone.")
    unchain = _of_node("unchain", "Leave the graph.")
    add_hook = _of_node("add_hook", "Register a hook for this function.")
    delete_hook = _of_node("delete_hook", "Remove a hook.")
    retain_inputs = _of_node("retain_inputs", "Called in `forward`: keep only these inputs for `backward`.")
    retain_outputs = _of_node("retain_outputs", "Called in `forward`: keep these outputs for `backward`.")

    label = property(lambda self: self.__class__.__name__, doc="A short text for error messages.")

    def check_type_forward(self, in_types: Any) -> None:
        """Check the inputs' types; every type passes by default."""

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The outputs, by default of `forward_cpu` or `forward_gpu`."""
        on_gpu = any(isinstance(x, cuda.ndarray) for x in inputs)
        return self.forward_gpu(inputs) if on_gpu else self.forward_cpu(inputs)

    def forward_cpu(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The outputs for NumPy arrays."""
        raise NotImplementedError

    def forward_gpu(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The outputs for GPU arrays."""
        raise NotImplementedError

    def backward(self, inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs' gradients, by default of `backward_cpu` or `backward_gpu`."""
        on_gpu = any(isinstance(x, cuda.ndarray) for x in inputs + grad_outputs)
        return self.backward_gpu(inputs, grad_outputs) if on_gpu else self.backward_cpu(inputs, grad_outputs)

    def backward_cpu(self, inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs' gradients for NumPy arrays; None by default."""
        return (None,) * len(inputs)

    def backward_gpu(self, inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs' gradients for GPU arrays; None by default."""
        return (None,) * len(inputs)
