"""`paddle.incubate.operators`: older names of `paddle.geometric`, with other orders of arguments."""

from typing import Any

import torch

from .. import geometric
from ..tensor.operation import operation, plain

__all__ = ["graph_reindex", "graph_sample_neighbors", "graph_send_recv", "softmax_mask_fuse"]


def graph_send_recv(
    x: torch.Tensor, src_index: torch.Tensor, dst_index: torch.Tensor, pool_type: str = "sum", out_size: Any = None,
    name: str | None = None,
) -> torch.Tensor:  # fmt: skip
    """`paddle.geometric.send_u_recv`."""
    return geometric.send_u_recv(x, src_index, dst_index, pool_type, out_size)


def graph_reindex(
    x: torch.Tensor, neighbors: torch.Tensor, count: torch.Tensor, value_buffer: Any = None, index_buffer: Any = None,
    flag_buffer_hashtable: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """`paddle.geometric.reindex_graph`."""
    return geometric.reindex_graph(x, neighbors, count)


def graph_sample_neighbors(
    row: torch.Tensor, colptr: torch.Tensor, input_nodes: torch.Tensor, eids: Any = None, perm_buffer: Any = None,
    sample_size: int = -1, return_eids: bool = False, flag_perm_buffer: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """`paddle.geometric.sample_neighbors`."""
    return geometric.sample_neighbors(row, colptr, input_nodes, sample_size, eids, return_eids)


@operation
def softmax_mask_fuse(x: torch.Tensor, mask: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """The softmax of x + mask along the last axis."""
    return torch.softmax(torch.add(plain(x), plain(mask)), -1)
