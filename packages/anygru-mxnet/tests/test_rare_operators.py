"""Operators that are rare in recurrent programs, with the numbers of MXNet 1.9.1."""

import numpy as np
import pytest

from anygru_mxnet import autograd, nd, random, sym
from anygru_mxnet.base import MXNetError


def spread(*shape):
    return nd.array(np.random.RandomState(sum(shape)).uniform(-1.4, 1.4, shape))


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


# An operator, its inputs, and the first numbers of its output and of each gradient in MXNet 1.9.1.
GRADIENTS = {
    "affine": (
        lambda x: nd.GridGenerator(x, transform_type="affine", target_shape=(3, 2)),
        [(1, 6)],
        [0.23011, -2.14256, 1.01388, -1.35879],
        [[0.3307, -0.1945, 3.4812, -0.3889]],
    ),
    "flow": (
        lambda x: nd.GridGenerator(x, transform_type="warp"),
        [(2, 2, 3, 4)],
        [-1.59683, -1.23031, 0.26467, 1.41988],
        [[0.3659, 0.4768, 0.4018, 0.3633]],
    ),
    "sampler": (
        nd.BilinearSampler,
        [(2, 3, 4, 5), (2, 2, 3, 3)],
        [-0.72378, 0.12427, 0.26236, -0.43543],
        [[0.3075, 0.053, 0.0, 0.3411], [1.9308, 0.6165, -0.3418, 1.1387]],
    ),
    "transformer": (
        lambda x, y: nd.SpatialTransformer(x, y, (3, 3), transform_type="affine", sampler_type="bilinear"),
        [(2, 1, 4, 5), (2, 6)],
        [-0.00868, 0.05977, -0.16865, -0.20085],
        [[0.1082, 0.175, 0.3056, 0.0841], [-1.9726, 5.2913, -5.2385, 0.559]],
    ),
    "own scores": (
        lambda x: nd.contrib.interleaved_matmul_selfatt_qk(x, heads=2),
        [(3, 2, 12)],
        [0.27788, 0.32196, -0.45469, 0.99241],
        [[-0.4365, -1.6612, -0.0711, -0.0581]],
    ),
    "own values": (
        lambda x, a: nd.contrib.interleaved_matmul_selfatt_valatt(x, a, heads=2),
        [(3, 2, 12), (4, 3, 3)],
        [-0.32364, 1.04712, -2.91677, 1.20613],
        [[0.0, 0.0, 0.0, 0.0], [0.7541, -0.0808, -0.2941, 0.9422]],
    ),
    "scores": (
        lambda x, y: nd.contrib.interleaved_matmul_encdec_qk(x, y, heads=2),
        [(4, 2, 6), (3, 2, 12)],
        [0.68515, 0.11468, -0.41912, 0.33096],
        [[-0.0065, -0.0552, -0.3564, -0.3221], [0.1158, 0.8464, -0.7266, 0.0]],
    ),
    "values": (
        lambda x, a: nd.contrib.interleaved_matmul_encdec_valatt(x, a, heads=2),
        [(3, 2, 12), (4, 4, 3)],
        [2.89446, -1.50918, 0.40862, -2.88044],
        [[0.0, 0.0, 0.0, 0.3063], [0.1745, -0.5973, -1.049, 0.0876]],
    ),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_places_and_heads_with_their_gradients(name):
    compute, shapes, expected, slopes = GRADIENTS[name]
    inputs = [spread(*shape) for shape in shapes]
    for x in inputs:
        x.attach_grad()
    with autograd.record():
        y = compute(*inputs)
    y.backward(nd.array(np.random.RandomState(0).rand(*y.shape)))
    found = [y, *(x.grad for x in inputs)]
    for numbers, first in zip(found, [expected, *slopes], strict=True):
        assert np.allclose(numbers.asnumpy().ravel()[:4], first, atol=6e-5)


def test_numbers_next_to_a_half_round_to_0():
    below = nd.array([0.49999997, -0.49999997, 8388609.0, 0.5, -2.5])
    assert nd.round(below).asnumpy().tolist() == [0, 0, 8388609, 1, -3]
    assert nd.contrib.round_ste(below).asnumpy().tolist() == [0, 0, 8388609, 1, -3]
    half = nd.array([-0.4998, 0.49951, 1.5, 2.5, -0.5], dtype="float16")
    assert nd.rint(half).asnumpy().tolist() == [0, 0, 1, 2, -1]
    assert nd.round(half).asnumpy().tolist() == [0, 0, 2, 3, -1]


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_no_repeats_leave_one_empty_axis(axis):
    assert nd.repeat(drawn(2, 3), repeats=0, axis=axis).shape == (0,)


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


@pytest.mark.parametrize(
    "options", [{"transform_type": "affine"}, {"transform_type": "affine", "sampler_type": "nearest"},
                {"transform_type": "warp", "sampler_type": "bilinear"}],
)  # fmt: skip
def test_a_transformer_refuses_what_mxnet_does(options):
    data, affine = nd.ones((1, 1, 4, 4)), nd.array([[1, 0, 0, 0, 1, 0]])
    with pytest.raises(MXNetError, match="must be (affine|bilinear)"):
        nd.SpatialTransformer(data, affine, target_shape=(2, 2), **options)
    with pytest.raises(MXNetError, match="must be affine or warp, got 'affin'"):
        nd.GridGenerator(affine, transform_type="affin", target_shape=(2, 2))


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda: nd.SoftmaxActivation(nd.zeros((1, 2, 3))), [1 / 3] * 6),
        (lambda: nd.SoftmaxActivation(nd.zeros((1, 2, 3)), mode="channel"), [0.5] * 6),
        (lambda: nd.nansum(nd.array([np.nan, 1, 2])), [3]),
        (lambda: nd.nanprod(nd.array([np.inf, 1, np.nan])), [np.inf]),
        (lambda: nd._internal._plus_scalar(nd.array([1, 2], dtype="int32"), scalar=1.5, is_int=False), [2.5, 3.5]),
        (lambda: nd._internal._rminus_scalar(nd.array([1, 2], dtype="int32"), scalar=1.5, is_int=False), [0.5, -0.5]),
        (lambda: nd._internal._plus_scalar(nd.array([1, 2], dtype="int32"), scalar=1.5), [2, 3]),
    ],
)
def test_arguments_of_rare_operators(compute, expected) -> None:
    np.testing.assert_allclose(compute().asnumpy().ravel(), expected, rtol=1e-6)


def test_hard_sigmoid_has_no_gradient_on_its_bounds() -> None:
    x = nd.array([-2.5, 2.5, 0, 3])
    x.attach_grad()
    with autograd.record():
        y = nd.hard_sigmoid(x)
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [0, 0, 0.2, 0], rtol=1e-6)


@pytest.mark.parametrize("shape", [(1, 3, 4), (1, 4)])
def test_groups_that_do_not_fit_are_refused(shape) -> None:
    with pytest.raises(MXNetError, match="GroupNorm: data must have three axes and channels for 2 groups"):
        nd.GroupNorm(nd.ones(shape), nd.ones(2), nd.zeros(2), num_groups=2)
