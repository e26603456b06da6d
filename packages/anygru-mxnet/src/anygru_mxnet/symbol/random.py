"""`mx.sym.random`: nodes that draw random numbers."""

from collections.abc import Callable
from typing import Any

from ..ndarray.random import DRAWS, likes, parameters_of
from .register import FUNCTIONS
from .symbol import Symbol


def _distribution(name: str) -> Callable[..., Symbol]:
    def function(*args: Any, **kwargs: Any) -> Symbol:
        parameters, given = parameters_of(name, args, kwargs, ("shape", "dtype"))
        attributes = {key: value for key, value in given.items() if value is not None}
        if isinstance(next(iter(parameters.values())), Symbol):
            return FUNCTIONS[f"_sample_{name}"](*parameters.values(), **attributes)
        return FUNCTIONS[f"_random_{name}"](**parameters, **attributes)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = DRAWS[name][1]
    return function


uniform, normal, poisson, exponential, gamma, negative_binomial, generalized_negative_binomial, randint = map(
    _distribution, DRAWS
)
multinomial, shuffle = FUNCTIONS["_sample_multinomial"], FUNCTIONS["_shuffle"]
globals().update(likes(FUNCTIONS))


def randn(*shape: int, **kwargs: Any) -> Symbol:
    """Normal draws. The sizes are the arguments. Symbols other than the parameters have no effect, as in MXNet 1.9.1
    (recorded)."""
    parameters = ("loc", "scale")
    given = {key: value for key, value in kwargs.items() if key in parameters or not isinstance(value, Symbol)}
    return normal(shape=shape, **given)
