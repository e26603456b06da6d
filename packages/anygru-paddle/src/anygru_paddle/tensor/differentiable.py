"""The gradient of a tensor: `stop_gradient`, `grad`, `backward`, hooks."""

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.autograd.grad_mode import _unsafe_preserve_version_counter
from torch.autograd.graph import get_gradient_edge

from anygru.extend import leave_graph

from ..base.seams import words
from ..framework.recording import recording, refuse_own_gradients
from .gradients import backward
from .operation import plain, wrap

if TYPE_CHECKING:
    from .tensor import Tensor

_torch_shape = torch.Tensor.shape.__get__  # type: ignore[attr-defined]
_torch_dtype = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]
_torch_grad = torch.Tensor.grad.__get__  # type: ignore[union-attr]
_set_torch_grad = torch.Tensor.grad.__set__  # type: ignore[union-attr]


def wrap_gradient(grad: torch.Tensor, stops: bool = False) -> "Tensor":
    """A gradient as a paddle Tensor with Paddle's `stop_gradient`.

    That is False, except after operations such as pixel_unshuffle, and for a result of a PyLayer's `backward` (recorded, 2.6.2).
    """
    wrapped = wrap(grad)
    wrapped.__dict__["_stop_gradient"] = stops
    return wrapped


def gradient_of(tensor: torch.Tensor) -> torch.Tensor | None:
    """The gradient of a leaf, or the gradient that `retain_grads` kept."""
    return _torch_grad(tensor) if tensor.is_leaf else tensor.__dict__.get("_retained")


@contextlib.contextmanager
def no_leaf_hooks(tensors: Sequence[torch.Tensor]) -> Iterator[None]:
    """Within the block, the hooks of the leaves among `tensors` rest: for `paddle.grad`, 2.6.2 does not call them (recorded)."""
    leaves = [tensor for tensor in tensors if tensor.is_leaf]
    for leaf in leaves:
        leaf.__dict__["_hooks_rest"] = True
    try:
        yield
    finally:
        for leaf in leaves:
            leaf.__dict__.pop("_hooks_rest", None)


def _accumulate_frozen(leaf: torch.Tensor) -> None:
    """Graphs that used `leaf` before it was frozen add to its gradient as in Paddle 2.6.2 (recorded); torch's do not."""

    def add(gradients: tuple[torch.Tensor | None, ...]) -> None:
        if gradients[0] is not None and not leaf.requires_grad:
            before, own = _torch_grad(leaf), plain(gradients[0].detach())
            _set_torch_grad(leaf, own.clone() if before is None else before + own)

    node: Any = get_gradient_edge(leaf).node
    if not node.metadata.setdefault("adds_to_frozen", False):  # a leaf may be frozen again while its graphs live
        node.metadata["adds_to_frozen"] = True
        node.register_prehook(add)


def _return_to_graph(tensor: torch.Tensor) -> bool:
    """Give a tensor that left its graph by `stop_gradient = True` its step of it again, as Paddle 2.6.2 does (recorded)."""
    left = tensor.__dict__.pop("_left", None)
    if left is None or left.data_ptr() != tensor.data_ptr() or _torch_shape(left) != _torch_shape(tensor):
        return False
    with torch.enable_grad(), _unsafe_preserve_version_counter(tensor):
        torch.Tensor.copy_(tensor, left)  # the same memory: only the step of the graph is new
    return True


class TensorHookRemoveHelper:
    """Takes a gradient hook off again."""

    def __init__(self, handle: Any, tensor: "Tensor") -> None:
        self._handle = handle
        self._tensor = tensor
        self._number = tensor.__dict__.get("_hooks_made", 0)
        tensor.__dict__["_hooks_made"] = self._number + 1

    def remove(self) -> bool:
        """Remove the hook; True the first time, later False and a RuntimeWarning."""
        if self._handle is None:
            warnings.warn(
                f"The backward hook (ID: {self._number}) of Tensor `{self._tensor.name}` you want to remove does not "
                "exist or has been removed.",
                RuntimeWarning,
                stacklevel=2,
            )
            return False
        self._handle.remove()
        self._handle = None
        return True


class Differentiable(torch.Tensor):
    """Paddle's attributes and methods for the gradient of a tensor."""

    @property
    def stop_gradient(self) -> bool:
        """True where no gradient is computed: the opposite of `requires_grad`, except that integers may also have False."""
        kept = self.__dict__.get("_stop_gradient")
        return not self.requires_grad if kept is None else kept

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        if recording.of_training:
            refuse_own_gradients("stop_gradient")
        if not (self.is_floating_point() or self.is_complex()):
            self._stop_gradient = bool(stop)
            return
        self.__dict__.pop("_stop_gradient", None)
        if stop and not self.is_leaf:
            with torch.enable_grad():
                left = plain(torch.Tensor.view_as(self, self))
            leave_graph(self)
            self.__dict__["_left"] = left
        elif stop and self.requires_grad:
            _accumulate_frozen(self)
            self.requires_grad_(False)
        elif not (stop or self.requires_grad or _return_to_graph(self)):
            self.requires_grad_()

    @property
    def grad(self) -> "Tensor | None":
        """The gradient of a leaf (or of a tensor with `retain_grads`), None before `backward`."""
        grad = gradient_of(self)
        if type(grad) is torch.Tensor:
            return wrap_gradient(grad, self.__dict__.get("_gradient_stops", False))
        return grad  # type: ignore[return-value]

    @grad.setter  # type: ignore[override]
    def grad(self, value: torch.Tensor) -> None:
        if value is None and words.are_torchs:
            _set_torch_grad(self, None)
            return
        if not isinstance(value, torch.Tensor):
            raise ValueError(f"(InvalidArgument) grad must be Tensor, but got {type(value).__name__}; use clear_grad()")
        grad = plain(value.detach())  # the property gives it its class and its stop_gradient
        if self.is_leaf:
            _set_torch_grad(self, grad)
        else:
            self.__dict__["_retained"] = grad

    def gradient(self) -> np.ndarray | None:
        """The gradient as a NumPy array, None before `backward`."""
        grad = self.grad
        return None if grad is None else grad.numpy()

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        """Make the gradient zeros, or None with `set_to_zero=False`."""
        grad = gradient_of(self)
        if grad is None:
            return
        self.__dict__.pop("_gradient_stops", None)
        if set_to_zero:
            with torch.no_grad():
                torch.Tensor.zero_(grad)
        elif self.is_leaf:
            _set_torch_grad(self, None)
        else:
            self.__dict__["_retained"] = None

    clear_grad = _zero_grads = clear_gradient

    def _grad_ivar(self) -> "Tensor | None":
        """`grad`, under the name that Paddle's own tests and some programs use."""
        return self.grad

    def backward(self, grad_tensor: torch.Tensor | None = None, retain_graph: bool = False) -> None:  # type: ignore[override]
        """Add the gradients of this tensor, weighted by `grad_tensor` (ones), to the gradients of its leaves.

        Nothing happens for a tensor with `stop_gradient`.

        Raises:
            SystemError: if the graph has been used by a `backward` without `retain_graph`.
            ValueError: unless `grad_tensor` is a tensor of the same shape.
        """
        if hasattr(grad_tensor, "sort_sum_gradient"):  # a BackwardStrategy of Paddle 1.x
            grad_tensor = None
        backward([self], [grad_tensor], retain_graph)

    def register_hook(self, hook: "Callable[[Tensor], torch.Tensor | None]") -> TensorHookRemoveHelper:
        """Call `hook(gradient)` when the gradient is computed; its result, unless None, replaces the gradient.

        Raises:
            RuntimeError: for a tensor with `stop_gradient`.
        """
        if recording.of_training:
            refuse_own_gradients("register_hook")
        if not self.requires_grad:
            raise RuntimeError("Cannot register hook on a tensor that stop gradient.")

        zeros, kept = self._zeros(), self.__dict__

        def call(gradient: torch.Tensor | None) -> torch.Tensor | None:
            if "_hooks_rest" in kept:
                return None
            # A view: `wrap` changes the class of the object that it is given, and torch's engine still holds this one.
            seen = zeros() if gradient is None else gradient.view_as(gradient)
            return hook(wrap_gradient(seen, kept.get("_gradient_stops", False)))

        return TensorHookRemoveHelper(super().register_hook(call), wrap(self))

    def _zeros(self) -> Callable[[], torch.Tensor]:
        """Makes the gradient of a part of a split that nothing depends on: torch gives None, Paddle 2.6.2 zeros (recorded)."""
        return functools.partial(torch.zeros, _torch_shape(self), dtype=_torch_dtype(self), device=self.device)

    def retain_grads(self) -> None:
        """Keep the gradient of a tensor that is not a leaf, after the hooks registered earlier; the last gradient is kept.

        torch's own `retain_grad` comes after all hooks and adds up; Paddle 2.6.2 does neither (recorded).
        """
        if not self.requires_grad or self.is_leaf or "_retained" in self.__dict__:
            return
        kept = self.__dict__
        kept["_retained"] = None

        zeros = self._zeros()

        def keep(gradient: torch.Tensor | None) -> None:
            kept["_retained"] = zeros() if gradient is None else plain(gradient.detach())

        super().register_hook(keep)
