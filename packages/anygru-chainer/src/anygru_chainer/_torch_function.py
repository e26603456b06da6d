"""`TorchFunction`: a function of the graph that torch computes and differentiates.

Each such function keeps the little torch graph between its own inputs and outputs; the graph between functions is
the dialect's, because users cut it, keep parts of it and read its intermediate values.
"""

import copy
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy
import torch

from anygru.extend import gradients

from .backends._tensors import ARRAYS, as_array, as_tensor
from .configuration import config, using_config
from .function_hook import FunctionHook
from .function_node import FunctionNode
from .utils.helpers import force_array
from .variable import Variable, as_variable

Tensor = torch.Tensor


class TorchFunction(FunctionNode):
    """Subclass it and define `compute`, which takes tensors and returns a tensor or a tuple of tensors.

    `compute` may be called again when the gradient is differentiated, so a random choice is made once and kept.
    """

    gradient_inputs: ClassVar[tuple[int, ...] | None] = None
    """The inputs on which the gradient depends in Chainer 7.8.1 (read and recorded); None: found in torch's graph.

    A second gradient is None where the first does not depend on the input. torch gives zeros for some functions that are
    linear in pieces, for which this is (), and nothing for some empty or scalar inputs, for which Chainer has zeros.
    """

    by_numpy: ClassVar[Callable[..., Any] | None] = None
    """Computes from the node and arrays with a dtype that torch does not have, such as objects; None: they are a TypeError."""

    _leaves: tuple[Tensor, ...] = ()
    _results: tuple[Tensor, ...] = ()

    def compute(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """The outputs of some inputs, differentiable by torch."""
        raise NotImplementedError

    def compute_in_graph(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """`compute` for torch's exporter, in operations that other runtimes have."""
        return self.compute(*inputs)

    def _forward(self, arrays: tuple[Any, ...], variables: list[Variable]) -> tuple[Any, ...]:
        try:
            tensors = list(map(as_tensor, arrays))
        except TypeError as error:
            return self._forward_by_numpy(arrays, error)
        record, recorded = False, torch.is_grad_enabled()
        if config.enable_backprop:
            for tensor, x in zip(tensors, variables, strict=False):
                if x._requires_grad:
                    record = True
                    if tensor.is_floating_point():
                        # On a fresh tensor over the array's memory, so that the user's arrays stay outside of torch's graph.
                        tensor.requires_grad_()
        # Changed only if needed: changing torch's switch costs more than most functions of small arrays.
        if record is not recorded:
            torch.set_grad_enabled(record)
        try:
            results = self.compute(*tensors)
        except RuntimeError as error:
            if type(error) is not RuntimeError:  # out of memory, not covered, ...
                raise
            # errors over shapes are ValueErrors in NumPy, and so in Chainer
            raise ValueError(f"{self.label}: {error}") from error
        finally:
            if record is not recorded:
                torch.set_grad_enabled(recorded)
        if isinstance(results, Tensor):
            results = (results,)
        if record:
            self._leaves, self._results, self._in_arrays = tuple(tensors), results, arrays
        return tuple(map(as_array, map(Tensor.detach, results)))

    def _forward_by_numpy(self, arrays: tuple[Any, ...], error: TypeError) -> tuple[Any, ...]:
        if self.by_numpy is None:
            raise TypeError(f"{self.label}: {error}") from None
        self._leaves, self._results = (torch.empty(0),) * len(arrays), ()  # no gradient flows back
        results = self.by_numpy(*arrays)
        return results if isinstance(results, tuple) else (force_array(results),)

    def forward(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The outputs of some arrays, without a graph."""
        return self._forward(inputs, [])

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The gradients by `torch.autograd.grad`; as functions of the graph themselves for double backprop."""
        indexes = [i for i in target_input_indexes if self._leaves[i].requires_grad]
        outputs = [i for i, result in enumerate(self._results) if grad_outputs[i] is not None and result.requires_grad]
        found: dict[int, Variable] = {}
        if indexes and outputs:
            gys = [grad_outputs[i] for i in outputs]
            if config.enable_backprop:
                found = self._differentiable_backward(indexes, outputs, gys)
            else:
                grads = gradients(
                    [self._results[i] for i in outputs],
                    [self._leaves[i] for i in indexes],
                    [as_tensor(gy.array) for gy in gys],
                    # Chainer's graphs can be walked backwards any number of times (7.8.1, seen).
                    retain_graph=True,
                )
                found = {
                    i: Variable(as_array(g), requires_grad=False)
                    for i, g in zip(indexes, grads, strict=True)
                    if g is not None
                }
        return tuple([found.get(i) for i in target_input_indexes])

    def _differentiable_backward(self, indexes: list[int], outputs: list[int], gys: list[Any]) -> dict[int, Variable]:
        inputs = []
        for node, array in zip(self.inputs, self._in_arrays, strict=True):
            alive = node.get_variable_or_none()
            inputs.append(node.rebuild(array) if alive is None else alive)
        gradient = Gradient(self, indexes, outputs)
        results = gradient.apply((*inputs, *gys))
        return {i: g for i, g, used in zip(indexes, results, gradient.used, strict=True) if used}


class Gradient(TorchFunction):
    """The gradient of a TorchFunction, as a function of the same inputs and of the gradients of the outputs.

    After `compute`, `used` has a flag for each target: whether an output depends on it. The other gradients are zeros.
    """

    used: tuple[bool, ...] = ()
    _zeros: frozenset[int] = frozenset()

    def __init__(self, function: TorchFunction, indexes: list[int], outputs: list[int]) -> None:
        self._function = function
        self._indexes = indexes
        self._outputs = outputs
        if function.gradient_inputs is not None:
            self._zeros = frozenset(function.gradient_inputs)

    label = property(lambda self: f"{self._function.label} gradient")

    def compute(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        recorded = torch.is_grad_enabled()
        n_inputs = len(inputs) - len(self._outputs)
        gradient_inputs = range(n_inputs) if self._function.gradient_inputs is None else self._function.gradient_inputs
        with torch.enable_grad():
            xs = [
                x
                if not x.is_floating_point() or (x.requires_grad and i in gradient_inputs)
                else x.detach().requires_grad_()
                for i, x in enumerate(inputs[:n_inputs])
            ]
            ys = self._function.compute(*xs)
            ys = (ys,) if isinstance(ys, Tensor) else ys
            targets = [xs[i] for i in self._indexes]
            outputs = [ys[i] for i in self._outputs]
            grads = gradients(outputs, targets, inputs[n_inputs:], recorded, recorded)
        self.used = tuple([g is not None for g in grads])
        return tuple([torch.zeros_like(x) if g is None else g for x, g in zip(targets, grads, strict=True)])

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        results = super().backward(target_input_indexes, grad_outputs)
        if not self._zeros:
            return results
        return tuple(
            Variable(as_array(torch.zeros_like(self._leaves[i])), requires_grad=False)
            if gradient is None and i in self._zeros and self._leaves[i].requires_grad
            else gradient
            for i, gradient in zip(target_input_indexes, results, strict=True)
        )


TOLERANCE = 1e-4
"""The tolerance of the module's outputs, relative to the largest output of the Chain."""


class _Recorder(FunctionHook):
    """Keeps each function of a call with its input arrays, in the order in which they were called."""

    name = "anygru export"

    def __init__(self) -> None:
        self.calls: list[tuple[Any, tuple[Any, ...]]] = []

    def forward_postprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        self.calls.append((function, in_data))


class Recorded(torch.nn.Module):
    """Repeats the functions of a Chain's call, from the arrays of its arguments to the Variables that it returned."""

    def __init__(self, model: Any, recorder: _Recorder, given: list[Any], outputs: list[Any]) -> None:
        super().__init__()
        self._arguments = [f"argument {i}" for i in range(len(given))]
        self._steps: list[tuple[TorchFunction, list[str], list[str]]] = []
        arrays = {id(x): place for x, place in zip(given, self._arguments, strict=True)}
        nodes = {id(x._node): arrays[id(x)] for x in given if isinstance(x, Variable)}
        for path, parameter in model.namedparams():
            name = path.strip("/").replace(".", "_")  # torch does not take dots in names
            self.register_parameter(name, torch.nn.Parameter(as_tensor(parameter.array).clone()))
            nodes[id(parameter._node)] = name
        for i, (function, in_data) in enumerate(recorder.calls):
            if function.inputs is None:  # outside of the graph: `no_backprop_mode`
                continue
            if not isinstance(function, TorchFunction):
                raise TypeError(
                    f"{function.label}: its `forward` computes with arrays, so it cannot be part of a graph"
                )
            reads = []
            for j, (node, array) in enumerate(zip(function.inputs, in_data, strict=True)):
                place = nodes.get(id(node)) or arrays.get(id(array))
                if place is None:
                    place = f"constant_{i}_{j}"
                    self.register_buffer(place, as_tensor(array).clone())
                reads.append(place)
            writes = [f"value {i} {j}" for j in range(len(function.outputs))]
            nodes.update((id(reference()), place) for place, reference in zip(writes, function.outputs, strict=True))
            nodes.pop(id(None), None)  # outputs that were deleted
            self._steps.append((function, reads, writes))
        self._outputs = [nodes.get(id(y._node)) if isinstance(y, Variable) else None for y in outputs]
        if not outputs or None in self._outputs:
            raise ValueError(
                f"{type(model).__name__} must return Variables that its functions have computed, not arrays, and not under "
                f"no_backprop_mode; got {[type(y).__name__ for y in outputs]}"
            )

    def forward(self, *arguments: Tensor) -> tuple[Tensor, ...]:
        """The Chain's outputs."""
        values = dict(zip(self._arguments, arguments, strict=True))
        for function, reads, writes in self._steps:
            results = function.compute_in_graph(*[self._value(place, values) for place in reads])
            values.update(zip(writes, (results,) if isinstance(results, Tensor) else results, strict=True))
        return tuple([self._value(str(place), values) for place in self._outputs])

    def _value(self, place: str, values: dict[str, Tensor]) -> Tensor:
        found: Tensor = values[place] if place in values else getattr(self, place)
        return found


def _leaves(value: Any) -> Iterator[Any]:
    """The arrays and Variables in nested tuples, lists and dictionaries, in order."""
    if isinstance(value, (Variable, *ARRAYS)):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)


def _call(model: Any, args: tuple[Any, ...]) -> tuple[_Recorder, list[Any]]:
    """The functions and the outputs of a call in test mode."""
    recorder = _Recorder()
    with using_config("train", False), using_config("enable_backprop", True), recorder:
        return recorder, list(_leaves(model(*args)))


def _varied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments of the same shapes with other values; of integers the same in another order, so that indices stay valid."""
    varied = copy.deepcopy(args)
    generator = numpy.random.RandomState(0)
    for leaf in _leaves(varied):
        array = as_variable(leaf).array
        if array.dtype.kind == "f":
            array += generator.standard_normal(array.shape).astype(array.dtype)
        else:
            array[...] = array.ravel()[generator.permutation(array.size)].reshape(array.shape)
    return varied


def to_torch(model: Any, args: tuple[Any, ...]) -> tuple[Recorded, tuple[Tensor, ...]]:
    """A torch module that computes the same as a Chain in test mode, and these arguments as tensors.

    Args:
        model: the Chain; its states do not change.
        args: its arguments: arrays and Variables, also in lists, tuples and dictionaries.

    Raises:
        TypeError: a function computes with arrays. ValueError: a parameter is not initialized, or the module's results
        differ from the Chain's.
    """
    fresh = [path for path, parameter in model.namedparams() if not parameter.is_initialized]
    if fresh:
        raise ValueError(f"parameters have no values yet: {', '.join(fresh)}; load them, or call the Chain once")
    called, given = model.copy(mode="share"), list(_leaves(args))
    recorder, outputs = _call(called, args)
    module = Recorded(called, recorder, given, outputs).eval()
    varied = _varied(args)
    _, expected = _call(model.copy(mode="share"), varied)
    with torch.no_grad():
        found = module(*_tensors(varied))
    for i, (ours, theirs) in enumerate(zip(found, _tensors(expected), strict=True)):
        scale = float(theirs.abs().max()) if theirs.numel() else 0.0
        if ours.shape != theirs.shape or not torch.allclose(ours, theirs, rtol=0.0, atol=TOLERANCE * max(scale, 1e-3)):
            raise ValueError(
                f"output {i} of {type(model).__name__} depends on its arguments in a way that no graph shows: it decides by "
                "values, or computes with arrays outside of functions. Pass Variables, so that slices of them are part of the "
                "graph, and use chainer.functions instead of NumPy"
            )
    return module, _tensors(args)


def _tensors(values: Any) -> tuple[Tensor, ...]:
    return tuple([as_tensor(as_variable(leaf).array) for leaf in _leaves(values)])
