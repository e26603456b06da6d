"""`mx.nd.random`: random draws. Parameters are numbers, or arrays with the parameters of a distribution in each element."""

from collections.abc import Callable
from typing import Any

from ..base import DtypeLike, MXNetError, Sizes, numeric_types
from ..context import ContextLike
from ..operators import OPERATORS
from .array import call
from .ndarray import NDArray
from .register import FUNCTIONS

# Names that `mx.random` re-exports. Functions such as `uniform_like` exist only here.
__all__ = [
    "exponential", "gamma", "generalized_negative_binomial", "multinomial", "negative_binomial", "normal", "poisson",
    "randint", "randn", "shuffle", "uniform",
]  # fmt: skip


def _draw(
    name: str,
    parameters: dict[str, Any],
    shape: Sizes = None,
    dtype: DtypeLike = None,
    ctx: ContextLike = None,
    out: NDArray | None = None,
    **others: Any,
) -> NDArray:
    """Call an operator `_random_*` (for numbers) or `_sample_*` (for arrays).

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
        return call(OPERATORS[f"_sample_{name}"], tuple(values), {"shape": shape, "dtype": dtype, **others}, out)
    if not isinstance(values[0], numeric_types):
        raise ValueError(f"Distribution parameters must be either NDArray or numbers, but got {type(values[0])}.")
    for other in values[1:]:
        assert isinstance(other, numeric_types), (
            f"Distribution parameters must all have the same type, but got both {type(values[0])} and {type(other)}."
        )
    if out is not None:
        wanted = (shape,) if isinstance(shape, int) else tuple(shape or ())
        if wanted not in ((), out.shape):
            raise MXNetError(f"random.{name}: shape {wanted} differs from the shape of out, {out.shape}")
        shape, ctx, dtype = out.shape, out.context, out.dtype if dtype is None else dtype
    attributes = {**parameters, "shape": shape, "dtype": dtype, "ctx": ctx, **others}
    return call(OPERATORS[f"_random_{name}"], (), attributes, out)


# The distributions: their parameters with MXNet's defaults, and a description.
DRAWS: dict[str, tuple[dict[str, Any], str]] = {
    "uniform": ({"low": 0, "high": 1}, "Uniform on [low, high)."),
    "normal": ({"loc": 0, "scale": 1}, "Normal with a mean and a standard deviation."),
    "poisson": ({"lam": 1}, "Poisson with a rate."),
    "exponential": ({"scale": 1}, "Exponential with a mean."),
    "gamma": ({"alpha": 1, "beta": 1}, "Gamma with a shape `alpha` and a scale `beta`."),
    "negative_binomial": ({"k": 1, "p": 1}, "Failures before `k` successes of probability `p`."),
    "generalized_negative_binomial": ({"mu": 1, "alpha": 1}, "Negative binomial with a mean and a dispersion."),
    "randint": ({"low": None, "high": None}, "Whole numbers of [low, high), int32."),
}


def parameters_of(name: str, args: tuple, kwargs: dict[str, Any], others: tuple[str, ...]) -> tuple[dict, dict]:
    """Split the arguments of a call into the parameters of the distribution and other arguments.

    Raises:
        TypeError: for too many arguments, and without a parameter that has no default.
    """
    defaults = DRAWS[name][0]
    places = (*defaults, *others)
    if len(args) > len(places):
        raise TypeError(f"random.{name} takes {len(places)} arguments, got {len(args)}")
    given = {**defaults, **dict(zip(places, args, strict=False)), **kwargs}
    parameters = {key: given.pop(key) for key in defaults}
    missing = [key for key, value in parameters.items() if value is None]
    if missing:
        raise TypeError(f"random.{name}() missing a required argument: {missing[0]!r}")
    return ({"lam": 1.0 / parameters["scale"]} if name == "exponential" else parameters), given


def _distribution(name: str) -> Callable[..., NDArray]:
    def function(*args: Any, **kwargs: Any) -> NDArray:
        parameters, given = parameters_of(name, args, kwargs, ("shape", "dtype", "ctx", "out"))
        given.pop("name", None)
        return _draw(name, parameters, **given)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = DRAWS[name][1]
    return function


uniform, normal, poisson, exponential, gamma, negative_binomial, generalized_negative_binomial, randint = map(
    _distribution, DRAWS
)


def randn(*shape: int, **kwargs: Any) -> NDArray:
    """Normal draws. The sizes are the arguments."""
    return normal(shape=shape, **kwargs)


def multinomial(
    data: NDArray,
    shape: Sizes = None,
    get_prob: bool = False,
    out: NDArray | None = None,
    dtype: DtypeLike = "int32",
    **kwargs: Any,
) -> Any:
    """Draw positions [..., *shape] with the probabilities in each row [..., k]. With `get_prob` also return their log
    likelihoods."""
    kwargs.pop("name", None)
    attributes = {"shape": shape, "get_prob": get_prob, "dtype": dtype, **kwargs}
    return call(OPERATORS["_sample_multinomial"], (data,), attributes, out)


def shuffle(data: NDArray, **kwargs: Any) -> NDArray:
    """The rows in random order."""
    return call(OPERATORS["_shuffle"], (data,), {}, kwargs.get("out"))


def likes(functions: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """`uniform_like` and similar functions: draws in the shape of an array."""
    return {f"{name}_like": functions[f"_random_{name}_like"] for name in DRAWS if name != "randint"}


globals().update(likes(FUNCTIONS))
