"""NStepGRU and the step-by-step GRUs against their formulas in NumPy, torch.nn.GRU and finite differences."""

import numpy as np
import pytest
import torch

import anygru
import anygru_chainer as chainer
import anygru_chainer.functions as F
import anygru_chainer.links as L
from anygru_chainer import gradient_check
from anygru_chainer.functions import recurrent as n_step_gru
from anygru_chainer.links import n_step as n_step_rnn
from anygru_chainer.utils.type_check import InvalidType

LENGTHS = (2, 5, 1, 3)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def make(cls, *args, seed=0):
    """A link in float64 with random parameters."""
    rng = np.random.RandomState(seed)
    with chainer.using_config("dtype", np.float64):
        link = cls(*args)
    for _, parameter in sorted(link.namedparams()):
        parameter.array[...] = rng.uniform(-0.8, 0.8, parameter.shape)
    return link


def sequences(size, lengths=LENGTHS, seed=1):
    rng = np.random.RandomState(seed)
    return [rng.randn(n, size) for n in lengths]


def by_hand(layer, h, x):
    """The states of one sequence, written out."""
    w = [getattr(layer, f"w{i}").array for i in range(6)]
    b = [getattr(layer, f"b{i}").array for i in range(6)]
    states = []
    for v in x:
        r = sigmoid(w[0] @ v + b[0] + w[3] @ h + b[3])
        z = sigmoid(w[1] @ v + b[1] + w[4] @ h + b[4])
        c = np.tanh(w[2] @ v + b[2] + r * (w[5] @ h + b[5]))
        h = (1 - z) * c + z * h
        states.append(h)
    return np.array(states)


def test_two_layers_agree_with_the_formulas():
    gru, xs = make(L.NStepGRU, 2, 3, 4, 0.0), sequences(3)
    hx = np.random.RandomState(2).randn(2, 4, 4)
    hy, ys = gru(hx, xs)
    for b, x in enumerate(xs):
        first = by_hand(gru[0], hx[0, b], x)
        second = by_hand(gru[1], hx[1, b], first)
        np.testing.assert_allclose(ys[b].array, second, rtol=1e-10)
        np.testing.assert_allclose(hy.array[:, b], [first[-1], second[-1]], rtol=1e-10)


def test_both_directions_agree_with_the_formulas():
    gru, xs = make(L.NStepBiGRU, 1, 3, 4, 0.0), sequences(3)
    hy, ys = gru(None, xs)
    for b, x in enumerate(xs):
        forward = by_hand(gru[0], np.zeros(4), x)
        backward = by_hand(gru[1], np.zeros(4), x[::-1])
        np.testing.assert_allclose(ys[b].array, np.concatenate((forward, backward[::-1]), 1), rtol=1e-10)
        np.testing.assert_allclose(hy.array[:, b], [forward[-1], backward[-1]], rtol=1e-10)


@pytest.mark.parametrize("cls", [L.NStepGRU, L.NStepBiGRU])
def test_gradients_agree_with_finite_differences(cls):
    gru = make(cls, 2, 2, 3, 0.0)
    directions = 2 if cls is L.NStepBiGRU else 1
    hx = np.random.RandomState(3).randn(2 * directions, 3, 3)

    def run(hx, *xs):
        hy, ys = gru(hx, list(xs))
        return hy, *ys

    outputs = [y.array for y in run(hx, *sequences(2, (2, 3, 1)))]
    grads = tuple(np.random.RandomState(4).randn(*y.shape) for y in outputs)
    gradient_check.check_backward(
        run, (hx, *sequences(2, (2, 3, 1))), grads, tuple(gru.params()), eps=1e-5, atol=1e-7, rtol=1e-6
    )


def test_second_gradients_agree_with_finite_differences():
    gru, hx = make(L.NStepGRU, 1, 2, 2, 0.0), np.random.RandomState(5).randn(1, 2, 2)
    xs = sequences(2, (2, 1))
    gradient_check.check_double_backward(
        lambda h: gru(h, xs)[0], hx, np.ones_like(hx), np.ones_like(hx), eps=1e-5, atol=1e-6, rtol=1e-5
    )


@pytest.mark.parametrize("cls", [L.NStepGRU, L.NStepBiGRU])
def test_time_steps_give_what_sequences_give(cls):
    gru, xs = make(cls, 2, 3, 4, 0.0), sequences(3)
    order = sorted(range(4), key=lambda b: -LENGTHS[b])
    hx = np.random.RandomState(2).randn(2 * gru.direction, 4, 4)
    hy, ys = gru(hx, xs)
    steps = F.transpose_sequence([xs[b] for b in order])
    hy_steps, ys_steps = gru.rnn(2, 0.0, hx[:, order], gru.ws, gru.bs, steps)
    np.testing.assert_allclose(hy_steps.array, hy.array[:, order])
    for y, b in zip(F.transpose_sequence(ys_steps), order, strict=True):
        np.testing.assert_allclose(y.array, ys[b].array)


@pytest.mark.parametrize("cls", [L.NStepGRU, L.NStepBiGRU])
def test_dropout_lets_through_what_it_keeps(cls):
    """With masks of ones the computation layer by layer gives the same as the computation of all layers."""
    gru, xs = make(cls, 3, 3, 4, 0.0), sequences(3)
    hy, ys = gru(None, xs)
    gru.dropout = 1e-12
    hy_masked, ys_masked = gru(None, xs)
    np.testing.assert_allclose(hy_masked.array, hy.array, rtol=1e-9)
    for y, masked in zip(ys, ys_masked, strict=True):
        np.testing.assert_allclose(masked.array, y.array, rtol=1e-9)


def test_dropout_draws_from_numpy_and_rests_when_not_training():
    gru, xs = make(L.NStepGRU, 2, 3, 4, 0.5), sequences(3)
    np.random.seed(7)
    first = gru(None, xs)[0].array
    assert not np.allclose(gru(None, xs)[0].array, first)
    np.random.seed(7)
    np.testing.assert_array_equal(gru(None, xs)[0].array, first)
    with chainer.using_config("train", False):
        rested = gru(None, xs)[0].array
        np.testing.assert_array_equal(gru(None, xs)[0].array, rested)


def test_a_anygru_layer_shares_the_parameters():
    gru, xs = make(L.NStepBiGRU, 2, 3, 4, 0.0), sequences(3)
    before = gru(None, xs)[0].array
    layer = anygru.dialects.from_dialect(gru)
    output, h_n = layer([torch.from_numpy(x) for x in xs])
    np.testing.assert_allclose(h_n.detach().numpy(), before, rtol=1e-10)
    with torch.no_grad():
        layer.weight_hh_l1_reverse.zero_()
    assert not gru[3].w4.array.any()
    gru[0].b2.array[...] = 5
    assert (layer.bias_ih_l0[8:] == 5).all()
    np.testing.assert_allclose(layer([torch.from_numpy(x) for x in xs])[1].detach().numpy(), gru(None, xs)[0].array)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((None, np.zeros((2, 3, 3))), AssertionError, "xs must be a list or tuple"),
        ((None, [np.zeros((2, 5))]), InvalidType, r"prod\(xs\[0\].shape\[1:\]\) == w0.shape\[1\]"),
        ((None, [np.zeros((2, 3), "f")]), InvalidType, "dtype"),
        ((np.zeros((1, 1, 4)), [np.zeros((2, 3))]), IndexError, "S = 2"),
        ((np.zeros((2, 1, 4)), [np.zeros((2, 3))] * 2), IndexError, "B = 2"),
        ((None, []), IndexError, "out of range"),
        ((np.zeros((2, 0, 4)), []), IndexError, "at least one sequence"),
        ((None, [np.zeros(3)]), IndexError, r"xs\[0\] must be \[L, I\]"),
        ((None, [np.zeros((2, 3)), np.zeros((0, 3))]), IndexError, r"xs\[1\] must have at least one step"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(arguments, error, words):
    with pytest.raises(error, match=words):
        make(L.NStepGRU, 2, 3, 4, 0.0)(*arguments)


@pytest.mark.parametrize(("dtypes", "longest"), [("fd", 0), ("df", 1), ("if", 1)])
def test_sequences_get_the_dtype_of_the_longest(dtypes, longest):
    gru = make(L.NStepGRU, 1, 3, 4, 0.0)
    for parameter in gru.params():
        parameter.array = parameter.array.astype("f")
    xs = [np.ones((3 if b == longest else 1, 3), dtype) for b, dtype in enumerate(dtypes)]
    second = chainer.Variable(xs[1 - longest].astype("d"))
    hy, ys = gru(None, [second if b != longest else x for b, x in enumerate(xs)])
    assert hy.dtype == ys[0].dtype == ys[1].dtype == np.float32
    np.testing.assert_allclose(hy.array, gru(None, [x.astype("f") for x in xs])[0].array)
    F.sum(hy).backward()
    assert second.grad.dtype == np.float64
    assert second.grad.any()


@pytest.mark.parametrize("link", [L.GRU, L.StatelessGRU, L.LSTM, L.StatelessLSTM])
def test_a_step_takes_matrices_of_another_dtype(link):
    np.random.seed(0)
    step, x, h = link(3, 4), np.ones((2, 3), "f"), np.ones((2, 4), "f")
    states = () if hasattr(step, "reset_state") else (h,) if link is L.StatelessGRU else (h, h)

    def values():
        if not states:
            step.reset_state()
            step(x)
        found = step(*states, x)
        return found[1].array if isinstance(found, tuple) else found.array

    expected = values()
    for part in step.children():
        part.W.array = part.W.array.astype("d")
        found = values()
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, 1e-5)


def test_a_single_layer_has_no_use_for_dropout():
    gru, xs = make(L.NStepGRU, 1, 3, 4, None), sequences(3)
    expected = gru(None, xs)[0].array
    gru.dropout = 0.9
    np.testing.assert_array_equal(gru(None, xs)[0].array, expected)


def test_a_large_batch_gets_the_masks_that_chainer_gave_it():
    """Golden values of Chainer 7.8.1: above 16 sequences its sort does not keep equal lengths in their order."""
    np.random.seed(3)
    gru = L.NStepGRU(2, 1, 1, 0.5, initialW=0.5)
    lengths = np.random.randint(1, 4, 20)
    hy, _ = gru(None, [np.full((n, 1), b / 10, np.float32) for b, n in enumerate(lengths)])
    expected = [0, 0, 0.037276, 0, 0.042342, 0.05055, 0.128906, 0, 0.099651, 0.115803, 0.05005, 0.151379, 0]
    expected += [0.158966, 0.089058, 0.090294, 0, 0.200236, 0.20517, 0]
    np.testing.assert_allclose(hy.array[1, :, 0], expected, atol=1e-6)


def test_lists_are_put_in_order_and_back():
    lengths = [9, 8, 1, 1, 9, 4, 5, 9, 5, 17, 1, 15, 16, 19, 5, 6, 14, 15, 1, 10, 10, 6, 17]
    order = n_step_rnn.argsort_list_descent([np.zeros(n) for n in lengths])
    assert order.dtype == np.int32
    golden = [13, 22, 9, 12, 17, 11, 16, 20, 19, 0, 7, 4, 1, 21, 15, 6, 8, 14, 5, 2, 3, 18, 10]  # Chainer 7.8.1
    assert order.tolist() == golden
    falling = n_step_rnn.permutate_list(lengths, order, inv=False)
    assert falling == sorted(lengths, reverse=True)
    assert n_step_rnn.permutate_list(falling, order, inv=True) == lengths


@pytest.mark.parametrize(("cls", "both"), [(L.NStepGRU, False), (L.NStepBiGRU, True)])
def test_the_base_function_takes_the_direction_as_an_argument(cls, both):
    gru, steps = make(cls, 1, 3, 4, 0.0), sequences(3, (2, 1))
    hx = np.ones((gru.direction, 2, 4))
    hy, _ = n_step_gru.n_step_gru_base(1, 0.0, hx, gru.ws, gru.bs, steps, use_bi_direction=both)
    np.testing.assert_array_equal(hy.array, gru.rnn(1, 0.0, hx, gru.ws, gru.bs, steps)[0].array)


def stateless_by_hand(link, h, x):
    def part(name, v):
        return v @ getattr(link, name).W.array.T + getattr(link, name).b.array

    r = sigmoid(part("W_r", x) + part("U_r", h))
    z = sigmoid(part("W_z", x) + part("U_z", h))
    return (1 - z) * h + z * np.tanh(part("W", x) + part("U", r * h))


def test_the_stateless_gru_agrees_with_its_formulas():
    gru, rng = make(L.StatelessGRU, 3, 4), np.random.RandomState(1)
    h, x = rng.randn(5, 4), rng.randn(5, 3)
    np.testing.assert_allclose(gru(h, x).array, stateless_by_hand(gru, h, x), rtol=1e-10)
    cell = gru.copy_to_anygru()
    expected = cell(torch.from_numpy(x), torch.from_numpy(h)).detach().numpy()
    np.testing.assert_allclose(gru(h, x).array, expected, rtol=1e-10)
    with pytest.raises(TypeError, match="copy_to_anygru"):
        anygru.dialects.from_dialect(gru)
    with pytest.raises(TypeError, match=r"of a dialect \((?!.*(chainermn|chainerx|cupy)).*chainer.*\), got"):
        anygru.dialects.from_dialect(torch.nn.Linear(1, 1))


def test_the_stateful_gru_leaves_u_out_of_its_first_step():
    gru, rng = make(L.StatefulGRU, 3, 4), np.random.RandomState(1)
    xs = rng.randn(3, 5, 3)
    outputs = [gru(x) for x in xs]
    z = sigmoid(xs[0] @ gru.W_z.W.array.T + gru.W_z.b.array)
    np.testing.assert_allclose(outputs[0].array, z * np.tanh(xs[0] @ gru.W.W.array.T + gru.W.b.array), rtol=1e-10)
    for before, x, after in zip(outputs, xs[1:], outputs[1:], strict=False):
        np.testing.assert_allclose(after.array, stateless_by_hand(gru, before.array, x), rtol=1e-10)
    assert gru.h is outputs[-1]


def test_a_watched_gru_calls_its_links_and_computes_the_same():
    class Watch(chainer.LinkHook):
        def __init__(self):
            self.names = []

        def forward_postprocess(self, args):
            self.names.append(args.link.name)

    gru, x = make(L.StatefulGRU, 3, 4), np.random.RandomState(1).randn(5, 3)
    plain = [gru(x).array, gru(x).array]
    gru.reset_state()
    with Watch() as watch:
        watched = [gru(x).array, gru(x).array]
    np.testing.assert_allclose(watched, plain, rtol=1e-10)
    assert watch.names == ["W_z", "W", None, "W_z", "W", "W_r", "U_r", "U_z", "U", None]


def test_hooks_on_functions_see_the_parts_of_a_step():
    class Watch(chainer.FunctionHook):
        def __init__(self):
            self.labels = []

        def forward_postprocess(self, function, in_data):
            self.labels.append(function.label)

    gru, x = make(L.StatefulGRU, 3, 4), np.random.RandomState(1).randn(5, 3)
    with Watch() as first:
        gru(x)
    with Watch() as second:
        gru(x)
    assert first.labels == ["LinearFunction", "LinearFunction", "Sigmoid", "Tanh", "_ * _"]
    assert second.labels == [
        *["LinearFunction"] * 4, "_ + _", "Sigmoid", "LinearFunction", "_ + _",
        "_ * _", "LinearFunction", "_ + _", "Sigmoid", "Tanh", "LinearInterpolate",
    ]  # fmt: skip


@pytest.mark.parametrize("in_size", [6, None])
def test_a_step_flattens_what_is_behind_the_batch(in_size):
    gru, lazy = make(L.StatefulGRU, 6, 4), L.StatefulGRU(in_size, 4)
    xs = np.random.RandomState(1).randn(2, 5, 3, 2)
    expected = [gru(x.reshape(5, 6)).array for x in xs]
    lazy(xs[0].astype("f"))
    gru.reset_state()
    np.testing.assert_array_equal([gru(x).array for x in xs], expected)
    assert lazy.W_z.W.shape == (4, 6)


def test_gradients_of_the_stateful_gru_agree_with_finite_differences():
    gru, xs = make(L.StatefulGRU, 2, 3), np.random.RandomState(1).randn(3, 2, 2)

    def run(*xs):
        gru.reset_state()
        return [gru(x) for x in xs][-1]

    gradient_check.check_backward(run, tuple(xs), np.ones((2, 3)), tuple(gru.params()), eps=1e-5, atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize(("hx", "xs"), [(None, [None]), (None, [1, 2]), ([[[1, 2, 3]]], [np.ones((2, 2), "f")])])
def test_what_is_no_array_is_a_type_error(hx, xs):
    gru = L.NStepGRU(1, 2, 3, 0.0)
    with pytest.raises(TypeError):
        gru(hx, xs)


def test_the_number_of_matrices_is_known_to_the_class():
    assert [kind.n_weights for kind in (L.NStepGRU, L.NStepLSTM, L.NStepRNNTanh)] == [6, 8, 2]


def test_a_wrong_batch_draws_no_random_numbers():
    layer = L.NStepBiGRU(2, 3, 4, 0.0)
    np.random.seed(0)
    with pytest.raises(IndexError, match="B = 3"):
        layer(np.zeros((4, 2, 4), "f"), [np.zeros((3, 3), "f")] * 3)
    assert round(np.random.rand(), 6) == 0.548814  # the first number, as in Chainer 7.8.1
