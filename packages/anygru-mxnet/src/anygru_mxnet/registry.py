"""`mx.registry`: registries of subclasses by name, for example for the data sets of gluon-nlp. Of MXNet 1.9's
`mxnet.registry`."""

import json
import warnings
from collections.abc import Callable
from typing import Any

from anygru.extend import near

_classes: dict[type, dict[str, type]] = {}


def get_registry(base_class: type) -> dict[str, type]:
    """The registered subclasses of a base class, by name."""
    return dict(_classes.get(base_class, {}))


def get_register_func(base_class: type, nickname: str) -> Callable[..., type]:
    """A function that registers a class under its name in lower case, or under another name."""
    known = _classes.setdefault(base_class, {})

    def register(klass: type, name: str | None = None) -> type:
        assert issubclass(klass, base_class), f"Can only register subclass of {base_class.__name__}"
        key = (name or klass.__name__).lower()
        if key in known:
            warnings.warn(
                f"New {nickname} {klass.__name__} registered with name {key} is overriding {known[key].__name__}",
                stacklevel=2,
            )
        known[key] = klass
        return klass

    register.__doc__ = f"Register {nickname} to the {nickname} factory."
    return register


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Callable[[type], type]]:
    """A decorator that registers a class under several names."""
    register = get_register_func(base_class, nickname)

    def alias(*aliases: str) -> Callable[[type], type]:
        def decorate(klass: type) -> type:
            for name in aliases:
                register(klass, name)
            return klass

        return decorate

    return alias


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """A function that creates an object of a registered class from the name and arguments, or from a JSON text of both."""
    known = _classes.setdefault(base_class, {})

    def create(*args: Any, **kwargs: Any) -> Any:
        name, *others = args or (kwargs.pop(nickname),)
        if isinstance(name, base_class):
            assert len(others) + len(kwargs) == 0, (
                f"{nickname} is already an instance. Additional arguments are invalid"
            )
            return name
        if isinstance(name, dict):
            return create(**name)
        assert isinstance(name, str), f"{nickname} must be of string type"
        if name.startswith(("[", "{")):
            assert len(others) + len(kwargs) == 0, (
                f"{nickname} is a text of its arguments. Additional arguments are invalid"
            )
            content = json.loads(name)
            return create(**content) if isinstance(content, dict) else create(content[0], **content[1])
        assert name.lower() in known, (
            f"{name} is not registered. Please register with {nickname}.register first{near(name, known)}"
        )
        return known[name.lower()](*others, **kwargs)

    create.__doc__ = f"Create a {nickname} instance from config."
    return create
