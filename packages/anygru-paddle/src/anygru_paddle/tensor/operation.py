"""The base of every Paddle function: results are tensors of the dialect, torch's faults become Paddle's errors.

Paddle raises ValueError for shapes, axes or dtypes that do not fit and for arguments of the wrong kind, RuntimeError where it
has no kernel for a dtype, where torch raises RuntimeError, IndexError, TypeError and NotImplementedError. Each class of torch's
has one meaning here; the dialect's own errors are marked (`base.errors.paddles`).

The class of arrays is defined above this module, in `tensor.tensor`, which names it by `results_are`.
"""

import functools
import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
import torch

from anygru.errors import AnygruError, ArgumentError, ArgumentTypeError

from ..base import core
from ..base.errors import NoTensorError, UnsettledError, no_kernel
from ..framework.kinds import Operand
from ..framework.recording import recording
from .kernels import lacking

if TYPE_CHECKING:
    from .tensor import Tensor

Arguments = ParamSpec("Arguments")
_SMALL = (torch.bool, torch.int8, torch.uint8, torch.int16)
_LISTS = ("shape", "inputs", "equation")  # first parameters of rows that are not tensors
# The dtypes that most of Paddle 2.6.2's CPU kernels of two tensors take (recorded, dtype by dtype).
NUMBERS = (torch.int32, torch.int64, torch.float32, torch.float64)
_ZEROS = {kind: torch.zeros((), dtype=kind) for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64)}
_array: type[torch.Tensor] = torch.Tensor
# The class of results, by torch's class of recorded tensors.
_recorded: dict[type[torch.Tensor], type[torch.Tensor]] = {}
# torch's own getter: `x.dtype` of a paddle Tensor is a Paddle dtype. Methods are called as `torch.Tensor.to(x, ...)` here for
# the same reason: Paddle has methods of these names with other arguments.
_torch_dtype = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]


def results_are(kind: type[torch.Tensor]) -> None:
    """Let every operator give its results the class `kind`."""
    global _array
    _array = kind


def recorded_results_are(given: type[torch.Tensor], kind: type[torch.Tensor]) -> None:
    """Let operators give results of the class `given`, torch's for tensors without values, the class `kind`."""
    _recorded[given] = kind


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The same values, gradient graph included, as an ordinary torch tensor, for code that is torch's only."""
    if type(tensor) is torch.Tensor:
        return tensor
    if recording.is_on:  # `as_subclass` would hide the result from the recorder
        return tensor if type(tensor) in _recorded else torch.ops.aten.alias.default(tensor)
    return tensor.as_subclass(torch.Tensor)


def as_torch(value: Operand) -> torch.Tensor:
    """Return a tensor unchanged, and an input of `numpy.asarray` as a torch tensor of the same dtype."""
    return value if isinstance(value, torch.Tensor) else torch.as_tensor(np.asarray(value))


def wrap(value: torch.Tensor) -> "Tensor":
    """A torch result as a paddle Tensor: the same object under another class, nothing copied.

    torch lets a view that was made under `no_grad` require the gradients of its base; the result is then detached.
    """
    if type(value) is torch.Tensor:
        if value.requires_grad and not torch.is_grad_enabled() and value._is_view() and value.is_leaf:
            base: torch.Tensor = value._base  # type: ignore[assignment]
            value = value.detach() if base.requires_grad else value
        value.__class__ = _array
    elif recording.is_on:
        value.__class__ = _recorded.get(type(value), type(value))
    return value  # type: ignore[return-value]


def wrap_all(value: Any) -> Any:
    """Tensors within a result become paddle Tensors; torch's named tuples become plain ones."""
    if isinstance(value, torch.Tensor):
        return wrap(value)
    if isinstance(value, (list, tuple)):
        return (
            [wrap_all(each) for each in value] if isinstance(value, list) else tuple(wrap_all(each) for each in value)
        )
    return value


def to_dtype(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """`x` in another dtype. To float16 and bfloat16 Paddle 2.6.2 cuts digits off on a CPU, where torch rounds (recorded)."""
    if dtype not in _HALVES or not x.is_cpu or x.is_complex() or _torch_dtype(x) in (dtype, torch.bool):
        return torch.Tensor.to(x, dtype)
    with torch.no_grad():
        cut = _HALVES[dtype](torch.Tensor.to(plain(x), torch.float32).contiguous())
    if not (x.requires_grad and torch.is_grad_enabled()):
        return cut
    rounded = torch.Tensor.to(x, dtype)
    # The step of the graph is torch's cast, the values are Paddle's.
    rounded.data = cut
    return rounded


def _cut_to_bfloat16(single: torch.Tensor) -> torch.Tensor:
    """The first 16 bits, also for nan."""
    return (single.view(torch.int32) >> 16).to(torch.int16).view(torch.bfloat16)


def _cut_to_float16(single: torch.Tensor) -> torch.Tensor:
    """The next float16 towards zero; below its smallest normal number the steps are 2 ** -24."""
    size, steps = torch.abs(single), torch.trunc(single * 2.0**24) * 2.0**-24
    cut = torch.where(size < 2.0**-14, steps, (single.view(torch.int32) & -(1 << 13)).view(torch.float32))
    cut = torch.where(size > 65504.0, torch.sign(single) * torch.inf, cut)
    return torch.where(torch.isnan(single), single, cut).to(torch.float16)


_HALVES: dict[torch.dtype, Callable[[torch.Tensor], torch.Tensor]] = {
    torch.bfloat16: _cut_to_bfloat16,
    torch.float16: _cut_to_float16,
}


def translate(error: Exception, name: str) -> Exception:
    """The error that Paddle raises where torch raised `error` inside the operation `name`."""
    if isinstance(error, (ArgumentError, ArgumentTypeError)):
        return ValueError(f"(InvalidArgument) {error}")
    if isinstance(error, (torch.OutOfMemoryError, AnygruError, AttributeError)) or getattr(error, "is_paddles", False):
        return error
    if isinstance(error, NotImplementedError):
        return no_kernel(f"(NotFound) {name}(): {error}")
    return ValueError(f"(InvalidArgument) {name}(): {error}")


def _holds_unsettled(value: Any) -> bool:
    """Whether an argument is or holds a tensor in half precision on a CPU, or an empty tensor."""
    if isinstance(value, (list, tuple)):
        return any(map(_holds_unsettled, value))
    if not isinstance(value, torch.Tensor):
        return False
    return (_torch_dtype(value) in _HALVES and value.is_cpu) or torch.Tensor.numel(value) == 0


def unsettled(error: Exception, *arguments: Any) -> Exception:
    """`error`, or, if Paddle's class for such tensors varies, an error of all these classes."""
    if isinstance(error, (ValueError, RuntimeError, IndexError)) and any(map(_holds_unsettled, arguments)):
        return UnsettledError(*error.args)
    return error


def _is_of_the_call(error: Exception) -> bool:
    """Whether Python raised the error before the function began: the arguments do not fit its signature."""
    return isinstance(error, TypeError) and error.__traceback__ is not None and error.__traceback__.tb_next is None


def _takes_one_tensor(function: Callable[..., Any]) -> bool:
    """Whether the first parameter is a tensor, not a list of them; the parameters of rows have no annotations."""
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except ValueError:  # a function of torch's that is written in C++
        return False
    if first is None or first.kind is first.VAR_POSITIONAL:
        return False
    return first.annotation is torch.Tensor or (first.annotation is first.empty and first.name not in _LISTS)


def _no_tensor(function: Callable[..., Any], args: Any, kwargs: Any) -> Exception | None:
    """Paddle's error for the first argument that stands in a tensor's place and is none; None if there is no such argument."""
    try:
        signature = inspect.signature(function)
        given = signature.bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return None
    for place, (name, value) in enumerate(given.items()):
        kind = signature.parameters[name].annotation
        wanted = kind is torch.Tensor or kind == torch.Tensor | None or (not place and _takes_one_tensor(function))
        if wanted and not isinstance(value, torch.Tensor) and (value is not None or kind is torch.Tensor or not place):
            return NoTensorError(_must_be_tensor(value, name, function.__name__))
    return None


def operation(function: Callable[Arguments, Any]) -> Callable[Arguments, Any]:
    """Give a function Paddle's results and errors.

    Where Paddle's operations need one tensor, they use the first item of a tuple (recorded, 2.6.2):
    `nn.Sequential(nn.LSTM(4, 8), nn.Linear(8, 1))` runs on the outputs alone.
    """
    takes_one_tensor = _takes_one_tensor(function)

    @functools.wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Any:
        if (
            takes_one_tensor
            and args
            and isinstance(args[0], tuple)
            and args[0]
            and isinstance(args[0][0], torch.Tensor)
        ):
            args = (args[0][0], *args[1:])  # type: ignore[assignment]
        try:
            if core.gpu is None:
                result = function(*args, **kwargs)
            else:
                with core.gpu:  # the device of the tensors that it makes
                    result = function(*args, **kwargs)
        except (RuntimeError, TypeError, IndexError, ValueError, AttributeError) as error:
            translated: Exception = error
            if not isinstance(error, ValueError) and not _is_of_the_call(error):
                if isinstance(error, (TypeError, AttributeError)):
                    missing = _no_tensor(function, args, kwargs)
                else:
                    missing = lacking(function.__name__, args[0] if args else None)
                translated = missing or translate(error, function.__name__)
            translated = unsettled(translated, *args, *kwargs.values())
            if translated is error:
                raise
            raise translated from error
        if type(result) is torch.Tensor:
            return wrap(result)
        return result if type(result) is _array else wrap_all(result)

    return call


def row(name: str, compute: Callable[..., Any], what: str) -> Callable[..., Any]:
    """The operation `name`, a row of a table over torch: `compute` has its signature, `what` is its docstring."""
    compute.__name__ = compute.__qualname__ = name
    compute.__doc__ = what
    return operation(compute)


def core_call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call one of anygru's own functions; its errors become Paddle's ValueError."""
    try:
        return function(*args, **kwargs)
    except (ArgumentError, ArgumentTypeError) as error:
        raise ValueError(f"(InvalidArgument) {error}") from error


def _must_be_tensor(value: Any, name: str, called: str) -> str:
    return f"(InvalidArgument) {called}(): argument '{name}' must be Tensor, but got {type(value).__name__}"


def need_tensor(value: Operand, name: str, operation_name: str) -> None:
    """Raise Paddle's error unless `value` is a tensor, in code that would compute with it; `operation` finds the other cases."""
    if not isinstance(value, torch.Tensor):
        raise NoTensorError(_must_be_tensor(value, name, operation_name))


def need_float(x: torch.Tensor, operation_name: str) -> None:
    """Raise where Paddle has a kernel for floating-point tensors only."""
    need_tensor(x, "x", operation_name)
    if not (x.is_floating_point() or x.is_complex()):
        raise no_kernel(f"(NotFound) {operation_name}() is not implemented for {x.dtype}; cast to a float dtype first")


def no_small(x: torch.Tensor, operation_name: str, allowed: tuple[torch.dtype, ...] = ()) -> None:
    """Raise where Paddle 2.6.2 has no kernel for bools and integers of 8 and 16 bits (recorded), unless they are in `allowed`."""
    kind = _torch_dtype(x)
    if kind in _SMALL and kind not in allowed:
        raise no_kernel(f"(NotFound) {operation_name}() is not implemented for {x.dtype}; cast to int32 first")


def product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x @ y. Paddle has no float16 product on a CPU and raises RuntimeError before it checks shapes."""
    try:
        return torch.matmul(x, y)
    except (RuntimeError, IndexError) as error:
        if _torch_dtype(x) == torch.float16 and x.device.type == "cpu":
            raise no_kernel(f"(NotFound) a product of {x.dtype}: {error}") from None
        raise


def times(x: torch.Tensor, y: Any) -> torch.Tensor:
    """x * y; by a number it is 0 + x * y, as in Paddle 2.6.2, which has no -0 in such products (recorded)."""
    if isinstance(y, (int, float)) and x.is_floating_point():
        return torch.add(_ZEROS[_torch_dtype(x)], x, alpha=y)
    return torch.mul(x, y)


def float_of_int(x: torch.Tensor) -> torch.Tensor:
    """An integer tensor as float32, a floating-point tensor itself: the first step of exp, log and others."""
    return x if x.is_floating_point() or x.is_complex() else torch.Tensor.to(x, torch.float32)


def need_same_dtype(
    x: torch.Tensor, y: Any, operation_name: str, kernels: tuple[torch.dtype, ...] | None = None, by: str = "y"
) -> None:
    """Raise Paddle's error unless `x` and `y` are tensors of one dtype.

    Paddle 2.6.2 first looks for a kernel, then compares (recorded). It looks by the dtype of the second tensor, or of the
    first or both if `by` is "x" or "xy", and always by a complex dtype.

    Raises:
        RuntimeError: for dtypes that differ, and no kernel among `kernels`.
        ValueError: for other dtypes that differ.
    """
    need_tensor(x, "x", operation_name)
    need_tensor(y, "y", operation_name)
    if _torch_dtype(x) == _torch_dtype(y):
        return
    for each, name in ((x, "x"), (y, "y")):
        kind = _torch_dtype(each)
        if kernels is not None and kind not in kernels and (name in by or kind.is_complex):
            raise no_kernel(
                f"(NotFound) {operation_name}() is not implemented for {each.dtype}, and x and y must have one dtype, got "
                f"{x.dtype} and {y.dtype}; cast one of them with astype"
            )
    message = (
        f"{operation_name}(): x and y must have one dtype, got {x.dtype} and {y.dtype}; cast one of them with astype"
    )
    if list(x.shape) != list(y.shape) and 0 in (torch.Tensor.numel(x), torch.Tensor.numel(y)):
        raise no_kernel(f"(PreconditionNotMet) {message}")
    raise ValueError(f"(InvalidArgument) {message}")


def promoted(
    x: torch.Tensor, y: Any, operation_name: str, kernels: tuple[torch.dtype, ...] | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Two tensors of one dtype: floating-point tensors are cast to the wider or complex dtype; otherwise `need_same_dtype`."""
    need_tensor(x, "x", operation_name)
    need_tensor(y, "y", operation_name)
    mine, theirs = _torch_dtype(x), _torch_dtype(y)
    if mine == theirs:
        return x, y
    if not ((mine.is_floating_point or mine.is_complex) and (theirs.is_floating_point or theirs.is_complex)):
        need_same_dtype(x, y, operation_name, kernels)
    common = torch.promote_types(mine, theirs)
    return torch.Tensor.to(x, common), torch.Tensor.to(y, common)


def as_axis(axis: Any) -> Any:
    """An axis argument: tensors and NumPy integers become ints, lists and arrays become tuples."""
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, (torch.Tensor, np.ndarray)) and math.prod(axis.shape) != 1:
        axis = axis.tolist()
    return tuple(int(each) for each in axis) if isinstance(axis, (list, tuple)) else int(axis)


def as_sizes(shape: Any) -> list[int]:
    """A shape argument: a list or tuple of integers or tensors, a 1-D tensor or array, or an integer."""
    if isinstance(shape, torch.Tensor):
        sizes = shape.tolist()
        return sizes if isinstance(sizes, list) else [sizes]
    if isinstance(shape, (list, tuple)) or (isinstance(shape, np.ndarray) and shape.ndim):
        return [each if type(each) is int else _size(each) for each in shape]
    return [_size(shape)]


def _size(value: Any) -> int:
    if isinstance(value, torch.SymInt):  # a length of a tensor that `paddle.jit.save` records
        return value  # type: ignore[return-value]
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if isinstance(value, (int, np.integer)) or (isinstance(value, torch.Tensor) and not value.is_floating_point()):
        return int(value)
    raise ValueError(f"(InvalidArgument) a length must be an int, got {type(value).__name__} {value!r}")
