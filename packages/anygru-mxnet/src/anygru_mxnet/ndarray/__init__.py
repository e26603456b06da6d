"""`mx.nd`: arrays and the operators on them."""

from typing import Any

import torch

from anygru.extend import refuser

from . import _internal, contrib, linalg, op, random, register, updates, utils
from .arithmetic import symmetric
from .custom import Custom
from .ndarray import NDArray
from .op import *
from .register import FUNCTIONS
from .updates import all_finite, multi_all_finite
from .utils import *

add, subtract, multiply, divide = (symmetric(name) for name in ("add", "sub", "mul", "div"))
true_divide, modulo, _power = divide, symmetric("mod"), symmetric("power")
maximum, minimum = symmetric("maximum"), symmetric("minimum")
equal, not_equal = symmetric("equal"), symmetric("not_equal")
greater, greater_equal = symmetric("greater"), symmetric("greater_equal")
lesser, lesser_equal = symmetric("lesser"), symmetric("lesser_equal")
logical_and, logical_or, logical_xor = (symmetric(f"logical_{name}") for name in ("and", "or", "xor"))


def power(base: Any, exp: Any) -> Any:
    """`base` to the power of `exp`: arrays or numbers."""
    return _power(base, exp)


def concatenate(arrays: list[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Join arrays along an axis."""
    assert len(arrays) > 0, "concatenate: expected at least one array"
    rests = {(a.shape[:axis], a.shape[axis + 1 :]) for a in arrays if a.shape[axis] >= 0}
    assert len(rests) == 1, f"concatenate: shapes must agree but for axis {axis}, got {[a.shape for a in arrays]}"
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    dtypes = {array.dtype for array in arrays}
    assert len(dtypes) == 1, f"concatenate: all arrays must be of one dtype, got {sorted(t.__name__ for t in dtypes)}"
    return FUNCTIONS["Concat"](*arrays, dim=axis)


def split_v2(
    ary: NDArray, indices_or_sections: int | tuple, axis: int = 0, squeeze_axis: bool = False
) -> list[NDArray]:
    """Split an array into equal parts, or at positions."""
    return ary.split_v2(indices_or_sections, axis, squeeze_axis)


def reset_arrays(*arrays: NDArray, num_arrays: int) -> None:
    """Set arrays to zero."""
    assert len(arrays) == num_arrays, f"reset_arrays: num_arrays={num_arrays} with {len(arrays)} arrays"
    for array in arrays:
        array._t.detach().zero_()


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write one-hot rows into `out`."""
    return FUNCTIONS["one_hot"](indices, out.shape[1], out=out)


def to_dlpack_for_read(data: NDArray) -> object:
    """The array as a DLPack capsule."""
    return data.to_dlpack_for_read()


to_dlpack_for_write = to_dlpack_for_read


def from_dlpack(dlpack: object) -> NDArray:
    """An array on the memory of a DLPack capsule."""
    return NDArray(torch.utils.dlpack.from_dlpack(dlpack))


# Operators are added to this module from a table; `__getattr__` keeps type checkers from reporting them as missing.
__getattr__ = refuser("mxnet.ndarray")
