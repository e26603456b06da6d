"""The functions of `paddle.*`, and the methods that they give to tensors."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import torch

from ..base import core as _core
from ..base.dygraph.math_op_patch import OPERATORS
from ..base.variable_index import get as _get
from ..base.variable_index import set_ as _set
from ..framework.dtype import as_dtype as _as_dtype
from . import attribute, creation, inplace, linalg, logic, manipulation, math, ops, random, search, stat
from .tensor import Tensor as Tensor
from .tensor import recast

_METHODS: dict[ModuleType, str] = {
    ops: """abs acos acosh angle asin asinh atan atanh ceil conj cos cosh deg2rad digamma erf erfinv exp expm1 floor frac
        i0 i1 isfinite isinf isnan lgamma log log10 log1p log2 neg rad2deg reciprocal round rsqrt sgn sigmoid sign sin sinh
        sqrt square tan tanh trunc""",
    math: """add add_n addmm all amax amin any atan2 broadcast_shape clip count_nonzero cummax cummin cumprod cumsum
        diagonal diff divide floor_divide floor_mod fmax fmin gcd heaviside hypot increment inner inverse kron lcm ldexp
        lerp logaddexp logcumsumexp logit logsumexp max maximum min minimum mm mod multiplex multiply nan_to_num nanmean
        nansum nextafter outer pow prod remainder renorm scale stanh subtract sum take trace""",
    manipulation: """as_complex as_real as_strided atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_to cast
        chunk concat expand expand_as flatten flip gather gather_nd index_add index_fill index_put masked_fill moveaxis
        put_along_axis repeat_interleave reshape reverse roll rot90 scatter scatter_nd scatter_nd_add slice split squeeze
        stack strided_slice take_along_axis tensordot tile transpose unbind unflatten unfold unique unique_consecutive
        unsqueeze unstack view view_as vsplit""",
    linalg: """bincount bmm cdist cholesky cross dist dot histogram matmul matrix_power mv norm qr solve t""",
    logic: """allclose bitwise_and bitwise_not bitwise_or bitwise_xor equal equal_all greater_equal greater_than is_empty
        isclose less_equal less_than logical_and logical_not logical_or logical_xor not_equal""",
    search: """argmax argmin argsort bucketize index_sample index_select kthvalue masked_select mode nonzero sort topk
        where""",
    stat: """mean median nanmedian numel quantile std var""",
    creation: """clone diag diag_embed diagflat tril triu""",
    random: """multinomial""",
    attribute: """imag is_complex is_floating_point is_integer rank real""",
}

# Methods of torch's tensors that Paddle also has, with other arguments or results, and that are not covered: refused,
# so that none of them runs with torch's meaning by mistake.
_REFUSED = [
    "cond",
    "corrcoef",
    "cov",
    "frexp",
    "fill_diagonal_tensor",
    "householder_product",
    "index_put_impl",
    "istft",
    "lu",
    "multigammaln",
    "nanquantile",
    "pinv",
    "polygamma",
    "stft",
    "to_dense",
    "to_sparse_coo",
    "to_sparse_csr",
    "vander",
    "coalesce",
    "geometric_",
    "cauchy_",
    "diagonal_scatter",
    "select_scatter",
    "cholesky_solve",
    "eig",
    "lstsq",
    "polygamma_",
    "indices",
    "values",
]


def astype(self: Tensor, dtype: Any) -> Tensor:
    """The tensor in another dtype.

    Raises:
        TypeError: for a dtype that there is not.
    """
    return manipulation.cast(self, "float64" if dtype is None else dtype)


def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Move and cast the tensor: `to(device, dtype, blocking)` or `to(other)`.

    As in Paddle the tensor itself changes and is returned, except that a result that has a gradient, and torch's own
    code, get a new tensor.

    Raises:
        TypeError: for an argument of another name.
        ValueError: for an unknown device.
    """
    known = ("device", "dtype", "blocking", "other", "non_blocking", "copy", "memory_format")
    if unknown := [name for name in kwargs if name not in known]:
        raise TypeError(f"to() got an unexpected keyword argument {unknown[0]!r}")
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    other = kwargs.get("other")
    for arg in args:
        if isinstance(arg, torch.Tensor):
            other = arg
        elif isinstance(arg, (_core.Place, torch.device)) or (isinstance(arg, str) and arg.split(":")[0] in _DEVICES):
            device = arg
        elif arg is not None and not isinstance(arg, bool):
            dtype = arg
    if other is not None:
        device, dtype = other.device, other.dtype
    by_torch = sys._getframe(1).f_globals.get("__name__", "").startswith("torch.")
    if self.is_leaf and not by_torch:
        place = (
            None if device is None else device if isinstance(device, torch.device) else _core.as_place(device).device
        )
        with torch.no_grad():
            recast(self, place, None if dtype is None else _as_dtype(dtype).torch)
        return self
    out: torch.Tensor = self
    if device is not None:
        target = device if isinstance(device, torch.device) else _core.as_place(device).device
        out = torch.Tensor.to(out, target)
    if dtype is not None:
        out = torch.Tensor.to(out, _as_dtype(dtype).torch)
    if type(out) is torch.Tensor:
        out.__class__ = Tensor
    return out  # type: ignore[return-value]


_DEVICES = ("cpu", "gpu", "cuda", "xpu", "npu")


def _dim(self: Tensor) -> int:
    """The number of axes."""
    return self.ndim


def _transposed(self: Tensor) -> Tensor:
    """The axes in reverse order."""
    return manipulation.transpose(self, list(range(self.ndim))[::-1])


def _refuse(name: str) -> property:
    def getter(self: Tensor) -> Any:
        raise AttributeError(
            f"paddle.Tensor.{name} is not covered by anygru; tensor.as_subclass(torch.Tensor) is the torch tensor, which has it"
        )

    return property(getter)


def _give_methods() -> None:
    for module, names in _METHODS.items():
        for name in names.split():
            setattr(Tensor, name, getattr(module, name))
    for name, method in {**OPERATORS, **inplace.INPLACE}.items():
        setattr(Tensor, name, method)
    extra: dict[str, Any] = {
        "__getitem__": _get, "__setitem__": _set, "astype": astype, "to": to, "dim": _dim, "ndimension": _dim,
        "__abs__": ops.abs, "T": property(_transposed), "contiguous": lambda self: self if self.is_contiguous() else self.clone(),
        "is_same_shape": lambda self, other: self.shape == other.shape,
    }  # fmt: skip
    for name, value in extra.items():
        setattr(Tensor, name, value)
    for name in _REFUSED:
        setattr(Tensor, name, _refuse(name))


_give_methods()
