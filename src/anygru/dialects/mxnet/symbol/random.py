"""`mx.sym.random`: draws as nodes."""

from typing import Any

from ..base import DtypeLike, Sizes
from .register import FUNCTIONS
from .symbol import Symbol


def uniform(low: float = 0, high: float = 1, shape: Sizes = None, dtype: DtypeLike = None, **kwargs: Any) -> Symbol:
    """Uniform on [low, high)."""
    return _draw("_random_uniform", {"low": low, "high": high}, shape, dtype)


def normal(loc: float = 0, scale: float = 1, shape: Sizes = None, dtype: DtypeLike = None, **kwargs: Any) -> Symbol:
    """Normal with a mean and a standard deviation."""
    return _draw("_random_normal", {"loc": loc, "scale": scale}, shape, dtype)


def _draw(name: str, attributes: dict[str, Any], shape: Sizes, dtype: DtypeLike) -> Symbol:
    given = {"shape": shape, "dtype": dtype}
    return FUNCTIONS[name](**attributes, **{key: value for key, value in given.items() if value is not None})
