"""`paddle.geometric`: reductions of segments, and messages along the edges of a graph."""

from collections.abc import Callable
from typing import Any

import torch

from ..tensor.operation import operation, plain, row

__all__ = ["segment_max", "segment_mean", "segment_min", "segment_sum", "send_u_recv", "send_ue_recv", "send_uv"]

_TORCHS = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin"}
_MESSAGES: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
}


def _reduced(values: torch.Tensor, places: torch.Tensor, count: int, kind: str) -> torch.Tensor:
    """The values of one place each reduced to a row; zeros for a place without values, as in Paddle 2.6.2 (recorded)."""
    if kind not in _TORCHS:
        raise ValueError(f"reduce_op should be `sum`, `mean`, `min` or `max`, but received {kind}")
    values, places = plain(values), plain(places).to(torch.int64)
    spread = places.reshape(-1, *(1,) * (values.ndim - 1)).expand(values.shape)
    limits = torch.finfo(values.dtype) if values.is_floating_point() else torch.iinfo(values.dtype)
    # Not 0, or torch takes it for one of the equals that share the gradient of an extreme.
    out = values.new_full((count, *values.shape[1:]), {"max": limits.min, "min": limits.max}.get(kind, 0))
    out = out.scatter_reduce(0, spread, values, _TORCHS[kind], include_self=False)
    return torch.where(torch.zeros_like(out, dtype=torch.bool).scatter(0, spread, True), out, 0)


def _segment(kind: str) -> Callable[..., Any]:
    def function(data: torch.Tensor, segment_ids: torch.Tensor, name: str | None = None) -> torch.Tensor:
        return _reduced(data, segment_ids, int(segment_ids[-1]) + 1, kind)

    return row(f"segment_{kind}", function, f"The {kind} of the rows of each segment; the ids are in order.")


segment_sum, segment_mean, segment_max, segment_min = (_segment(kind) for kind in ("sum", "mean", "max", "min"))


def _rows(x: torch.Tensor, out_size: Any) -> int:
    size = 0 if out_size is None else int(out_size)
    return size if size > 0 else int(x.shape[0])


def _message(x: torch.Tensor, y: torch.Tensor, kind: str) -> torch.Tensor:
    if kind not in _MESSAGES:
        raise ValueError(f"message_op should be one of `add`, `sub`, `mul`, `div`, but received {kind}")
    x, y = plain(x), plain(y)
    return _MESSAGES[kind](x, y.reshape(*y.shape, *(1,) * (x.ndim - y.ndim)))


@operation
def send_u_recv(
    x: torch.Tensor, src_index: torch.Tensor, dst_index: torch.Tensor, reduce_op: str = "sum", out_size: Any = None,
    name: str | None = None,
) -> torch.Tensor:  # fmt: skip
    """The rows x[src_index] reduced at dst_index."""
    return _reduced(plain(x)[plain(src_index).long()], dst_index, _rows(x, out_size), reduce_op)


@operation
def send_ue_recv(
    x: torch.Tensor, y: torch.Tensor, src_index: torch.Tensor, dst_index: torch.Tensor, message_op: str = "add",
    reduce_op: str = "sum", out_size: Any = None, name: str | None = None,
) -> torch.Tensor:  # fmt: skip
    """The rows x[src_index], each joined with that of its edge in `y`, reduced at dst_index."""
    messages = _message(plain(x)[plain(src_index).long()], y, message_op)
    return _reduced(messages, dst_index, _rows(x, out_size), reduce_op)


@operation
def send_uv(
    x: torch.Tensor, y: torch.Tensor, src_index: torch.Tensor, dst_index: torch.Tensor, message_op: str = "add",
    name: str | None = None,
) -> torch.Tensor:  # fmt: skip
    """The rows x[src_index], each joined with y[dst_index]."""
    return _message(plain(x)[plain(src_index).long()], plain(y)[plain(dst_index).long()], message_op)
