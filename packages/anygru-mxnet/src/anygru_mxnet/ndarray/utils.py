"""Functions that create arrays, and read and write MXNet's files."""

import pathlib
from typing import Any

import numpy as np
import torch

from anygru.errors import CheckpointError
from anygru.extend import PER_OBJECT, Budget
from anygru.extend import mxnet_files as files

from ..base import DtypeLike, MXNetError, Sizes, integer_types, mx_real_t, torch_dtype
from ..context import Context, ContextLike, as_context
from ..operators import OPERATORS
from .array import call, move, run, wrap
from .ndarray import NDArray

__all__ = [
    "arange", "array", "empty", "eye", "from_numpy", "full", "linspace", "load", "load_frombuffer", "moveaxis",
    "ones", "save", "waitall", "zeros",
]  # fmt: skip


def _sizes(shape: Any) -> tuple[int, ...]:
    """Check that a shape has no size of 0, which means an unknown size in MXNet."""
    sizes = tuple(int(n) for n in shape) if isinstance(shape, (tuple, list)) else (int(shape),)
    if not sizes or 0 in sizes:
        raise MXNetError(f"an array must have a size of at least 1 in every axis, got the shape {sizes}")
    return sizes


def array(source_array: Any, ctx: Context | None = None, dtype: DtypeLike = None) -> NDArray:
    """A new array of values: float32 by default, or the dtype of a source that is an NDArray.

    Raises:
        TypeError: for a source that is not an array of numbers.
        ValueError: for a NumPy array of other values.
    """
    context = as_context(ctx)
    if isinstance(source_array, NDArray):
        kind = source_array._t.dtype if dtype is None else torch_dtype(dtype)
        return wrap(run(lambda t: move(t, context).to(kind), source_array._t), context)
    # A NumPy array of any dtype becomes float32; an NDArray keeps its dtype (MXNet 1.9.1, recorded).
    kind = torch_dtype(mx_real_t if dtype is None else dtype)
    wanted = torch.empty(0, dtype=kind).numpy().dtype
    try:
        if isinstance(source_array, (list, tuple)) and any(isinstance(item, NDArray) for item in source_array):
            raise TypeError("a list of NDArrays is not an array: use mx.nd.stack")
        values = np.array(source_array, order="C").astype(wanted)
    except (TypeError, ValueError) as error:
        if isinstance(source_array, np.ndarray):
            raise
        raise TypeError("source_array must be array like object") from error
    return wrap(torch.from_numpy(values).to(context.device), context)


def zeros(
    shape: Sizes, ctx: ContextLike = None, dtype: DtypeLike = None, stype: str | None = None, **kwargs: Any
) -> NDArray:
    """An array of zeros."""
    _only_dense(stype)
    return _filled("_zeros", shape, ctx, dtype, kwargs)


def ones(shape: Sizes, ctx: ContextLike = None, dtype: DtypeLike = None, **kwargs: Any) -> NDArray:
    """An array of ones."""
    return _filled("_ones", shape, ctx, dtype, kwargs)


def empty(shape: Sizes, ctx: ContextLike = None, dtype: DtypeLike = None, stype: str | None = None) -> NDArray:
    """An array of zeros, in MXNet of uninitialised values. Sizes may be 0."""
    _only_dense(stype)
    attributes = {"shape": shape, "ctx": as_context(ctx), "dtype": dtype}
    return call(OPERATORS["_zeros"], (), attributes)


def full(
    shape: Sizes, val: Any, ctx: ContextLike = None, dtype: DtypeLike = mx_real_t, out: NDArray | None = None
) -> NDArray:
    """An array of one value."""
    result = empty(shape, ctx, dtype) if out is None else out
    if not result.ndim:
        raise MXNetError(f"full: an array must have an axis, got the shape {shape}")
    result[:] = val
    return result


def _only_dense(stype: str | None) -> None:
    if stype not in (None, "default"):
        raise NotImplementedError(f"anygru has no sparse arrays ({stype!r}); in PyTorch: torch.sparse")


def _filled(name: str, shape: Sizes, ctx: ContextLike, dtype: DtypeLike, others: dict) -> NDArray:
    out = others.pop("out", None)
    for key in others:
        if key != "name" and not key.startswith("__"):
            raise MXNetError(f"{name}: Cannot find argument '{key}'")
    attributes = {"shape": _sizes(shape), "ctx": as_context(ctx), "dtype": dtype}
    return call(OPERATORS[name], (), attributes, out)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: ContextLike = None,
    dtype: DtypeLike = mx_real_t,
) -> NDArray:
    """Evenly spaced numbers below `stop`, each `repeat` times."""
    attributes = {"start": start, "stop": stop, "step": step, "repeat": repeat, "ctx": ctx, "dtype": dtype}
    return call(OPERATORS["_arange"], (), attributes)


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, ctx: ContextLike = None, dtype: DtypeLike = mx_real_t
) -> NDArray:
    """`num` evenly spaced numbers from `start` to `stop`."""
    attributes = {"start": start, "stop": stop, "num": num, "endpoint": endpoint, "ctx": ctx, "dtype": dtype}
    return call(OPERATORS["_linspace"], (), attributes)


def eye(N: int, M: int = 0, k: int = 0, ctx: ContextLike = None, dtype: DtypeLike = None) -> NDArray:
    """Ones on a diagonal."""
    return call(OPERATORS["_eye"], (), {"N": N, "M": M, "k": k, "ctx": ctx, "dtype": dtype})


def waitall() -> None:
    """Wait for all computations."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def from_numpy(ndarray: np.ndarray, zero_copy: bool = True, array_cls: type[NDArray] | None = None) -> NDArray:
    """An array over a NumPy array's memory; of `mx.nd`, unless `array_cls` is the class of `mx.np`.

    Raises:
        ValueError: for an array that is not contiguous, unless it is copied.
    """
    if zero_copy and not ndarray.flags["C_CONTIGUOUS"]:
        raise ValueError("Only c-contiguous arrays are supported for zero-copy")
    array = wrap(
        torch.from_numpy(ndarray if zero_copy else ndarray.copy()),
        as_context(None),
        numpy_semantics=array_cls not in (None, NDArray),
    )
    if zero_copy:
        ndarray.flags.writeable = False  # only the NDArray may change the values from now on
    return array


def _places(name: str, axes: list[int], ndim: int) -> list[int]:
    """Non-negative axes.

    Raises:
        ValueError: for a missing or repeated axis.
    """
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise ValueError(f"{name} must be from {-ndim} to {ndim - 1}, got {axis}")
    found = [axis % ndim for axis in axes]
    if len(set(found)) < len(found):
        raise ValueError(f"repeated axis in {name}: {axes}")
    return found


def moveaxis(tensor: NDArray, source: Any, destination: Any) -> NDArray:
    """Move axes to other positions."""
    sources = [int(source)] if isinstance(source, integer_types) else list(source)
    targets = [int(destination)] if isinstance(destination, integer_types) else list(destination)
    if len(sources) != len(targets):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    sources, targets = _places("source", sources, tensor.ndim), _places("destination", targets, tensor.ndim)
    rest = [axis for axis in range(tensor.ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        rest.insert(target, axis)
    return call(OPERATORS["transpose"], (tensor,), {"axes": tuple(rest)})


def _numpy(value: NDArray) -> np.ndarray:
    return value._t.detach().cpu().numpy()


def save(fname: str, data: Any) -> None:
    """Write an array, a list of arrays or a dict of arrays to a file that MXNet reads.

    Raises:
        TypeError: for a list or dict of other values.
        ValueError: for values other than an array, a list or a dict.
    """
    if isinstance(data, NDArray):
        data = [data]
    if isinstance(data, dict):
        if any(not isinstance(key, str) for key in data) or any(not isinstance(v, NDArray) for v in data.values()):
            raise TypeError("save only accept dict str->NDArray or list of NDArray")
        content: Any = {key: _numpy(value) for key, value in data.items()}
    elif isinstance(data, list):
        if any(not isinstance(value, NDArray) for value in data):
            raise TypeError("save only accept dict str->NDArray or list of NDArray")
        content = [_numpy(value) for value in data]
    else:
        raise ValueError("data needs to either be a NDArray, dict of str, NDArray pairs or a list of NDarrays.")
    try:
        files.save(fname, content)
    except OSError as error:
        raise MXNetError(f"{fname}: {error}") from error


def load(fname: str) -> Any:
    """The list or dict of arrays in a file of MXNet's.

    Raises:
        TypeError: for a name that is not a string.
        MXNetError: for a missing or damaged file.
    """
    if not isinstance(fname, (str, pathlib.PurePath)):
        raise TypeError("fname required to be a string")
    budget = Budget(fname)
    try:
        return _arrays(files.load(fname, budget), budget)
    except OSError as error:
        raise MXNetError(f"Check failed: cannot open {fname}: {error}") from error
    except CheckpointError as error:
        raise MXNetError(str(error)) from error


def load_frombuffer(buf: bytes | str) -> Any:
    """The arrays in the bytes of a file.

    Raises:
        TypeError: for values other than bytes.
        MXNetError: for damaged bytes.
    """
    if not isinstance(buf, (bytes, str)):
        raise TypeError("buf required to be a string or bytes")
    data = buf.encode("latin-1") if isinstance(buf, str) else buf
    budget = Budget("NDArray bytes")
    budget.add_file(len(data))
    try:
        return _arrays(files.loads(data, budget), budget)
    except CheckpointError as error:
        raise MXNetError(str(error)) from error


def _arrays(content: Any, budget: Budget) -> Any:
    def one(values: np.ndarray) -> NDArray:
        budget.take(3 * PER_OBJECT + values.nbytes)
        return wrap(torch.from_numpy(np.array(values, order="C")), as_context(None))

    if isinstance(content, dict):
        return {key: one(values) for key, values in content.items()}
    return [one(values) for values in content]
