"""`paddle.geometric`: reductions of segments, and messages along the edges of a graph."""

from collections.abc import Callable
from typing import Any

import torch

from ..tensor.operation import operation, plain, row

__all__ = [
    "reindex_graph", "reindex_heter_graph", "sample_neighbors", "segment_max", "segment_mean", "segment_min", "segment_sum",
    "send_u_recv", "send_ue_recv", "send_uv",
]  # fmt: skip

_DRAWS = torch.Generator()
_DRAWS.seed()  # from the system

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
    """The rows x[src_index], each combined with the row of its edge in `y`, reduced at dst_index."""
    messages = _message(plain(x)[plain(src_index).long()], y, message_op)
    return _reduced(messages, dst_index, _rows(x, out_size), reduce_op)


@operation
def send_uv(
    x: torch.Tensor, y: torch.Tensor, src_index: torch.Tensor, dst_index: torch.Tensor, message_op: str = "add",
    name: str | None = None,
) -> torch.Tensor:  # fmt: skip
    """The rows x[src_index], each joined with y[dst_index]."""
    return _message(plain(x)[plain(src_index).long()], plain(y)[plain(dst_index).long()], message_op)


@operation
def reindex_heter_graph(
    x: torch.Tensor, neighbors: Any, count: Any, value_buffer: Any = None, index_buffer: Any = None, name: str | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    """New numbers for nodes: `x` first, then their neighbours in order of appearance.

    Args:
        x: nodes.
        neighbors, count: for each kind of edge the neighbours of all nodes, concatenated, and the number for each node.
        value_buffer, index_buffer: memory for Paddle's GPU kernel; not used.

    Returns:
        The new numbers of the neighbours, the new numbers of the nodes that they belong to, and the nodes by new number.
    """
    # Counts of several kinds of edge may be in one tensor, all nodes of one kind after another.
    places = [torch.repeat_interleave(torch.arange(len(each)) % len(x), plain(each).long()) for each in count]
    joined = torch.cat([plain(each) for each in neighbors])
    nodes = list(dict.fromkeys([*plain(x).tolist(), *joined.tolist()]))
    numbers = {node: number for number, node in enumerate(nodes)}
    found = torch.tensor([numbers[node] for node in joined.tolist()], dtype=joined.dtype)
    return found, torch.cat(places).to(joined.dtype), torch.tensor(nodes, dtype=joined.dtype)


def reindex_graph(
    x: torch.Tensor, neighbors: torch.Tensor, count: torch.Tensor, value_buffer: Any = None, index_buffer: Any = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """As `reindex_heter_graph`, with one kind of edge."""
    return reindex_heter_graph(x, [neighbors], [count])


@operation
def sample_neighbors(
    row: torch.Tensor, colptr: torch.Tensor, input_nodes: torch.Tensor, sample_size: int = -1, eids: Any = None,
    return_eids: bool = False, perm_buffer: Any = None, name: str | None = None,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    """Neighbours of nodes: all of them, or `sample_size` drawn at random.

    `paddle.seed` does not bear on the draws and they do not move its numbers, as in Paddle 2.6.2 (read).

    Args:
        row, colptr: the neighbours of node n are row[colptr[n] : colptr[n + 1]].
        input_nodes: the nodes.
        sample_size: how many to draw where there are more; -1 for all.
        eids: a number for each element of `row`.
        return_eids: also return the numbers of the drawn edges.
        perm_buffer: memory for Paddle's GPU kernel; not used.

    Returns:
        The neighbours, concatenated, the number for each node, and optionally their `eids`.

    Raises:
        ValueError: for `return_eids` without `eids`.
    """
    if return_eids and eids is None:
        raise ValueError("`eids` should not be None if `return_eids` is True.")
    limits = plain(colptr).flatten().tolist()
    drawn = []
    for node in plain(input_nodes).flatten().tolist():
        places = torch.arange(limits[node], limits[node + 1], device="cpu")
        few = sample_size < 0 or len(places) <= sample_size
        order = None if few else torch.randperm(len(places), generator=_DRAWS, device="cpu")
        drawn.append(places if order is None else places[order[:sample_size]])
    counts = torch.tensor([len(each) for each in drawn], dtype=torch.int32)
    chosen = torch.cat(drawn) if drawn else torch.zeros(0, dtype=torch.int64)
    results = plain(row).flatten()[chosen], counts
    return (*results, plain(eids).flatten()[chosen]) if return_eids else results
