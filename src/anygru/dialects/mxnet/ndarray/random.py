"""`mx.nd.random`: draws on numbers, or one distribution an element of arrays."""

from typing import Any

from ..base import DtypeLike, Sizes, numeric_types
from ..context import ContextLike
from ..operators import OPERATORS
from .array import call
from .ndarray import NDArray

__all__ = [
    "exponential",
    "gamma",
    "multinomial",
    "normal",
    "normal_like",
    "poisson",
    "randint",
    "randn",
    "shuffle",
    "uniform",
    "uniform_like",
]


def _draw(
    name: str, parameters: dict[str, Any], shape: Sizes, dtype: DtypeLike, ctx: ContextLike, out: NDArray | None
) -> NDArray:
    """One of the operators `_random_*` (numbers) or `_sample_*` (arrays).

    Raises:
        ValueError: for parameters that are neither.
        AssertionError: for a mixture.
    """
    values = list(parameters.values())
    if isinstance(values[0], NDArray):
        for other in values[1:]:
            assert isinstance(other, NDArray), (
                "Distribution parameters must all have the same type, but got both "
                f"{type(values[0])} and {type(other)}."
            )
        if f"_sample_{name}" not in OPERATORS:
            raise NotImplementedError(f"random.{name} of arrays is not covered; in PyTorch: torch.distributions")
        return call(OPERATORS[f"_sample_{name}"], tuple(values), {"shape": shape, "dtype": dtype}, out)
    if not isinstance(values[0], numeric_types):
        raise ValueError(f"Distribution parameters must be either NDArray or numbers, but got {type(values[0])}.")
    for other in values[1:]:
        assert isinstance(other, numeric_types), (
            f"Distribution parameters must all have the same type, but got both {type(values[0])} and {type(other)}."
        )
    if out is not None:
        shape, ctx = out.shape, out.context
    attributes = {**parameters, "shape": shape, "dtype": dtype, "ctx": ctx}
    return call(OPERATORS[f"_random_{name}"], (), attributes, out)


def uniform(
    low: Any = 0,
    high: Any = 1,
    shape: Sizes = None,
    dtype: DtypeLike = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Uniform on [low, high)."""
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, ctx, out)


def normal(
    loc: Any = 0,
    scale: Any = 1,
    shape: Sizes = None,
    dtype: DtypeLike = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Normal with a mean and a standard deviation."""
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, ctx, out)


def randn(*shape: int, **kwargs: Any) -> NDArray:
    """Normal, the sizes as arguments."""
    loc, scale = kwargs.pop("loc", 0), kwargs.pop("scale", 1)
    return normal(loc, scale, shape, kwargs.pop("dtype", None), kwargs.pop("ctx", None), kwargs.pop("out", None))


def poisson(
    lam: Any = 1,
    shape: Sizes = None,
    dtype: DtypeLike = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Poisson with a rate."""
    return _draw("poisson", {"lam": lam}, shape, dtype, ctx, out)


def exponential(
    scale: Any = 1,
    shape: Sizes = None,
    dtype: DtypeLike = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Exponential with a mean."""
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, ctx, out)


def gamma(
    alpha: Any = 1,
    beta: Any = 1,
    shape: Sizes = None,
    dtype: DtypeLike = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Gamma with a shape `alpha` and a scale `beta`."""
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out)


def randint(
    low: int,
    high: int,
    shape: Sizes = None,
    dtype: DtypeLike = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    **kwargs: Any,
) -> NDArray:
    """Whole numbers of [low, high), int32."""
    return _draw("randint", {"low": low, "high": high}, shape, dtype, ctx, out)


def multinomial(
    data: NDArray,
    shape: Sizes = None,
    get_prob: bool = False,
    out: NDArray | None = None,
    dtype: DtypeLike = "int32",
    **kwargs: Any,
) -> Any:
    """Positions drawn with the probabilities of each row; with `get_prob` their log likelihoods too."""
    attributes = {"shape": shape, "get_prob": get_prob, "dtype": dtype}
    return call(OPERATORS["_sample_multinomial"], (data,), attributes, out)


def shuffle(data: NDArray, **kwargs: Any) -> NDArray:
    """The rows in another order."""
    return call(OPERATORS["_shuffle"], (data,), {}, kwargs.get("out"))


def uniform_like(data: NDArray, low: float = 0.0, high: float = 1.0, out: NDArray | None = None) -> NDArray:
    """Uniform draws in the shape of an array."""
    return call(OPERATORS["_random_uniform_like"], (data,), {"low": low, "high": high}, out)


def normal_like(data: NDArray, loc: float = 0.0, scale: float = 1.0, out: NDArray | None = None) -> NDArray:
    """Normal draws in the shape of an array."""
    return call(OPERATORS["_random_normal_like"], (data,), {"loc": loc, "scale": scale}, out)
