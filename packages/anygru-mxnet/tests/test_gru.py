"""`gluon.rnn` against a GRU written in NumPy, and the behaviour of the layer and the cells."""

import contextlib

import numpy as np
import pytest
import torch

from anygru import dialects
from anygru_mxnet import MXNetError, autograd, gluon, init, nd
from anygru_mxnet.gluon import rnn


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def one_direction(x, h, w_i, w_h, b_i, b_h):
    size, outputs = h.shape[1], []
    for step in x:
        a, b = step @ w_i.T + b_i, h @ w_h.T + b_h
        reset, update = sigmoid(a[:, :size] + b[:, :size]), sigmoid(a[:, size : 2 * size] + b[:, size : 2 * size])
        h = (1 - update) * np.tanh(a[:, 2 * size :] + reset * b[:, 2 * size :]) + update * h
        outputs.append(h)
    return np.stack(outputs), h


def numpy_gru(layer, x, states, directions):
    weights = [p.data().asnumpy() for p in layer.params.values()]
    last = []
    for depth in range(len(weights) // (4 * directions)):
        parts = []
        for d in range(directions):
            at = 4 * (depth * directions + d)
            given = x[::-1] if d else x
            output, h = one_direction(given, states[depth * directions + d], *weights[at : at + 4])
            parts.append(output[::-1] if d else output)
            last.append(h)
        x = np.concatenate(parts, 2)
    return x, np.stack(last)


def filled(block, seed=0, dtype="float64"):
    block.cast(dtype)
    block.initialize(force_reinit=True)
    rng = np.random.RandomState(seed)
    for parameter in block.collect_params().values():
        parameter.set_data(nd.array(rng.uniform(-0.7, 0.7, parameter.shape), dtype=dtype))
    return block


def wide(values):
    return nd.array(values, dtype="float64")


@pytest.mark.parametrize("layout", ["TNC", "NTC"])
@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("hybrid", [False, True])
def test_the_layer_is_the_formula(layout, directions, depth, hybrid):
    layer = filled(rnn.GRU(3, depth, layout, bidirectional=directions == 2, input_size=2))
    if hybrid:
        layer.hybridize()
    rng = np.random.RandomState(1)
    x, h = rng.randn(5, 4, 2), rng.randn(depth * directions, 4, 3)
    expected, last = numpy_gru(layer, x, h, directions)
    turn = (lambda v: v.swapaxes(0, 1)) if layout == "NTC" else (lambda v: v)
    for states in (wide(h), [wide(h)]):
        output, (state,) = layer(wide(turn(x)), states)
        np.testing.assert_allclose(turn(output.asnumpy()), expected, atol=1e-12)
        np.testing.assert_allclose(state.asnumpy(), last, atol=1e-12)
    from_zeros, _ = numpy_gru(layer, x, h * 0, directions)
    layer.hybridize(hybrid)  # forgets the form of the call with states
    np.testing.assert_allclose(turn(layer(wide(turn(x))).asnumpy()), from_zeros, atol=1e-12)


def test_states_begin_with_what_a_draw_makes():
    layer = rnn.GRU(3, 2)
    (state,) = layer.begin_state(4, func=nd.random.uniform, low=2, high=3)
    assert state.shape == (2, 4, 3)
    assert state.asnumpy().min() >= 2
    (state,) = rnn.GRUCell(3).begin_state(4, func=nd.random.normal, scale=1e-30)
    assert state.shape == (4, 3)
    assert abs(state.asnumpy()).max() < 1e-28


def test_a_hybridized_layer_keeps_the_form_of_its_first_call():
    layer, x = filled(rnn.GRU(3, input_size=2)), wide(np.ones((2, 1, 2)))
    layer.hybridize()
    assert [type(layer(x, layer.begin_state(1, dtype="float64"))), type(layer(x))] == [list, list]
    layer.hybridize()
    assert [type(layer(x)), type(layer(x, layer.begin_state(1, dtype="float64")))] == [nd.NDArray, nd.NDArray]


def test_gradients_of_everything():
    layer = filled(rnn.GRU(3, 2, bidirectional=True, input_size=2))
    rng = np.random.RandomState(2)
    x, h, head = rng.randn(4, 2, 2), rng.randn(4, 2, 3), rng.randn(4, 2, 6)
    arrays = {"x": wide(x), "h": wide(h)}
    for array in arrays.values():
        array.attach_grad()
    with autograd.record():
        output, (state,) = layer(arrays["x"], arrays["h"])
        loss = (output * wide(head)).sum() + (state * state).sum()
    loss.backward()

    def value():
        output, (state,) = layer(arrays["x"], arrays["h"])
        return float(((output * wide(head)).sum() + (state * state).sum()).asscalar())

    checked = [(a, a.grad) for a in arrays.values()] + [(p.data(), p.grad()) for p in layer.params.values()]
    for array, gradient in checked:
        place = tuple(size // 2 for size in array.shape)
        before = array[place].asscalar()
        values = []
        for moved in (before + 1e-6, before - 1e-6):
            array[place] = moved
            values.append(value())
        array[place] = before
        assert gradient[place].asscalar() == pytest.approx((values[0] - values[1]) / 2e-6, abs=1e-6)


def test_what_does_not_fit_is_refused():
    layer = filled(rnn.GRU(3, input_size=2), dtype="float32")
    x = nd.ones((4, 5, 2))
    with pytest.raises(ValueError, match="Invalid recurrent state shape. Expecting \\(1, 5, 3\\)"):
        layer(x, nd.ones((1, 4, 3)))
    for inputs in (nd.ones((4, 5, 3)), nd.ones((4, 2)), x.astype("float64"), x.astype("int32")):
        with pytest.raises(MXNetError):
            layer(inputs)
    with pytest.raises(AssertionError, match="Invalid layout"):
        rnn.GRU(3, layout="NCT")
    with pytest.raises(TypeError):
        rnn.GRU(3, size=2)
    half = filled(rnn.GRU(3, input_size=2), dtype="float16")
    with pytest.raises(MXNetError, match="float16"):
        half(x.astype("float16"))
    hybrid = filled(rnn.GRU(3, input_size=2), dtype="float32")
    hybrid.hybridize()
    with pytest.raises(MXNetError, match="state must be of shape"):
        hybrid(x, nd.ones((1, 1, 3)))


def test_the_input_size_may_wait():
    layer = rnn.GRU(3, 2, bidirectional=True)
    assert repr(layer) == "GRU(None -> 3, TNC, num_layers=2, bidirectional)"
    with pytest.raises(RuntimeError, match="has not been initialized"):
        layer(nd.ones((1, 1, 4)))
    layer.initialize()
    with pytest.raises(gluon.DeferredInitializationError, match="l0_i2h_weight"):
        layer.l0_i2h_weight.data()
    assert layer(nd.ones((2, 5, 4))).shape == (2, 5, 6)
    assert layer.l0_i2h_weight.shape == (9, 4)


def test_initializers():
    layer = rnn.GRU(
        2,
        input_size=2,
        i2h_weight_initializer="ones",
        h2h_weight_initializer=init.Constant(3),
        i2h_bias_initializer=init.Constant(0.5),
    )
    layer.initialize(init.Zero())
    assert [p.data().asnumpy().mean() for p in layer.params.values()] == [1, 3, 0.5, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dropout_between_layers_acts_in_training_where_mxnets_does(dtype):
    layer = filled(rnn.GRU(4, 2, dropout=0.5, input_size=3), dtype=dtype)
    x = nd.ones((5, 2, 3), dtype=dtype)
    still = layer(x).asnumpy()
    np.testing.assert_array_equal(still, layer(x).asnumpy())
    expected = pytest.warns(UserWarning, match="ignore dropout") if dtype == "float32" else contextlib.nullcontext()
    with autograd.record(), expected:
        moved = layer(x).asnumpy()
    assert (moved != still).any() == (dtype == "float64")


@pytest.mark.parametrize("merge", [True, False])
def test_a_cell_is_a_layer_of_one(merge):
    layer = filled(rnn.GRU(3, layout="NTC", input_size=2))
    cell = rnn.GRUCell(3, input_size=2)
    filled(cell)
    x = wide(np.random.RandomState(3).randn(4, 5, 2))
    output, (last,) = cell.unroll(5, x, merge_outputs=merge, begin_state=[nd.zeros((4, 3), dtype="float64")])
    output = output if merge else nd.stack(*output, axis=1)
    np.testing.assert_allclose(output.asnumpy(), layer(x).asnumpy(), atol=1e-12)
    state = [nd.zeros((4, 3), dtype="float64")]
    for t in range(5):
        step, state = cell(x[:, t], state)
        np.testing.assert_allclose(step.asnumpy(), output[:, t].asnumpy(), atol=1e-12)
    np.testing.assert_allclose(last.asnumpy(), state[0].asnumpy(), atol=1e-12)


def test_unrolling_all_steps_at_once_is_stepping():
    class Stepped(rnn.GRUCell):
        """A subclass is stepped, as its own forward may differ."""

    lengths = nd.array([2, 5, 1, 3])
    x = nd.array(np.random.RandomState(4).randn(4, 5, 2))
    results = []
    for kind in (rnn.GRUCell, Stepped):
        cell = filled(kind(3, input_size=2), dtype="float32")
        output, (state,) = cell.unroll(5, x, merge_outputs=True, valid_length=lengths)
        results.append((output.asnumpy(), state.asnumpy()))
    np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-6)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-6)
    assert (results[0][0][0, 2:] == 0).all()


def test_stacked_reversed_and_residual_cells():
    stack = rnn.SequentialRNNCell()
    with stack.name_scope():
        stack.add(rnn.BidirectionalCell(rnn.GRUCell(2, input_size=3), rnn.GRUCell(2, input_size=3)))
        stack.add(rnn.DropoutCell(0.5))
        stack.add(rnn.ResidualCell(rnn.GRUCell(4, input_size=4)))
    filled(stack)
    both = filled(rnn.GRU(2, layout="NTC", bidirectional=True, input_size=3))
    upper = filled(rnn.GRU(4, layout="NTC", input_size=4))
    values = [p.data() for p in stack.collect_params().values()]
    for layer, given in ((both, values[:8]), (upper, values[8:])):
        for parameter, value in zip(layer.params.values(), given, strict=True):
            parameter.set_data(value)
    x = wide(np.random.RandomState(5).randn(2, 6, 3))
    zeros = [nd.zeros(info["shape"], dtype="float64") for info in stack.state_info(2)]
    output, _ = stack.unroll(6, x, begin_state=zeros, merge_outputs=True)
    middle = both(x)
    np.testing.assert_allclose(output.asnumpy(), (upper(middle) + middle).asnumpy(), atol=1e-12)
    with pytest.raises(AssertionError, match="modifier"):
        stack[2].base_cell.begin_state(batch_size=2)


def test_cells_inside_a_hybrid_block():
    class Net(gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.cell = rnn.GRUCell(3, input_size=2)

        def hybrid_forward(self, F, x):
            return self.cell.unroll(4, x, merge_outputs=True)[0]

    net = filled(Net(), dtype="float32")
    x = nd.array(np.random.RandomState(6).randn(5, 4, 2))
    plain = net(x).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), plain, atol=1e-6)
    np.testing.assert_allclose(net(x[:2]).asnumpy(), plain[:2], atol=1e-6)


def test_handing_a_layer_to_torch_shares_its_parameters():
    layer = filled(rnn.GRU(3, 2, "NTC", bidirectional=True, input_size=2), dtype="float32")
    module = dialects.from_dialect(layer)
    x = np.random.RandomState(7).randn(4, 5, 2).astype("float32")
    np.testing.assert_allclose(layer(nd.array(x)).asnumpy(), module(torch.from_numpy(x))[0].detach().numpy(), atol=1e-6)
    with torch.no_grad():
        module.weight_hh_l1_reverse.add_(1)
    np.testing.assert_allclose(layer(nd.array(x)).asnumpy(), module(torch.from_numpy(x))[0].detach().numpy(), atol=1e-6)
    cell = filled(rnn.GRUCell(3, input_size=2), dtype="float32")
    given = dialects.from_dialect(cell)
    h = np.ones((4, 3), "float32")
    np.testing.assert_allclose(
        cell(nd.array(x[:, 0]), [nd.array(h)])[0].asnumpy(),
        given(torch.from_numpy(x[:, 0]), torch.from_numpy(h)).detach().numpy(),
        atol=1e-6,
    )
    with pytest.raises(RuntimeError, match="has not been initialized"):
        dialects.from_dialect(rnn.GRU(3))


def test_the_flat_operator():
    layer = filled(rnn.GRU(3, 2, bidirectional=True, input_size=2))
    values = list(layer.params.values())
    ordered = [p for p in values if "weight" in p.name] + [p for p in values if "bias" in p.name]
    flat = nd.concat(*[p.data().reshape(-1) for p in ordered], dim=0)
    x, h = wide(np.random.RandomState(8).randn(4, 5, 2)), wide(np.random.RandomState(9).randn(4, 5, 3))
    options = {"state_size": 3, "num_layers": 2, "bidirectional": True, "mode": "gru", "state_outputs": True}
    output, state = nd.RNN(x, flat, h, **options)
    expected, (last,) = layer(x, h)
    np.testing.assert_allclose(output.asnumpy(), expected.asnumpy(), atol=1e-12)
    np.testing.assert_allclose(state.asnumpy(), last.asnumpy(), atol=1e-12)
    with pytest.raises(MXNetError, match="parameters must be of shape .324,., got .323,."):
        nd.RNN(x, flat[:-1], h, **options)
    with pytest.raises(MXNetError, match="mode must be one of gru, lstm"):
        nd.RNN(x, flat, h, **{**options, "mode": "liquid"})


def test_dropout_must_be_a_probability():
    layer = rnn.GRU(2, 2, dropout=1.5, input_size=2)
    layer.initialize()
    with pytest.raises(MXNetError, match="between 0 and 1"):
        layer(nd.ones((2, 1, 2)))


def test_lengths_may_be_of_any_dtype_in_a_graph_too():
    layer = rnn.GRU(2, input_size=2, use_sequence_length=True)
    layer.initialize(init.One())
    x, states = nd.ones((3, 2, 2)), layer.begin_state(2)
    plain = layer(x, states, nd.array([1, 3]))[0].asnumpy()
    assert not plain[1:, 0].any()
    layer.hybridize()
    for dtype in ("float32", "int32"):
        np.testing.assert_allclose(layer(x, states, nd.array([1, 3], dtype=dtype))[0].asnumpy(), plain, rtol=1e-6)


def test_a_gru_has_no_projection_and_ignores_lengths_that_it_did_not_ask_for():
    """As in MXNet 1.9.1, where only LSTM takes `projection_size`."""
    with pytest.raises(TypeError, match="projection_size"):
        rnn.GRU(5, projection_size=2)
    layer = rnn.GRU(5, input_size=4)
    layer.initialize()
    x = nd.ones((2, 3, 4))
    assert (layer(x, None, nd.array([1, 2, 2])) - layer(x)).abs().max().asscalar() == 0


@pytest.mark.parametrize("kind", [rnn.GRU, rnn.LSTM, rnn.GRUCell])
def test_an_array_of_numpy_is_refused_by_name(kind):
    layer = kind(4)
    layer.initialize()
    x, states = nd.ones((2, 3) if kind is rnn.GRUCell else (1, 2, 3)), layer.begin_state(2)
    layer(x, states)
    with pytest.raises(AssertionError, match="Argument data must have NDArray type"):
        layer(x.asnumpy(), states)
