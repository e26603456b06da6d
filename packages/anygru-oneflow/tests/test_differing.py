"""Where OneFlow computes, copies, keeps and prints otherwise than torch."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anygru_oneflow as flow
from anygru_oneflow import nn
from anygru_oneflow.nn.utils import rnn

MATRIX = flow.tensor([[1.0, -2.0], [3.0, 4.0]])
LABELS = flow.tensor([3, 1, 3, 2])


def leaf() -> flow.Tensor:
    return flow.tensor([1.0, 2.0, 3.0], requires_grad=True)


VALUES: dict[str, tuple[Any, Any]] = {
    "norm": (MATRIX.norm(), 30**0.5),
    "norm of columns": (MATRIX.norm(1), 6),
    "norm of rows": (flow.norm(MATRIX, float("inf")), 7),
    "norm of values": (MATRIX.norm(3), 100 ** (1 / 3)),
    "softmax of 2": (flow.softmax(MATRIX).sum(dim=1), [1, 1]),
    "softmax of 3": (nn.functional.softmax(MATRIX[None]), np.ones((1, 2, 2))),
    "log_softmax of 1": (flow.tensor([0.0, 0.0]).log_softmax(), np.log([0.5, 0.5])),
    "where": (flow.where(MATRIX > 0, MATRIX, 0.5), [[1, 0.5], [3, 4]]),
    "where by numbers": (flow.where(flow.tensor([[0, 1], [1, 0]]), MATRIX, MATRIX * 2), [[2, -2], [3, 8]]),
    "and": (flow.tensor([5]) & flow.tensor([2]), [True]),
    "xor": (flow.tensor([5]) ^ flow.tensor([2]), [False]),
    "argwhere": (flow.argwhere(flow.tensor([0, 2])), [[1]]),
    "sort": (MATRIX.sort(dim=1).indices, [[1, 0], [0, 1]]),
    "array + tensor": (np.ones((2, 2), "float32") + MATRIX, [[2, -1], [4, 5]]),
    "array @ tensor": (np.ones((1, 2), "float32") @ MATRIX, [[4, 2]]),
    "exp": (np.exp(MATRIX), np.exp([[1, -2], [3, 4]])),
    "matmul": (flow.matmul(MATRIX, MATRIX, transpose_a=True, transpose_b=True, alpha=2.0), [[-10, 30], [-20, 20]]),
    "bmm": (flow.bmm(MATRIX[None], MATRIX[None], transpose_b=True), [[[5, -5], [-5, 25]]]),
    "masked_fill by numbers": (MATRIX.masked_fill(flow.tensor([[1, 0], [0, 2]]), 5.0), [[5, -2], [3, 5]]),
    "size": (flow.Tensor(flow.Size([2, 3])).shape, [2, 3]),
    "column of labels": (
        nn.functional.cross_entropy(MATRIX, flow.tensor([[0], [1]])),
        (np.log1p(np.exp(-3)) + np.log1p(np.exp(-1))) / 2,
    ),
}


@pytest.mark.parametrize(("found", "expected"), VALUES.values(), ids=VALUES.keys())
def test_values(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5)


def test_types() -> None:
    assert flow.where(MATRIX > 0, MATRIX, 0.5).dtype is flow.float64
    assert (flow.argwhere(MATRIX).dtype, MATRIX.argsort().dtype) == (flow.int32, flow.int32)
    assert type(np.ones((2, 2), "float32") + MATRIX) is np.ndarray
    with pytest.raises(RuntimeError, match="1-D or 2-D"):
        MATRIX[None].norm(1)


@pytest.mark.parametrize(("ordered", "values", "places", "counts"), [(True, [1, 2, 3], [2, 0, 2, 1], [1, 1, 2])])
def test_unique(ordered: bool, values: list[int], places: list[int], counts: list[int]) -> None:
    found = flow.unique(LABELS, ordered, return_inverse=True, return_counts=True)
    assert [part.tolist() for part in found] == [values, places, counts]
    assert found[1].dtype is flow.int32
    unordered, inverse = flow.unique(LABELS, sorted=False, return_inverse=True)
    assert (unordered.tolist(), inverse.tolist()) == ([3, 1, 2], [0, 1, 0, 2])


INTS = flow.tensor([3, -2])
FLAGS = flow.tensor([True, False])

TYPED: dict[str, tuple[Any, Any, list]] = {
    "minus": (-INTS, flow.float32, [-3, 2]),
    "neg of bools": (flow.neg(FLAGS), flow.float32, [-1, 0]),
    "sign": (INTS.sign(), flow.float32, [1, -1]),
    "square": (flow.square(INTS), flow.float32, [9, 4]),
    "power of tensors": (INTS**INTS, flow.float32, [27, 0.25]),
    "power of a tensor": (INTS**2, flow.int64, [9, 4]),
    "bools less a number": (1 - FLAGS, flow.int64, [0, 1]),
    "bools less bools": (FLAGS - FLAGS, flow.bool, [False, False]),
    "product": (INTS.to(flow.int32).prod(dim=0, keepdim=True), flow.int32, [-6]),
    "product over axes": (flow.prod(flow.tensor([[[1.0, 2.0]], [[3.0, 4.0]]]), dim=(0, 1)), flow.float32, [3, 8]),
    "product of bools": (FLAGS.prod(dim=-1, keepdim=True), flow.int64, [0]),
    "Tensor of a tensor": (flow.Tensor(INTS), flow.int64, [3, -2]),
    "state": (flow.get_rng_state()[:0], flow.uint8, []),
}


@pytest.mark.parametrize(("found", "dtype", "values"), TYPED.values(), ids=TYPED.keys())
def test_types_of_results(found: Any, dtype: Any, values: list) -> None:
    assert (found.dtype, found.tolist()) == (dtype, values)


def test_augmented_assignment() -> None:
    x = kept = flow.tensor([7.0, -7.0])
    x %= 4
    assert (x.tolist(), kept.tolist()) == ([3.0, -3.0], [7.0, -7.0])
    x **= 2
    x //= 2
    assert (x.tolist(), kept.tolist()) == ([4.0, 4.0], [7.0, -7.0])
    kept += 1
    assert kept.tolist() == [8.0, -6.0]


def test_limits_and_sizes() -> None:
    assert (flow.finfo(flow.float16).max, flow.iinfo(flow.int8).min) == (65504, -128)
    with pytest.raises(TypeError, match="item '1' is 'str'"):
        flow.Size([1, "a"])


def test_set_grad_enabled_works_in_a_block_alone() -> None:
    flow.set_grad_enabled(False)
    assert flow.is_grad_enabled()
    with flow.set_grad_enabled(False):
        assert not (leaf() * 2).requires_grad
    assert flow.set_grad_enabled(False)(flow.is_grad_enabled)() is False
    assert flow.is_grad_enabled()


class Double(flow.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: flow.Tensor) -> flow.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: flow.Tensor) -> flow.Tensor:
        return gradient * 2


def test_a_function_is_called_by_an_instance_too() -> None:
    x = leaf()
    Double()(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_copy_takes_arrays_and_is_not_recorded() -> None:
    x = leaf()
    assert x.copy_(np.array([4, 5, 6], "float32")) is None
    assert (x.tolist(), x.is_leaf, x.requires_grad) == ([4.0, 5.0, 6.0], True, True)
    y = x * 1
    y.copy_(flow.ones(3))
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(AssertionError, match="must be oneflow.float32, got float64"):
        x.copy_(np.ones(3))
    with pytest.raises(AssertionError, match="shape"):
        x.copy_(np.ones(1, "float32"))


def test_setting_data_drops_the_gradient() -> None:
    x = leaf()
    (x * 2).sum().backward()
    x.data -= 0.5 * x.grad
    assert (x.tolist(), x.grad, x.requires_grad) == ([0.0, 1.0, 2.0], None, True)
    layer = nn.Linear(2, 1)
    layer(flow.ones(1, 2)).sum().backward()
    weight = layer.weight
    assert layer.double().weight is weight
    assert (weight.dtype, weight.grad) == (flow.float64, None)
    with pytest.raises(RuntimeError, match="leaf"):
        (x * 2).data = flow.zeros(3)


def test_a_graph_serves_once() -> None:
    x = leaf()
    total = x.sum()
    total.backward(retain_graph=True)
    total.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        total.backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_deep_copies() -> None:
    x = leaf()
    x.sum().backward()
    assert (copy.deepcopy(x).requires_grad, copy.deepcopy(x * 2).tolist()) == (False, [2.0, 4.0, 6.0])
    layer = nn.Linear(1, 1)
    layer(flow.ones(1, 1)).sum().backward()
    layer.register_forward_hook(lambda module, arguments, result: result * 0)
    with pytest.warns(UserWarning, match="hooks will not be remained"):
        twin = copy.deepcopy(layer)
    assert (layer(flow.ones(1, 1)).item(), twin.weight.grad, twin.weight.requires_grad) == (0.0, None, True)
    assert twin(flow.ones(1, 1)).item() != 0.0


TEXTS: dict[str, tuple[Any, str]] = {
    "number": (lambda x: x * 2, "scalar_mul"),
    "tensor": (lambda x: x * leaf(), "broadcast_mul"),
    "sum": (lambda x: x.sum(), "reduce_sum"),
    "power": (lambda x: x**2, "scalar_pow"),
    "view": (lambda x: x.view(3, 1), "view::reshape"),
    "layer": (lambda x: nn.Linear(3, 1)(x[None]), "broadcast_add"),
    "loss": (lambda x: nn.MSELoss()(x, flow.zeros(3)), "scalar_mul"),
    "labels": (lambda x: nn.CrossEntropyLoss()(x[None], flow.tensor([0])), "broadcast_div"),
    "other": (lambda x: x.log_softmax(dim=0), "log_softmax"),
    "GRU": (lambda x: nn.GRU(3, 2)(x.expand(2, 1, 3))[0], "stack"),
    "function of a program": (lambda x: Double.apply(x), "Double"),
    "sum of tensors": (lambda x: x + x, "add_n"),
    "sum of shapes": (lambda x: x[None] + x, "broadcast_add"),
    "tensor without dimensions": (lambda x: x / flow.tensor(2.0), "broadcast_div"),
    "number over a tensor": (lambda x: x.sum() * flow.tensor(2.0), "broadcast_mul"),
    "layer of three dimensions": (lambda x: nn.Linear(3, 1)(x.expand(2, 2, 3)), "broadcast_add"),
    "product": (lambda x: nn.Linear(3, 1, bias=False)(x.expand(2, 2, 3)), "broadcast_matmul"),
    "softmax": (lambda x: x.expand(2, 3).softmax(0), "view::transpose"),
    "sum of a loss": (lambda x: nn.BCEWithLogitsLoss(reduction="sum")(x, x.detach()), "reduce_sum"),
    "convolution": (lambda x: nn.Conv1d(1, 1, 1, bias=False)(x[None, None]), "conv1d"),
    "bias": (lambda x: nn.Conv1d(1, 1, 1)(x[None, None]), "bias_add"),
    "pooling": (lambda x: nn.MaxPool2d(1)(x[None, None, None]), "max_pool_2d"),
    "padding": (lambda x: nn.ReplicationPad2d(1)(x[None, None, None]), "replication_pad2d"),
}


@pytest.mark.parametrize(("make", "name"), TEXTS.values(), ids=TEXTS.keys())
def test_printed_names_of_the_graph(make: Any, name: str) -> None:
    assert f"grad_fn=<{name}_backward>)" in str(make(leaf()))


def test_printed_leaves_and_infinity() -> None:
    x = leaf()
    assert str(x).endswith("requires_grad=True)")
    x.sum().backward()
    assert str(x).endswith("grad_fn=<accumulate_grad>)")
    assert str(flow.tensor([float("inf"), 1.0])) == "tensor([       inf, 1.0000e+00], dtype=oneflow.float32)"


NONFINITE = {
    "NaN": ([float("nan"), 1.0], "[   nan, 1.0000]"),
    "zero": ([0.0, float("nan")], "[0.0000, nan]"),
    "large": ([1e9, float("nan")], "[1000000000.0000,             nan]"),
    "far apart": ([float("nan"), 1e6, 1e-3], "[       nan, 1.0000e+06, 1.0000e-03]"),
    "infinities": ([float("inf"), -float("inf")], "[ inf, -inf]"),
    "infinity and zero": ([0.0, float("inf")], "[0.0000e+00, inf]"),
    "NaN alone": ([float("nan")], "[nan]"),
}


@pytest.mark.parametrize(("values", "text"), NONFINITE.values(), ids=NONFINITE.keys())
def test_printed_infinities_and_nan(values: list, text: str) -> None:
    assert str(flow.tensor(values)) == f"tensor({text}, dtype=oneflow.float32)"


def test_printed_doubles_keep_their_digits() -> None:
    values = flow.tensor([16777217.5, float("nan")], dtype=flow.float64)
    assert str(values) == "tensor([16777217.5000,           nan], dtype=oneflow.float64)"


def test_containers_and_losses() -> None:
    layers = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    del layers[0]
    assert [name for name, _ in layers.named_children()] == ["1", "2"]
    with pytest.raises(TypeError, match="nn.Parameter or None required"):
        nn.ParameterList([flow.ones(1)])
    with pytest.raises(AssertionError, match="reduction must be"):
        nn.MSELoss(reduction="average")


def test_packed_sequences_move_and_unpack() -> None:
    sequences = [flow.ones(3, 2), flow.zeros(1, 2)]
    packed = rnn.pack_sequence(sequences)
    assert packed.cpu().data.shape == (4, 2)
    assert [sequence.shape for sequence in rnn.unpack_sequence(packed)] == [(3, 2), (1, 2)]
    output, _ = nn.GRU(2, 3)(packed)
    assert isinstance(output, rnn.PackedSequence)
    assert len(rnn.unpad_sequence(rnn.pad_sequence(sequences), flow.tensor([3, 1]))) == 2
    with pytest.raises(RuntimeError, match=r"len\(lengths\)"):
        rnn.pack_padded_sequence(flow.ones(3, 2, 1), [])
    with pytest.raises(RuntimeError, match="time step"):
        nn.GRU(2, 3)(flow.ones(0, 1, 2))


def test_saved_types_sizes_ties_and_folders(tmp_path: Path) -> None:
    tensor = flow.ones(2)
    flow.save({"a": tensor, "b": [tensor], "type": flow.float16, "size": flow.Size([1, 2])}, tmp_path / "new" / "state")
    found = flow.load(tmp_path / "new" / "state")
    assert found["a"] is found["b"][0]
    assert len(list((tmp_path / "new" / "state").iterdir())) == 2
    assert (found["type"], type(found["size"]), found["size"]) == (flow.float16, flow.Size, (1, 2))
