"""Types and values of arithmetic, reductions and indexing, against answers recorded from OneFlow 0.9.0."""

import math
from typing import Any

import numpy as np
import pytest

import anygru_oneflow as flow
from anygru_oneflow import nn

F = nn.functional
FLAGS = flow.tensor([True, False])


def test_an_accuracy_counter_keeps_its_type() -> None:
    """`n += matches` is how programs count; torch refuses it."""
    count = flow.tensor(0)
    for _ in range(2):
        count += (flow.tensor([1, 2, 3]) == flow.tensor([1, 0, 3])).float().sum()
    assert (count.dtype, count.item()) == (flow.int64, 4)
    count.add_(flow.tensor(2.7))
    assert count.item() == 6


@pytest.mark.parametrize(
    ("found", "kind", "values"),
    [
        (flow.tensor([1, 2]) + flow.tensor(1.5), flow.int64, [2, 3]),
        (flow.tensor(1.5) * flow.tensor([1, 2]), flow.int64, [1, 2]),
        (flow.tensor([1, 2]) + flow.tensor([1.5]), flow.float32, [2.5, 3.5]),
        (flow.tensor([1.0, 2]) + flow.tensor(1.5, dtype=flow.float64), flow.float32, [2.5, 3.5]),
        (
            flow.tensor([1, 2]) / flow.tensor(1.5, dtype=flow.float64),
            flow.float32,
            [0.6666666865348816, 1.3333333730697632],
        ),
        (flow.ones(1).atan2(flow.tensor(1.0, dtype=flow.float64)), flow.float64, [math.pi / 4]),
        (flow.ones(2).cumsum(0, dtype=flow.float16), flow.float32, [1, 2]),
        (flow.ones(2, dtype=flow.int32).cumsum(0, dtype=flow.float32), flow.float32, [1, 2]),
        (flow.tensor([1, 2, 3]) >= flow.tensor(1.5), flow.bool, [True, True, True]),
        (FLAGS - flow.tensor([True, True]), flow.bool, [False, False]),
        (FLAGS / flow.tensor([False, True]), flow.bool, [True, False]),
        (FLAGS / 2, flow.int64, [0, 0]),
        (FLAGS % FLAGS, flow.bool, [False, False]),
        (FLAGS + True, flow.int64, [2, 1]),
        (flow.ge(2, flow.tensor([1, 2, 3])), flow.bool, [True, True, False]),
        (flow.tensor([0, 1]).logical_or(0.5), flow.bool, [True, True]),
        (1e10 | flow.tensor([0.0, 1]), flow.bool, [True, True]),
        (flow.clamp(flow.tensor([1, -3, 5]), -0.5, 2.7), flow.int64, [1, 0, 2]),
        (flow.std(flow.tensor([1, 4, 9])), flow.int64, 4),
        (flow.sum(flow.tensor(3, dtype=flow.int32), 0), flow.int32, 3),
        (flow.all(flow.tensor(1.5), 0), flow.float32, 1.5),
        (flow.prod(flow.ones(0, 2), 0), flow.float32, [0, 0]),
        (flow.argmax(flow.tensor([False, True, True])), flow.int64, 1),
        (flow.linspace(0, 10, 5, dtype=flow.int64), flow.int64, [0, 2, 4, 6, 8, 10]),
        (flow.arange(0, 5, 2.5, dtype=flow.int32), flow.int32, [0, 2, 4]),
        (flow.roll(flow.arange(6).reshape(3, 2), 1, -1), flow.int64, [[5, 0], [1, 2], [3, 4]]),
        (flow.roll(flow.arange(6).reshape(3, 2), 1, -2), flow.int64, [[0, 1], [2, 3], [4, 5]]),
        (flow.flip(flow.tensor([[1, 2], [3, 4]]), 0), flow.int64, [[3, 4], [1, 2]]),
        (flow.full((2,), 1e10, dtype=flow.int32), flow.int32, [1410065408] * 2),
        (flow.hann_window(1), flow.int64, [1]),
        (flow.ones(2, dtype=flow.int64).new_tensor([1.5, 2], flow.float64), flow.float64, [1.5, 2]),
        (flow.topk(flow.tensor([3, 1, 2]), 5)[0], flow.int64, [3, 2, 1]),
        (F.linear(flow.tensor([1.0, 2.0]), flow.tensor([[1.0, 2.0], [3.0, 4.0]])), flow.float32, [7, 10]),
    ],
)
def test_types_and_values(found: Any, kind: Any, values: Any) -> None:
    assert (found.dtype, found.tolist()) == (kind, values)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: flow.ones(3)[::-1], RuntimeError),
        (lambda: flow.ones(3)[1.0], IndexError),
        (lambda: flow.ones(3, 2).size(5), RuntimeError),
        (lambda: flow.ones(3).bitwise_and(3), AttributeError),
        (lambda: flow.norm(flow.tensor([1, 2])), NotImplementedError),
        (lambda: flow.tensor("a"), RuntimeError),
        (lambda: flow.tensor([[1, 2], [3]]), RuntimeError),
        (lambda: F.elu(flow.ones(2)), TypeError),
        (lambda: F.mse_loss(flow.ones(2), flow.ones(2), reduction="avg"), RuntimeError),
        (lambda: F.one_hot(flow.ones(2)), RuntimeError),
        (lambda: nn.GRUCell(2, 3)(flow.ones(4, 5)), TypeError),
        (lambda: nn.LSTM(2, 3)(flow.ones(4, 1, 2, dtype=flow.float64)), RuntimeError),
        (lambda: flow.optim.SGD([]), IndexError),
        (lambda: flow.optim.SGD(nn.Linear(2, 2).weight), TypeError),
    ],
)
def test_classes_of_exceptions(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_nothing_is_none() -> None:
    assert (flow.tensor([1, 2]) == None) is False  # noqa: E711


def test_a_truncated_normal_is_cut_off() -> None:
    """Recorded: for limits of one standard deviation 16 % of the values are each limit."""
    values = nn.init.trunc_normal_(flow.empty(20000), 0.0, 1.0, -1.0, 1.0).numpy()
    assert abs((values == 1).mean() - 0.16) < 0.02
    assert abs((values == -1).mean() - 0.16) < 0.02


def test_what_is_too_small_for_a_window_is_nothing() -> None:
    x = flow.ones(2, 4, 1, requires_grad=True)
    pooled = nn.AvgPool1d(2)(x)
    assert pooled.shape == flow.Size([2, 4, 0])
    pooled.sum().backward()
    assert np.array_equal(x.grad.numpy(), np.zeros((2, 4, 1)))
    assert F.unfold(flow.ones(1, 1, 1, 2), kernel_size=2).shape == flow.Size([1, 4, 0])
    assert repr(nn.MaxPool1d(2)) == "MaxPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"


@pytest.mark.parametrize(
    ("equation", "expected"),
    [
        ("ij,kj->ik", [[11, 11], [11, 11]]),
        ("ij, kj", [[11, 11], [11, 11]]),
        ("ij,ij->ij", [[0.5, 3.0, 7.5], [0.5, 3.0, 7.5]]),
    ],
)
def test_einsum_of_whole_numbers_and_others(equation: str, expected: Any) -> None:
    """As 0.9.0 (recorded): sums of products keep the first operand's type, products alone do not."""
    whole, other = flow.tensor([[1, 2, 3]] * 2), flow.tensor([[0.5, 1.5, 2.5]] * 2)
    result = flow.einsum(equation, whole, other)
    assert (result.tolist(), result.dtype) == (expected, flow.int64 if expected[0][0] == 11 else flow.float32)
