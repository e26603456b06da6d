"""Careless programs: results changed in place, NumPy among tensors, arrays for tensors (recorded in 0.9.0)."""

from typing import Any

import numpy as np
import pytest

import anygru_oneflow as flow
from anygru_oneflow import nn

CHANGES = ["y[0] = 0.0", "y += 1", "y.mul_(2.0)", "y[-1].mul_(0.0)", "y.masked_fill_(y > 0, 0.0)", "h *= 2"]


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN])
def test_results_of_recurrent_layers_change_in_place(kind: Any, first: bool, both: bool) -> None:
    """The gradient is the same as for the same change of a copy."""
    layer, x = kind(3, 4, 2, batch_first=first, bidirectional=both), flow.randn(5, 5, 3)

    def gradients(change: str, copied: bool) -> list[Any]:
        y, h = layer(x)
        h = h[0] if kind is nn.LSTM else h
        names = {"y": y.clone() if copied else y, "h": h.clone() if copied else h}
        exec(change, names)
        layer.zero_grad(set_to_none=True)
        (names["y"] ** 2).sum().backward() if "y" in change else (names["h"] ** 2).sum().backward()
        return [weight.grad.numpy() for weight in layer.parameters()]

    for change in CHANGES:
        for mine, its in zip(gradients(change, False), gradients(change, True), strict=True):
            np.testing.assert_allclose(mine, its, rtol=1e-5, atol=1e-6, err_msg=change)


def test_results_of_inference_mode_are_plain_tensors() -> None:
    with flow.inference_mode():
        y = nn.Linear(3, 2)(flow.ones(2, 3))
        with flow.inference_mode(False):
            assert flow.is_grad_enabled()
    weight = nn.Parameter(flow.ones(2))
    (y * weight).sum().backward()
    np.testing.assert_allclose(weight.grad.numpy(), y.numpy().sum(0), rtol=1e-6)
    assert y.add_(1).requires_grad_().requires_grad
    assert not flow.inference_mode()(flow.is_grad_enabled)()
    assert flow.is_grad_enabled()


@pytest.mark.parametrize("number", [np.float32(2.5), np.float64(1.5), np.int64(3), np.bool_(True)])
def test_numbers_of_numpy_with_tensors_give_arrays(number: Any) -> None:
    weight = flow.ones(3, requires_grad=True)
    for result in (number + weight, number * weight, number / weight, number > weight, number == weight):
        assert type(result) is np.ndarray
    assert isinstance(weight * float(number), flow.Tensor)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, a: x @ a,
        lambda x, a: flow.matmul(a, x),
        lambda x, a: nn.Linear(3, 2)(a),
        lambda x, a: nn.functional.mse_loss(a, x),
        lambda x, a: nn.functional.l1_loss(x, a),
    ],
)
def test_an_array_for_a_tensor_is_a_type_error_that_names_it(call: Any) -> None:
    with pytest.raises(TypeError, match="ndarray"):
        call(flow.ones(2, 3), np.ones((2, 3), dtype="float32"))


X = flow.tensor([[0.1, 0.2], [0.3, 0.4]])
OTHERS: list[Any] = [[[0.1, 0.2], [0.3, 0.4]], 0.5, 2, (0.1, 0.2), None, "a", np.ones((2, 2), dtype="float32")]
LABELS = flow.tensor([0, 1])
TAKES_A_TENSOR: dict[str, Any] = {
    "x": [flow.softmax, flow.mean, flow.sum, flow.std, flow.log_softmax, flow.prod, flow.all, nn.functional.softmax],
    "input": [
        nn.SmoothL1Loss(), nn.BCEWithLogitsLoss(), nn.MSELoss(), nn.CrossEntropyLoss(),
        nn.functional.cross_entropy, nn.NLLLoss(), nn.functional.mse_loss, nn.functional.binary_cross_entropy,
    ],
    "target": [lambda other, _, loss=loss: loss(X, other) for loss in (nn.NLLLoss(), nn.functional.cross_entropy)],
    "mask": [lambda other, _: X.masked_fill(other, 0.0), lambda other, _: flow.masked_fill(X, other, 0.0)],
    "source": [lambda other, _: X.index_add(0, LABELS, other)],
    "other": [lambda other, _: X.allclose(other)],
}  # fmt: skip


@pytest.mark.parametrize(
    ("argument", "function"), [(name, each) for name in TAKES_A_TENSOR for each in TAKES_A_TENSOR[name]]
)
def test_another_object_for_a_tensor_is_a_type_error_that_names_the_argument(argument: str, function: Any) -> None:
    for other in OTHERS:
        given = (other,) if argument == "x" else (other, LABELS)
        with pytest.raises(TypeError, match=rf"argument '{argument}' .*must be .*{type(other).__name__}"):
            function(*given)


def test_each_layer_refuses_an_object_that_is_no_tensor() -> None:
    for layer in (nn.Softmax(1), nn.LogSoftmax(1), nn.Flatten(), nn.Dropout(), nn.GLU()):
        with pytest.raises(
            TypeError, match=rf"{type(layer).__name__}\(\): argument '\w+' must be tensor, not <class 'list'>"
        ):
            layer([[0.1, 0.2]])
    for call in (flow.logical_and, flow.logical_or, flow.logical_xor):
        with pytest.raises(TypeError, match="'other' must be tensor"):
            call(X, [1.0])


def test_an_attribute_error_of_a_program_remains_one() -> None:
    class Reader(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.shape

    for model in (Reader(), nn.Sequential(Reader())):
        with pytest.raises(AttributeError, match="'list' object has no attribute 'shape'"):
            model([1.0])


def test_numbers_and_printed_forms() -> None:
    for convert in (int, float):
        with pytest.raises(AssertionError, match="one element"):
            convert(flow.ones(2))
    assert repr(nn.UpsamplingNearest2d(size=(3, 4))) == "UpsamplingNearest2d(size=(3, 4), mode=nearest)"
    assert repr(nn.UpsamplingBilinear2d(scale_factor=2.5)) == "UpsamplingBilinear2d(scale_factor=2.5, mode=bilinear)"
    whole = nn.Upsample(scale_factor=(2, 3))
    assert repr(whole) == "Upsample(scale_factor=(2, 3), mode=nearest)"
    assert whole(flow.ones(1, 1, 2, 2)).shape == (1, 1, 4, 6)


@pytest.mark.parametrize("make", [flow.linspace, flow.logspace])
def test_a_negative_number_of_steps_is_an_error(make: Any) -> None:
    with pytest.raises(RuntimeError, match="got -1"):
        make(0, 1, -1)


def test_a_graph_without_its_base_constructor_is_an_error() -> None:
    class Forgotten(nn.Graph):
        def __init__(self) -> None:
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"super\(\).__init__"):
        Forgotten()


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_schedule_leaves_the_rate_of_a_group_that_was_added_after_it(wrapped: bool) -> None:
    """Programs add a group to train more layers from some epoch on. 0.9.0 gives the same rates."""
    optimizer = flow.optim.SGD([nn.Parameter(flow.ones(1))], lr=1.0)
    schedule = flow.optim.lr_scheduler.StepLR(optimizer, 1, 0.1)
    if wrapped:
        schedule = flow.optim.lr_scheduler.WarmupLR(flow.optim.lr_scheduler.StepLR(optimizer, 3, 0.1), 0.1, 2)
    optimizer.add_param_group({"params": [nn.Parameter(flow.ones(1))], "lr": 0.7})
    rates = []
    for _ in range(4):
        optimizer.step()
        schedule.step()
        rates.append([group["lr"] for group in optimizer.param_groups])
    expected = [0.55, 1.0, 0.1, 0.1] if wrapped else [0.1, 0.01, 0.001, 0.0001]
    np.testing.assert_allclose(rates, [[rate, 0.7] for rate in expected], rtol=1e-6)


def test_a_plateau_leaves_the_rate_of_a_later_group() -> None:
    optimizer = flow.optim.SGD([nn.Parameter(flow.ones(1))], lr=1.0)
    schedule = flow.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
    optimizer.add_param_group({"params": [nn.Parameter(flow.ones(1))], "lr": 0.7})
    for _ in range(2):
        schedule.step(1.0)
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.7]


@pytest.mark.parametrize("fill", ["uniform_", "normal_", "exponential_"])
@pytest.mark.parametrize("part", [..., 0])
def test_random_numbers_overwrite_a_parameter_outside_of_autograd(fill: str, part: Any) -> None:
    """`self.weight.uniform_(-a, a)` in a constructor, without `no_grad`, as in a port of ELMo."""
    weight = nn.Parameter(flow.zeros(2, 3))
    drawn = weight if part is ... else weight[part]
    assert getattr(drawn, fill)(0.5) is drawn
    assert (weight[part].numpy() != 0).all()
    (weight * weight).sum().backward()
    np.testing.assert_array_equal(weight.grad.numpy(), 2 * weight.numpy())


def test_a_part_of_a_parameter_is_filled_outside_of_autograd() -> None:
    weight = nn.Parameter(flow.ones(3, 2))
    assert weight[0].fill_(3.0).tolist() == weight[0].tolist() == [3, 3]
    weight[1].zero_()
    (weight * weight).sum().backward()
    np.testing.assert_array_equal(weight.grad.numpy(), [[6, 6], [0, 0], [2, 2]])
    for change in (weight.fill_, weight.zero_, flow.zero_):
        with pytest.raises(RuntimeError, match="leaf"):
            change(*([2.0] if change == weight.fill_ else [weight] if change is flow.zero_ else []))
