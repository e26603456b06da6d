"""`FunctionNode`: a function that takes part in the graph."""

import traceback
import warnings
import weakref
from collections import OrderedDict
from typing import Any

from . import backend, function_hook, variable
from ._backprop import GradTable, backprop_to_all, backprop_to_some, between
from .backends import cuda
from .backends._tensors import ARRAYS
from .configuration import config, using_config
from .function_hook import FunctionHook
from .utils import argument, type_check
from .variable import Variable, as_variable

__all__ = ["FunctionNode", "grad"]


class FunctionNode:
    """A differentiable function. Subclass it, define `forward` and `backward`, and call `apply`.

    `forward(inputs)` takes and returns a tuple of arrays. `backward(target_input_indexes, grad_outputs)` takes and
    returns a tuple of Variables, so that it can itself be differentiated. `forward` keeps arrays for it by
    `retain_inputs` and `retain_outputs`.
    """

    inputs: Any = None
    outputs: Any = None
    rank: int = 0
    stack: Any = None
    lazy_grad_sum = False
    is_elementwise = False
    accumulates = False
    """Whether `backward_accumulate` is overridden."""
    _input_indexes_to_retain: Any = None
    _output_indexes_to_retain: Any = None
    _retained_output_data: Any = None
    _in_arrays: tuple[Any, ...] = ()
    """All input arrays, where torch keeps them for the backward pass."""
    _output_count = 0
    _local_function_hooks: OrderedDict[str, FunctionHook] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.accumulates = cls.backward_accumulate is not FunctionNode.backward_accumulate

    @property
    def local_function_hooks(self) -> OrderedDict[str, FunctionHook]:
        """The hooks of this function alone, by name."""
        if self._local_function_hooks is None:
            self._local_function_hooks = OrderedDict()
        return self._local_function_hooks

    label = property(lambda self: self.__class__.__name__, doc="A short text for error messages and drawn graphs.")
    _impl_name = property(lambda self: self.__class__.__name__, doc="The name of the class that computes.")

    @property
    def output_data(self) -> tuple[Any, ...]:
        """The retained output arrays; None for an output that is not retained."""
        if self._retained_output_data is None:
            raise RuntimeError("retained output data is gone")
        data = [None] * self._output_count
        for index, array in zip(self._output_indexes_to_retain, self._retained_output_data, strict=True):
            data[index] = array
        return tuple(data)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"A function class object ({self.__class__.__name__}) which is derived from chainer.FunctionNode has been "
            "called as if it were a callable. Use apply() method instead."
        )

    def _several(self, inputs: Any) -> Any:
        """`inputs`. One Variable or array is refused, because each of its rows would be an input."""
        if isinstance(inputs, (variable.Variable, *ARRAYS)):
            # The types of these errors are Chainer's, which tests `inputs` for truth.
            error = TypeError if isinstance(inputs, variable.Variable) else ValueError
            raise error(f"{self.label}.apply takes a tuple of inputs, got one {type(inputs).__name__}: apply((x,))")
        return inputs

    def apply(self, inputs: Any) -> tuple[variable.Variable, ...]:
        """Compute the outputs of Variables or arrays, and join the graph if one of them requires a gradient.

        Raises:
            chainer.utils.type_check.InvalidType: an input has a wrong shape or dtype.
            TypeError: inputs on different devices, one Variable, or `forward` did not return a tuple of arrays.
            ValueError: one array instead of a tuple.
        """
        variables, data, requires_grad, on_gpu = [], [], False, False
        for x in inputs if type(inputs) is tuple else self._several(inputs):
            if not isinstance(x, variable.Variable):
                x = variable.Variable(x, requires_grad=False)
            variables.append(x)
            data.append(x._data[0])
            requires_grad |= x._requires_grad
            on_gpu |= isinstance(x._data[0], cuda.ndarray)
        arrays = tuple(data)
        if on_gpu:
            self._check_one_device("input", arrays)
        debug = config.debug
        if debug:
            self.stack = traceback.extract_stack()
        if config.type_check and not self._is_plainly_valid(arrays):
            type_check.check(self, arrays)
        hooks = function_hook.of_function(self) if self._local_function_hooks or function_hook.thread.function else ()
        for hook in hooks:
            hook.forward_preprocess(self, arrays)
        self._input_indexes_to_retain = self._output_indexes_to_retain = None
        outputs = self._forward(arrays, variables)
        if debug or not isinstance(outputs, tuple):
            self._check_outputs(outputs)
        results = []
        for array in outputs:
            if not isinstance(array, ARRAYS):
                self._check_outputs(outputs)
            results.append(variable.Variable(array, requires_grad=requires_grad))
        for hook in hooks:
            hook.forward_postprocess(self, arrays)
        self._output_count = len(outputs)
        if config.enable_backprop:
            self._join_graph(variables, results)
        return tuple(results)

    def _is_plainly_valid(self, arrays: tuple[Any, ...]) -> bool:
        """Whether the arrays certainly pass `check_type_forward`."""
        return False

    def _forward(self, arrays: tuple[Any, ...], variables: list[variable.Variable]) -> tuple[Any, ...]:
        return self.forward(arrays)

    def _join_graph(self, variables: list[variable.Variable], results: list[variable.Variable]) -> None:
        inputs, rank, outputs = [], 0, []
        for x in variables:
            node = x._node
            inputs.append(node)
            if node._rank > rank:
                rank = node._rank
        self.inputs, self.rank = tuple(inputs), rank
        for y in results:
            node = y._node
            node._creator_node, node._rank = self, rank + 1
            # Weak references: a node refers to this function, and a cycle would delay the release of graphs.
            outputs.append(weakref.ref(node))
        self.outputs = tuple(outputs)
        for index in self._input_indexes_to_retain or ():
            variables[index].retain_data()
        if self._output_indexes_to_retain is not None:
            for index in self._output_indexes_to_retain:
                results[index].retain_data()
            self._retained_output_data = tuple(results[index].array for index in self._output_indexes_to_retain)

    def _check_one_device(self, which: str, arrays: tuple[Any, ...]) -> None:
        if len({isinstance(array, cuda.ndarray) for array in arrays if array is not None}) > 1:
            kinds = ", ".join(str(type(array)) for array in arrays)
            raise TypeError(
                f"incompatible array types are mixed in the forward {which} ({self.label}).\nActual: {kinds}"
            )

    def _check_outputs(self, outputs: Any) -> None:
        if not isinstance(outputs, tuple):
            raise TypeError(f"forward output must be a tuple ({self.label})\nActual: {type(outputs)}")
        for array in outputs:
            if array is not None and not isinstance(array, ARRAYS):
                raise TypeError(
                    f"forward output must be a tuple of ndarrays.\nFunction: {self.label}\n"
                    f"Actual output types: {tuple(type(y) for y in outputs)}"
                )
            if config.debug and array is not None and backend.contains_nan(array):
                raise RuntimeError(f"NaN is detected on forward computation of {self.label}")

    def check_type_forward(self, in_types: Any) -> None:
        """Check the inputs' types with `chainer.utils.type_check.expect`; every type passes by default."""

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The outputs, a tuple of arrays; by default of `forward_cpu` or `forward_gpu`."""
        if isinstance(inputs[0], cuda.ndarray):
            return self.forward_gpu(inputs)
        return self.forward_cpu(inputs)

    def forward_cpu(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The outputs for NumPy arrays."""
        raise NotImplementedError

    def forward_gpu(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The outputs for GPU arrays."""
        raise NotImplementedError

    def retain_inputs(self, indexes: Any) -> None:
        """Called in `forward`: keep these inputs for `backward`."""
        self._input_indexes_to_retain = indexes

    def retain_outputs(self, indexes: Any) -> None:
        """Called in `forward`: keep these outputs for `backward`."""
        self._output_indexes_to_retain = indexes

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Gradients (Variables or None) of the inputs of the given numbers, or of all inputs.

        Args:
            target_input_indexes: the inputs that need a gradient.
            grad_outputs: gradients of the outputs, None where there is none.
        """
        return (None,) * len(target_input_indexes)

    def backward_accumulate(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...], grad_inputs: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """`backward`, added to the existing gradients of the inputs."""
        results = self.backward(target_input_indexes, grad_outputs)
        # A user's `backward` may give the gradients of all inputs (Chainer 7.8.1, seen).
        if len(results) == len(self.inputs):
            results = tuple(results[i] for i in target_input_indexes)
        return tuple(
            new if old is None else old if new is None else new + old
            for new, old in zip(results, grad_inputs, strict=True)
        )

    def get_retained_inputs(self) -> tuple[Any, ...]:
        """The inputs kept by `retain_inputs`, as Variables."""
        if self._input_indexes_to_retain is None or self.inputs is None:
            return ()
        nodes = [self.inputs[index] for index in self._input_indexes_to_retain]
        return tuple([None if node.data is None else node.get_variable() for node in nodes])

    def get_retained_outputs(self) -> tuple[Any, ...]:
        """The outputs kept by `retain_outputs`, as Variables."""
        if self._output_indexes_to_retain is None or self.outputs is None:
            return ()
        retained, outputs = [], list(self.outputs)
        for index, array in zip(self._output_indexes_to_retain, self._retained_output_data, strict=True):
            node = outputs[index]()
            if array is None:  # the function gave None for this output
                output: Any = None
            elif node is None:
                output = variable.Variable(array)
                output.creator_node = self
                outputs[index] = weakref.ref(output.node)
            else:
                output = node.get_variable()
            retained.append(output)
        self.outputs = tuple(outputs)
        return tuple(retained)

    def unchain(self) -> None:
        """Remove the function from the graph: the outputs become leaves."""
        for reference in self.outputs or ():
            node = reference()
            if node is not None:
                node.unchain()
        self.inputs = None
        self.outputs = None

    def add_hook(self, hook: FunctionHook, name: str | None = None) -> None:
        """Register a hook for this function (TypeError if it is none, KeyError if the name is taken)."""
        if not isinstance(hook, FunctionHook):
            raise TypeError("Hook must be of type FunctionHook")
        name = hook.name if name is None else name
        if name in self.local_function_hooks:
            raise KeyError(f"Hook {name} already exists")
        self.local_function_hooks[name] = hook
        hook.added(self)

    def delete_hook(self, name: str) -> None:
        """Remove a hook (KeyError if the name is unknown)."""
        if name not in self.local_function_hooks:
            raise KeyError(f"Hook {name} does not exist")
        self.local_function_hooks.pop(name).deleted(self)


def backward(outputs: Any, grad_outputs: Any = None, **kwargs: Any) -> None:
    """Compute the gradients of several variables' sum at once; see `Variable.backward`.

    Args:
        outputs: list or tuple of Variables.
        grad_outputs: their gradients (Variables); their current gradients by default.
        enable_double_backprop: make the gradients differentiable.
    """
    (enable_double_backprop,) = argument.parse_kwargs(
        kwargs,
        ("enable_double_backprop", False),
        retain_grad="semantics for retain_grad=True is under discussion",
        loss_scale="chainer.backward does not support loss_scale option",
    )
    check_variables("outputs", outputs)
    if any(not isinstance(output, Variable) for output in outputs):
        raise TypeError("each output must be a Variable")
    if grad_outputs is None:
        grad_outputs = []
        for output in outputs:
            if output.grad_var is None:
                warnings.warn(
                    "outputs contains a Variable without grad, or duplicate outputs. Note that chainer.backward does "
                    "not set default grad.",
                    RuntimeWarning,
                )
            grad_outputs.append(output.grad_var)
            output.grad_var = None
    check_lengths("outputs", outputs, "grad_outputs", grad_outputs)
    pairs = [(y.node, gy) for y, gy in zip(outputs, grad_outputs, strict=True) if gy is not None]
    with using_config("enable_backprop", enable_double_backprop):
        backprop_to_all(Variable, pairs, False, None)


def check_variables(name: str, value: Any) -> None:
    """Raise TypeError unless the argument is a list or tuple."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{name} must be a tuple or a list, not {type(value)}.")


def check_lengths(name: str, values: Any, other_name: str, others: Any) -> None:
    """Raise TypeError or ValueError unless the second argument is a list or tuple as long as the first."""
    check_variables(other_name, others)
    if len(values) != len(others):
        raise ValueError(
            f"{other_name} must be of the same length as {name}.\n"
            f"len({name}) = {len(values)}, len({other_name}) = {len(others)}"
        )


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    grad_inputs: Any = None,
    set_grad: bool = False,
    retain_grad: bool = False,
    enable_double_backprop: bool = False,
    loss_scale: float | None = None,
) -> list[Any]:
    """Gradients of `outputs` with respect to `inputs` (lists of Variables), as a list of Variables or None.

    Args:
        grad_outputs: gradients to start from, ones where None.
        grad_inputs: gradients to add to the results.
        set_grad: also store the results as the inputs' gradients.
        retain_grad: also store the gradients of intermediate Variables.
        enable_double_backprop: make the results differentiable.
        loss_scale: factor of the default start values.
    """
    check_variables("outputs", outputs)
    check_variables("inputs", inputs)
    if grad_outputs is None:
        grad_outputs = [None] * len(outputs)
    if grad_inputs is None:
        grad_inputs = [None] * len(inputs)
    check_lengths("outputs", outputs, "grad_outputs", grad_outputs)
    check_lengths("inputs", inputs, "grad_inputs", grad_inputs)
    needed = between(outputs, inputs)
    table = GradTable(Variable, accumulate=False)
    for y, gy in zip(outputs, grad_outputs, strict=True):
        if gy is None:
            gy = Variable(y.xp.ones_like(y.array), requires_grad=False)
            if loss_scale is not None:
                gy.array *= loss_scale
        table[y.node] = as_variable(gy)
    for x, gx in zip(inputs, grad_inputs, strict=True):
        if gx is not None:
            table[x.node] = as_variable(gx)
    with using_config("enable_backprop", enable_double_backprop):
        found = backprop_to_some(outputs, {x.node for x in inputs}, needed, table, retain_grad, loss_scale)
    results = [found[x.node] for x in inputs]
    if set_grad:
        for x, gx in zip(inputs, results, strict=True):
            x.grad_var = gx
    return results
