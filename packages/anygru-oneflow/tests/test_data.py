"""Data sets, samplers and loaders; types and refusals were recorded under OneFlow 0.9.0."""

import collections
from typing import Any

import numpy as np
import pytest

import anygru_oneflow as flow
from anygru_oneflow.utils import data
from anygru_oneflow.utils.data._utils.collate import default_convert
from anygru_oneflow.utils.data.dataloader import default_collate


class Pairs(data.Dataset):
    """A tensor and a number each."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> Any:
        return flow.tensor(float(index)), index


class Backwards(data.Sampler):
    def __init__(self, source: Any) -> None:
        super().__init__(source)
        self.source = source

    def __iter__(self) -> Any:
        return iter(range(len(self.source) - 1, -1, -1))


class Tenfold(data.Subset):
    def __getitem__(self, index: int) -> Any:
        return 10 * super().__getitem__(index)


def test_workers_give_the_batches_of_one_process() -> None:
    for workers in (0, 2):
        batches = list(data.DataLoader(Pairs(), 2, num_workers=workers))
        assert [[part.tolist() for part in batch] for batch in batches] == [[[0, 1]] * 2, [[2, 3]] * 2, [[4]] * 2]
        assert {type(part) for batch in batches for part in batch} == {flow.Tensor}


BATCHES = {
    "Python's floats": ([1.5, 2.0], flow.float64),
    "NumPy's floats": ([np.float64(1.5), np.float64(2)], flow.float32),
    "arrays": ([np.ones(2), np.zeros(2)], flow.float64),
    "whole numbers": ([1, 2], flow.int64),
    "bools": ([True, False], flow.bool),
}


@pytest.mark.parametrize(("samples", "dtype"), BATCHES.values(), ids=BATCHES.keys())
def test_types_of_batches(samples: list[Any], dtype: Any) -> None:
    batch = default_collate(samples)
    assert (type(batch), batch.dtype, len(batch)) == (flow.Tensor, dtype, 2)


Point = collections.namedtuple("Point", "x y")


def test_nested_samples() -> None:
    ordered = [collections.OrderedDict(x=1, name="a"), collections.OrderedDict(x=2, name="b")]
    batch = default_collate(ordered)
    assert (type(batch), batch["x"].tolist(), batch["name"]) == (dict, [1, 2], ["a", "b"])
    points = default_collate([Point(1, (2, 3)), Point(4, (5, 6))])
    assert (points.x.tolist(), [part.tolist() for part in points.y]) == ([1, 4], [[2, 5], [3, 6]])
    with pytest.raises(RuntimeError, match="equal size"):
        default_collate([[1, 2], [3]])
    for wrong in (None, np.array(["text"])):
        with pytest.raises(TypeError, match="must contain"):
            default_collate([wrong])


def test_samples_that_stay_alone() -> None:
    array = np.ones(2)
    samples = [array, (array, "a"), {"x": np.int64(3)}, Point(array, 1)]
    alone, pair, named, point = data.DataLoader(samples, batch_size=None)
    assert (type(alone), alone.dtype, type(point), type(point.x)) == (flow.Tensor, flow.float64, Point, flow.Tensor)
    assert (type(pair), type(pair[0]), pair[1], named["x"].item()) == (list, flow.Tensor, "a", 3)
    assert default_convert(flow.ones(1)).tolist() == [1]


def test_own_samplers_and_parts() -> None:
    batches = data.DataLoader(Pairs(), 2, sampler=Backwards(Pairs()))
    assert [batch[1].tolist() for batch in batches] == [[4, 3], [2, 1], [0]]
    assert [batch.tolist() for batch in data.DataLoader(Tenfold([1, 2, 3], [2, 0]), 2)] == [[30, 10]]
    with pytest.raises(NotImplementedError):
        iter(data.Sampler([1]))


def test_iterators_and_prefetching() -> None:
    batches = iter(data.DataLoader(Pairs(), 3, prefetch_factor=2))
    assert batches.next()[1].tolist() == [0, 1, 2]
    assert data.DataLoader(Pairs()).prefetch_factor == 2
    with pytest.raises(ValueError, match="prefetch_factor"):
        data.DataLoader(Pairs(), prefetch_factor=3)


def _send(number: int, queue: Any) -> None:
    queue.put((number, flow.ones(2) * number))


def test_a_sent_tensor_is_a_copy_and_outlives_its_sender() -> None:
    """torch's shared memory is gone with the process that sent it, and shows the receiver's changes to the sender."""
    processes = flow.multiprocessing.get_context("fork")
    queue = processes.Queue()
    sender = processes.Process(target=_send, args=(3, queue))
    sender.start()
    sender.join(0.5)
    queue_of_own, sent = processes.SimpleQueue(), flow.nn.Parameter(flow.ones(2))
    queue_of_own.put(sent)
    received = queue_of_own.get()
    received.data[0] = 9.0
    assert (type(received), received.tolist(), sent.tolist()) == (flow.nn.Parameter, [9.0, 1.0], [1.0, 1.0])
    number, tensor = queue.get(timeout=20)
    sender.join()
    assert (number, tensor.tolist(), type(tensor)) == (3, [3.0, 3.0], flow.Tensor)
    assert issubclass(flow.multiprocessing.ProcessRaisedException, Exception)
