"""Derivatives."""

import contextlib
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import torch
from torch import enable_grad as enable_grad
from torch import is_grad_enabled as is_grad_enabled
from torch import no_grad as no_grad
from torch.autograd import backward as backward
from torch.distributed.tensor import DTensor

from anygru.extend import behind_hooks

from ..framework.dressing import as_in_programs, dress
from ..framework.tensor import Tensor
from ..processes import global_tensor

__all__ = ["Function", "grad", "inference_mode", "set_grad_enabled"]


class Function(torch.autograd.Function):
    """As torch's; an instance is called like `apply`."""

    def __init__(self) -> None:
        """Unlike torch's, without a warning."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        backward = vars(cls).get("backward")
        if isinstance(backward, staticmethod):
            cls.backward = staticmethod(_with_oneflows_tensors(backward.__func__))  # type: ignore[method-assign]

    @classmethod
    def apply(cls, *arguments: Any, **keywords: Any) -> Any:
        context: Any = cls._backward_cls
        # torch makes the context's class, and returns saved tensors in its types.
        context.saved_tensors = property(lambda self: dress(super(context, self).saved_tensors))
        return dress(super().apply(*arguments, **keywords))

    def __call__(self, *arguments: Any) -> Any:
        return self.apply(*arguments)


def _with_oneflows_tensors(backward: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(backward)
    def call(ctx: Any, *gradients: torch.Tensor) -> Any:
        with as_in_programs():
            return backward(ctx, *map(dress, gradients))

    return call


class set_grad_enabled(contextlib.ContextDecorator):
    """Gradients or none, within a `with` block or a decorated function. As in OneFlow, the call alone changes nothing."""

    def __init__(self, is_train: bool = True) -> None:
        self.mode = is_train
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(torch.is_grad_enabled())
        torch.set_grad_enabled(self.mode)

    def __exit__(self, *_error: Any) -> None:
        torch.set_grad_enabled(self._before.pop())


class inference_mode(set_grad_enabled):
    """Gradients off. Unlike torch's, it makes plain tensors, which a program may train with or change in place later."""

    def __init__(self, mode: bool = True) -> None:
        super().__init__(not mode)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> tuple[Tensor, ...]:
    """The derivatives of the outputs' sum by each input; None for an input that takes no part."""
    given = [inputs] if isinstance(inputs, torch.Tensor) else list(inputs)
    pieces = [_piece(tensor) for tensor in given]
    asked = [tensor if piece is None else piece for tensor, piece in zip(given, pieces, strict=True)]
    with behind_hooks(asked) as hooked:
        first = torch.autograd.grad(
            outputs,
            asked,
            grad_outputs,
            retain_graph=retain_graph or create_graph,
            create_graph=create_graph,
            allow_unused=True,
        )
    found = [hooked.get(place, each) for place, each in enumerate(first)]
    with torch._C.DisableTorchFunctionSubclass():
        whole = [
            global_tensor.gradient_of(tensor, part.as_subclass(torch.Tensor))
            if isinstance(tensor, DTensor) and piece is not None and part is not None
            else part
            for part, tensor, piece in zip(found, given, pieces, strict=True)
        ]
    return tuple(map(dress, whole))


def _piece(tensor: Tensor) -> torch.Tensor | None:
    """The piece of a global tensor, if operators used it in the tensor's place; the tensor's gradient arrives at the piece."""
    if not isinstance(tensor, DTensor) or tensor.is_leaf:
        return None
    with torch._C.DisableTorchFunctionSubclass():
        return global_tensor.source_piece(tensor)
