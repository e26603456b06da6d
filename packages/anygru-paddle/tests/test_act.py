"""The argument `act` names operators of Paddle 2.6.2, with the operators' own defaults (recorded)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import anygru_paddle as paddle
from anygru_paddle import fluid

FORMULAS: dict[str, Callable[[Any], Any]] = {
    "leaky_relu": lambda x: np.where(x > 0, x, 0.02 * x),
    "hard_sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_shrink": lambda x: np.where(np.abs(x) > 0.5, x, 0),
    "tanh_shrink": lambda x: x - np.tanh(x),
    "logsigmoid": lambda x: -np.log1p(np.exp(-x)),
    "brelu": lambda x: np.clip(x, 0, 24),
    "soft_relu": lambda x: np.log1p(np.exp(x)),
    "stanh": lambda x: 1.7159 * np.tanh(0.67 * x),
    "relu6": lambda x: np.clip(x, 0, 6),
    "swish": lambda x: x / (1 + np.exp(-x)),
    "abs": np.abs,
    "exp": np.exp,
    "square": np.square,
    "sqrt": np.sqrt,
}
X = np.linspace(-3.5, 7.5, 12).reshape(6, 2)


def _batch_norm(name: str) -> Any:
    layer = paddle.nn.BatchNorm(2, act=name, epsilon=0.0)
    layer.eval()  # with the statistics 0 and 1 values stay
    return layer(paddle.to_tensor(X, "float32"))


def _linear(name: str) -> Any:
    layer = fluid.dygraph.Linear(2, 2, act=name)
    layer.weight.set_value(paddle.eye(2))
    return layer(paddle.to_tensor(X, "float32"))


def _sum(name: str) -> Any:
    x = paddle.to_tensor(X, "float32")
    return fluid.layers.elementwise_add(x, paddle.zeros_like(x), act=name)


def _helper(name: str) -> Any:
    return fluid.layer_helper.LayerHelper("own", act=name).append_activation(paddle.to_tensor(X, "float32"))


@pytest.mark.parametrize("compute", [_batch_norm, _linear, _sum, _helper])
@pytest.mark.parametrize("name", FORMULAS)
def test_act_is_the_operator(name: str, compute: Callable[[str], Any]) -> None:
    with np.errstate(invalid="ignore"):
        expected = FORMULAS[name](X)
    np.testing.assert_allclose(compute(name).numpy(), expected, rtol=2e-6, atol=2e-6)


def test_other_names_are_refused() -> None:
    for name in ("leakyrelu", "hardswish", "gumbel_softmax", 3):
        with pytest.raises(ValueError, match="act must be one of abs"):
            _batch_norm(name)  # type: ignore[arg-type]


def test_is_test_keeps_the_statistics_of_the_batch() -> None:
    x = paddle.to_tensor(X, "float32")
    np.testing.assert_array_equal(paddle.nn.BatchNorm(2, is_test=True)(x).numpy(), paddle.nn.BatchNorm(2)(x).numpy())


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("relu6", [0.0, 6.0], [0, 0]),
        ("brelu", [0.0, 24.0], [0, 0]),
        ("hard_swish", [-3.0, 3.0], [0, 1]),
        ("hard_sigmoid", [-2.5, 2.5], [0, 0]),
        ("soft_relu", [40.0, -40.0], [0, 0]),
    ],
)
def test_gradients_at_the_ends_of_an_activation(name: str, at: list[float], expected: list[float]) -> None:
    """Recorded from Paddle 2.6.2; normalized values are exactly 0 where a batch is constant."""
    x = paddle.to_tensor(np.array(at, "float32").reshape(2, 1), stop_gradient=False)
    layer = paddle.nn.BatchNorm(1, act=name, epsilon=0.0)
    layer.eval()
    layer(x).sum().backward()
    assert x.grad.numpy().ravel().tolist() == expected


def test_a_multi_margin_loss_at_its_margin_has_no_gradient() -> None:
    scores = paddle.to_tensor([[1.0, 0.0, 0.5]], stop_gradient=False)  # Paddle 2.6.2, recorded
    paddle.nn.functional.multi_margin_loss(scores, paddle.to_tensor([0])).backward()
    np.testing.assert_allclose(scores.grad.numpy(), [[-1 / 3, 0, 1 / 3]], rtol=1e-6)


@pytest.mark.parametrize("shape", [[1, 3], [1, 3, 1, 1]])
def test_batch_normalization_of_one_element_changes_nothing(shape: list[int]) -> None:
    """Recorded from Paddle 2.6.2: the input returns, and scale, bias and running statistics stay."""
    layer = paddle.nn.BatchNorm(3, dtype="float64")
    assert {str(each.dtype) for each in layer.parameters()} == {"paddle.float64"}
    layer.weight.set_value(paddle.to_tensor([1.5, 2.0, 0.5], "float64"))
    x = paddle.to_tensor(np.arange(1.0, 4.0).reshape(shape), stop_gradient=False)
    result = layer(x)
    (result * 2).sum().backward()
    np.testing.assert_array_equal(result.numpy(), x.numpy())
    np.testing.assert_array_equal(x.grad.numpy(), np.full(shape, 2.0))
    assert layer.weight.grad.tolist() == layer.bias.grad.tolist() == layer._mean.tolist() == [0.0] * 3
    assert layer._variance.tolist() == [1.0] * 3
