"""`paddle.incubate.operators`: older names of `paddle.geometric`, with other orders of arguments."""

import itertools
from typing import Any

import torch

from .. import geometric
from ..tensor.operation import operation, plain

__all__ = ["graph_khop_sampler", "graph_reindex", "graph_sample_neighbors", "graph_send_recv", "softmax_mask_fuse"]


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
def graph_khop_sampler(
    row: torch.Tensor, colptr: torch.Tensor, input_nodes: torch.Tensor, sample_sizes: Any, sorted_eids: Any = None,
    return_eids: bool = False, name: str | None = None,
) -> tuple[torch.Tensor, ...]:  # fmt: skip
    """Neighbours of nodes, neighbours of these, and so on: `sample_neighbors` once for each of `sample_sizes`.

    As in Paddle 2.6.2 (recorded) a hop leaves out the nodes of the hop before and no earlier ones, a node of several hops
    is listed for each hop with the last of its numbers, and the neighbours of the last hop follow in order.

    Returns:
        The new numbers of the neighbours and of the nodes that they belong to, [edges, 1] both, the nodes by new number,
        the new numbers of `input_nodes`, and with `return_eids` the `sorted_eids` of the edges.

    Raises:
        ValueError: for a graph in which no edge was found.
    """
    asked = plain(input_nodes)
    nodes: list[int] = []
    hops, hop = [], [node for node, _ in itertools.groupby(asked.flatten().tolist())]
    for size in sample_sizes:
        of_hop = asked.new_tensor(hop)
        drawn = geometric.sample_neighbors(row, colptr, of_hop, size, sorted_eids, return_eids)
        neighbors, counts, *eids = map(plain, drawn)
        hops.append([neighbors, of_hop.repeat_interleave(counts), *eids])
        nodes += hop
        hop = sorted({*neighbors.tolist()} - {*hop})
    found = [torch.cat(each) for each in zip(*hops, strict=True)]
    if not len(found[0]):
        raise ValueError("(InvalidArgument) graph_khop_sampler(): the nodes have no neighbours")
    numbers = {node: number for number, node in enumerate(nodes)}
    beyond = dict.fromkeys(node for node in found[0].tolist() if node not in numbers)
    numbers |= {node: number for number, node in enumerate(beyond, len(nodes))}
    neighbours, nodes_of, places = (each.clone().apply_(numbers.__getitem__) for each in (*found[:2], asked))
    return neighbours[:, None], nodes_of[:, None], asked.new_tensor([*nodes, *beyond]), places, *found[2:]


@operation
def softmax_mask_fuse(x: torch.Tensor, mask: torch.Tensor, name: str | None = None) -> torch.Tensor:
    """The softmax of x + mask along the last axis."""
    return torch.softmax(torch.add(plain(x), plain(mask)), -1)
