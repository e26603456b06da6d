"""The argument `act` names operators of Paddle 2.6.2, with the operators' own defaults (recorded)."""

from __future__ import annotations

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
