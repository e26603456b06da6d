"""A Chain's computation as a torch module, from which torch and ONNX make graphs.

The functions that a call enters are recorded, and the module computes them one after the other: the parameters and the
arguments are tensors, everything else that a function reads is a constant. A Chain that decides by values, or computes
with arrays outside of functions, is no such sequence; running both on other arguments shows it.
"""

import copy
from collections.abc import Iterator
from typing import Any

import numpy
import torch

from ._tensors import ARRAYS, as_tensor
from ._torch_function import TorchFunction
from .configuration import using_config
from .function_hook import FunctionHook
from .variable import Variable, as_variable

Tensor = torch.Tensor
TOLERANCE = 1e-4
"""How far the module's outputs may be from the Chain's, in parts of the largest."""


class _Recorder(FunctionHook):
    """Keeps each function of a call with its input arrays, in the order in which they were called."""

    name = "anygru export"

    def __init__(self) -> None:
        self.calls: list[tuple[Any, tuple[Any, ...]]] = []

    def forward_postprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        self.calls.append((function, in_data))


class Recorded(torch.nn.Module):
    """Computes what a Chain has computed, from the arrays of its arguments to the Variables that it gave."""

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
            nodes.pop(id(None), None)  # outputs that nobody holds
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
    """A torch module that computes what a Chain computes in test mode, and the tensors that it takes for these arguments.

    Args:
        model: the Chain; its states stay as they are.
        args: what it is called with: arrays and Variables, also in lists, tuples and dictionaries.

    Raises:
        TypeError: a function computes with arrays. ValueError: a parameter is not initialized, or the module would compute
            something else than the Chain.
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
                "values, or computes with arrays outside of functions. Pass Variables, so that slices of them are seen, and "
                "use chainer.functions in place of NumPy"
            )
    return module, _tensors(args)


def _tensors(values: Any) -> tuple[Tensor, ...]:
    return tuple([as_tensor(as_variable(leaf).array) for leaf in _leaves(values)])
