"""Faults that programs found outside of the GRU: each value was recorded under OneFlow 0.9.0 on the CPU."""

import contextlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import anygru_oneflow as flow
from anygru.dialects import NotCoveredError
from anygru.dialects.finder import _module_without_file
from anygru_oneflow import nn

HERE = flow.placement("cpu", [0])
B, P, S = flow.sbp.broadcast, flow.sbp.partial_sum, flow.sbp.split


def test_hooks_see_oneflows_tensors() -> None:
    x = flow.tensor([1.0, -2.0], requires_grad=True)
    seen: list[Any] = []
    x.register_hook(lambda gradient: seen.append(gradient.dtype))
    y = x * x
    y.register_hook(lambda gradient: (gradient > 0).to(flow.float32) * gradient * 3)
    y.sum().backward()
    assert seen[0] is flow.float32
    assert x.grad.tolist() == [6.0, -12.0]


def test_grad_gives_what_hooks_leave() -> None:
    x = flow.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    for tensor, factor in ((x, 100), (y, 10)):
        tensor.register_hook(lambda gradient, factor=factor: gradient * factor)
    found = flow.autograd.grad((y * y).sum(), [y, x])
    assert [each.tolist() for each in found] == [[40.0, 80.0], [8000.0, 16000.0]]


def test_functions_of_programs_see_oneflows_tensors() -> None:
    class Relu(flow.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return (x > 0).to(flow.float32) * x

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            assert x.dtype is gradient.dtype is flow.float32
            return (x > 0).to(flow.float32) * gradient

    x = flow.tensor([1.0, -2.0], requires_grad=True)
    Relu.apply(x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 0.0]


def test_the_default_type_is_that_of_new_tensors() -> None:
    try:
        flow.set_default_dtype(flow.float64)
        assert flow.tensor([1.0]).dtype is flow.Tensor([1.0]).dtype is flow.Tensor(2, 1).dtype is flow.float64
        assert flow.tensor([np.float32(1)]).dtype is flow.eye(2).dtype is flow.linspace(0, 1, 3).dtype is flow.float32
        flow.set_default_tensor_type("oneflow.FloatTensor")
        assert flow.get_default_dtype() is flow.tensor([1.0]).dtype is flow.float32
    finally:
        flow.set_default_dtype(flow.float32)
    with pytest.raises(RuntimeError, match="only floating-point types"):
        flow.set_default_dtype(flow.int32)


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_keeps_the_order_of_equal_values(descending: bool) -> None:
    lengths = np.random.default_rng(0).integers(0, 3, 200)
    expected = np.argsort(-lengths if descending else lengths, kind="stable")
    assert flow.argsort(flow.tensor(lengths), descending=descending).tolist() == expected.tolist()
    assert flow.tensor(lengths).sort(descending=descending)[1].tolist() == expected.tolist()


def test_an_open_sum_is_differentiated() -> None:
    w = flow.ones(4, placement=HERE, sbp=P, requires_grad=True)
    (w * 2).sum().backward()
    assert (w.grad.sbp, w.grad.tolist()) == ((P,), [2.0] * 4)
    cell = nn.GRUCell(3, 4).to_global(placement=HERE, sbp=P)
    cell(flow.ones(2, 3, placement=HERE, sbp=B)).sum().backward()
    assert cell.weight_ih.grad.sbp == (P,)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.RNN])
@pytest.mark.parametrize("batch_first", [False, True])
def test_other_recurrent_layers_take_global_tensors(kind: Any, batch_first: bool) -> None:
    flow.manual_seed(0)
    layer, x = kind(3, 4, 2, bidirectional=True, batch_first=batch_first), flow.randn(5, 2, 3)
    expected, _ = layer(x)
    expected.sum().backward()
    gradient = layer.weight_ih_l0.grad.numpy().copy()
    layer.to_global(placement=HERE, sbp=B)
    output, state = layer(x.to_global(HERE, S(0 if batch_first else 1)))
    output.sum().backward()
    assert output.sbp == (S(0 if batch_first else 1),)
    assert (state[0] if kind is nn.LSTM else state).sbp == (S(1),)
    np.testing.assert_allclose(output.numpy(), expected.numpy(), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(layer.weight_ih_l0.grad.numpy(), gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.RNNCell])
def test_other_cells_take_global_tensors(kind: Any) -> None:
    flow.manual_seed(0)
    cell, x = kind(3, 4), flow.randn(2, 3)
    expected = cell(x)
    cell.to_global(placement=HERE, sbp=B)
    found = cell(x.to_global(HERE, S(0)))
    for a, b in zip(*((r if kind is nn.LSTMCell else (r,)) for r in (found, expected)), strict=True):
        assert a.sbp == (S(0),)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6, atol=1e-6)


def test_steps_that_save_nothing_serve_again() -> None:
    x = flow.tensor([1.0, -2.0], requires_grad=True)
    y = x * 2 / 4
    y.sum().backward()
    (y * 3).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    z = x * x
    z.sum().backward()
    with pytest.raises(RuntimeError, match="released"):
        (z * 3).sum().backward()


SERVING: dict[str, tuple[Any, bool]] = {
    "number": (lambda x: 1 - (-x * 2 / 4 - 1), True),
    "twice": (lambda x: x + x, True),
    "shape": (lambda x: x.clone().view(1, 2).unsqueeze(0).flip(0), True),
    "sum": (lambda x: x.sum(), False),
    "behind": (lambda x: (x.sum() + 1) * 2, False),
    "slice": (lambda x: x[:1], False),
    "join": (lambda x: flow.cat([x, x]), False),
}


@pytest.mark.parametrize(("function", "serves"), SERVING.values(), ids=SERVING.keys())
def test_some_results_serve_backward_twice(function: Any, serves: bool) -> None:
    y = function(flow.tensor([1.0, -2.0], requires_grad=True))
    y.backward(flow.ones_like(y))
    with contextlib.nullcontext() if serves else pytest.raises(RuntimeError, match="released"):
        y.backward(flow.ones_like(y))


REFUSED: dict[str, tuple[Any, type[Exception]]] = {
    "iter": (lambda: list(flow.tensor(1.0)), RuntimeError),
    "norm": (lambda: flow.linalg.norm(flow.ones(2, 2), 2), NotImplementedError),
    "norm of two axes": (lambda: flow.linalg.norm(flow.ones(2, 2, 2), ord=0, dim=(0, 1)), NotImplementedError),
    "matrix_norm": (lambda: flow.linalg.matrix_norm(flow.ones(2, 2), "nuc"), NotImplementedError),
    "momentum": (lambda: nn.BatchNorm1d(1, momentum=None)(flow.ones(2, 1)), TypeError),
}


@pytest.mark.parametrize(("function", "kind"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(function: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        function()


def test_a_static_scale_stays() -> None:
    with pytest.MonkeyPatch.context() as patch:  # as on a machine with a GPU
        patch.setattr(torch.cuda, "is_available", lambda: True)
        patch.setattr(torch.cuda.amp.common, "amp_definitely_not_available", lambda: False)
        scaler = flow.amp.StaticGradScaler(4.0)
    layer = nn.Linear(1, 1)
    optimizer = flow.optim.SGD(layer.parameters(), lr=1.0)
    scaler.scale((layer(flow.ones(1, 1)) * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 4.0


def test_an_error_inside_backward_stays_that_error() -> None:
    x = flow.ones(2, requires_grad=True)
    y = x.exp()

    def hook(gradient: Any) -> Any:
        raise ValueError("mine")

    y.register_hook(hook)
    with pytest.raises(ValueError, match="mine"):
        y.exp().sum().backward()


def test_small_differences() -> None:
    assert flow.zeros(2, dtype=flow.uint8).fill_(300).tolist() == [44, 44]
    assert len(flow.tensor(1.0)) == 0
    assert nn.LSTM(1, 1, 1, 1, 1).batch_first is nn.RNN(1, 1, 1, 1, 1).batch_first is True
    assert flow.linalg.norm(flow.ones(2, 2), 1).item() == flow.linalg.norm(flow.ones(2, 2), "fro").item() == 2.0
    layer = nn.BatchNorm1d(3)
    assert layer(flow.tensor([[1.0, 2.0, 4.0]])).tolist() == [[0.0, 0.0, 0.0]]
    nn.utils.clip_grad_value_(nn.Linear(2, 2).parameters(), 1.0)
    assert (flow.tensor([2, 3]) ** -1).tolist() == [0, 0]
    assert (flow.tensor([2, 3]) ** 2).dtype is flow.int64
    with pytest.raises(AttributeError, match="keys"):
        nn.Linear(1, 1).load_state_dict([1, 2])
    assert nn.Linear(1, 1).train("x").training == "x"
    assert nn.parallel.DistributedDataParallel(nn.Linear(1, 1))._is_ddp_module
    try:
        flow.set_printoptions(sci_mode=False)
        assert str(flow.tensor([1e-6, 1000.0])) == "tensor([    0.0000,  1000.0000], dtype=oneflow.float32)"
    finally:
        flow.set_printoptions(profile="default")


INDEXING: dict[str, Any] = {
    "slice": (lambda x: flow.slice(x, [(0, 3, 2), (None, None, 3)]), [[0.0, 3.0], [12.0, 15.0]]),
    "slice_update": (lambda x: flow.slice_update(x, flow.ones(1, 6), [(1, 2, 1)])[1].sum(), 6.0),
    "gather_nd": (lambda x: flow.gather_nd(x, flow.tensor([[0, 1], [3, 2]])), [1.0, 20.0]),
    "scatter_nd": (lambda x: flow.scatter_nd(flow.tensor([[1], [1], [3]]), x[0, :3], [5]), [0.0, 1.0, 0.0, 2.0, 0.0]),
    "batch_gather": (lambda x: flow.batch_gather(x, flow.tensor([[3, 0]] * 4))[1], [9.0, 6.0]),
    "in_top_k": (lambda x: flow.in_top_k(flow.tensor([3, 1]), flow.tensor([[0.0, 1, 2, 3], [3, 2, 1, 0]]), 1), [True, False]),
    "roc_auc_score": (
        lambda x: flow.roc_auc_score(flow.tensor([[0], [0], [1], [1], [1]]), flow.tensor([[0.1], [0.4], [0.4], [0.8], [0.1]])),
        [pytest.approx(2 / 3)],
    ),
    "nonzero": (lambda x: flow.nonzero(x[0, :3], True)[0], [1, 2]),
    "broadcast_like": (lambda x: flow.broadcast_like(x[0, 1:3], flow.zeros(2, 3), [1]), [[1.0] * 3, [2.0] * 3]),
    "new_zeros": (lambda x: x.new_zeros(2, placement=HERE, sbp=B), [0.0, 0.0]),
    "dropout": (lambda x: nn.Dropout(0.0, generator=flow.Generator("auto"))(x[0, :2]), [0.0, 1.0]),
    "integers": (lambda x: nn.Parameter(flow.tensor([1, 2])), [1, 2]),
    "pixels": (
        lambda x: nn.PixelShuffle(h_upscale_factor=2, w_upscale_factor=1)(x[:2, :4].reshape(1, 4, 1, 2))[0, 1],
        [[6.0, 7.0], [8.0, 9.0]],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("function", "expected"), INDEXING.values(), ids=INDEXING.keys())
def test_functions_that_torch_has_not(function: Any, expected: Any) -> None:
    assert function(flow.arange(24.0).reshape(4, 6)).tolist() == expected


def test_mixed_precision() -> None:
    layer = nn.Linear(3, 2)
    # On the CPU it has no effect (recorded, 0.9.0).
    with flow.amp.autocast("cpu", dtype=flow.float16):
        assert layer(flow.ones(1, 3)).dtype is flow.float32
        assert flow.get_autocast_cpu_dtype() is flow.float16
        assert not flow.is_autocast_enabled()
    decorated = flow.amp.autocast_decorator(flow.autocast("cpu"), layer.forward)
    assert decorated(flow.ones(1, 3)).dtype is flow.float32
    assert flow.get_autocast_cpu_dtype() is flow.bfloat16
    with pytest.raises(RuntimeError, match="must be 'cuda' or 'cpu'"):
        flow.autocast("tpu")
    with flow.cuda.amp.autocast(False, flow.float16):
        assert layer(flow.ones(1, 3)).dtype is flow.float32
    assert isinstance(flow.cuda.amp.autocast(False), flow.amp.autocast)
    scaler = flow.amp.GradScaler()
    optimizer = flow.optim.SGD(layer.parameters(), lr=1.0)
    scaler.scale(layer(flow.ones(1, 3)).sum()).backward()
    before = layer.bias.tolist()
    scaler.step(optimizer)
    scaler.update()
    assert layer.bias.tolist() == pytest.approx([value - 1 for value in before])


def test_checkpointing_computes_again_in_backward() -> None:
    calls = []

    def function(x: Any, y: Any) -> Any:
        calls.append(1)
        return (x * y).sin()

    x = flow.tensor([1.0, 2.0], requires_grad=True)
    flow.utils.checkpoint.checkpoint(function, x, flow.tensor([3.0, 4.0])).sum().backward()
    assert len(calls) == 2
    np.testing.assert_allclose(x.grad.numpy(), [3 * np.cos(3), 4 * np.cos(8)], rtol=1e-6)


def test_tensors_are_shared_with_torch() -> None:
    source = torch.ones(2)
    ours = flow.utils.tensor.from_torch(source)
    ours += 1
    assert (type(source), source.tolist(), type(ours)) == (torch.Tensor, [2.0, 2.0], flow.Tensor)
    assert type(flow.utils.tensor.to_torch(ours)) is torch.Tensor


def test_nested_tensors_become_global() -> None:
    state = flow.utils.global_view.to_global(nn.Linear(2, 2).state_dict(), placement=HERE, sbp=B)
    assert {tensor.sbp for tensor in state.values()} == {(B,)}
    assert all(tensor.is_local for tensor in flow.utils.global_view.to_local(state).values())


def test_types_are_numpys_too() -> None:
    assert flow.convert_oneflow_dtype_to_numpy_dtype(flow.int32) is np.int32


def test_masks_are_of_any_type() -> None:
    assert flow.masked_select(flow.tensor([1.0, 2.0, 3.0]), flow.tensor([1.0, 0.0, 2.0])).tolist() == [1.0, 3.0]


def test_a_module_below_a_refused_one_can_be_imported() -> None:
    deep = _module_without_file("oneflow.one_embedding.options.deep")
    assert isinstance(deep, ModuleType)
    with pytest.raises(NotCoveredError, match="torch.nn.EmbeddingBag"):
        deep.Positive()


def test_tests_for_other_numbers_of_devices_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONEFLOW_TEST_DEVICE_NUM", raising=False)
    tests = flow.framework.unittest

    @tests.skip_unless_1n2d()
    class Two(tests.TestCase):
        pass

    assert Two.__unittest_skip_why__ == "only runs when node_size is 1 and device_num is 2"
    monkeypatch.setenv("ONEFLOW_TEST_DEVICE_NUM", "2")
    assert tests.skip_unless_1n2d()(tests.TestCase) is tests.TestCase


def test_functions_that_need_no_other_process() -> None:
    assert flow._oneflow_internal.cpu_broadcast(b"seed", 0) == b"seed"
    assert isinstance(flow.ones(1), flow._oneflow_internal.Tensor)
    assert nn.modules.utils._pair(3) == (3, 3)
    assert nn.init._calculate_fan_in_and_fan_out(flow.ones(2, 3)) == (3, 2)


def test_of_equal_values_topk_takes_the_first() -> None:
    x = flow.tensor([[1.0, 3.0, 3.0, 2.0, 3.0], [5.0, 5.0, 1.0, 5.0, 0.0]])
    assert flow.topk(x, 3)[1].tolist() == [[1, 2, 4], [0, 1, 3]]
    assert flow.topk(x, 4, largest=False)[1].tolist() == [[0, 3, 1, 2], [4, 2, 0, 1]]


def test_weight_norm() -> None:
    layer = nn.utils.weight_norm(nn.Linear(3, 2))
    assert {name: list(value.shape) for name, value in layer.state_dict().items()} == {
        "bias": [2], "weight_g": [2, 1], "weight_v": [2, 3],
    }  # fmt: skip
    layer.weight_g.data.fill_(2.0)
    layer.weight_v.data.copy_(flow.arange(1.0, 7.0).reshape(2, 3))
    layer.bias.data.fill_(0.0)
    y = layer(flow.ones(1, 3))
    y.sum().backward()
    np.testing.assert_allclose(y.numpy(), [[3.2071347, 3.4188175]], rtol=1e-6)
    np.testing.assert_allclose(layer.weight_g.grad.numpy().ravel(), [1.6035674, 1.7094086], rtol=1e-6)
    np.testing.assert_allclose(layer.weight_v.grad.numpy()[0], [0.30544144, 0.07636037, -0.15272069], rtol=1e-5)
    with pytest.raises(RuntimeError, match="two weight_norm hooks"):
        nn.utils.weight_norm(layer)
    nn.utils.remove_weight_norm(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    assert layer(flow.ones(1, 3)).tolist() == y.tolist()
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found in Linear"):
        nn.utils.remove_weight_norm(layer)


def test_ctc_greedy_decoder() -> None:
    best = np.array([[0, 2, 2], [2, 3, 1], [0, 1, 3], [2, 3, 3], [1, 3, 1], [1, 3, 0]])  # 3 is blank
    log_probs = flow.tensor(np.where(np.arange(4) == best[:, :, None], -1.0, -2.0).astype(np.float32))
    merged, sums = nn.functional.ctc_greedy_decoder(log_probs, flow.tensor([6, 5, 3]))
    assert merged.tolist() == [[0, 2, 0, 2, 1, 0], [2, 1, 0, 0, 0, 0], [2, 1, 0, 0, 0, 0]]
    assert (merged.dtype, sums.tolist()) == (flow.int64, [[6.0], [5.0], [3.0]])
    kept, _ = nn.functional.ctc_greedy_decoder(log_probs, flow.tensor([6, 5, 3]), merge_repeated=False)
    assert kept.tolist()[0] == [0, 2, 0, 2, 1, 1]


def test_combined_margin_loss() -> None:
    cosines = flow.tensor([[-0.1280102, -0.9481475], [-0.3393303, -0.5907027]], requires_grad=True)
    widened = nn.CombinedMarginLoss(0.9, 0.4, 0.15)(cosines, flow.tensor([1, 0], dtype=flow.int32))
    (widened * widened).sum().backward()
    np.testing.assert_allclose(widened.numpy(), [[-0.1280102, -1.1290089], [-0.6765224, -0.5907027]], rtol=1e-5)
    np.testing.assert_allclose(cosines.grad.numpy(), [[-0.2560204, -1.3032137], [-1.1005757, -1.1814054]], rtol=1e-5)


def test_batch_normalizations_of_other_names() -> None:
    x = flow.tensor([[1.0, -1.0], [3.0, 1.0]])
    fused = nn.FusedBatchNorm1d(2)
    assert repr(fused).startswith("FusedBatchNorm1d(num_features=2, eps=1e-05")
    np.testing.assert_allclose(fused(x, flow.ones(2, 2)).numpy(), [[0, 0], [2, 2]], atol=1e-4)
    model = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(2)))
    assert repr(model[0]) == "SyncBatchNorm(2, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)"
    assert isinstance(model[0], nn.Module)
    assert isinstance(model[0].weight, nn.Parameter)


@pytest.mark.parametrize("shape", [(2, 4), (4, 2), (2, 2, 2)])
def test_orthogonal_rows_or_columns(shape: tuple[int, ...]) -> None:
    weight = nn.Parameter(flow.zeros(*shape))
    assert nn.init.orthogonal_(weight, gain=2.0) is weight
    matrix = weight.detach().numpy().reshape(shape[0], -1)
    products = matrix @ matrix.T if shape[0] == 2 else matrix.T @ matrix
    np.testing.assert_allclose(products, 4 * np.eye(2), atol=1e-5)
    assert flow.zeros(*shape).orthogonal_().shape == shape


def test_numbers_like_a_tensor_are_whole() -> None:
    like = flow.zeros(2, 3)
    assert flow.randint_like(like, 3).dtype == flow.int64
    assert flow.randint_like(like, 1, 3, dtype=flow.float32).dtype == flow.float32
