"""The functions and methods of `mx.nd`, created from the list of operators."""

import keyword
from collections.abc import Callable, Mapping
from typing import Any

from ..operators import OPERATORS, Operator
from .array import call
from .ndarray import NDArray


def function_of(operator: Operator, name: str) -> Callable[..., Any]:
    """The operator as a function of arrays, then attributes. `out` receives the result."""

    def function(*args: Any, out: Any = None, name: str | None = None, **attributes: Mapping[str, Any]) -> Any:
        return call(operator, args, attributes, out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The operator {operator.name} on arrays: {', '.join(operator.inputs)}; then its attributes."
    return function


FUNCTIONS = {name: function_of(operator, name) for name, operator in OPERATORS.items() if not keyword.iskeyword(name)}
PUBLIC = {name: function for name, function in FUNCTIONS.items() if not name.startswith("_")}

# The operators that are also methods, as in MXNet, and are not defined in the class.
METHODS = [
    "reshape_like", "zeros_like", "ones_like", "broadcast_axes", "repeat", "pad", "swapaxes", "split", "slice",
    "slice_axis", "slice_like", "take", "one_hot", "pick", "sort", "topk", "argsort", "argmax", "argmax_channel",
    "argmin", "clip", "abs", "sign", "shape_array", "size_array", "tile", "transpose", "flip", "diag", "sum",
    "nansum", "prod", "nanprod", "mean", "max", "min", "norm", "round", "rint", "fix", "floor", "ceil", "trunc",
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "degrees", "radians", "sinh", "cosh", "tanh", "arcsinh",
    "arccosh", "arctanh", "exp", "expm1", "log", "log10", "log2", "log1p", "sqrt", "rsqrt", "cbrt", "rcbrt",
    "square", "reciprocal", "relu", "sigmoid", "softmax", "log_softmax", "softmin",
]  # fmt: skip


def method_of(name: str) -> Callable[..., Any]:
    """An operator as a method. The array is its first input."""
    operator = OPERATORS[name]

    def method(
        self: NDArray, *args: Any, out: Any = None, name: str | None = None, **attributes: Mapping[str, Any]
    ) -> Any:
        return call(operator, (self, *args), attributes, out)

    method.__name__ = name
    method.__qualname__ = f"NDArray.{name}"
    method.__doc__ = f"`mx.nd.{name}` of this array."
    return method


for _name in METHODS:
    setattr(NDArray, _name, method_of(_name))
