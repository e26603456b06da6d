"""`Sequential`: layers that are applied in order."""

import copy
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from ._link import check_mode
from .link import ChainList, Link


def _type_name(layer: Callable[..., Any]) -> str:
    return type(layer).__name__ if isinstance(layer, Link) else layer.__name__


class Sequential(ChainList):
    """A list of callables, links and functions alike; calling it applies them in order.

    Its links are its children, numbered among themselves: in `Sequential(F.relu, link)` the link's path is "/0".

    Args:
        layers: the callables (ValueError if one is not).
    """

    def __init__(self, *layers: Callable[..., Any]) -> None:
        super().__init__()
        self._layers: list[Any] = []
        for layer in layers:
            self.append(layer)

    def __len__(self) -> int:
        return len(self._layers)

    def __getitem__(self, index: Any) -> Any:
        return self._layers[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._layers)

    def __reversed__(self) -> Iterator[Any]:
        return reversed(self._layers)

    def __contains__(self, layer: object) -> bool:
        return layer in self._layers

    def __setitem__(self, index: Any, layer: Any) -> None:
        if index >= len(self):
            raise ValueError(f"{index} should be less than {len(self)}")
        _check_callable(layer)
        if self._layers[index] is not layer:
            # A layer assigned to [-1] is inserted one place too early, after the deletion of the old layer (Chainer
            # 7.8.1, seen).
            del self[index]
            self.insert(index, layer)

    def __delitem__(self, index: Any) -> None:
        layer = self._layers.pop(index)
        if isinstance(layer, Link):
            names = [child.name for child in self._children]
            if layer.name in names:
                del self._children[names.index(layer.name)]
            self._rename()

    def __add__(self, other: Any) -> "Sequential":
        _check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Any:
        _check_sequential(other)
        for layer in other:
            self.append(layer)
        return self

    def forward(self, *x: Any) -> Any:
        """Apply the layers in order; a tuple is handed to the next layer as its arguments.

        Raises:
            RuntimeError: there is no layer.
        """
        if not self._layers:
            raise RuntimeError("Sequential does not have any layer.")
        out: Any = x
        for layer in self._layers:
            out = layer(*out) if isinstance(out, tuple) else layer(out)
        return out

    def __reduce__(self) -> Any:
        if any(getattr(layer, "__name__", None) == "<lambda>" for layer in self._layers):
            raise ValueError(
                "This Sequential object has at least one lambda function as its component. Lambda function can not be "
                "pickled: use functools.partial or a named function instead."
            )
        return super().__reduce__()

    def __str__(self) -> str:
        lines = []
        for index, layer in enumerate(self):
            is_lambda = getattr(layer, "__name__", None) == "<lambda>"
            text = inspect.getsource(layer).strip().rstrip(",") if is_lambda else str(layer)
            lines += [f"  {line}\n" for line in f"({index}): {text},".splitlines()]
        content = "\n" + "".join(lines) if lines else ""
        return f"{type(self).__name__}({content})"

    def append(self, layer: Callable[..., Any]) -> None:
        """Add a layer at the end."""
        self.insert(len(self), layer)

    def extend(self, sequential: Any) -> None:
        """Add the layers of another Sequential (or any iterable) at the end."""
        for layer in sequential:
            self.append(layer)

    def insert(self, i: int, layer: Callable[..., Any]) -> None:
        """Insert a layer at `i` (IndexError if `i` is out of range)."""
        if not -len(self) <= i <= len(self):
            raise IndexError(f"Index out of range: {i}")
        _check_callable(layer)
        i = i + len(self) if i < 0 else i
        self._layers.insert(i, layer)
        if isinstance(layer, Link):
            self._children.insert(self._child_place(i), layer)
            self._rename()

    def _child_place(self, i: int) -> int:
        """The place among the children of the link at `i` of the layers: after the first of the links before it.

        Appended links therefore get the numbers 0, n-1, ..., 2, 1. Chainer numbers them like this, and saved files
        depend on it.
        """
        before = [place for place, layer in enumerate(self._layers[:i]) if isinstance(layer, Link)]
        return (before[0] if before else 0) + 1 if i else 0

    def remove(self, layer: Callable[..., Any]) -> None:
        """Remove the first occurrence of a layer (ValueError if it is absent)."""
        if layer not in self:
            raise ValueError(f"There is no layer object that is same as {layer}")
        del self[self.index(layer)]

    def remove_by_layer_type(self, type_name: str) -> None:
        """Remove all layers with the class (links) or name (functions) `type_name`."""
        for layer in list(self):
            if _type_name(layer) == type_name:
                self.remove(layer)

    def pop(self, i: int = -1) -> Any:
        """Remove and return a layer."""
        layer = self._layers[i]
        del self[i]
        return layer

    def clear(self) -> None:
        """Remove all layers. As in the original, every other link stays among the children."""
        self._layers = []
        # Chainer 7.8.1 deletes while it counts, so every other link is passed over (4 links leave 2, seen).
        del self._children[::2]

    def index(self, layer: Callable[..., Any], start: int | None = None, end: int | None = None) -> int:
        """Place of a layer, counted from `start` (ValueError if it is absent)."""
        return self._layers[start:end].index(layer)

    def count(self, layer: Callable[..., Any]) -> int:
        """How often a layer occurs."""
        return self._layers.count(layer)

    def count_by_layer_type(self, type_name: str) -> int:
        """How many layers have the class (links) or name (functions) `type_name`."""
        return sum(_type_name(layer) == type_name for layer in self._layers)

    def copy(self, mode: str = "share") -> Any:
        """A Sequential of copies of the layers; `mode` as in `Link.copy`."""
        copied = Sequential()
        for layer in self:
            copied.append(layer.copy(mode) if isinstance(layer, Link) else copy.copy(layer))
        return copied

    def copyparams(self, link: Any, copy_persistent: bool = True) -> None:
        """Copy the parameters of another Sequential of the same structure (ValueError for another class)."""
        if not isinstance(link, Sequential):
            raise ValueError("Objects other than Sequential object cannot be copied to a Sequential object.")
        for index, layer in enumerate(self):
            if isinstance(layer, Link):
                layer.copyparams(link[index], copy_persistent)

    def flatten(self) -> "Sequential":
        """A Sequential in which nested ones are replaced by their layers."""
        flat = Sequential()
        for layer in self:
            if isinstance(layer, Sequential):
                flat.extend(layer.flatten())
            else:
                flat.append(layer)
        return flat


def _check_callable(layer: Callable[..., Any]) -> None:
    if not callable(layer):
        raise ValueError(f"All elements of the argument should be callable. But given {layer} is not callable.")


def _check_sequential(other: Any) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(f"add (+) operator supports only objects of Sequential class, but {type(other)} is given.")


def repeat(link: Link, n_repeat: int, mode: str = "init") -> Sequential:
    """A Sequential of `n_repeat` copies of a link; `mode` as in `Link.copy`. It is `Link.repeat`."""
    repeated = Sequential()
    if n_repeat > 0:
        check_mode(mode)
        for _ in range(n_repeat):
            repeated.append(link.copy(mode))
    return repeated


Link.repeat = repeat  # the class is defined above `Link`
