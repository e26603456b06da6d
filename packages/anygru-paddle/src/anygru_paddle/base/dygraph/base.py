"""Gradients on and off, and gradients of tensors by other tensors."""

import contextlib
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from anygru import extend

from ...framework.recording import refuse_own_gradients
from ...tensor.creation import to_tensor
from ...tensor.differentiable import no_leaf_hooks
from ...tensor.gradients import is_reached, reached, run_engine
from ...tensor.operation import wrap
from ...tensor.tensor import Tensor
from .. import core, unique_name

__all__ = ["disable_static", "enable_grad", "grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]


class _KeepsSignature:
    """The arguments of a decorated function, by `inspect.getfullargspec`; Paddle decorates so."""

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        made = super().__call__(function)  # type: ignore[misc]
        with contextlib.suppress(ValueError, TypeError):  # some builtin functions have no signature
            made.__signature__ = inspect.signature(function)
        return made


class no_grad(_KeepsSignature, torch.no_grad):  # type: ignore[misc]
    """Within the block, or the decorated function, results have `stop_gradient`."""

    def __enter__(self) -> None:
        refuse_own_gradients("no_grad")
        super().__enter__()


class enable_grad(_KeepsSignature, torch.enable_grad):  # type: ignore[misc]
    """Within the block, or the decorated function, gradients are recorded again."""


class set_grad_enabled(_KeepsSignature, torch.set_grad_enabled):  # type: ignore[misc]
    """Record gradients or not, from now on or within a block."""


no_grad_ = no_grad


def is_grad_enabled() -> bool:
    """Whether gradients are recorded."""
    return torch.is_grad_enabled()


def _tensors(value: Any, name: str) -> list[torch.Tensor]:
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(each, torch.Tensor) for each in values):
        raise AssertionError(f"{name} must be Tensor or list of Tensor")
    return values


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Any = None,
) -> list[Tensor | None]:
    """Gradients of the sum of `outputs` by `inputs`; no tensor's `.grad` changes.

    Args:
        outputs, inputs: tensors or lists of them.
        grad_outputs: weights of the outputs, None for ones.
        retain_graph: changes nothing: the graph is kept, with False too (recorded, 2.6.2).
        create_graph: make the result differentiable.
        only_inputs: must be True.
        allow_unused: None for an input that outputs do not depend on, instead of an error.
        no_grad_vars: tensors that no gradient passes through.

    Raises:
        ValueError: for an input that outputs do not depend on.
        AssertionError: if an argument is not a tensor.
    """
    ys, xs = _tensors(outputs, "outputs"), _tensors(inputs, "inputs")
    if not only_inputs:
        raise AssertionError("only_inputs=False is not supported yet")
    walls = _walls(no_grad_vars)
    weights: list[Any] = [None] * len(ys)
    if grad_outputs is not None:
        weights = list(grad_outputs) if isinstance(grad_outputs, (list, tuple)) else [grad_outputs]
        if len(weights) != len(ys):
            raise AssertionError("The length of grad_outputs must be equal to outputs")
    weights = [_weight(y, weight, place) for place, (y, weight) in enumerate(zip(ys, weights, strict=True))]
    used = [(y, weight) for y, weight in zip(ys, weights, strict=True) if y.requires_grad]
    places = [place for place, x in enumerate(xs) if x.requires_grad]
    found: list[Any] = [None] * len(xs)
    if used and places:
        asked = [xs[place] for place in places]
        with _without_gradient(walls), no_leaf_hooks(asked), extend.behind_hooks(asked) as hooked:
            gradients = run_engine(
                lambda: extend.gradients(
                    [y for y, _ in used], asked, [weight for _, weight in used], True, create_graph
                )
            )
        gradients = [hooked.get(place, each) for place, each in enumerate(gradients)]
        steps = reached([y for y, _ in used], walls) if walls or any(each is None for each in gradients) else None
        for place, gradient in zip(places, gradients, strict=True):
            found[place] = _result(xs[place], gradient, steps, create_graph)
    for place, gradient in enumerate(found):
        if gradient is None and not allow_unused:
            raise ValueError(
                f"(InvalidArgument) The {place}-th input does not appear in the backward graph. Please check the input "
                "tensor or set allow_unused=True to get None result."
            )
    return found


def _weight(y: torch.Tensor, weight: torch.Tensor | None, place: int) -> torch.Tensor:
    """The weight of an output in its shape: Paddle 2.6.2 takes one of [1] for a scalar (its test of double gradients)."""
    if weight is None:
        return torch.ones_like(y)
    if weight.numel() != y.numel():
        raise ValueError(
            f"(InvalidArgument) grad_outputs[{place}] must have the shape {list(y.shape)} of its output, got {list(weight.shape)}"
        )
    return weight if weight.ndim == y.ndim else weight.reshape(tuple(y.shape))


def _walls(no_grad_vars: Any) -> list[torch.Tensor]:
    """The tensors that no gradient passes."""
    if no_grad_vars is None:
        return []
    walls = list(no_grad_vars) if isinstance(no_grad_vars, (list, tuple, set)) else [no_grad_vars]
    if not all(isinstance(each, torch.Tensor) for each in walls):
        raise AssertionError("no_grad_vars must be None, Tensor or list/tuple/set of Tensors")
    return [each for each in walls if each.requires_grad]


@contextlib.contextmanager
def _without_gradient(walls: list[torch.Tensor]) -> Iterator[None]:
    """Within the block gradients of these tensors are zeros."""
    hooks = [torch.Tensor.register_hook(each, torch.zeros_like) for each in walls]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _result(x: torch.Tensor, gradient: torch.Tensor | None, steps: set[object] | None, create_graph: bool) -> Any:
    """The result of `grad` for an input; `steps` are the graph steps that gradients reach, None to skip this check.

    As in Paddle 2.6.2 (recorded), a part of a `split` has zeros where only the other parts are used.
    """
    if steps is not None:
        if not is_reached(x, steps):
            return None
        gradient = torch.zeros_like(x) if gradient is None else gradient
    if gradient is None:
        return None
    if create_graph and not gradient.requires_grad:
        # 2.6.2 does so for every gradient that may have a graph (recorded).
        gradient = gradient.detach().requires_grad_()
    result = wrap(gradient)
    result.__dict__.pop("_stop_gradient", None)  # a PyLayer's `backward` may have handed on what the engine gave it
    return result


@contextlib.contextmanager
def guard(place: Any = None) -> Iterator[None]:
    """Compute on `place` (default: the current place) and number names from 0 within the block."""
    before = core.set_expected_place(core.expected_place() if place is None else core.as_place(place, "place"))
    try:
        with unique_name.guard():
            yield
    finally:
        core.set_expected_place(before)


def enabled() -> bool:
    """True: the dialect always computes at once."""
    return True


def disable_static(place: Any = None) -> None:
    """Nothing to switch off; `place` becomes the place of new tensors."""
    if place is not None:
        core.set_expected_place(core.as_place(place, "place"))


enable_dygraph = disable_static


def to_variable(value: Any, name: str | None = None, zero_copy: bool | None = None, dtype: Any = None) -> Tensor:
    """An array (or number, list, tensor) as a tensor; arrays keep their dtype.

    Raises:
        TypeError: for other arguments.
    """
    if zero_copy:
        warnings.warn("Currently, zero_copy is not supported, and it will be discarded.", UserWarning, stacklevel=2)
    if isinstance(value, Tensor) and dtype is None:
        return value
    tensor = to_tensor(value, dtype)
    if name is not None:
        tensor.name = name  # type: ignore[attr-defined]
    return tensor  # type: ignore[return-value]
