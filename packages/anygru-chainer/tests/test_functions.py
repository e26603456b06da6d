"""Every function against finite differences, and values of functions that torch or NumPy also have."""

import pickle
import warnings

import numpy as np
import pytest

import anygru_chainer as chainer
import anygru_chainer.functions as F
import anygru_chainer.links as L
from anygru_chainer import gradient_check
from anygru_chainer.utils.type_check import InvalidType

X = np.random.RandomState(0).randn(3, 4)
Y = np.random.RandomState(1).randn(3, 4)
P = np.abs(X) + 0.5
IDS = np.array([1, 3, 0])

CASES = {
    **{name: (getattr(F, name), X) for name in [
        "sigmoid", "tanh", "relu", "softmax", "log_softmax", "softplus", "elu", "leaky_relu",
        "selu", "crelu", "exp", "square", "expm1", "cosh", "sinh", "sin", "cos", "tan", "arctan",
        "erf", "erfc", "cumsum", "cumprod", "logsumexp", "batch_l2_norm_squared", "normalize",
        "sum", "average", "max", "min", "prod", "absolute", "transpose", "fliplr", "flipud",
        "flatten", "identity",
    ]},
    **{name: (getattr(F, name), P) for name in [
        "log", "log2", "log10", "sqrt", "rsqrt", "log1p", "lgamma", "digamma",
    ]},
    **{name: (getattr(F, name), np.tanh(X)) for name in ["arcsin", "arccos", "arctanh", "erfinv"]},
    **{name: (getattr(F, name), X, Y) for name in [
        "maximum", "minimum", "add", "squared_error", "absolute_error", "mean_squared_error",
        "mean_absolute_error",
    ]},
    "sum_axis": (lambda x: F.sum(x, axis=(0, 1), keepdims=True), X),
    "average_weights": (lambda x, w: F.average(x, axis=1, weights=w), X, P[0]),
    "concat": (lambda a, b: F.concat([a, b]), X, Y),
    "stack": (lambda a, b: F.stack([a, b], axis=1), X, Y),
    "hstack": (lambda a, b: F.hstack([a, b]), X, Y),
    "vstack": (lambda a, b: F.vstack([a, b]), X, Y),
    "dstack": (lambda a, b: F.dstack([a, b]), X, Y),
    "separate": (lambda a: F.separate(a, axis=1), X),
    "split_axis": (lambda a: F.split_axis(a, [1, 3], axis=1), X),
    "pad_sequence": (lambda a, b: F.pad_sequence([a, b], length=5, padding=-1), X, Y[:2]),
    "transpose_sequence": (lambda a, b: F.transpose_sequence([a, b]), X, Y[:2]),
    "broadcast_to": (lambda a: F.broadcast_to(a, (3, 2, 4)), X[:, None]),
    "broadcast": (F.broadcast, X[:1], Y),
    "expand_dims": (lambda a: F.expand_dims(a, 1), X),
    "squeeze": (lambda a: F.squeeze(a, axis=1), X[:, None]),
    "reshape": (lambda a: F.reshape(a, (2, -1)), X),
    "swapaxes": (lambda a: F.swapaxes(a, 0, 1), X),
    "moveaxis": (lambda a: F.moveaxis(a, 0, 1), X),
    "rollaxis": (lambda a: F.rollaxis(a, 1), X),
    "tile": (lambda a: F.tile(a, (2, 1)), X),
    "repeat": (lambda a: F.repeat(a, (1, 2, 0), axis=0), X),
    "permutate": (lambda a: F.permutate(a, np.array([2, 0, 1]), inv=True), X),
    "where": (lambda a, b: F.where(X > 0, a, b), X, Y),
    "select_item": (lambda a: F.select_item(a, IDS), X),
    "get_item": (lambda a: a[::-1, [0, 2]], X),
    "scatter_add": (lambda a, b: F.scatter_add(a, [0, 2, 0], b), X, Y),
    "pad": (lambda a: F.pad(a, ((1, 0), (0, 2)), "constant"), X),
    "matmul": (lambda a, b: F.matmul(a, b, transb=True), X, Y),
    "linear": (F.linear, X, Y, P[:, 0].copy()),
    "bilinear": (F.bilinear, X, Y, np.random.RandomState(2).randn(4, 4, 2)),
    "einsum": (lambda a, b: F.einsum("ij,kj->ik", a, b), X, Y),
    "tensordot": (lambda a, b: F.tensordot(a, b, axes=([0, 1], [0, 1])), X, Y),
    "linear_interpolate": (F.linear_interpolate, P, X, Y),
    "layer_normalization": (F.layer_normalization, X, P[0], Y[0]),
    "maxout": (lambda a: F.maxout(a, 2), X),
    "prelu": (F.prelu, X, P[0]),
    "swish": (F.swish, X, P[0]),
    "huber_loss": (lambda a, b: F.huber_loss(a, b, 0.5), X, Y),
    "clip": (lambda a: F.clip(a, -0.7, 0.7), X),
    "embed_id": (lambda w: F.embed_id(np.array([[0, 2], [2, -1]]), w, ignore_label=-1), X),
    "softmax_cross_entropy": (lambda a: F.softmax_cross_entropy(a, IDS, class_weight=P[0]), X),
    "sigmoid_cross_entropy": (lambda a: F.sigmoid_cross_entropy(a, (Y > 0) * 1, reduce="no"), X),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_gradients_agree_with_finite_differences(name):
    function, *arrays = CASES[name]
    outputs = function(*arrays)
    outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    grads = tuple(np.cos(np.arange(y.size)).reshape(y.shape) for y in outputs)
    gradient_check.check_backward(function, tuple(arrays), grads, eps=1e-6, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(
    "name", ["tanh", "softmax", "linear", "matmul", "softmax_cross_entropy", "layer_normalization"]
)
def test_second_gradients_agree_with_finite_differences(name):
    function, *arrays = CASES[name]
    y = function(*arrays)
    direction = tuple(np.sin(np.arange(x.size)).reshape(x.shape) for x in arrays)
    gradient_check.check_double_backward(
        function, tuple(arrays), np.ones(y.shape), direction, eps=1e-5, atol=1e-5, rtol=1e-4
    )


KEYS = [
    0, -1, slice(None, None, -1), slice(2, 0, -1), (slice(None), slice(None, None, -2)), (..., 1), (None, 0), [0, 2],
    np.array([0, 2, 0]), (np.array([0, 1]), np.array([1, 2])), X > 0, (0, slice(None)), (slice(1, None), None), (1, [0, 1]),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing_is_numpys(key):
    np.testing.assert_array_equal(chainer.Variable(X)[key].array, X[key])


def test_indexing_with_a_slice_is_numpys():
    x = np.arange(60.0).reshape(3, 4, 5)
    for key in [(0, slice(None), [1, 2]), (slice(None), 1, [1, 2]), ([0, 1], slice(None), [1, 2])]:
        np.testing.assert_array_equal(chainer.Variable(x)[key].array, x[key])


def test_equal_elements_each_get_the_whole_gradient_of_the_largest():
    x = chainer.Variable(np.ones((2, 3)))
    F.sum(F.max(x, axis=1)).backward()
    np.testing.assert_array_equal(x.grad, np.ones((2, 3)))


@pytest.mark.parametrize(
    ("function", "at", "slope"),
    [(F.leaky_relu, 0, 0.2), (F.hard_sigmoid, -2.5, 0), (F.hard_sigmoid, 2.5, 0), (F.absolute, 0, 0), (F.relu, 0, 0)],
)
def test_the_slope_at_a_corner_is_chainers(function, at, slope):
    x = chainer.Variable(np.array([float(at)]))
    F.sum(function(x)).backward()
    np.testing.assert_array_equal(x.grad, [slope])


@pytest.mark.parametrize("function", [F.absolute, F.absolute_error, F.mean_absolute_error])
def test_nothing_flows_back_to_x_when_the_slope_of_a_magnitude_is_differentiated(function):
    x = chainer.Variable(np.array([-2.0, 3.0]))
    y = function(x) if function is F.absolute else function(x, np.zeros(2))
    (gx,) = chainer.grad([F.sum(y)], [x], enable_double_backprop=True)
    np.testing.assert_allclose(gx.array, np.array([-1.0, 1.0]) / (2 if y.shape == () else 1))
    F.sum(gx * gx).backward()
    assert x.grad is None or not x.grad.any()


@pytest.mark.parametrize(("shapes", "axes"), [(((2, 3), (1, 3)), 1), (((2, 3), (2, 1)), 2), (((2, 3), (1, 3)), (0, 0))])
def test_a_product_of_tensors_does_not_stretch_axes(shapes, axes):
    with pytest.raises(ValueError, match="differ in size"):
        F.tensordot(*map(np.ones, shapes), axes)


def test_a_number_can_be_repeated():
    np.testing.assert_array_equal(F.repeat(np.array(3.0), 2, axis=0).array, [3, 3])


def test_labels_to_be_ignored_do_not_count():
    logits, t = X, np.array([1, -1, 3])
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    expected = -(np.log(p[0, 1]) + np.log(p[2, 3])) / 2
    assert float(F.softmax_cross_entropy(logits, t).array) == pytest.approx(expected)
    assert float(F.softmax_cross_entropy(logits, t, normalize=False).array) == pytest.approx(expected * 2 / 3)
    assert float(F.accuracy(p, p.argmax(1), ignore_label=-1).array) == 1


def test_labels_of_more_than_two_classes_are_never_right():
    labels = np.array([[0, 2], [1, -1]], np.int32)
    assert float(F.binary_accuracy(np.array([[-1.0, 2.0], [3.0, 4.0]], "f"), labels).array) == pytest.approx(2 / 3)


def test_a_norm_over_all_axes():
    found = F.normalize(np.array([[3.0, 0.0], [0.0, 4.0]]), eps=0.0, axis=None)
    np.testing.assert_allclose(found.array, [[0.6, 0.0], [0.0, 0.8]])


def test_dropout_scales_what_it_keeps():
    np.random.seed(0)
    y = F.dropout(np.ones((100, 100)), 0.25).array
    assert set(np.unique(y)) == {0, 1 / 0.75}
    assert abs((y == 0).mean() - 0.25) < 0.02


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: F.linear(X, np.ones((2, 3))), r"Invalid operation is performed in: LinearFunction \(Forward\)"),
        (lambda: F.linear(X, np.ones((2, 3))), r"Expect: x.shape\[1\] == W.shape\[1\]\nActual: 4 != 3"),
        (lambda: F.concat([X, Y[:2]]), r"in_types\[0\].shape\[0\] == in_types\[1\].shape\[0\]"),
        (lambda: chainer.Variable(X) + chainer.Variable(Y.astype("f")), "lhs.dtype == rhs.dtype"),
        (lambda: F.sum(np.arange(3)), "x.dtype.kind == f\nActual: i != f"),
        (lambda: F.sum(X, axis=2), r"Expect: x.ndim > 2\nActual: 2 <= 2"),
        (lambda: chainer.Variable(X) + Y[:2], "cannot broadcast inputs of the following shapes"),
    ],
)
def test_wrong_types_are_refused_in_the_words_of_the_check(call, words):
    with pytest.raises(InvalidType, match=words):
        call()


def test_the_deprecated_product_of_batches_warns():
    a = np.ones((2, 3, 4), "f")
    with pytest.warns(DeprecationWarning, match="Use matmul instead"):
        assert F.batch_matmul(a, a, transb=True).shape == (2, 3, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        F.matmul(a, a, transb=True)


class Twice(chainer.FunctionNode):
    def forward(self, inputs):
        return (inputs[0] * 2,)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (IndexError, lambda: chainer.Variable(X)[chainer.Variable(IDS)]),
        (IndexError, lambda: chainer.Variable(X)[..., ...]),
        (np.exceptions.AxisError, lambda: F.swapaxes(X, 0, 2)),
        (np.exceptions.AxisError, lambda: F.repeat(X, 2, 2)),
        (np.exceptions.AxisError, lambda: F.normalize(X, axis=2)),
        (ValueError, lambda: F.max(X[:0], axis=0)),
        (ZeroDivisionError, lambda: F.mean(X[:0])),
        (InvalidType, lambda: F.flipud(IDS)),
        (ValueError, lambda: F.softmax_cross_entropy(X, IDS.astype("i"), class_weight=np.ones(2))),
        (TypeError, lambda: Twice().apply(chainer.Variable(X))),
        (ValueError, lambda: Twice().apply(X)),
    ],
)
def test_what_cannot_be_done_is_refused_as_the_original_does(error, call):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("loss", ["cross-entropy", "kl-divergence"])
def test_soft_targets_get_no_gradient(loss):
    x, t = chainer.Variable(X), chainer.Variable(np.full_like(X, 0.25))
    F.softmax_cross_entropy(x, t, soft_target_loss=loss).backward()
    assert t.grad is None
    p = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    np.testing.assert_allclose(x.grad, (p - 0.25) / len(X))


def test_chainers_own_paths_of_modules_lead_to_the_functions():
    assert F.array.concat.concat is F.concat
    assert F.activation.relu.ReLU.__name__ == "ReLU"
    assert F.math.basic_math.add is F.add
    assert not hasattr(F.array, "no_such_module")


def test_a_row_takes_options_by_place_and_by_name():
    node = F.activation.leaky_relu.LeakyReLU(slope=0.5)
    assert (node.slope, node.label) == (0.5, "LeakyReLU")
    (y,) = node.apply((X,))
    np.testing.assert_array_equal(y.array, F.leaky_relu(x=X, slope=0.5).array)
    with pytest.raises(TypeError, match="unexpected keyword argument 'steepness'"):
        F.leaky_relu(X, steepness=1)


def test_a_minimum_has_a_derivative_and_a_corner_has_none():
    at_zero, gradient = np.zeros(1), np.ones(1)
    gradient_check.check_backward(lambda x: x * x, at_zero, gradient, dtype="d", detect_nondifferentiable=True)
    with pytest.raises(gradient_check.NondifferentiableError):
        gradient_check.check_backward(abs, at_zero, gradient, dtype="d", detect_nondifferentiable=True)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "int8", "int64"])
def test_integers_of_every_kind_are_added(dtype):
    x = chainer.Variable(np.array([1, 2], dtype))
    for found, expected in ((x + x, [2, 4]), (x - x, [0, 0]), (x + 1, [2, 3]), (3 - x, [2, 1]), (x * 2, [2, 4])):
        np.testing.assert_array_equal(found.array, np.array(expected, dtype))
    np.testing.assert_array_equal((-x).array, -np.array([1, 2], dtype))


def test_chainers_exceptions_for_indices_and_axes():
    for function in (F.sum, F.max, F.prod, F.logsumexp, F.average):
        with pytest.raises(ValueError, match="duplicate value in"):
            function(X, axis=(0, -2))
    with pytest.raises(ValueError, match="automatic broadcasting"):
        F.scatter_add(X, 0, np.ones(5))
    np.testing.assert_array_equal(F.permutate(X, np.array([-1, 0, 1])).array, X[[-1, 0, 1]])
    with chainer.using_config("debug", True):
        with pytest.raises(ValueError, match="Out of bounds index: -1"):
            F.permutate(X, np.array([-1, 0, 1]))
        with pytest.raises(ValueError, match="duplicate value: 1"):
            F.permutate(X, np.array([1, 0, 1]))
        with pytest.raises(ValueError, match="Each label"):
            F.select_item(X, np.array([-1, 0, 0]))


def test_linear_algebra_and_checks_are_chainers():
    half = np.array([[2, 1], [1, 3]], np.float16)
    assert F.inv(half).dtype == F.det(half).dtype == F.cholesky(half).dtype == np.float16
    assert F.tensordot(X.astype("f"), Y.T.copy(), 1).dtype == np.float64
    with pytest.raises(ValueError, match="margin should be positive"):
        F.triplet(X, Y, P, margin=-1)
    with chainer.using_config("debug", True), pytest.raises(AssertionError, match="sizes of x"):
        F.bias(X, X[0], axis=0)


def test_forget_calls_a_function_a_second_time_for_its_gradient():
    link, calls = L.BatchNormalization(3), []
    link_kept = link.copy("copy")
    x = np.random.RandomState(0).randn(4, 3).astype(np.float32)

    def body(v):
        calls.append(chainer.config.in_recomputing)
        return F.tanh(link(v)) * v, v * 2

    a, b = chainer.Variable(x), chainer.Variable(x)
    y, doubled = F.forget(body, a)
    assert y.creator.label == "Forget"
    assert doubled.creator is y.creator
    F.sum(y * y + doubled).backward()
    kept = F.tanh(link_kept(b)) * b
    F.sum(kept * kept + b * 2).backward()
    assert calls == [False, True]
    np.testing.assert_allclose(a.grad, b.grad, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(link.avg_mean, link_kept.avg_mean, rtol=1e-6)  # counted once, as in Chainer
    with pytest.raises(RuntimeError, match="2nd element of a returned tuple is not Variable, but is .*int"):
        F.forget(lambda v: (v, 1), a)
    z = F.sum(F.forget(F.tanh, chainer.Variable(x)))
    with pytest.raises(RuntimeError, match="double backpropagation"):
        z.backward(enable_double_backprop=True)


def test_products_of_arrays_that_public_programs_take_from_matmul():
    from anygru_chainer.functions import products

    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(products._matmul(a, b, transb=True), a @ b.T)
    np.testing.assert_array_equal(products._matmul(a, b, transb=True, transout=True), b @ a.T)
    np.testing.assert_array_equal(products._matmul(a[0], b, transa=True, transb=True), a[0] @ b.T)
    # Chainer 7.8.1's answers.
    assert [products._get_check_index(t, r) for t in (False, True) for r in (False, True)] == [1, 0, 0, 1]


def test_numbers_for_the_axes_of_convolutions():
    x, w = np.ones((1, 1, 4, 4), "f"), np.ones((1, 1, 2, 2), "f")
    assert chainer.utils.conv_nd.as_tuple(2, 3) == (2, 2, 2)
    # The classes of Chainer 7.8.1's errors.
    for error, call in (
        (ValueError, lambda: F.convolution_2d(x, w, stride=(1, 1, 1))),
        (ValueError, lambda: F.deconvolution_2d(x, w, pad=(1, 1, 1))),
        (AssertionError, lambda: F.convolution_nd(x, w, stride=(1, 1, 1))),
        (AssertionError, lambda: F.max_pooling_2d(x, (2, 2, 2))),
    ):
        with pytest.raises(error):
            call()


def test_local_response_normalization_of_rows():
    y = F.local_response_normalization(np.array([[1, 1], [3, 2]], "f"))
    np.testing.assert_allclose(y.array, [[0.5945590, 0.5945590], [1.7829416, 1.1886277]], rtol=1e-5)  # Chainer 7.8.1's


def test_every_function_is_pickled_by_its_name():
    """A Chain that keeps `F.relu` as an attribute is pickled with it."""
    named = {name: value for name, value in vars(F).items() if callable(value) and not name.startswith("_")}
    assert len(named) > 180
    assert [name for name, value in named.items() if pickle.loads(pickle.dumps(value)) is not value] == []
    assert pickle.loads(pickle.dumps(L.Bilinear(2, 2, 2))).W.shape == (2, 2, 2)
