"""`mx.test_utils`: the numbers of GPUs, and comparisons of arrays. Follows MXNet 1.9's `mxnet.test_utils`."""

import os
from typing import Any

import numpy as np

from .context import Context, current_context, num_gpus
from .gluon import utils
from .ndarray.ndarray import NDArray


def list_gpus() -> range:
    """The numbers of the GPUs."""
    return range(num_gpus())


def download(
    url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5
) -> str:
    """The path of an existing file, as `gluon.utils.download` returns it."""
    name = fname or url.split("/")[-1]
    return utils.download(url, os.path.join(dirname, name) if dirname else name, overwrite, retries=retries)


def default_context() -> Context:
    """The default context of new arrays."""
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Set the default context of new arrays."""
    Context._default_ctx.value = ctx  # type: ignore[attr-defined]


def _values(array: Any) -> np.ndarray:
    return array.asnumpy() if isinstance(array, NDArray) else np.asarray(array)


def same(a: Any, b: Any) -> bool:
    """Whether two arrays are equal."""
    return np.array_equal(_values(a), _values(b))


def almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    use_broadcast: bool = True,
) -> bool:
    """Whether two arrays differ by at most `atol` (1e-20) plus `rtol` (1e-5) times the second array."""
    first, second = _values(a), _values(b)
    if not use_broadcast and first.shape != second.shape:
        return False
    tolerances = (1e-5 if rtol is None else rtol, 1e-20 if atol is None else atol)
    return bool(np.allclose(first, second, *tolerances, equal_nan=equal_nan))


def assert_almost_equal(
    a: Any,
    b: Any,
    rtol: float | None = None,
    atol: float | None = None,
    names: tuple[str, str] = ("a", "b"),
    equal_nan: bool = False,
    use_broadcast: bool = True,
    mismatches: tuple[int, int] = (10, 10),
) -> None:
    """Check `almost_equal`. The error shows both arrays. `mismatches` has no effect.

    Raises:
        AssertionError: for arrays that differ.
    """
    if not almost_equal(a, b, rtol, atol, equal_nan, use_broadcast):
        shown = ", ".join(f"{name} = {_values(array)}" for name, array in zip(names, (a, b), strict=True))
        raise AssertionError(f"Items are not equal: {shown}")
