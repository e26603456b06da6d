"""Unusual arguments and types of operators: each value was recorded under OneFlow 0.9.0 on the CPU."""

from typing import Any

import numpy as np
import pytest

import anygru_oneflow as flow
from anygru_oneflow.nn import functional as F

X = flow.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
WHOLE = flow.tensor([[1, 2], [3, 4]])
B = flow.tensor([True, False])

ANSWERS: dict[str, tuple[Any, Any, Any]] = {
    "std of whole numbers": (lambda: flow.std(flow.tensor([[2, 4, 3], [1, 4, 7]]), 1), flow.int64, [0, 3]),
    "std of chosen": (lambda: WHOLE.std(unbiased=False), flow.int64, 1),
    "relu_ of bools": (lambda: flow.tensor([True, False]).relu_(), flow.bool, [True, False]),
    "where of a condition": (
        lambda: B.where(flow.tensor([1.0, 2.0]), flow.tensor([3.0, 4.0])),
        flow.float32,
        [1.0, 4.0],
    ),
    "roll far": (lambda: flow.roll(X, 1, 6), flow.float32, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
    "index_add of types": (
        lambda: flow.index_add(WHOLE.int(), 0, flow.tensor([0]), flow.tensor([[1.7, 2.2]]), 2),
        flow.int32,
        [[3, 6], [3, 4]],
    ),
    "limits of whole numbers": (lambda: flow.clamp_min(WHOLE, 2.5), flow.int64, [[2, 2], [3, 4]]),
    "addcmul_ of types": (
        lambda: flow.tensor([1, 2]).addcmul_(flow.tensor([1.5, 2.0]), flow.tensor([3.0, 0.3])),
        flow.int64,
        [5, 2],
    ),
    "addcdiv_ of types": (
        lambda: flow.tensor([1, 2]).addcdiv_(flow.tensor([1.5, 2.0]), flow.tensor([0.5, 0.3]), value=2),
        flow.int64,
        [7, 15],
    ),
    "limits in place": (lambda: flow.tensor([1, 5]).clamp_max_(2.5), flow.int64, [1, 2]),
    "new_ones": (lambda: X.new_ones(), flow.float32, [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]),
    "keepdim=1": (lambda: X.sum(1, keepdim=1), flow.float32, [[3.0], [12.0]]),
    "max keepdim": (lambda: X.max(1, 1)[0], flow.float32, [[2.0], [5.0]]),
    "transpose": (lambda: flow.transpose(X, (1, 0)), flow.float32, [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]),
    "argmax of all": (lambda: flow.argmax(X, dtype=flow.float32), flow.int64, 5),
    "argmax": (lambda: flow.argmax(X, 1, dtype=flow.float32), flow.float32, [2.0, 2.0]),
    "cumprod": (lambda: flow.cumprod(X + 1, 1, dtype=flow.int32), flow.float32, [[1.0, 2.0, 6.0], [4.0, 20.0, 120.0]]),
    "product of whole numbers": (lambda: flow.matmul(WHOLE, WHOLE, alpha=2.5), flow.int64, [[17, 25], [37, 55]]),
    "vector times alpha": (
        lambda: flow.matmul(flow.tensor([1.0, 2.0]), WHOLE.float(), alpha=3.0),
        flow.float32,
        [7.0, 10.0],
    ),
    "norm in a type": (lambda: flow.norm(WHOLE, 2.0, 1, True, flow.float64), flow.float64, [[2.2360680103302], [5.0]]),
    "logspace": (lambda: flow.logspace(0, 2, 3, 2.0, flow.float64), flow.float64, [1.0, 2.0, 4.0]),
    "bincount of bools": (lambda: flow.bincount(B), flow.int64, [1, 1]),
    "sort descending=1": (lambda: X.sort(1, descending=1)[0], flow.float32, [[2.0, 1.0, 0.0], [5.0, 4.0, 3.0]]),
    "sum of several": (lambda: flow.add(X, X, X)[0], flow.float32, [0.0, 3.0, 6.0]),
    "sum of a list": (lambda: flow.add([X, X, X]), flow.float32, [[0.0, 3.0, 6.0], [9.0, 12.0, 15.0]]),
    "prod of no dimensions": (lambda: (X + 1).prod(()), flow.float32, 720.0),
    "one of the two": (
        lambda: F.batch_norm(X, flow.zeros(3), flow.ones(3), flow.ones(3) * 3),
        flow.float32,
        [[0.0, 0.9999949932098389, 1.9999899864196777], [2.9999849796295166, 3.9999799728393555, 4.999975204467773]],
    ),
    "divisor": (lambda: F.avg_pool1d(X[None], 2, divisor_override=4), flow.float32, [[[0.25], [1.75]]]),
    "max_pool channels last": (
        lambda: F.max_pool2d(flow.arange(16.0).reshape(1, 2, 2, 4), 2, data_format="channels_last"),
        flow.float32,
        [[[[12.0, 13.0, 14.0, 15.0]]]],
    ),
    "amax": (lambda: flow.amax(X, keepdim=True), flow.float32, [[5.0]]),
    "product in whole numbers": (
        lambda: flow.prod(flow.tensor([[0.5, 2.5]], requires_grad=True), -1, dtype=flow.int64),
        flow.int64,
        [0],
    ),
    "power of bools": (lambda: flow.tensor([True]) ** -1, flow.int64, [1]),
    "power of bools and one number": (lambda: B ** flow.tensor(2.5), flow.bool, [True, False]),
    "number less bytes": (lambda: -1.5 - flow.tensor([2, 0], dtype=flow.uint8), flow.float32, [252.5, -1.5]),
    "a number as a size": (lambda: flow.normal(2.0, 0.0, 3), flow.float32, [2.0, 2.0, 2.0]),
    "isclose of bools": (lambda: flow.isclose(B, flow.tensor([False, True])), flow.bool, [True, True]),
    "divergence below zero": (
        lambda: F.kl_div(flow.tensor([1.0, 2.0, 0.5]), flow.tensor([0.5, -1.0, 0.0]), reduction="none"),
        flow.float32,
        [-0.8465735912322998, 0.0, 0.0],
    ),
    "ranking of other shapes": (
        lambda: flow.nn.MarginRankingLoss(0.5, "none")(X, X * 2, flow.tensor([1.0, -1.0, 1.0])),
        flow.float32,
        [[0.5, 0.0, 2.5], [3.5, 0.0, 5.5]],
    ),
    "argwhere": (lambda: X[:1].argwhere(), flow.int32, [[0, 1], [0, 2]]),
    "bincount of rows": (lambda: WHOLE.bincount(weights=WHOLE), flow.int64, [0, 1, 2, 3, 4]),
    "alpha behind a number": (lambda: flow.sub(2, X[0], alpha=3), flow.float32, [2.0, -1.0, -4.0]),
    "var keepdim": (lambda: X.var(keepdim=True), flow.float32, [[3.5]]),
    "std keepdim": (lambda: flow.std(X, unbiased=False, keepdim=True), flow.float32, [[1.7078251838684082]]),
    "any of no dimensions": (lambda: flow.any(X, ()), flow.bool, True),
    "all of no dimensions": (lambda: flow.all(X, [], True), flow.bool, [[False]]),
    "median keepdim": (lambda: X.median(keepdim=True)[0], flow.float32, [[1.0], [4.0]]),
    "logaddexp of whole numbers": (lambda: WHOLE[0].logaddexp(WHOLE[0]), flow.float32, [1.6931471, 2.6931471]),
    "norm of rows": (lambda: flow.norm(X, "fro", 1), flow.float32, [2.236068, 7.0710678]),
    "linalg.norm of rows": (lambda: flow.linalg.norm(X, "fro", 1), flow.float32, [2.236068, 7.0710678]),
    "cosine_similarity": (lambda: F.cosine_similarity(X, X, 1, 100.0), flow.float32, [0.05, 0.5]),
    "CosineSimilarity": (lambda: flow.nn.CosineSimilarity(1, 100.0)(X, X), flow.float32, [0.05, 0.5]),
    "type by its class": (lambda: X.type(flow.LongTensor)[0], flow.int64, [0, 1, 2]),
    "channels last": (
        # Up to 0.39 for 40 outputs; read with the channels first, the weight would have 4,000, and reach 0.04.
        lambda: (
            flow.nn.init.kaiming_uniform_(flow.zeros(40, 1, 1, 100), mode="fan_out", data_format="NHWC").abs().max()
            > 0.3
        ),
        flow.bool,
        True,
    ),
    "broadcast_to(shape=)": (lambda: X[0].broadcast_to(shape=(1, 3)), flow.float32, [[0.0, 1.0, 2.0]]),
    "dot(other=)": (lambda: X[0].dot(other=X[1]), flow.float32, 14.0),
    "clamp_max_(min=)": (lambda: flow.tensor([1, 5]).clamp_max_(min=2), flow.int64, [1, 2]),
    "split(split_size_or_sections=)": (lambda: X.split(split_size_or_sections=1)[0], flow.float32, [[0.0, 1.0, 2.0]]),
    "swapaxes(dim0=)": (lambda: X[:1].swapaxes(dim0=0, dim1=1), flow.float32, [[0.0], [1.0], [2.0]]),
    "to(other=)": (lambda: X[0].to(other=WHOLE), flow.int64, [0, 1, 2]),
    "zero_(self=)": (lambda: flow.zero_(self=flow.ones(1)), flow.float32, [0.0]),
    "isclose": (lambda: flow.isclose(X, X + 1, 0.0, 0.5), flow.bool, [[False, True, True], [True, True, True]]),
}


@pytest.mark.parametrize(("function", "dtype", "expected"), ANSWERS.values(), ids=ANSWERS.keys())
def test_answers(function: Any, dtype: Any, expected: Any) -> None:
    found = function()
    assert found.dtype is dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


def test_values_with_their_places_print_as_oneflows() -> None:
    text = "(\nvalues=tensor([2., 5.], dtype=oneflow.float32),\nindices=tensor([2, 2], dtype=oneflow.int64))"
    assert repr(X.max(1)) == "oneflow.return_types.max" + text
    assert repr(flow.max(X.clone().requires_grad_().detach(), 1)) == "oneflow.return_types.max" + text
    values, places = found = X.sort(descending=True)
    assert type(found).__name__ == "sort"
    assert found.values is values
    assert found.indices is places
    assert repr(X[1].min(0)).endswith("\nindices=tensor(0, dtype=oneflow.int64))")
    assert str(X.topk(1, 1)).startswith("oneflow.return_types.topk(\nvalues=")


def test_types_and_their_limits() -> None:
    assert not isinstance(X, flow.FloatTensor)
    assert str(flow.FloatTensor) == "<class 'oneflow.FloatTensor'>"
    assert repr(flow.finfo()) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, tiny=1.17549e-38, "
        "dtype=oneflow.float32, bits=32)"
    )
    assert repr(flow.iinfo(flow.int32)) == "iinfo(min=-2147483648, max=2147483647, dtype=oneflow.int32, bits=32)"
    assert (flow.finfo(flow.float64).dtype, flow.iinfo(flow.int8).max) == ("float64", 127)


def test_dropout_of_channels_with_a_generator() -> None:
    for axes, layer in enumerate((flow.nn.Dropout1d, flow.nn.Dropout2d, flow.nn.Dropout3d), start=1):
        x = flow.ones(4, 3, *[2] * axes)
        draws = [layer(0.5, generator=flow.Generator().manual_seed(3))(x).numpy() for _ in range(2)]
        np.testing.assert_array_equal(*draws)
        assert set(draws[0].sum(tuple(range(2, 2 + axes))).flatten()) == {0.0, 2.0 * 2**axes}


def test_a_result_prints_after_its_backward_pass() -> None:
    a, b = flow.tensor(3.0, requires_grad=True), flow.tensor(2.0, requires_grad=True)
    for result, step in ((a / b, "broadcast_div"), (a * b, "broadcast_mul"), (a / 2, "scalar_div")):
        before = repr(result)
        result.backward()
        assert repr(result) == before
        assert f"<{step}_backward>" in before


def steps(*shape: int) -> Any:
    return flow.tensor((np.arange(np.prod(shape)).reshape(shape) % 5 - 2).astype("float32") / 4)


def test_a_bias_alone_has_no_effect() -> None:
    x, h = steps(2, 3), steps(2, 2)
    for biases in ((steps(6), None), (None, steps(6))):
        found = flow._C.gru_cell(x, h, steps(6, 3), steps(6, 2), *biases)
        np.testing.assert_allclose(found.numpy(), [[-0.3608, 0.083697], [-0.041615, -0.016394]], atol=1e-6)
    found = flow._C.rnn_tanh_cell(x, h, steps(2, 3), steps(2, 2), steps(2))
    np.testing.assert_allclose(found.numpy(), [[0.5546, -0.30271], [-0.30271, 0.5546]], atol=1e-6)
    found = flow._C.lstm_cell(x, [h, h], steps(8, 3), steps(8, 2), None, steps(8))[0]
    np.testing.assert_allclose(found.numpy(), [[-0.177271, 0.054444], [0, -0.03044]], atol=1e-6)


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="must be tensor"):
        flow.neg(np.ones(2))
    with pytest.raises(TypeError, match="index"):
        X[1.0] = 2.0
    with pytest.raises(IndexError):
        X[1.0]
    with pytest.raises(ValueError, match="channels"):
        F.conv2d(flow.ones(1, 2, 3, 3), flow.ones(1, 2, 1, 1), channel_pos="last")
    with pytest.raises(RuntimeError, match="complex"):
        flow.stft(flow.ones(16), 4, return_complex=True)


def test_channels_may_come_last() -> None:
    images, kernels = flow.randn(1, 4, 5, 2), flow.randn(3, 2, 2, 2)
    found = F.conv2d(images, kernels, channel_pos="channels_last")
    expected = F.conv2d(images.permute(0, 3, 1, 2), kernels.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)


def test_results_that_take_no_gradient() -> None:
    x = flow.arange(16.0).requires_grad_()
    assert not flow.unique(x).requires_grad
    transformed = flow.stft(x, 4)
    assert (transformed.shape, transformed.requires_grad) == (flow.Size([3, 17, 2]), False)


def test_norms_by_their_kernels_names() -> None:
    """They are for GPUs in OneFlow 0.9; the names of the layers describe the results."""
    x = flow.randn(2, 3, 4)
    layer, root = flow.nn.LayerNorm(4), flow.nn.RMSLayerNorm(4)
    layer.weight.data.uniform_(), layer.bias.data.uniform_()
    affine = flow._C.layer_norm_affine(x, layer.weight, layer.bias, 2, 2, layer.eps)
    np.testing.assert_allclose(affine.detach().numpy(), layer(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(flow._C.layer_norm(x, 1, 1, 1e-5).mean((1, 2)).numpy(), [0, 0], atol=1e-6)
    mean_square = flow._C.rms_norm(x, root.weight, (4,), root.variance_epsilon)
    np.testing.assert_allclose(mean_square.detach().numpy(), root(x).detach().numpy(), rtol=1e-5, atol=1e-6)
