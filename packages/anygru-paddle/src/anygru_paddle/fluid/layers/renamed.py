"""Today's functions under the names and arguments of Paddle 1.x: a table with a row for each."""

import ast
from collections.abc import Callable
from typing import Any

from anygru.extend import near, not_covered

from ...nn.functional.operators import activation_of

_WITHOUT_EFFECT = frozenset(("-", "name", "use_cudnn", "force_cpu", "device"))


def one_element(value: Any) -> Any:
    """Paddle 1.x had no tensors without axes: a single number is [1]."""
    return value.reshape([1]) if value.ndim == 0 else value


def renamed(name: str, function: Callable[..., Any], arguments: str, then: Callable[[Any], Any] | None = None) -> Any:
    """The function `name`, which hands its arguments to `function`.

    Args:
        name: of the new function.
        function: computes it.
        arguments: names in order, `old>new` where `function` has another name for one, `=default` for optional arguments.
            `act` names an activation of the result; `old>-` and the names in `_WITHOUT_EFFECT` are taken and dropped,
            `old>!` is
            refused unless it has its default.
        then: applied to the result.
    """
    targets: dict[str, str] = {}
    defaults: dict[str, Any] = {}
    fixed: list[tuple[str, Any]] = []
    for word in arguments.split():
        left, given, default = word.partition("=")
        old, _, new = left.partition(">")
        targets[old] = old if new == "!" else new or old
        if new == "!":
            fixed.append((old, ast.literal_eval(default)))
        elif given and targets[old] not in _WITHOUT_EFFECT:
            defaults[targets[old]] = ast.literal_eval(default)
    order = tuple(targets.values())
    dropped = tuple(_WITHOUT_EFFECT.intersection(order))

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(order):
            raise TypeError(f"{name}() takes {len(order)} positional arguments but {len(args)} were given")
        values = {**defaults, **dict(zip(order, args, strict=False))}
        for key, value in kwargs.items():
            if key not in targets:
                raise TypeError(f"{name}() got an unexpected keyword argument {key!r}{near(key, targets)}")
            values[targets[key]] = value
        for key, only in fixed:
            given = values.pop(key, only)
            if not (given is only or (isinstance(given, int) and given == only)):
                raise not_covered(f"paddle.fluid.layers.{name}({key}=...)", "the function of today's paddle")
        for key in dropped:
            values.pop(key, None)
        act = values.pop("act", None)
        result = function(**values)
        result = result if then is None else then(result)
        return result if act is None else activation_of(act)(result)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`{function.__name__}` of today's Paddle, with the arguments {', '.join(targets)}."
    return call
