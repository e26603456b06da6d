"""Padding that torch refuses. The numbers are OneFlow 0.9.0's on the CPU."""

from typing import Any

import numpy as np
import pytest

import anygru_oneflow as flow
from anygru_oneflow import nn
from anygru_oneflow.nn import functional as F


def steps(*shape: int) -> Any:
    values = (np.arange(np.prod(shape)) * 7 % 11 - 4) / 4
    return flow.tensor(values.reshape(shape).astype("float32"), requires_grad=True)


def layer(made: Any) -> Any:
    for weight in made.parameters():
        weight.data.fill_(0.25)
    return made


LINE, SQUARE = (1, 2, 5), (1, 2, 5, 5)
NEGATIVE = {
    "conv1d": (lambda x: F.conv1d(x, steps(2, 2, 2), padding=-1), LINE, [[-0.875, 0.1875], [2.125, -0.75]]),
    "Conv1d": (layer(nn.Conv1d(2, 2, 2, padding=-1)), LINE, [[0.75, 0.4375]] * 2),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2, 1, -1), LINE, [[0.75, 1.5], [1.25, 0.25]]),
    "MaxPool1d": (nn.MaxPool1d(2, 1, padding=-1), LINE, [[0.75, 1.5], [1.25, 0.25]]),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 2, stride=1, padding=-1), LINE, [[0.25, 0.625], [0.75, -0.25]]),
    "AvgPool1d": (nn.AvgPool1d(2, 1, -1), LINE, [[0.25, 0.625], [0.75, -0.25]]),
    "conv_transpose1d": (
        lambda x: F.conv_transpose1d(x, steps(2, 2, 2), padding=-1),
        LINE,
        [
            [0.0, 0.75, -0.625, 0.3125, -2.1875, 1.5, -0.125, 0.0],
            [0.0, -0.375, -0.25, 1.8125, -1.625, 3.1875, 1.0, 0.0],
        ],
    ),
    "in one dimension": (
        layer(nn.Conv2d(2, 1, 2, padding=(1, -1))),
        SQUARE,
        [[[0.375, 0.75], [1.0, 0.375], [1.3125, 0.0], [0.9375, 1.0], [0.5625, 1.3125], [0.3125, 0.6875]]],
    ),
}


@pytest.mark.parametrize(("function", "shape", "expected"), NEGATIVE.values(), ids=NEGATIVE.keys())
def test_negative_padding(function: Any, shape: tuple[int, ...], expected: Any) -> None:
    x = steps(*shape)
    found = function(x)
    np.testing.assert_allclose(found[0].detach().numpy(), expected, atol=1e-6)
    found.sum().backward()
    assert x.grad.shape == shape


def test_the_output_grows_by_a_stride_or_more() -> None:
    x, weight = steps(1, 2, 3), steps(2, 2, 2)
    found = F.conv_transpose1d(x, weight, output_padding=1)
    np.testing.assert_allclose(
        found[0].detach().numpy(), [[1.75, -2.0, 0.3125, 0.0625, 0.0], [2.125, -0.6875, 0.6875, -0.5, 0.0]], atol=1e-6
    )
    (found * flow.tensor([[[1.0, 2, 3, 1, 2], [3, 1, 2, 3, 1]]])).sum().backward()
    np.testing.assert_allclose(x.grad[0].numpy(), [[1.25, 3.0, 1.75], [3.5, 1.25, 4.25]], atol=1e-6)
    wider = layer(nn.ConvTranspose1d(2, 3, 2, stride=2, output_padding=3))(steps(1, 2, 3))
    np.testing.assert_allclose(
        wider[0, 0].detach().numpy(), [0.375, 0.375, 0.5625, 0.5625, 0.0625, 0.0625, 0.25, 0.25, 0.25], atol=1e-6
    )
    assert nn.ConvTranspose2d(1, 1, 2, padding=1, output_padding=2)(flow.ones(1, 1, 3, 3)).shape == (1, 1, 4, 4)


def test_layers_refuse_other_numbers_of_channels() -> None:
    with pytest.raises(ValueError, match="input channels 2 should be equal"):
        nn.Conv2d(3, 2, 1)(flow.ones(1, 2, 4, 4))
