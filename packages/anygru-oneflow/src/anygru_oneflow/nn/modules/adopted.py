"""How a layer of torch becomes OneFlow's: a subclass of it and of `oneflow.nn.Module`."""

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from ...framework.dressing import inside_torch
from ...framework.dtype import plain, translated
from .edges import cutting_layer
from .empty import or_empty, pooled_by
from .module import Module


def adopt(
    layer: type[torch.nn.Module],
    positional: str | None = None,
    base: type = Module,
    shown: str | Callable[[Any], str] | None = None,
    axes: int | None = None,
    defaults: dict[str, Any] | None = None,
    overwrites: bool = True,
) -> Any:
    """A subclass of a torch layer that is a `oneflow.nn.Module` and takes OneFlow's data types.

    Args:
        positional: OneFlow's arguments, in its order, where torch has others.
        base: the class of OneFlow that it inherits from.
        shown: the text between the parentheses when it is printed, with its attributes in braces, or a function of the layer;
            None for torch's.
        defaults: arguments of the constructor that OneFlow gives another default.
        overwrites: whether `inplace=True` has an effect.
        axes: the number of axes of a pooling layer. Its sizes become tuples of this length.
    """
    make = translated(layer.__init__) if positional is None else named(layer.__init__, "self " + positional)
    if defaults:
        make = with_defaults(make, **defaults)
    own: dict[str, Any] = {"__init__": make if axes is None else _with_tuples(make, axes)}
    if "forward" in vars(layer) and not issubclass(layer, torch.nn.Sequential):
        own["forward"] = _forward(layer)
    if axes is not None:
        with_places = lambda self, _: getattr(self, "return_indices", False)  # noqa: E731
        own["forward"] = cutting_layer(or_empty(own["forward"], pooled_by(axes), with_places))
    if not overwrites:
        own["forward"] = _on_a_copy(_forward(layer))
    if shown is not None:
        own["extra_repr"] = shown if callable(shown) else lambda self: shown.format(**vars(self))
    # The module of the caller, by which files of models name the class.
    about = {"__doc__": f"As torch.nn.{layer.__name__}.", "__module__": sys._getframe(1).f_globals["__name__"]}
    return type(layer.__name__, (layer, base), {**own, **about})


def _forward(layer: type[torch.nn.Module]) -> Callable[..., Any]:
    """The layer's forward, run inside torch; on global tensors as a program would, so that each function has its layouts."""
    forward: Callable[..., Any] = layer.forward
    inside = inside_torch(forward)

    @wraps(forward)
    def call(self: Any, *inputs: Any, **keywords: Any) -> Any:
        if any(isinstance(value, DTensor) for value in (*inputs, *keywords.values())):
            return forward(self, *inputs, **keywords)
        return inside(self, *inputs, **keywords)

    return call


def _on_a_copy(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The forward pass of a layer that never changes its input, for any `inplace`."""

    @wraps(forward)
    def call(self: Any, input: torch.Tensor) -> Any:
        return forward(self, input.clone() if self.inplace else input)

    return call


def _with_tuples(make: Callable[..., None], axes: int) -> Callable[..., None]:
    """A constructor of a pooling layer that turns single sizes into tuples, as OneFlow keeps and prints them."""

    @wraps(make)
    def call(self: torch.nn.Module, *arguments: Any, **keywords: Any) -> None:
        make(self, *arguments, **keywords)
        for name in ("kernel_size", "stride", "padding", "dilation"):
            if isinstance(getattr(self, name, None), int):
                setattr(self, name, (getattr(self, name),) * axes)

    return call


def named(function: Callable[..., Any], positional: str) -> Callable[..., Any]:
    """A torch function called with OneFlow's arguments, which have these names in OneFlow's order."""
    names = positional.split()

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        if len(arguments) > len(names) or not keywords.keys() <= set(names):
            takes = ", ".join(name for name in names if name != "self")
            raise TypeError(f"{function.__qualname__}() takes {takes}; got {len(arguments)} and {list(keywords)}")
        given = {**dict(zip(names, arguments, strict=False)), **keywords}
        first = [given.pop("self")] if "self" in given else []
        return function(*first, **{name: plain(value) for name, value in given.items()})

    return call


def with_defaults(function: Callable[..., Any], **defaults: Any) -> Callable[..., Any]:
    """A function with other defaults for some of its arguments."""
    places = {name: place for place, name in enumerate(inspect.signature(function).parameters) if name in defaults}

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        missing = {name: defaults[name] for name, place in places.items() if place >= len(arguments)}
        return function(*arguments, **{**missing, **keywords})

    return call
