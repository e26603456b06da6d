"""`gluon.utils`: batches over contexts, gradient clipping, and texts of blocks."""

import hashlib
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from anygru.extend import not_covered

from .. import ndarray
from ..base import MXNetError, Sizes
from ..context import Context, current_context
from ..ndarray.array import wrap
from ..ndarray.ndarray import NDArray
from ..ndarray.register import FUNCTIONS
from ..ndarray.utils import array
from ..state import state

__all__ = ["check_sha1", "clip_global_norm", "download", "ndarray", "split_and_load", "split_data"]


def split_data(data: NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[NDArray]:
    """Split a batch along its axis. Without `even_split` the first slices may be longer by one.

    Raises:
        ValueError: for a batch that cannot be split evenly.
    """
    size = data.shape[batch_axis]
    if even_split and size % num_slice != 0:
        raise ValueError(
            f"data with shape {data.shape} cannot be evenly split into {num_slice} slices along axis {batch_axis}. "
            f"Use a batch size that's multiple of {num_slice} or set even_split=False to allow uneven partitioning of data."
        )
    length, longer = divmod(size, num_slice)
    slices, begin = [], 0
    for place in range(num_slice):
        end = begin + length + (place < longer)
        if batch_axis == 0:
            slices.append(data[begin:end])
        else:
            slices.append(FUNCTIONS["slice_axis"](data, axis=batch_axis, begin=begin, end=end))
        begin = end
    return slices


def split_and_load(data: Any, ctx_list: list[Context], batch_axis: int = 0, even_split: bool = True) -> list[NDArray]:
    """Split a batch into a slice for each context, and copy each slice to its context."""
    if not isinstance(data, NDArray):
        data = array(data, ctx=ctx_list[0])
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    slices = split_data(data, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(slices, ctx_list, strict=True)]


def clip_global_norm(arrays: list[NDArray], max_norm: float, check_isfinite: bool = True) -> Any:
    """Scale arrays in place so that the norm of all their elements together is at most `max_norm`.

    Returns:
        The norm before scaling: a number, or an array of shape (1,) if `check_isfinite` is False.
    """
    assert len(arrays) > 0
    tensors = [value._t.detach() for value in arrays]
    device = tensors[0].device
    # torch's own clip_grad_norm_ calls `_foreach_norm`: one call for all arrays.
    norms = torch.stack([norm.to(device) for norm in torch._foreach_norm(tensors)])
    total = torch.linalg.vector_norm(norms).reshape(1)
    if check_isfinite and not bool(torch.isfinite(total)):
        warnings.warn(UserWarning("nan or inf is detected. Clipping results will be undefined."), stacklevel=2)
    # torch adds 1e-6, MXNet 1.9.1 adds 1e-8 (source).
    scale = torch.clamp(max_norm / (total + 1e-8), max=1.0)
    for tensor in tensors:
        tensor.data.mul_(scale.to(tensor.device, tensor.dtype))
    result = wrap(total, arrays[0].context)
    return result.asscalar() if check_isfinite else result


def download(
    url: str,
    path: str | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """The path of the local file of a URL. anygru does not download.

    Raises:
        NotCoveredError: if the file does not exist, or has another SHA-1 sum.
    """
    name = url.split("/")[-1]
    target = name if path is None else os.path.expanduser(path)
    if os.path.isdir(target):
        target = os.path.join(target, name)
    if os.path.isfile(target) and not overwrite and (not sha1_hash or check_sha1(target, sha1_hash)):
        return target
    raise not_covered(f"mxnet.gluon.utils.download({url!r})", f"another program, and put the file at {target}")


def _get_repo_url() -> str:
    """The address of MXNet 1.9's files, or `MXNET_GLUON_REPO`. gluon-nlp calls this function."""
    url = os.environ.get("MXNET_GLUON_REPO", "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/")
    return url if url.endswith("/") else url + "/"


def _get_repo_file_url(namespace: str, filename: str) -> str:
    return f"{_get_repo_url()}{namespace}/{filename}"


def check_sha1(filename: str, sha1_hash: str) -> bool:
    """Whether a file has the SHA-1 sum."""
    with open(filename, "rb") as file:
        digest = hashlib.sha1()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest() == sha1_hash


def indent(text: str, spaces: int) -> str:
    """Indent all lines of a text except the first."""
    first, *others = text.split("\n")
    return "\n".join([first, *(" " * spaces + line for line in others)])


_indent = indent


def brief(names: Any, limit: int = 7) -> str:
    """The first and last of many names, quoted."""
    names = list(names)
    if len(names) > limit:
        return f"{brief(names[: limit // 2], limit)}, ..., {brief(names[-limit // 2 :], limit)}"
    return ", ".join(f"'{name}'" for name in names)


_brief_print_list = brief


class HookHandle:
    """Removes a hook, by `detach()` or at the end of `with handle:`."""

    def __init__(self, hooks: dict[int, Callable], hook: Callable) -> None:
        self._hooks = hooks
        self.id = id(self)
        hooks[self.id] = hook

    def detach(self) -> None:
        """Remove the hook."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> "HookHandle":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.detach()


def shape_is_known(shape: tuple[int, ...] | None) -> bool:
    """Whether all sizes are known. An unknown size is 0, or -1 under `npx.set_np`.

    Raises:
        TypeError: for a size that is a text.
        MXNetError: for a size that is not an integer. MXNet 1.9.1 raises these classes for `GRU("3")` and `GRU(3.0)`.
        AssertionError: for a negative size.
    """
    if shape is None:
        return False
    for size in shape:
        if not isinstance(size, (int, np.integer)):
            error = TypeError if isinstance(size, str) else MXNetError
            raise error(f"a shape must hold whole numbers, got {shape}")
        assert size >= (-1 if state.numpy else 0), f"shape dimension size cannot be less than 0, while received {size}"
    return all(size > 0 for size in shape)


def plain_sizes(shape: Sizes) -> Any:
    """A tuple of Python numbers; NumPy's print their type."""
    return tuple(int(n) if isinstance(n, np.integer) else n for n in shape) if isinstance(shape, tuple) else shape


def contexts_of(ctx: Any) -> list[Context]:
    """A list of contexts from an argument. None means the current context."""
    if ctx is None:
        return [current_context()]
    return [ctx] if isinstance(ctx, Context) else list(ctx)
