"""Operators that seldom stand beside a recurrent network, with the numbers of MXNet 1.9.1."""

import numpy as np
import pytest

from anygru_mxnet import autograd, nd, random, sym


def drawn(*shape):
    return nd.array(np.random.RandomState(1).uniform(0.2, 2, shape))


SAMPLE = nd.array([[1, 2, 3], [0, 1, 4]])
ONE, TWO, SHARE = nd.array([1, 2]), nd.array([2, 3]), nd.array([0.3, 0.6])
RECORDED = {
    "depth_to_space": (lambda: nd.depth_to_space(drawn(1, 8, 2, 2), block_size=2), [0.9506, 0.9142, 1.4966, 1.1699]),
    "space_to_depth": (lambda: nd.space_to_depth(drawn(1, 2, 4, 4), block_size=2), [0.9506, 0.2002, 0.9142, 0.9546]),
    "im2col": (lambda: nd.im2col(drawn(1, 2, 4, 4), kernel=(2, 2)), [0.9506, 1.4966, 0.2002, 0.4642]),
    "col2im": (lambda: nd.col2im(drawn(1, 8, 9), (4, 4), kernel=(2, 2)), [0.9506, 2.6665, 1.1548, 1.4334]),
    "LRN": (lambda: nd.LRN(drawn(1, 5, 2, 2), nsize=3, alpha=0.5), [0.5287, 0.7772, 0.1167, 0.4113]),
    "pooling": (lambda: nd.contrib.AdaptiveAvgPooling2D(drawn(1, 2, 4, 4)), [0.8785, 1.0496]),
    "khatri_rao": (lambda: nd.khatri_rao(drawn(2, 3), drawn(2, 3) * 2, drawn(1, 3)), [1.7182, 6.704, 0.016, 1.3451]),
    "quadratic": (lambda: nd.contrib.quadratic(drawn(3), a=1, b=2, c=3), [5.805, 8.2329, 3.4405]),
    "index_copy": (
        lambda: nd.contrib.index_copy(drawn(3, 2), nd.array([2, 0]), nd.ones((2, 2))),
        [1.0, 1.0, 0.2002, 0.7442, 1.0, 1.0],
    ),
    "fill": (
        lambda: nd.fill_element_0index(drawn(2, 3), nd.array([9, 8]), ONE),
        [0.9506, 9, 0.2002, 0.7442, 0.4642, 8],
    ),
    "lower": (lambda: nd.linalg.extracttrian(drawn(2, 3, 3)), [0.9506, 0.7442, 0.4642, 0.5353, 0.822, 0.9142]),
    "upper": (
        lambda: nd.linalg.extracttrian(drawn(2, 3, 3), lower=False),
        [0.9506, 1.4966, 0.4642, 0.2002, 0.3662, 0.9142],
    ),
    "normal": (lambda: nd.random_pdf_normal(SAMPLE, ONE, nd.array([1, 0.5])), [0.3989, 0.242, 0.054, 0.0003, 0.108]),
    "uniform": (lambda: nd.random_pdf_uniform(SAMPLE, nd.zeros(2), nd.array([4, 5])), [0.25, 0.25, 0.25, 0.2]),
    "exponential": (lambda: nd.random_pdf_exponential(SAMPLE, ONE), [0.3679, 0.1353, 0.0498, 2.0]),
    "poisson": (lambda: nd.random_pdf_poisson(SAMPLE, ONE, is_log=True), [-1.0, -1.6931, -2.7918, -2.0]),
    "gamma": (lambda: nd.random_pdf_gamma(SAMPLE + 1, ONE, TWO), [0.0366, 0.005, 0.0007, 0.4481]),
    "binomial": (lambda: nd.random_pdf_negative_binomial(SAMPLE, ONE, SHARE), [0.21, 0.147, 0.1029, 0.36]),
    "generalized": (
        lambda: nd.random_pdf_generalized_negative_binomial(SAMPLE, ONE, SHARE),
        [0.3208, 0.1604, 0.0658, 0.2687],
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded(name):
    compute, expected = RECORDED[name]
    assert np.allclose(compute().asnumpy().ravel()[: len(expected)], expected, atol=6e-5)


@pytest.mark.parametrize(
    ("function", "values", "slope"),
    [
        (nd.contrib.round_ste, [-2.0, 1.0, 3.0, -3.0], 1.0),
        (nd.contrib.sign_ste, [-1.0, 1.0, 1.0, -1.0], 1.0),
        (lambda x: nd.contrib.gradientmultiplier(x, scalar=-0.5), [-1.6, 0.5, 2.5, -2.5], -0.5),
    ],
    ids=["round", "sign", "multiplier"],
)
def test_gradients_that_are_not_those_of_the_values(function, values, slope):
    x = nd.array([-1.6, 0.5, 2.5, -2.5])
    x.attach_grad()
    with autograd.record():
        y = function(x)
    y.backward()
    assert np.allclose(y.asnumpy(), values)
    assert x.grad.asnumpy().tolist() == [slope] * 4


def test_draws_of_negative_binomials():
    random.seed(0)
    many = nd.random.negative_binomial(5, 0.4, shape=(20000,))
    assert abs(many.mean().asscalar() - 7.5) < 0.3
    assert abs(many.asnumpy().var() - 18.75) < 2
    rows = nd.random.generalized_negative_binomial(nd.array([3, 1]), nd.array([0.5, 2]), shape=20000)
    assert np.allclose(rows.mean(axis=1).asnumpy(), [3, 1], atol=0.15)
    assert sym.random.negative_binomial(5, 0.4, shape=(2,)).eval()[0].shape == (2,)
