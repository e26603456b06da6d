"""`mx.autograd.Function`: operations with a user-defined gradient."""

from typing import Any

import torch
from torch import Tensor

from ..base import MXNetError
from ..scopes import worker_thread
from ..state import Scope, state
from .array import wrap
from .ndarray import NDArray


class _Bridge(torch.autograd.Function):
    """A torch node with the backward of a `Function`."""

    @staticmethod
    def forward(ctx: Any, function: "Function", outputs: list[NDArray], *inputs: Tensor) -> tuple[Tensor, ...]:
        ctx.function, ctx.backward_pass = function, state.backward
        ctx.contexts = [output._ctx for output in outputs]
        ctx.inputs = len(inputs)
        return tuple(output._t.detach().clone() for output in outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        arrays = [wrap(g.contiguous(), context) for g, context in zip(gradients, ctx.contexts, strict=True)]
        # MXNet calls `backward` in another thread, which has only the flag of training of the pass.
        with worker_thread(training=ctx.backward_pass.training):
            results = ctx.function.backward(*arrays)
        results = (results,) if isinstance(results, NDArray) else tuple(results)
        if len(results) != ctx.inputs:
            raise MXNetError(
                f"{type(ctx.function).__name__}.backward must return exactly the same number of NDArrays as the number "
                f"of NDArrays arguments to forward. Expecting {ctx.inputs} got {len(results)}"
            )
        return (None, None, *(result._t.detach() for result in results))


class Function:
    """An operation with a user-defined gradient. A subclass defines `forward` and `backward` on arrays.

    An object can be called once. `save_for_backward` keeps arrays in `saved_tensors`.
    """

    def __init__(self) -> None:
        self._used = False
        self.saved_tensors: tuple = ()

    def save_for_backward(self, *args: Any) -> None:
        """Store arrays in `saved_tensors`, for `backward`."""
        self.saved_tensors = args

    def __call__(self, *inputs: NDArray) -> Any:
        assert not self._used, "Each Function instance can only be called once. Please create another instance."
        self._used = True
        recording = state.recording
        with Scope(False, state.training):
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
        """The gradients of the inputs from the gradients of the outputs. A subclass defines it."""
        raise NotImplementedError
