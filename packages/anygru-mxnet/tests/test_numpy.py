"""`mx.np` and `mx.npx`: values and texts recorded from MXNet 1.9.1."""

import pickle

import numpy as onp
import pytest

import anygru_mxnet as mx
from anygru_mxnet import autograd, gluon, init, np, npx
from anygru_mxnet.gluon import nn, rnn


@pytest.fixture(autouse=True)
def numpy_arrays():
    npx.set_np()
    yield
    npx.reset_np()


def x():
    return np.arange(12).reshape(3, 4)


@pytest.mark.parametrize(
    ("compute", "text"),
    [
        (lambda: x().sum(), "array(66.)"),
        (lambda: x().mean(axis=1, keepdims=True).shape, "(3, 1)"),
        (lambda: x() > 9, "array([[False, False, False, False],\n       [False, False, False, False],\n"
                          "       [False, False,  True,  True]])"),
        (lambda: x()[1], "array([4., 5., 6., 7.])"),
        (lambda: x()[0, ::-1], "array([3., 2., 1., 0.])"),
        (lambda: x()[x() > 8], "array([ 9., 10., 11.])"),
        (lambda: x()[[0, 2]].shape, "(2, 4)"),
        (lambda: x()[0, 1].item(), "1.0"),
        (lambda: x().argmax(axis=1), "array([3, 3, 3], dtype=int64)"),
        (lambda: npx.one_hot(np.array([0, 2]), 3), "array([[1., 0., 0.],\n       [0., 0., 1.]])"),
        (lambda: np.concatenate((x(), x()), axis=1).shape, "(3, 8)"),
        (lambda: np.array([1, 2], dtype="int32") / 2, "array([0.5, 1. ])"),
        (lambda: np.array([1, 2], dtype="int32") * 1.5, "array([1, 2], dtype=int32)"),
        (lambda: np.array([1, 2], dtype="int32") + np.array([1.5, 2]), "array([2.5, 4. ])"),
        (lambda: npx.sequence_mask(x(), np.array([1, 2, 1, 3]), True)[1], "array([0., 5., 0., 7.])"),
        (lambda: npx.batch_dot(np.ones((2, 3, 4)), np.ones((2, 4, 5))).shape, "(2, 3, 5)"),
        (lambda: npx.topk(x(), k=2, axis=1)[0], "array([3., 2.])"),
        (lambda: np.full((2,), 7), "array([7., 7.])"),
        (lambda: np.nonzero(np.array([0, 1, 2])), "(array([1, 2], dtype=int64),)"),
        (lambda: gluon.loss.L2Loss()(np.ones((2, 3)), np.zeros((2, 3))), "array([0.5, 0.5])"),
    ],
)  # fmt: skip
def test_recorded(compute, text):
    assert repr(compute()) == text


def test_gradients():
    a = np.arange(4.0)
    a.attach_grad()
    with autograd.record():
        y = 2 * np.dot(a, a)
    y.backward()
    assert repr((y, a.grad)) == "(array(28.), array([ 0.,  4.,  8., 12.]))"


def test_changes_in_place():
    a = np.ones((2, 3))
    a[:] = a * 2
    a += 1
    a[0, 1] = 9
    a[1] = np.array([1, 2, 3])
    assert a.tolist() == [[3, 9, 3], [1, 2, 3]]


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("make", [rnn.GRU, rnn.LSTM, rnn.RNN])
def test_gluon_gives_the_arrays_that_are_asked_for(make, hybrid):
    layer = make(3)
    layer.initialize(init.One())
    if hybrid:
        layer.hybridize()
    output, states = layer(np.ones((4, 2, 5)), layer.begin_state(batch_size=2))
    assert {type(output), type(states[0]), type(layer.l0_i2h_bias.grad())} == {np.ndarray}
    npx.reset_np()
    assert not isinstance(gluon.utils.split_and_load(onp.ones((2, 2)), [npx.cpu()])[0], np.ndarray)


def test_a_model_trains():
    net = nn.Sequential()
    net.add(nn.Embedding(5, 4), nn.Dense(2))
    net.initialize(init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(np.array([[1, 2], [3, 4]]), np.array([0, 1])), 2)
    for _ in range(20):
        for ids, labels in data:
            assert isinstance(ids, np.ndarray)
            with autograd.record():
                loss = loss_of(net(ids), labels)
            loss.backward()
            trainer.step(2)
    assert float(loss.mean()) < 0.1


def test_the_class_of_arrays_prints_its_public_home():
    assert np.ndarray.__module__ == "anygru_mxnet.numpy"
    assert pickle.loads(pickle.dumps(np.ndarray)) is np.ndarray


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda a: np.maximum(a, np.array([2.0, 2, 0])), [1, 1, 1]),
        (lambda a: np.maximum(np.array([2.0, 2, 0]), a), [0, 0, 1]),
        (lambda a: np.minimum(2, a), [1, 1, 1]),
        (lambda a: np.maximum(a, 2), [1, 1, 0]),
        (lambda a: a.max(), [1, 1, 0]),
        (lambda a: a.reshape(1, 3).min(axis=-1), [0, 0, 1]),
        (lambda a: np.mod(a, np.array([0.0, 3, 3])), [1, 1, 1]),
    ],
)
def test_gradients_where_values_are_equal(compute, expected):
    a = np.array([2.0, 2, 1])
    a.attach_grad()
    with autograd.record():
        y = compute(a)
    y.backward()
    assert a.grad.tolist() == expected


def test_rint_takes_the_lower_of_two_as_near_and_a_bool_fills_with_bools():
    assert np.rint(np.array([0.5, 1.5, -0.5])).tolist() == [0, 1, -1]
    assert np.mod(np.array([5.0, -5]), 0).tolist() == [0, 0]
    assert np.full((1,), True).dtype == bool
    assert np.maximum(np.array([1, 2], dtype="int32"), 1.5).dtype == onp.int32


def test_the_functions_of_f_in_a_block_for_numpy_s_arrays(tmp_path):
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.hidden = gluon.nn.Dense(4)

        def hybrid_forward(self, F, x):
            gate = F.npx.sigmoid(self.hidden(F.npx.relu(x)).as_np_ndarray())
            return F.np.mean(F.np.tanh(gate), axis=1, keepdims=True) + F.np.max(F.np.abs(x)) + F.np.square(x).sum()

    def answers(hybrid):
        mx.random.seed(1)
        net = Net()
        net.initialize()
        net.hybridize(hybrid)
        x = np.array([[1.0, -2, 3]])
        x.attach_grad()
        with autograd.record():
            y = net(x)
        y.backward()
        assert type(y) is np.ndarray
        return net, x, y.item(), x.grad.tolist()

    plain, (net, x, *traced) = answers(False), answers(True)
    assert traced == list(plain[2:])
    net.export(str(tmp_path / "net"))
    read = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
    assert read(x).item() == traced[0]
    # MXNet 1.9.1's names of nodes (recorded).
    assert {"_npi_tanh", "_npi_mean", "_npi_absolute", "_np_max"} <= set(
        (tmp_path / "net-symbol.json").read_text().split('"')
    )


def test_functions_of_symbols_compute_as_functions_of_arrays():
    values = [np.array([[0.25, -0.75], [0.5, 0.5]]), np.array([[1, -2], [3, 0]], dtype="int32")]
    x = mx.sym.var("x")
    for name in mx.sym.np.__all__:
        for value in values[name == "invert" :]:
            [found] = getattr(mx.sym.np, name)(x).bind(mx.cpu(), {"x": value.as_nd_ndarray()}).forward()
            expected = getattr(np, name)(value)
            assert found.dtype == expected.dtype, name
            onp.testing.assert_array_equal(found.asnumpy().ravel(), expected.asnumpy().ravel(), err_msg=name)
    with pytest.raises(NotImplementedError, match="the symbol's method"):
        mx.sym.np.concatenate([x, x])


# MXNet 1.9.1 draws initial values of `mx.np` from `mx.np.random`; draws of `mx.random` do not change them (recorded).
@pytest.mark.parametrize(
    ("initial", "expected"),
    [
        ("uniform", [0.01194231, -0.01096794]),
        ("normal", [-0.01636092, 0.01781439]),
        (init.Xavier(rnd_type="gaussian"), [-2.00379539, 2.18180799]),
    ],
)
@pytest.mark.parametrize("draws", [0, 2])
def test_initial_values_are_drawn_by_numpy_s_generator(initial, expected, draws):
    mx.random.seed(3)
    mx.nd.random.uniform(shape=(1 + draws,))
    layer = nn.Dense(2, in_units=2)
    layer.initialize(initial)
    onp.testing.assert_allclose(layer.weight.data()[0].asnumpy(), expected, rtol=1e-5)
