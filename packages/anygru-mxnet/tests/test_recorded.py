"""Numbers and errors recorded from MXNet 1.9.1 on the CPU."""

import warnings

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru.dialects import NotCoveredError
from anygru_mxnet import autograd, gluon, nd
from anygru_mxnet.base import MXNetError
from anygru_mxnet.gluon import nn, rnn


def trained(action, contexts, on_store=None):
    """Three steps with momentum, something done to the parameter, and two steps more: the weight after each of these."""
    ctx = [mx.cpu(i) for i in range(contexts)]
    net = nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(mx.init.One(), ctx=ctx)
    options = {"learning_rate": 0.1, "momentum": 0.9}
    trainer = gluon.Trainer(net.collect_params(), "sgd", options, update_on_kvstore=on_store)

    def step():
        with autograd.record():
            losses = [net(nd.ones((1, 2), ctx=c)).sum() for c in ctx]
        for loss in losses:
            loss.backward()
        trainer.step(1)
        return float(net.weight.list_data()[-1].asnumpy()[0, 0])

    for _ in range(3):
        step()
    action(net, ctx)
    return step(), step()


@pytest.mark.parametrize(
    ("contexts", "on_store", "expected"),
    [(2, None, (4.8, 4.42)), (1, None, (4.6561, 4.24659)), (2, False, (4.3122, 3.49318))],
)
def test_values_set_during_training_stay_and_begin_a_new_momentum_where_the_store_has_it(contexts, on_store, expected):
    found = trained(lambda net, ctx: net.weight.set_data(nd.array([[5, 6]])), contexts, on_store)
    assert found == pytest.approx(expected, abs=1e-6)


def test_back_to_the_best_checkpoint_on_two_contexts(tmp_path):
    path = str(tmp_path / "best.params")

    def load(net, ctx):
        mx.nd.save(path, {"weight": nd.array([[5, 6]])})
        net.load_parameters(path, ctx=ctx)

    assert trained(load, 2) == pytest.approx((4.8, 4.42), abs=1e-6)


def test_a_new_initialization_during_training_is_lost_on_two_contexts_in_mxnet_too():
    def again(net, ctx):
        net.initialize(mx.init.Constant(3), ctx=ctx, force_reinit=True)

    assert trained(again, 2) == pytest.approx((-0.8098, -1.62882), abs=1e-5)


def halves(state):
    return [part.asnumpy().tolist() for part in state]


@pytest.mark.parametrize(
    ("rule", "options", "expected"),
    [
        ("sgd", {"momentum": 0.9}, [[-0.005, -0.0025], [0.995, 1.9975]]),
        ("nag", {"momentum": 0.9}, [[-0.005, -0.0025], [0.9905, 1.99525]]),
        ("signum", {}, [[0.99, 1.99], [-0.05, -0.025]]),
    ],
)
def test_order_of_a_float16_weights_copy_and_momentum(rule, options, expected):
    optimizer = mx.optimizer.create(rule, multi_precision=True, **options)
    weight = nd.array([1, 2], dtype="float16")
    state = optimizer.create_state_multi_precision(0, weight)
    optimizer.update_multi_precision(0, weight, nd.array([0.5, 0.25], dtype="float16"), state)
    np.testing.assert_allclose(halves(state), expected, atol=1e-7)


@pytest.mark.parametrize("change", ["flatten()", "expand_dims(1)", "squeeze()", "squeeze(axis=0)"])
def test_in_place_changes_of_shape_share_memory(change):
    x = nd.arange(4).reshape((1, 4))
    y = eval("x." + change.replace(")", ", inplace=True)").replace("(, ", "("))
    y[:] = 9
    assert x.asnumpy().tolist() == [[9, 9, 9, 9]]
    with pytest.raises(AssertionError, match="must be size 1"):
        x.squeeze(axis=1, inplace=True)


def one(norm, x, y):
    with autograd.record():
        loss = (norm(x) ** 2).sum()
    loss.backward()


def several_uses(norm, x, y):
    with autograd.record():
        loss = (norm(x) * norm(y)).sum()
    loss.backward()


def hybrid(norm, x, y):
    norm.hybridize()
    several_uses(norm, x, y)


def no_backward(norm, x, y):
    with autograd.record():
        norm(x)


def only_training_mode(norm, x, y):
    with autograd.train_mode():
        norm(x)


def two_backward_passes(norm, x, y):
    with autograd.record():
        loss = (norm(x) ** 2).sum()
    loss.backward(retain_graph=True)
    loss.backward()


@pytest.mark.parametrize(
    ("use", "mean", "variance"),
    [
        (one, [1.0, 1.75], [1.0, 1.625]),
        (several_uses, [6.0, 10.5], [25.75, 57.625]),
        (hybrid, [6.0, 10.5], [25.75, 57.625]),
        (no_backward, [0, 0], [1, 1]),
        (only_training_mode, [0, 0], [1, 1]),
        (two_backward_passes, [1.5, 2.625], [1.0, 1.9375]),
    ],
)
def test_running_averages_move_in_backward(use, mean, variance):
    norm = nn.BatchNorm(in_channels=2, momentum=0.5)
    norm.initialize()
    use(norm, nd.array([[1, 2], [3, 5]]), nd.array([[10, 20], [30, 50]]))
    np.testing.assert_allclose(norm.running_mean.data().asnumpy(), mean, rtol=1e-6)
    np.testing.assert_allclose(norm.running_var.data().asnumpy(), variance, rtol=1e-6)


def test_managers_of_names_count_blocks_too():
    with mx.name.NameManager():
        with mx.name.Prefix("site_"):
            first, second = nn.Dense(2), nn.Dense(2)
        inside = nn.Dense(2)
        mx.sym.Dropout(mx.sym.var("x"))
        dropout = nn.Dropout(0.5)
    assert (first.name, second.weight.name) == ("site_dense0", "site_dense1_weight")
    assert (inside.name, dropout.name) == ("dense0", "dropout1")


@pytest.mark.parametrize(
    ("function", "gradient"),
    [
        (nd.abs, [1, -1, 1]),
        (nd.radians, [np.pi / 180] * 3),
        (lambda x: nd.clip(x, -1, 1), [1, 0, 0]),
        (nd.floor, [0, 0, 0]),
    ],
)
def test_second_derivatives_of_functions_without_any_are_zero(function, gradient):
    x = nd.array([0.5, -2, 3])
    x.attach_grad()
    with autograd.record():
        y = function(x)
        first = autograd.grad(y, [x], create_graph=True, retain_graph=True)[0]
        z = (first * first).sum() + first.sum()
    z.backward()
    np.testing.assert_allclose(first.asnumpy(), gradient, rtol=1e-6)
    assert x.grad.asnumpy().tolist() == [0, 0, 0]


X = nd.arange(24).reshape((2, 3, 4))
ROW, ROWS = nd.ones((1, 2)), nd.ones((3, 2))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: nd.moveaxis(X, 3, 0), ValueError, "source must be"),
        (lambda: nd.moveaxis(X, (0, 0), (1, 2)), ValueError, "repeated axis"),
        (lambda: nd.moveaxis(X, (0, 1), (2, 2)), ValueError, "repeated axis"),
        (lambda: nd.moveaxis(X, (0, 1), (1,)), ValueError, "same number of elements"),
        (lambda: nd.moveaxis(X, 0, 5), ValueError, "destination must be"),
        (lambda: nd.broadcast_like(ROW, ROWS, lhs_axes=(0, 1), rhs_axes=(0,)), MXNetError, "must have the same length"),
        (lambda: nd.broadcast_like(ROW, ROWS, lhs_axes=(), rhs_axes=()), MXNetError, "must have the same length"),
        (lambda: nd.from_numpy(np.arange(6.0).reshape(2, 3).T), ValueError, "Only c-contiguous"),
        (lambda: mx.kv.create().init([1, "b"], [ROW, ROW]), AssertionError, "inconsistent types of keys"),
        (lambda: mx.kv.create().init(1.5, ROW), AssertionError, "unexpected type for keys"),
    ],
)
def test_refused_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_store_has_keys_of_one_type():
    store = mx.kv.create("local")
    store.init("3", nd.ones((2,)))
    with pytest.raises(MXNetError, match="all numbers or all strings"):
        store.init(4, nd.ones((2,)))


def test_operators_without_attributes_take_any():
    assert nd.broadcast_add(X, X, foo=1).shape == nd.relu(X, foo=1).shape == X.shape
    with pytest.raises(MXNetError, match="Cannot find argument 'foo'"):
        nd.broadcast_to(ROW, shape=(2, 2), foo=1)


def test_a_gru_of_one_layer_has_no_advice_about_dropout():
    layer = rnn.GRU(3, dropout=0.5, input_size=2)
    layer.initialize()
    with warnings.catch_warnings(), autograd.record():
        warnings.simplefilter("error")
        layer(nd.ones((2, 1, 2)))


@pytest.mark.parametrize("cell", [rnn.GRU, rnn.GRUCell])
def test_sizes_that_are_none(cell):
    with pytest.raises(MXNetError, match="whole numbers"):
        cell(2.5, input_size=3).initialize()
    with pytest.raises(AssertionError, match="cannot be less than 0"):
        cell(-1, input_size=3).initialize()


def test_methods_that_are_not_covered_say_what_to_use():
    with pytest.raises(NotCoveredError, match=r"gradient .*SymbolBlock"):
        mx.sym.var("x").gradient(["x"])
    assert not hasattr(mx.sym.var("x"), "gradient")


def test_moments_of_whole_numbers():
    data = nd.array([[1, 2, 4], [7, -3, 5]], dtype="int32")
    assert halves(nd.moments(data, axes=(1,), keepdims=True)) == [[[2], [3]], [[1], [18]]]
    assert halves(nd.moments(-data, axes=(0, 1))) == [[-2], [10]]
    assert {part.dtype for part in nd.moments(data, axes=(0,))} == {np.int32}


@pytest.mark.parametrize(
    ("labels", "options", "expected"),
    [
        ([[1, 1, 0], [1, 2, 0]], {}, [0.0, 2.798025]),
        ([[1, 2, 0], [1, 2, 0]], {"data_lengths": [1, 2]}, [0.0, 2.798025]),
    ],
)
def test_a_ctc_loss_for_which_the_steps_do_not_suffice_is_zero(labels, options, expected):
    data = nd.array(np.repeat(np.arange(12.0).reshape(3, 1, 4) / 7, 2, axis=1))
    given = {name: nd.array(value) for name, value in {"data_lengths": [2, 2], **options}.items()}
    data.attach_grad()
    with autograd.record():
        loss = nd.CTCLoss(data, nd.array(labels), **given, use_data_lengths=True)
    loss.backward()
    assert loss.asnumpy().tolist() == pytest.approx(expected)
    assert not data.grad[:, 0].asnumpy().any()
    assert data.grad[0, 1].asnumpy().tolist() == pytest.approx([0.1992, -0.7702, 0.2651, 0.3058], abs=1e-4)


def test_small_differences():
    assert nn.Dropout(1.0)(nd.ones(2)).asnumpy().tolist() == [1, 1]  # outside of training
    parts = nd._internal._split_v2(nd.arange(6).reshape((1, 6)), indices=(0, 2, 4))
    assert halves(parts) == [[[0, 1]], [[2, 3]], [[4, 5]]]
    with pytest.raises(TypeError, match="unsupported operand"):
        mx.np.array([3.0]) // 2
    with pytest.warns(UserWarning, match="softmax_label"):
        mx.mod.Module(mx.sym.var("data") * 2)
    public = [getattr(nd, name) for name in dir(nd) if not name.startswith("_")]
    assert not [found for found in public if callable(found) and not found.__doc__]


def test_the_cursor_of_batches():
    data = mx.io.NDArrayIter(np.arange(5), None, 2, last_batch_handle="roll_over")
    found = []
    for _ in range(2):
        found.append([data.cursor, *(data.cursor for _ in data), data.cursor])
        data.reset()
    assert (found, data.cursor) == ([[-2, 0, 2, 4], [-3, -1, 1, 3, 5]], -2)
    few = mx.io.NDArrayIter(np.arange(3), None, 5, last_batch_handle="roll_over")
    assert not list(few)
    few.reset()
    assert few.next().data[0].asnumpy().tolist() == [0, 1, 2, 0, 1]
    assert not list(few)
    with pytest.raises(MXNetError, match="do not fill"):
        few.reset()
