"""`TorchFunction`: a function of the graph whose arithmetic and derivative are torch's.

Each such function keeps the little torch graph between its own inputs and outputs; the big graph between functions is
the dialect's, because users may cut it, hold on to parts of it and ask for what lies between.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import torch

from anygru.extend import gradients

from ._tensors import as_array, as_tensor
from .configuration import config
from .function_node import FunctionNode
from .utils import force_array
from .variable import Variable

Tensor = torch.Tensor


class TorchFunction(FunctionNode):
    """Subclass it and define `compute`, which takes tensors and returns a tensor or a tuple of tensors.

    `compute` may be called again when the gradient is differentiated, so a random choice is made once and kept.
    """

    curved: ClassVar[tuple[int, ...] | None] = None
    """The inputs on which the gradient depends in Chainer 7.8.1 (read and recorded); None: torch's graph tells.

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
                        # On a fresh tensor over the array's memory, so that the user's arrays know nothing of torch's graph.
                        tensor.requires_grad_()
        # Asked before it is set: setting torch's switch costs more than most functions of small arrays.
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

    `used` says after `compute` which of the inputs the outputs depend on at all; the gradients of the others are zeros.
    """

    used: tuple[bool, ...] = ()
    _zeros: frozenset[int] = frozenset()

    def __init__(self, function: TorchFunction, indexes: list[int], outputs: list[int]) -> None:
        self._function = function
        self._indexes = indexes
        self._outputs = outputs
        if function.curved is not None:
            self._zeros = frozenset(function.curved)

    @property
    def label(self) -> str:
        return f"{self._function.label} gradient"

    def compute(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        recorded = torch.is_grad_enabled()
        n_inputs = len(inputs) - len(self._outputs)
        curved = range(n_inputs) if self._function.curved is None else self._function.curved
        with torch.enable_grad():
            xs = [
                x if not x.is_floating_point() or (x.requires_grad and i in curved) else x.detach().requires_grad_()
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
