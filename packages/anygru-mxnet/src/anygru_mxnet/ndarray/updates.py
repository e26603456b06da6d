"""Extensions of the operators for update rules: numbers as `rescale_grad`, and lists of weights."""

from collections.abc import Callable
from typing import Any

from .ndarray import NDArray
from .register import FUNCTIONS
from .utils import full

_COLUMNS = ("weights", "grads", "mean", "var", "weights32")


def scaled(operator: Callable[..., Any], place: int, number: Callable[[float], Any]) -> Callable[..., Any]:
    """An operator of AdamW that also takes a number as `rescale_grad`.

    Args:
        operator: the operator.
        place: the position of `rescale_grad`. number: converts a number to an array (or symbol).
    """

    def function(*arguments: Any, **given: Any) -> Any:
        if len(arguments) > place:
            given["rescale_grad"] = arguments[place]
            names = ("lr", "eta", "beta1", "beta2", "epsilon", "wd", "clip_gradient")
            given |= dict(zip(names, arguments[place + 1 :], strict=False))
        if isinstance(given["rescale_grad"], (int, float)):
            given["rescale_grad"] = number(given["rescale_grad"])
        return operator(*arguments[:place], **given)

    function.__name__ = function.__qualname__ = operator.__name__.removeprefix("_")
    function.__doc__ = f"One step of AdamW: `{operator.__name__}` with a number or an array as `rescale_grad`."
    return function


def _update_several(name: str, rest: tuple[str, ...]) -> Callable[..., Any]:
    columns = _COLUMNS[: 5 if "_mp_" in name else 4]

    def function(*arguments: Any, **given: Any) -> Any:
        given |= dict(zip((*columns, *rest), arguments, strict=False))
        rows = list(zip(*(given.pop(column) for column in columns), strict=True))
        arrays = [array for row in rows for array in row]
        size = given.pop("size", 0) or given.pop("num_tensors", 0) or len(rows)
        if "lamb" in name:
            return FUNCTIONS[name](*arrays, learning_rates=given.pop("lrs"), num_tensors=size, **given)
        scale = given.pop("rescale_grad")
        arrays.append(scale if isinstance(scale, NDArray) else _number(scale))
        return FUNCTIONS[name](*arrays, num_weights=size, **given)

    function.__name__ = function.__qualname__ = name.removeprefix("_")
    function.__doc__ = f"One step of several weights: `{', '.join((*columns, *rest))}` are lists."
    return function


def _number(value: float) -> NDArray:
    return full((1,), value)


CONTRIB = {
    "adamw_update": scaled(FUNCTIONS["_adamw_update"], 4, _number),
    "mp_adamw_update": scaled(FUNCTIONS["_mp_adamw_update"], 5, _number),
}
for _half in ("", "mp_"):
    CONTRIB[f"multi_{_half}adamw_update"] = _update_several(
        f"_multi_{_half}adamw_update", ("rescale_grad", "lrs", "wds", "etas")
    )
    CONTRIB[f"multi_{_half}lamb_update"] = _update_several(f"_multi_{_half}lamb_update", ("step_count", "lrs", "wds"))


def multi_all_finite(*arrays: NDArray, init_output: bool = True, out: NDArray | None = None, **given: Any) -> NDArray:
    """[1] if every element of the arrays is finite, [0] otherwise; with `init_output=False`, times the old `out`."""
    before = None if init_output or out is None else out.copy()
    result = FUNCTIONS["multi_all_finite"](*arrays, out=out, **given)
    if before is not None:
        result *= before
    return result


def all_finite(data: NDArray, init_output: bool = True, out: NDArray | None = None, name: str | None = None) -> NDArray:
    """[1] if every element is finite, [0] otherwise; with `init_output=False`, times the old `out`."""
    return multi_all_finite(data, init_output=init_output, out=out)
