"""`Chain` and `ChainList`: links that hold other links."""

import collections.abc
from collections.abc import Iterator
from typing import Any

from ._link import Link
from .device_resident import DeviceResidentsVisitor
from .serializer import AbstractSerializer
from .variable import Parameter

__all__ = ["Chain", "ChainList", "Link"]


class _Parent(Link):
    """The base of Chain and ChainList: everything that is passed on to the children."""

    def _named_children(self) -> Iterator[tuple[str, Any]]:
        raise NotImplementedError

    def _counterpart(self, other: Any, name: str) -> Any:
        """The child of another parent that corresponds to ours of this name."""
        raise NotImplementedError

    def __str__(self) -> str:
        lines = [f"  {line}\n" for name, child in self._named_children() for line in f"({name}): {child},".splitlines()]
        content = "\n" + "".join(lines) if lines else ""
        return f"{type(self).__name__}({content})"

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        for child in self.children():
            child.device_resident_accept(visitor)

    def children(self) -> Iterator[Link]:
        for _, child in self._named_children():
            yield child

    def params(self, include_uninit: bool = True) -> Iterator[Parameter]:
        yield from super().params(include_uninit)
        for child in self.children():
            yield from child.params(include_uninit)

    def namedparams(self, include_uninit: bool = True) -> Iterator[tuple[str, Parameter]]:
        yield from super().namedparams(include_uninit)
        for name, child in self._named_children():
            for path, parameter in child.namedparams(include_uninit):
                yield f"/{name}{path}", parameter

    def links(self, skipself: bool = False) -> Iterator[Link]:
        yield from super().links(skipself)
        for child in self.children():
            yield from child.links()

    def namedlinks(self, skipself: bool = False) -> Iterator[tuple[str, Link]]:
        yield from super().namedlinks(skipself)
        for name, child in self._named_children():
            yield f"/{name}", child
            for path, link in child.namedlinks(True):
                yield f"/{name}{path}", link

    def copyparams(self, link: Link, copy_persistent: bool = True) -> None:
        super().copyparams(link, copy_persistent)
        for name, child in self._named_children():
            child.copyparams(self._counterpart(link, name), copy_persistent)

    def addgrads(self, link: Link) -> None:
        super().addgrads(link)
        for name, child in self._named_children():
            child.addgrads(self._counterpart(link, name))

    def serialize(self, serializer: AbstractSerializer) -> None:
        super().serialize(serializer)
        for name, child in self._named_children():
            child.serialize(serializer[name])


class Chain(_Parent):
    """A link with child links, which are registered by assigning them inside `with self.init_scope():`.

    Args:
        links: child links, by name.
    """

    def __init__(self, **links: Link) -> None:
        super().__init__()
        self._children: set[str] = set()
        for name, link in links.items():
            self.add_link(name, link)

    def _named_children(self) -> Iterator[tuple[str, Any]]:
        for name in sorted(self._children):
            yield name, self.__dict__[name]

    def _counterpart(self, other: Any, name: str) -> Any:
        return other.__dict__[name]

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Link) and self.within_init_scope:
            if hasattr(self, name):
                raise AttributeError(f"cannot register a new link {name}: attribute exists")
            value.name = name
            self._children.add(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._children.discard(name)
        super().__delattr__(name)

    def add_link(self, name: str, link: Link) -> None:
        """Register a child link (AttributeError if the name is taken, TypeError if it is not a link)."""
        if name in self.__dict__:
            raise AttributeError(f"cannot register a new link {name}: attribute exists")
        if not isinstance(link, Link):
            raise TypeError(f"cannot register a non-link object as a child. Actual: {type(link)}")
        with self.init_scope():
            setattr(self, name, link)

    def copy(self, mode: str = "share") -> Any:
        copied = super().copy(mode)
        copied._children = set(copied._children)
        for name in copied._children:
            child = copied.__dict__[name].copy(mode)
            child.name = name
            copied.__dict__[name] = child
        return copied


class ChainList(_Parent, collections.abc.MutableSequence):
    """A link that is a list of child links, named "0", "1", ... by their place.

    Args:
        links: the child links.
    """

    _children: list[Any]

    def __init__(self, *links: Link) -> None:
        super().__init__()
        self._children = []
        for link in links:
            self.add_link(link)

    def _named_children(self) -> Iterator[tuple[str, Any]]:
        for index, child in enumerate(self._children):
            yield str(index), child

    def _counterpart(self, other: Any, name: str) -> Any:
        return other[int(name)]

    def _rename(self) -> None:
        for index, child in enumerate(self._children):
            child.name = str(index)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Link) and self.within_init_scope:
            raise TypeError('cannot register a new link within a "with chainlist.init_scope():" block.')
        super().__setattr__(name, value)

    def __setitem__(self, index: int | slice, value: Any) -> None:
        if isinstance(index, int):
            value.name = str(index)
            self._children[index] = value
        elif isinstance(index, slice):
            self._children[index] = value
            self._rename()
        else:
            raise TypeError(f"ChainList indices must be integers or slices, not {type(index).__name__}")

    def __getitem__(self, index: int | slice) -> Any:
        return self._children[index]

    def __delitem__(self, index: int | slice) -> None:
        del self._children[index]
        self._rename()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._children)

    def __len__(self) -> int:
        return len(self._children)

    def insert(self, index: int, link: Link) -> None:
        """Insert a child link at `index`."""
        at_end = index == len(self._children)
        self._children.insert(index, link)
        if at_end:
            link.name = str(index)
        else:
            self._rename()

    def add_link(self, link: Link) -> None:
        """Add a child link at the end."""
        self.append(link)

    def copy(self, mode: str = "share") -> Any:
        """A copy of the list; its own parameters are always shared, `mode` is for the children."""
        copied = super().copy("share")
        copied._children = [child.copy(mode) for child in copied._children]
        copied._rename()
        return copied


Link.__module__ = __name__  # pickles name this module, as Chainer's do
