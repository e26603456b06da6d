"""Layers that are a function of `paddle.nn.functional` with its options fixed: one row of a table each."""

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from anygru.extend import bound

from ...base.arguments import signature
from .layers import Layer

Checks = Callable[[dict[str, Any]], None]


class FunctionLayer(Layer):
    """A function with its options fixed; they are attributes, and the next call sees it when one is changed."""

    _function: ClassVar[Callable[..., Any]]
    _options: ClassVar[dict[str, str]]  # names of options and of their attributes
    _signature: ClassVar[inspect.Signature]
    _shown: ClassVar[list[str] | None]
    _check: ClassVar[Checks | None]
    _accepted: ClassVar[frozenset[str]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        values = bound(self._signature, f"{type(self).__name__}.__init__", args, kwargs).arguments
        check = type(self)._check
        if check is not None:
            check(values)
        for name, attribute in self._options.items():
            setattr(self, attribute, values[name])
        self._name = values.get("name")

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The function of the inputs."""
        options = {name: getattr(self, attribute) for name, attribute in self._options.items()}
        if "training" in self._accepted:
            options["training"] = self.training
        return type(self)._function(*inputs, **named, **options)

    def extra_repr(self) -> str:
        """The options that Paddle shows."""
        if self._shown is None:
            return ""
        parts = [f"{name}={getattr(self, self._options[name])}" for name in self._shown]
        return ", ".join(parts + ([f"name={self._name}"] if self._name else []))


def layer_of(
    name: str,
    function: Callable[..., Any],
    attribute: str = "{}",
    shown: str | None = None,
    module: str = __name__,
    named: bool = True,
    check: Checks | None = None,
    **options: Any,
) -> type[FunctionLayer]:
    """The layer class `name`.

    Args:
        name: the class's name.
        function: computes it.
        attribute: the form of the attributes' names, "_{}" where Paddle hides them.
        shown: the options that the printed layer has; None also hides the layer's name.
        module: where the class is defined.
        named: whether the layer takes `name`.
        check: raises for options that do not fit, or puts them into the form that the attributes have.
        options: names and defaults in Paddle's order, `...` for a required one.
    """
    own = signature(**options, **({"name": None} if named else {}))
    members = {
        "_function": staticmethod(function),
        "_options": {key: attribute.format(key) for key in options},
        "_signature": own,
        "__signature__": own,
        "_shown": None if shown is None else shown.split(),
        "_check": None if check is None else staticmethod(check),
        "_accepted": frozenset(inspect.signature(function).parameters),
        "__doc__": f"`paddle.nn.functional.{function.__name__}` as a layer.",
        "__module__": module,
    }
    return type(name, (FunctionLayer,), members)
