"""An argument that is accepted has MXNet's effect, or is refused; numbers and errors recorded from MXNet 1.9.1."""

import pytest

import anygru_mxnet as mx
from anygru_mxnet import nd
from anygru_mxnet.base import MXNetError


@pytest.mark.parametrize(
    ("axis", "ignored", "expected"),
    [(-1, None, 3.17480211), (0, None, 2.37126222), (-2, None, 2.37126222), (0, 2, 2.0)],
)
def test_perplexity_takes_probabilities_along_its_axis(axis, ignored, expected):
    metric = mx.metric.Perplexity(ignored, axis=axis)
    metric.update([nd.array([0, 2, 2])], [nd.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.2, 0.3, 0.5]])])
    assert metric.get()[1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("axis", "shape"), [(0, (4, 3)), (2, (3, 3)), (None, (3, 3)), (-1, (2, 2, 3))])
def test_perplexity_refuses_an_axis_that_does_not_fit_the_labels(axis, shape):
    with pytest.raises(MXNetError):
        mx.metric.Perplexity(None, axis=axis).update([nd.zeros(shape[:-1])], [nd.ones(shape)])
