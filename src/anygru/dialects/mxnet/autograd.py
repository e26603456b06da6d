"""`mx.autograd`: recording what is computed, and gradients of it, by torch's autograd.

Recording and training are two flags of the thread.  Inside `record` arrays computed from variables are in a torch graph;
outside nothing is.  Of MXNet 1.9's `mxnet.autograd`.
"""

from typing import Any

import torch
from torch import Tensor

from .base import MXNetError
from .ndarray.array import mark, wrap
from .ndarray.gradients import backward, grad
from .ndarray.ndarray import NDArray
from .state import state

__all__ = [
    "Function",
    "NDArray",
    "backward",
    "grad",
    "is_recording",
    "is_training",
    "mark_variables",
    "pause",
    "predict_mode",
    "record",
    "set_recording",
    "set_training",
    "train_mode",
]


def set_recording(is_recording: bool) -> bool:
    """Set the flag of recording; the flag as it was."""
    before = state.recording
    state.recording = bool(is_recording)
    return before


def set_training(train_mode: bool) -> bool:
    """Set the flag of training; the flag as it was."""
    before = state.training
    state.training = bool(train_mode)
    return before


def is_recording() -> bool:
    """Whether computations are recorded."""
    return state.recording


def is_training() -> bool:
    """Whether layers such as Dropout behave as in training."""
    return state.training


class _Scope:
    """Sets the flags that are not None, and torch's own switch with recording, for the length of a `with`."""

    __slots__ = ("_before", "_recording", "_training")

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording = recording
        self._training = training
        self._before: list[tuple[bool, bool, bool]] = []

    def __enter__(self) -> None:
        self._before.append((state.recording, state.training, torch.is_grad_enabled()))
        if self._recording is not None:
            state.recording = self._recording
            torch._C._set_grad_enabled(self._recording)
        if self._training is not None:
            state.training = self._training

    def __exit__(self, *exception: Any) -> None:
        state.recording, state.training, grad = self._before.pop()
        torch._C._set_grad_enabled(grad)


def record(train_mode: bool = True) -> _Scope:
    """`with autograd.record():` computations are recorded, and layers train unless `train_mode` is False."""
    return _Scope(True, train_mode)


def pause(train_mode: bool = False) -> _Scope:
    """`with autograd.pause():` computations are not recorded."""
    return _Scope(False, train_mode)


def train_mode() -> _Scope:
    """`with autograd.train_mode():` layers train; recording stays as it is."""
    return _Scope(None, True)


def predict_mode() -> _Scope:
    """`with autograd.predict_mode():` layers predict; recording stays as it is."""
    return _Scope(None, False)


def mark_variables(variables: Any, gradients: Any, grad_reqs: str | list[str] = "write") -> None:
    """Make arrays variables whose gradients go to the given arrays.

    Raises:
        KeyError: for a request other than write, add and null.
    """
    if isinstance(variables, NDArray):
        variables, gradients = [variables], [gradients]
    requests = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else grad_reqs
    for variable, gradient, request in zip(variables, gradients, requests, strict=True):
        if request not in ("write", "add", "null"):
            raise KeyError(request)
        mark(variable, gradient, request)


class _Bridge(torch.autograd.Function):
    """A torch node whose backward is that of a `Function`."""

    @staticmethod
    def forward(ctx: Any, function: "Function", outputs: list[NDArray], *inputs: Tensor) -> tuple[Tensor, ...]:
        ctx.function = function
        ctx.contexts = [output._ctx for output in outputs]
        ctx.inputs = len(inputs)
        return tuple(output._t.detach().clone() for output in outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        arrays = [wrap(g.contiguous(), context) for g, context in zip(gradients, ctx.contexts, strict=True)]
        with pause(train_mode=state.training):
            results = ctx.function.backward(*arrays)
        results = (results,) if isinstance(results, NDArray) else tuple(results)
        if len(results) != ctx.inputs:
            raise MXNetError(
                f"{type(ctx.function).__name__}.backward must return exactly the same number of NDArrays as the number "
                f"of NDArrays arguments to forward. Expecting {ctx.inputs} got {len(results)}"
            )
        return (None, None, *(result._t.detach() for result in results))


class Function:
    """An operation with a gradient of its own: a subclass defines `forward` and `backward` on arrays.

    An object is called once.  `save_for_backward` keeps arrays in `saved_tensors`.
    """

    def __init__(self) -> None:
        self._used = False
        self.saved_tensors: tuple = ()

    def save_for_backward(self, *args: Any) -> None:
        """Keep arrays for `backward`, which finds them in `saved_tensors`."""
        self.saved_tensors = args

    def __call__(self, *inputs: NDArray) -> Any:
        assert not self._used, "Each Function instance can only be called once. Please create another instance."
        self._used = True
        recording = state.recording
        with pause(train_mode=state.training):
            outputs = self.forward(*inputs)
        if not recording:
            return outputs
        arrays = [outputs] if isinstance(outputs, NDArray) else list(outputs)
        tracked = _Bridge.apply(self, arrays, *(array._t for array in inputs))
        results = [wrap(values, array._ctx) for values, array in zip(tracked, arrays, strict=True)]
        return results[0] if isinstance(outputs, NDArray) else type(outputs)(results)

    def forward(self, *inputs: NDArray) -> Any:
        """The operation on arrays; a subclass defines it."""
        raise NotImplementedError

    def backward(self, *output_grads: NDArray) -> Any:
        """The gradients of the inputs, given those of the outputs; a subclass defines it."""
        raise NotImplementedError
