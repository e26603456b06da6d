"""Differences of Chainer and NumPy from torch, compared with results of Chainer 7.8.1 or NumPy."""

import numpy as np
import pytest

import anygru_chainer as chainer
import anygru_chainer.functions as F
import anygru_chainer.links as L
from anygru_chainer import iterators, optimizers
from anygru_chainer.serializers import DictionarySerializer
from anygru_chainer.utils import type_check

X = np.random.RandomState(0).uniform(0.5, 2, (2, 3)).astype(np.float32)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
def test_a_reduction_along_no_axis_changes_nothing(name):
    for x in (X[:, 0], X):
        y = getattr(F, name)(x, axis=())
        np.testing.assert_array_equal(y.array, getattr(np, name)(x, axis=()))
    np.testing.assert_allclose(F.logsumexp(X, axis=()).array, X, rtol=1e-6)
    np.testing.assert_array_equal(F.sum(X[0], axis=tuple(range(1, 1))).array, X[0])


def test_shapes_that_do_not_fit_are_value_errors_as_in_numpy():
    with pytest.raises(ValueError, match="MultiAdd"):
        F.add(X, np.ones(4, np.float32), X)
    with pytest.raises(ValueError, match="empty sequence"):
        F.argmax(np.zeros((2, 0), np.float32), axis=1)


def test_labels_that_do_not_fit_into_their_steps_have_a_finite_loss():
    draws = np.random.RandomState(3)
    xs = [chainer.Variable(draws.uniform(-2, 2, (2, 4)).astype(np.float32)) for _ in range(2)]
    loss = F.connectionist_temporal_classification(xs, np.array([[1, 2], [2, 2]], np.int32), 0, reduce="no")
    loss.grad = np.ones(2, np.float32)
    loss.backward()
    np.testing.assert_allclose(loss.array, [3.3252783, 1e10], rtol=1e-5)
    first = [[0.24496, -0.54034, 0.08662, 0.20876], [-2.52926, 0.47708, -1.97814, 0.03031]]
    second = [[0.08529, 0.40484, -0.92176, 0.43163], [-2.68088, 0.07245, -1.64433, 0.25276]]
    np.testing.assert_allclose([x.grad for x in xs], [first, second], rtol=1e-4, atol=1e-5)


def test_a_probability_without_a_logarithm_leaves_the_loss_of_other_sequences_finite():
    draws = np.random.RandomState(3)
    scores = draws.uniform(-2, 2, (3, 2, 3)).astype(np.float32)
    scores[1, 0, 2] = np.nan
    xs = [chainer.Variable(x) for x in scores]
    loss = F.connectionist_temporal_classification(xs, np.array([[1], [2]], np.int32), 0, reduce="no")
    loss.grad = np.ones(2, np.float32)
    loss.backward()  # Chainer 7.8.1 gives these numbers
    np.testing.assert_allclose(loss.array, [1e10, 1.0018398], rtol=1e-5)
    of_nan = [[-0.69041, -0.41906, 0.10947], [np.nan] * 3, [-0.57294, -0.90304, 0.47598]]
    other = [[-0.07318, 0.44836, -0.37518], [0.11446, 0.08553, -0.2], [-0.12936, 0.05222, 0.07715]]
    np.testing.assert_allclose(np.stack([x.grad for x in xs], 1), [of_nan, other], rtol=1e-4, atol=1e-5)


def test_a_second_gradient_of_a_function_that_is_linear_in_pieces_is_none():
    for function in (F.relu, lambda x: F.max_pooling_1d(x, 2), lambda x: F.average_pooling_1d(x, 2), F.crelu):
        x = chainer.Variable(X[None].repeat(2, 2))
        (gradient,) = chainer.grad([F.sum(function(x) ** 2)], [x], enable_double_backprop=True)
        assert gradient.creator is not None
        y = function(x)
        (gradient,) = chainer.grad([y], [x], [chainer.Variable(np.ones_like(y.array))], enable_double_backprop=True)
        F.sum(gradient**2).backward()
        assert x.grad is None


def test_hooks_at_their_place_before_version_4_have_names_of_their_own():
    optimizer = optimizers.SGD(0.1).setup(L.Linear(2, 1))
    with pytest.warns(DeprecationWarning, match=r"chainer\.optimizer_hooks\.WeightDecay"):
        decay = chainer.optimizer.WeightDecay(0.1)
    with pytest.warns(DeprecationWarning, match=r"chainer\.optimizer_hooks\.Lasso"):
        optimizer.add_hook(chainer.optimizer.Lasso(0.1))
    optimizer.add_hook(decay)
    with pytest.raises(KeyError):
        optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.2))

    class Slow(chainer.optimizer_hooks.WeightDecay):
        pass

    assert Slow(0.1).name == "WeightDecay"


def test_a_cell_differentiates_with_the_gates_of_before_and_the_weights_of_now():
    """A graph that is kept over an update; Chainer's gradient is the gradient of the six links of a step."""

    class Watch(chainer.FunctionHook):
        name = "Watch"

    results = []
    for watched in (True, False):
        np.random.seed(1)
        cell, x = L.StatefulGRU(3, 4), chainer.Variable(X)
        if watched:
            with Watch():
                y = [cell(x) for _ in range(3)][-1]
        else:
            y = [cell(x) for _ in range(3)][-1]
        for param in cell.params():
            param.array *= 0.5
        cell.cleargrads()
        F.sum(y * y).backward()
        results.append([x.grad, *[param.grad for _, param in sorted(cell.namedparams())]])
    for stepwise, fast_arithmetic in zip(*results, strict=True):
        np.testing.assert_allclose(fast_arithmetic, stepwise, rtol=1e-5, atol=1e-7)


def test_a_gradient_that_somebody_holds_is_not_added_to():
    cell = L.LSTM(3, 4)
    cell.cleargrads()
    F.sum(cell(X) + cell(X)).backward()
    held = cell.upward.W.grad
    before = held.copy()
    cell.reset_state()
    F.sum(cell(X) + cell(X)).backward()
    np.testing.assert_array_equal(held, before)
    np.testing.assert_allclose(cell.upward.W.grad, 2 * before, rtol=1e-4, atol=1e-6)


def test_a_second_ellipsis_is_an_index_error_and_in_debug_mode_a_value_error():
    x = chainer.Variable(X)
    with pytest.raises(IndexError) as error:
        x[..., ...]
    assert error.type is IndexError
    with chainer.using_config("debug", True), pytest.raises(ValueError, match="single ellipsis"):
        x[..., ...]


@pytest.mark.parametrize(
    "key",
    [
        (slice(-2, -2), [-2, 0, 0], ..., -1),
        ([0, 1], ..., [1, 0], slice(1)),
        (slice(None), None, [[0, 1]], ..., [[1, 2]]),
        ([True, False], ..., 1, [0, 1, 1]),
    ],
)
def test_arrays_on_both_sides_of_an_empty_ellipsis_are_separate_indices(key):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(F.get_item(x, key).array, x[key])


def test_a_state_for_one_sequence_serves_all_of_a_time_step():
    gru = L.NStepGRU(1, 3, 2, 0.0)
    steps, hx = [X, X], np.full((1, 1, 2), 0.3, np.float32)
    found, _ = F.n_step_gru(1, 0.0, hx, gru.ws, gru.bs, steps)
    full, _ = F.n_step_gru(1, 0.0, hx.repeat(2, 1), gru.ws, gru.bs, steps)
    np.testing.assert_array_equal(found.array, full.array)
    with pytest.raises(type_check.InvalidType, match="hx must be"):
        F.n_step_gru(1, 0.0, hx[:, :0], gru.ws, gru.bs, steps)
    with pytest.raises(IndexError, match="hx must be"):
        gru(hx, steps)


def test_a_multithread_iterator_reads_ahead_and_forgets_that_when_it_is_saved():
    np.random.seed(4)
    iterator, found = iterators.MultithreadIterator(list(range(5)), 2, n_threads=2), []
    for number in range(8):
        found.append(list(iterator.next()))
        if number in (1, 4):
            saved = DictionarySerializer()
            iterator.serialize(saved)
    assert found == [[0, 3], [1, 4], [2, 3], [4, 0], [2, 1], [4, 2], [3, 0], [1, 1]]
    assert round(float(np.random.rand()), 6) == 0.361496
    assert "_order" in saved.target


def test_a_sum_to_a_shape_without_axes_to_sum_has_the_dtype_of_a_sum():
    y = F.sum_to(np.ones((4, 1), np.int32), (4, 2))
    assert y.dtype == np.int64
    np.testing.assert_array_equal(y.array, np.ones((4, 1)))


@pytest.mark.parametrize(("steps", "unseen"), [(1, True), (2, False)])
@pytest.mark.parametrize("link", [L.NStepRNNReLU, L.NStepBiRNNReLU])
def test_parameters_that_only_a_relu_sees_have_no_second_gradient(link, steps, unseen):
    rnn = link(2, 3, 2, 0.0, initialW=0.5, initial_bias=0.1)
    hy, _ = rnn(None, [X[:steps]])
    parameters = [parameter for _, parameter in sorted(rnn.namedparams())]
    gradients = chainer.grad([hy], parameters, [chainer.Variable(np.ones_like(hy.array))], enable_double_backprop=True)
    rnn.cleargrads()
    sum(F.sum(gradient**2) for gradient in gradients).backward()
    none = [name for name, parameter in sorted(rnn.namedparams()) if parameter.grad is None]
    last = range(rnn.direction, 2 * rnn.direction)
    assert none == ([f"/{i}/{j}" for i in last for j in ("b0", "b1", "w1")] if unseen else [])


def test_losses_with_a_margin_have_no_gradient_on_its_edge():
    x = chainer.Variable(np.array([[1, 0, -1]], np.float32))
    F.hinge(x, np.array([0], np.int32)).backward()
    np.testing.assert_array_equal(x.grad, [[0, 1, 0]])  # Chainer 7.8.1, recorded
    anchor, positive, negative = (chainer.Variable(np.full((1, 2), value, np.float32)) for value in (0, 0, 1))
    F.triplet(anchor, positive, negative, margin=2).backward()
    np.testing.assert_array_equal(anchor.grad, np.zeros((1, 2)))


GRID = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
SHARES = np.array([[0.5, 0.25, 1], [0, 2, 0]], np.float32)
RECORDED = {
    "targets whose sum is not 1": (
        lambda x: F.softmax_cross_entropy(x, SHARES, reduce="no"),
        [1.81469, 2.3025],
        [[-0.28802, 0.06624, -0.52822], [0.21198, -1.68376, 0.47178]],
    ),
    "no label is ignored": (
        lambda x: F.softmax_cross_entropy(x, np.array([-1, 0], np.int32), ignore_label=None),
        1.15125,
        [[0.10599, 0.15812, -0.26411], [-0.39401, 0.15812, 0.23589]],
    ),
    "a hinge label from the end": (
        lambda x: F.hinge(x, np.array([-1, 1], np.int32)), 2.6, [[0, 0.5, -0.5], [0.5, -0.5, 0.5]]
    ),
    "sides that are no constant": (
        lambda x: F.pad(x, ((1, 0), (0, 2)), "reflect"),
        [[0.2, 0.6, 1, 0.6, 0.2], [-1, -0.6, -0.2, -0.6, -1], [0.2, 0.6, 1, 0.6, 0.2]],
        np.ones((2, 3)),
    ),
    "an even number of channels": (
        lambda x: F.local_response_normalization(x.T[None], n=2, k=1, alpha=1.0, beta=1.0),
        [[[-0.42373, 0.14286], [-0.25, 0.25], [-0.14286, 0.42373]]],
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RECORDED)
def test_an_unusual_argument_gives_what_it_gave(case):
    function, expected, gradient = RECORDED[case]
    x = chainer.Variable(GRID.copy())
    y = function(x)
    y.grad = np.ones(y.shape, np.float32)
    y.backward()
    np.testing.assert_allclose(y.array, expected, atol=1e-5)
    if gradient is not None:
        np.testing.assert_allclose(x.grad, gradient, atol=2e-5)


def test_unusual_flags_sizes_and_dtypes_are_taken():
    assert F.sum(GRID, axis=1, keepdims=1).shape == F.mean(GRID, axis=1, keepdims=1).shape == (2, 1)
    assert F.reshape(GRID, (-2, 3)).shape == (2, 3)
    assert F.scatter_add(GRID, [0], np.ones((1, 3))).dtype == np.float32
    assert [y.dtype for y in F.transpose_sequence([GRID, GRID[:1].astype(float)])] == [np.float32] * 2
    ones = np.ones((1, 1, 3))
    np.testing.assert_array_equal(
        F.convolution_1d(ones, ones[..., :2].astype(np.float32), np.ones(1, np.float32)).array, [[[3, 3]]]
    )
