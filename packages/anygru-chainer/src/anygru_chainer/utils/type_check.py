"""The expressions by which functions check the shapes and dtypes of their inputs.

A function's `check_type_forward(in_types)` is run twice at most. The first, light run sees the arrays themselves, so
that `expect` gets plain booleans and costs next to nothing. Only if that fails, the second run sees `Expression`
objects, which carry their own text, so that the error can state the expectation in the words of the check.
"""

import math
import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy
from numpy.typing import DTypeLike

__all__ = [
    "InvalidType", "LightTypeInfoTuple", "TypeInfo", "TypeInfoTuple", "Variable", "eval", "expect",
    "expect_broadcast_shapes", "get_types", "in_light_mode", "make_variable", "prod", "same_types",
]  # fmt: skip
_state = threading.local()
_IS_NUMPY_1 = numpy.__version__.startswith("1.")


class InvalidType(Exception):
    """An input of a function has the wrong shape or dtype.

    Args:
        expect: the function's requirement, such as "x.shape[1] == W.shape[1]".
        actual: the actual value, such as "4 != 3".
        msg: the message; by default it contains both.
    """

    def __init__(self, expect: str, actual: str, msg: str | None = None) -> None:
        if msg is None:
            msg = f"Expect: {expect}\nActual: {actual}{_promotion_note(actual)}"
            function = getattr(_state, "function", None)
            if function is not None:
                msg = f"\nInvalid operation is performed in: {function.label} (Forward)\n\n{msg}"
        super().__init__(msg)
        self.expect = expect
        self.actual = actual

    def __reduce__(self) -> Any:
        return InvalidType, (self.expect, self.actual, self.args[0])


def _promotion_note(actual: str) -> str:
    """A part of the message: the usual cause of mixed float64 and float32 under NumPy 2; "" for other faults."""
    if _IS_NUMPY_1 or actual not in ("float64 != float32", "float32 != float64"):
        return ""
    return (
        "\nNumPy 2 makes float32_array * np.float64(2) float64, NumPy 1 kept float32: multiply by float(2), or install "
        "'numpy<2' (anygru's docs/run.md)"
    )


class TypeInfo:
    """Shape and dtype of an array."""

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike | None) -> None:
        self.shape = shape
        self.dtype = dtype
        self.ndim = len(shape)

    size = property(lambda self: math.prod(self.shape), doc="Number of elements.")


class Expression:
    """A value together with the text of the expression that gave it."""

    def __init__(self, value: Any, text: str, priority: int = 8) -> None:
        self.value = value
        self.name = text
        self.priority = priority

    def eval(self) -> Any:
        """The value."""
        return self.value

    def __str__(self) -> str:
        return self.name

    def __getattr__(self, name: str) -> "Expression":
        return Expression(getattr(self.value, name), f"{self}.{name}")

    def __getitem__(self, key: Any) -> "Expression":
        return Expression(self.value[_value(key)], f"{self}[{_subscript_text(key)}]")

    def __call__(self, *args: Any) -> "Expression":
        return Expression(self.value(*map(_value, args)), f"{self}({', '.join(map(_text, args))})")

    def __neg__(self) -> "Expression":
        return Expression(-self.value, "-" + _operand_text(self, 6), 6)

    def __bool__(self) -> bool:
        raise RuntimeError("a type check expression has no truth value; use chainer.utils.type_check.eval()")

    __hash__ = None  # type: ignore[assignment]


class Comparison(Expression):
    """A comparison that `expect` can test."""

    def __init__(self, left: Any, right: Any, sign: str, inverse: str, function: Callable[[Any, Any], Any]) -> None:
        super().__init__(bool(function(_value(left), _value(right))), f"{left} {sign} {right}", -1)
        self.actual = f"{_value(left)} {inverse} {_value(right)}"

    def expect(self) -> None:
        """Raise InvalidType unless the comparison holds."""
        if not self.value:
            raise InvalidType(self.name, self.actual)


Variable = Expression


def _value(x: Any) -> Any:
    if isinstance(x, Expression):
        return x.value
    if isinstance(x, (list, tuple)):
        return type(x)(map(_value, x))
    return x


def _text(x: Any) -> str:
    if isinstance(x, tuple):
        return "(" + ", ".join(map(_text, x)) + (",)" if len(x) == 1 else ")")
    if isinstance(x, list):
        return "[" + ", ".join(map(_text, x)) + "]"
    return str(x) if isinstance(x, Expression) else repr(x)


def _subscript_text(key: Any) -> str:
    if isinstance(key, slice):
        parts = [key.start, key.stop] if key.step is None else [key.start, key.stop, key.step]
        return ":".join("" if part is None else _text(part) for part in parts)
    return "..." if key is Ellipsis else _text(key)


def _operand_text(x: Any, priority: int) -> str:
    text = _text(x)
    return f"({text})" if isinstance(x, Expression) and x.priority < priority else text


def _install_operators() -> None:
    comparisons = [("eq", "==", "!="), ("ne", "!=", "=="), ("lt", "<", ">="), ("le", "<=", ">"), ("gt", ">", "<=")]
    for name, sign, inverse in [*comparisons, ("ge", ">=", "<")]:
        function = getattr(operator, name)

        def compare(self: Any, other: Any, sign: str = sign, inverse: str = inverse, function: Any = function) -> Any:
            return Comparison(self, other, sign, inverse, function)

        setattr(Expression, f"__{name}__", compare)
    binary = [("add", "+", 4), ("sub", "-", 4), ("mul", "*", 5), ("truediv", "/", 5), ("floordiv", "//", 5)]
    binary += [("mod", "%", 5), ("pow", "**", 7), ("lshift", "<<", 3), ("rshift", ">>", 3)]
    for name, sign, priority in binary:
        function = getattr(operator, name)

        def combine(left: Any, right: Any, sign: str = sign, priority: int = priority, function: Any = function) -> Any:
            text = f"{_operand_text(left, priority)} {sign} {_operand_text(right, priority + 1)}"
            return Expression(function(_value(left), _value(right)), text, priority)

        setattr(Expression, f"__{name}__", combine)
        setattr(Expression, f"__r{name}__", lambda self, other, combine=combine: combine(other, self))


_install_operators()


class TypeInfoTuple(tuple):
    """The inputs of the second run, as expressions."""

    name = "in_types"

    def size(self) -> Expression:
        """Number of inputs."""
        return Expression(len(self), f"{self.name}.size")


class LightTypeInfoTuple(tuple):
    """The inputs of the light run: the arrays themselves."""

    def size(self) -> int:
        """Number of inputs."""
        return len(self)


def check(function: Any, arrays: tuple[Any, ...]) -> None:
    """Run `function.check_type_forward` on these arrays; InvalidType describes the mismatch."""
    was_light = in_light_mode()
    _state.light = True
    try:
        function.check_type_forward(LightTypeInfoTuple(arrays))
        return
    except InvalidType:
        pass
    finally:
        _state.light = was_light
    outer = getattr(_state, "function", None)
    _state.function, _state.light = function, False
    try:
        function.check_type_forward(get_types(arrays, "in_types", False))
    finally:
        _state.function, _state.light = outer, was_light


def in_light_mode() -> bool:
    """Whether the current run sees plain values."""
    return getattr(_state, "light", False)


def get_types(data: tuple[Any, ...], name: str, accept_none: bool) -> TypeInfoTuple:
    """Expressions for the types of some arrays, named `name[0]`, `name[1]`, ..."""
    if not isinstance(data, tuple):
        raise AssertionError(f"{name} must be a tuple of arrays, got {type(data)}")
    if not accept_none and any(array is None for array in data):
        raise InvalidType(f"{name} are arrays", "one of them is None")
    infos = [TypeInfo((), None) if array is None else TypeInfo(array.shape, array.dtype) for array in data]
    types = TypeInfoTuple(Expression(info, f"{name}[{i}]") for i, info in enumerate(infos))
    types.name = name
    return types


def _argname(in_types: Sequence[Any], names: Sequence[str]) -> None:
    """Give the inputs names for the error messages; InvalidType unless each input has a name."""
    if len(in_types) != len(names):
        raise InvalidType(f"{len(names)} argument(s)", f"{len(in_types)} argument(s)", "Invalid number of arguments")
    if not in_light_mode():
        for in_type, name in zip(in_types, names, strict=True):
            in_type.name = name


def expect(*conditions: Any) -> None:
    """Raise InvalidType unless every condition holds."""
    if in_light_mode():
        if not all(conditions):
            raise InvalidType("", "")
        return
    for condition in conditions:
        if isinstance(condition, Comparison):
            condition.expect()
        elif not condition:
            raise InvalidType("the condition holds", "it does not")


def eval(expression: Any) -> Any:
    """The value of an expression (or of a plain value)."""
    return _value(expression)


def make_variable(value: Any, name: str) -> Any:
    """A value with a name for the error messages."""
    return value if in_light_mode() else Expression(value, name)


def prod(xs: Any) -> Any:
    """Product of a shape, as an expression named after it."""
    product = math.prod(_value(xs))
    return product if in_light_mode() else Expression(product, f"prod({_text(xs)})")


def same_types(*arrays: Any) -> bool:
    """Whether all arrays are NumPy's, or no array is."""
    return len({isinstance(array, numpy.ndarray) for array in arrays}) <= 1


def expect_broadcast_shapes(*shapes: Any) -> None:
    """Raise InvalidType unless the shapes can be broadcast together."""
    values = [_value(shape) for shape in shapes]
    if all(value == values[0] for value in values):
        return
    try:
        numpy.broadcast_shapes(*values)
    except ValueError:
        lines = [f"{shape} = {value}" for shape, value in zip(shapes, values, strict=True)]
        msg = "\n".join(["cannot broadcast inputs of the following shapes:", *lines])
        raise InvalidType("", "", msg) from None
