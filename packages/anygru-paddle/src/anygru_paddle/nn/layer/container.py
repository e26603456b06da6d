"""Layers that hold other layers or parameters."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .layers import Layer

__all__ = ["LayerDict", "LayerList", "ParameterList", "Sequential"]


class Sequential(Layer):
    """Layers one after another: layers, or (name, layer) pairs."""

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        if layers and isinstance(layers[0], (list, tuple)):
            for name, layer in layers:
                self.add_sublayer(name, layer)
        else:
            for index, layer in enumerate(layers):
                self.add_sublayer(str(index), layer)

    def _key(self, index: Any) -> str:
        if isinstance(index, str):
            return index
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"index {index} is out of range")
        return list(self._modules)[index]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(*list(self._modules.values())[index])
        return self._modules[self._key(index)]

    def __setitem__(self, index: Any, layer: Any) -> None:
        setattr(self, self._key(index), layer)

    def __delitem__(self, index: Any) -> None:
        name = self._key(index)
        if name not in self._modules:
            raise AssertionError(f"Sequential has no layer {name!r}")
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def forward(self, input: Any) -> Any:
        """The last layer's output."""
        for layer in self._modules.values():
            input = layer(input)  # type: ignore[misc]
        return input


class LayerList(Layer):
    """A list of layers."""

    def __init__(self, sublayers: Iterable[Any] | None = None) -> None:
        super().__init__()
        for index, layer in enumerate(sublayers or ()):
            self.add_sublayer(str(index), layer)

    def _place(self, index: Any) -> int:
        if isinstance(index, str) and index in self._modules:
            return int(index)
        if not isinstance(index, int):
            raise AssertionError(f"LayerList: the index must be an int, got {type(index).__name__}")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return index % len(self)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[str(self._place(index))]

    def __setitem__(self, index: int, layer: Any) -> None:
        setattr(self, str(self._place(index)), layer)

    def __delitem__(self, index: Any) -> None:
        kept = list(self._modules.values())
        if not isinstance(index, slice):
            index = self._place(index)
        del kept[index]
        self._renumber(kept)

    def _renumber(self, layers: list[Any]) -> None:
        self._modules.clear()
        for index, layer in enumerate(layers):
            self._modules[str(index)] = layer

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def append(self, sublayer: Any) -> "LayerList":
        """Put a layer at the end."""
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def insert(self, index: int, sublayer: Any) -> None:
        """Put a layer before another."""
        # Unlike a list's, not the place after the last one (recorded, 2.6.2).
        if not isinstance(index, int) or not -len(self) <= index < len(self):
            raise AssertionError(f"index should be an integer in range [-{len(self)}, {len(self)}), got {index!r}")
        layers = list(self._modules.values())
        layers.insert(index if index >= 0 else index + len(layers), sublayer)
        self._renumber(layers)

    def extend(self, sublayers: Iterable[Any]) -> "LayerList":
        """Put several layers at the end."""
        for layer in sublayers:
            self.append(layer)
        return self


class LayerDict(Layer):
    """Layers by name."""

    def __init__(self, sublayers: Any = None) -> None:
        super().__init__()
        if sublayers is not None:
            self.update(sublayers)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, sublayer: Any) -> Any:
        return self.add_sublayer(key, sublayer)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all layers out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take a layer out and return it."""
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and layers."""
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """The layers."""
        return self._modules.values()

    def update(self, sublayers: Any) -> None:
        """Add layers from a mapping or (name, layer) pairs, replacing layers of the same name.

        Raises:
            AssertionError: for other arguments.
        """
        if isinstance(sublayers, (Mapping, LayerDict)):
            pairs: Any = sublayers.items()
        elif isinstance(sublayers, Iterable):
            pairs = sublayers
        else:
            raise AssertionError(
                "The type of sublayers is not iterable of key/value pairs, the type of sublayers is "
                + type(sublayers).__name__
            )
        for pair in pairs:
            if len(pair) != 2:
                raise ValueError(f"The length of the {pair!r} must be 2, but got {len(pair)}")
            self.add_sublayer(pair[0], pair[1])


class ParameterList(Layer):
    """A list of parameters."""

    def __init__(self, parameters: Iterable[Any] | None = None) -> None:
        super().__init__()
        for index, parameter in enumerate(parameters or ()):
            self.add_parameter(str(index), parameter)

    def __getitem__(self, index: int) -> Any:
        return self._parameters[str(index)]

    def __setitem__(self, index: int, parameter: Any) -> None:
        setattr(self, str(index), parameter)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters.values())

    def append(self, parameter: Any) -> "ParameterList":
        """Put a parameter at the end."""
        self.add_parameter(str(len(self)), parameter)
        return self
