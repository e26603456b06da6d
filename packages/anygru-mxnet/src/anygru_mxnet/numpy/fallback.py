"""Functions of `mx.np` that NumPy computes, as in MXNet 1.9. They have no gradients, and return numbers as NumPy scalars."""

from collections.abc import Callable
from typing import Any

import numpy as onp
import torch
from torch import Tensor

from ..context import Context, as_context
from ..ndarray.array import Array
from ..state import state
from .apply import context_of, wrapped
from .shaping import check_supported

_NAMES = [
    "apply_along_axis", "apply_over_axes", "argpartition", "argwhere", "array_equiv", "choose", "compress",
    "corrcoef", "correlate", "count_nonzero", "cov", "delete", "diag_indices_from", "digitize", "divmod",
    "extract", "flatnonzero", "float_power", "frexp", "heaviside", "histogram", "histogram2d",
    "histogram_bin_edges", "histogramdd", "i0", "insert", "interp", "intersect1d", "isclose", "isin", "ix_",
    "lexsort", "may_share_memory", "min_scalar_type", "modf", "nanargmax", "nanargmin", "nancumprod",
    "nancumsum", "nanmax", "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "packbits",
    "partition", "piecewise", "poly", "polyadd", "polydiv", "polyfit", "polyint", "polymul", "polysub",
    "positive", "promote_types", "ptp", "real", "resize", "searchsorted", "select", "set_printoptions",
    "setdiff1d", "setxor1d", "shares_memory", "signbit", "spacing", "take_along_axis", "tril_indices_from",
    "trim_zeros", "triu_indices_from", "union1d", "unpackbits", "unravel_index", "unwrap", "vander",
]  # fmt: skip
# Replacements for names that NumPy 2 does not have.
_RENAMED = {
    "alltrue": onp.all,
    "in1d": lambda ar1, ar2, **options: onp.isin(onp.ravel(ar1), ar2, **options),
    "msort": lambda a: onp.sort(a, axis=0),
    "trapz": vars(onp).get("trapezoid") or vars(onp)["trapz"],
}
# Functions with results in float32 or int32, as in MXNet.
_CAST: dict[str, tuple[Callable[..., Any], str]] = {
    **{name: (getattr(onp, name), "float32") for name in ("blackman", "hamming", "hanning", "logspace")},
    **{name: (getattr(onp, name), "float32") for name in ("percentile", "quantile")},
    "indices": (onp.indices, "int32"),
}
_LINALG = "cond lstsq matrix_power matrix_rank multi_dot qr tensorinv tensorsolve"
_LINALG_CAST = ("eig", "eigh", "eigvals")


def _to_numpy(value: Any) -> Any:
    if isinstance(value, Array):
        return value._t.detach().cpu().numpy()
    if type(value) in (tuple, list):
        return type(value)(map(_to_numpy, value))
    return value


def _from_numpy(value: Any, ctx: Context, dtype: str | None) -> Any:
    if isinstance(value, tuple):
        return tuple(_from_numpy(part, ctx, dtype) for part in value)
    if isinstance(value, list):
        return [_from_numpy(part, ctx, dtype) for part in value]
    if not isinstance(value, onp.ndarray) and not (dtype and isinstance(value, onp.generic)):
        return value
    if dtype == "float32" and onp.iscomplexobj(value) and not value.imag.any():
        value = value.real  # NumPy 2.5 returns real eigenvalues as complex numbers
    tensor: Tensor = torch.from_numpy(onp.array(value, dtype=dtype))
    return wrapped(tensor.to(ctx.device), ctx)


def _function(name: str, compute: Callable[..., Any], dtype: str | None = None) -> Callable[..., Any]:
    def function(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        check_supported(
            "overwrite_input", kwargs.pop("overwrite_input", None), None, False
        )  # it would change the caller's array
        kind = None if dtype is None else kwargs.pop("dtype", None) or dtype
        if "interpolation" in kwargs:  # NumPy's name for it before 1.22
            kwargs["method"] = kwargs.pop("interpolation")
        if state.recording and any(isinstance(value, Array) for value in (*args, *kwargs.values())):
            raise ValueError(f"{name} has no gradient, as in MXNet; call it outside of autograd.record()")
        ctx = context_of((*args, *kwargs.values())) or as_context(None)
        found = compute(*map(_to_numpy, args), **{key: _to_numpy(value) for key, value in kwargs.items()})
        result = _from_numpy(found, ctx, kind)
        if out is None:
            return result
        out[...] = result
        return out

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"NumPy's `{name}` of arrays, without a gradient."
    return function


FUNCTIONS = {
    **{name: _function(name, getattr(onp, name)) for name in _NAMES},
    **{name: _function(name, compute) for name, compute in _RENAMED.items()},
    **{name: _function(name, compute, dtype) for name, (compute, dtype) in _CAST.items()},
}
LINALG = {
    **{name: _function(name, getattr(onp.linalg, name)) for name in _LINALG.split()},
    **{name: _function(name, getattr(onp.linalg, name), "float32") for name in _LINALG_CAST},
}
__all__ = list(FUNCTIONS)


def __getattr__(name: str) -> Any:
    # The names in the table are not globals, because the code of this module uses Python's functions with these names.
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(f"mx.np has no function {name!r}", name=name)
