"""Graphs in `paddle.geometric` and `paddle.incubate`."""

import pytest
import torch

import anygru_paddle as paddle

HOPS = [[1, 2, 3, 3, 1, 1, 2], [3, 3, 1, 2, 2, 3, 3], [0, 1, 2, 0], [3], [0, 1, 2, 3, 4, 0, 1]]


def _numbers(results):
    return [(str(each.dtype).rpartition(".")[2], each.tolist()) for each in results]


def test_reindexed_nodes_come_in_the_order_of_their_first_use():
    """The answer of Paddle 2.6.2 (recorded), by both of its names and with one and two kinds of edge."""
    x, neighbors = paddle.to_tensor([0, 1, 2]), paddle.to_tensor([8, 9, 0, 4, 7, 6, 7])
    count = paddle.to_tensor([2, 3, 2], dtype="int32")
    expected = [("int64", [3, 4, 0, 5, 6, 7, 6]), ("int64", [0, 0, 1, 1, 1, 2, 2]), ("int64", [0, 1, 2, 8, 9, 4, 7, 6])]
    assert _numbers(paddle.geometric.reindex_graph(x, neighbors, count)) == expected
    assert _numbers(paddle.incubate.graph_reindex(x, neighbors, count)) == expected
    other, other_count = paddle.to_tensor([0, 2, 3, 5, 1]), paddle.to_tensor([1, 3, 1], dtype="int32")
    found, places, nodes = paddle.geometric.reindex_heter_graph(x, [neighbors, other], [count, other_count])
    assert nodes.tolist() == [0, 1, 2, 8, 9, 4, 7, 6, 3, 5]
    assert (found.tolist()[7:], places.tolist()[7:]) == ([0, 2, 8, 9, 1], [0, 1, 1, 1, 2])
    joined = paddle.concat([neighbors, other]), paddle.concat([count, other_count])
    assert _numbers(paddle.incubate.graph_reindex(x, *joined)) == _numbers([found, places, nodes])


def test_neighbours_are_all_or_drawn_without_repetition():
    row = paddle.to_tensor([3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7])
    columns, nodes = paddle.to_tensor([0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13]), paddle.to_tensor([0, 8, 1, 2])
    everyone = [("int64", [3, 7, 9, 7, 0, 9, 1]), ("int32", [2, 2, 2, 1])]
    assert _numbers(paddle.geometric.sample_neighbors(row, columns, nodes)) == everyone
    assert _numbers(paddle.incubate.graph_sample_neighbors(row, columns, nodes, sample_size=2)) == everyone
    one, count, number = paddle.geometric.sample_neighbors(
        row, columns, nodes, sample_size=1, eids=paddle.arange(13), return_eids=True
    )
    assert count.tolist() == [1, 1, 1, 1]
    assert one.tolist() == row[number].tolist()
    paddle.seed(3)
    expected = paddle.randn([4])
    paddle.seed(3)
    state = torch.get_rng_state()
    paddle.geometric.sample_neighbors(row, columns, nodes, sample_size=1)
    assert torch.equal(torch.get_rng_state(), state)
    assert paddle.randn([4]).tolist() == expected.tolist()
    with pytest.raises(ValueError, match="should not be None"):
        paddle.geometric.sample_neighbors(row, columns, nodes, return_eids=True)


def test_hops_list_a_node_for_each_of_its_hops():
    """The answers of Paddle 2.6.2 (recorded) for a graph in which the third hop leads to the nodes of the first."""
    row, columns = paddle.to_tensor([1, 2, 0, 0, 1]), paddle.to_tensor([0, 2, 3, 5])
    results = paddle.incubate.graph_khop_sampler(row, columns, paddle.to_tensor([0]), [5, 5, 5], paddle.arange(5), True)
    assert [each.flatten().tolist() for each in results] == HOPS
    assert [each.shape for each in results[:2]] == [[len(HOPS[0]), 1]] * 2
    with pytest.raises(ValueError, match="no neighbours"):
        paddle.incubate.graph_khop_sampler(row[:0], columns * 0, paddle.to_tensor([0]), [5])


def test_older_names_compute_the_same():
    x, source, target = paddle.randn([3, 4]), paddle.to_tensor([0, 1, 2]), paddle.to_tensor([1, 1, 0])
    found = paddle.incubate.graph_send_recv(x, source, target, "mean")
    assert paddle.allclose(found[1], (x[0] + x[1]) / 2)
    masked = paddle.incubate.softmax_mask_fuse(paddle.ones([1, 1, 2, 3]), paddle.to_tensor([[[[0.0, 0.0, -1e4]] * 2]]))
    assert masked.flatten().tolist() == [0.5, 0.5, 0.0] * 2
