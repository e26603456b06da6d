"""GRUs: both forms of fluid's GRUCell against NumPy in float64, nn.GRU against torch, RNN against a step at a time."""

import numpy as np
import pytest
import torch

import anygru
import anygru_paddle as paddle
from anygru import load_checkpoint
from anygru.dialects import from_dialect
from anygru_paddle import fluid, nn
from anygru_paddle.fluid.dygraph import GRUCell, LSTMCell, to_variable


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def fill(layer, seed=0):
    rs = np.random.RandomState(seed)
    for parameter in layer.parameters():
        parameter.set_value(rs.uniform(-0.8, 0.8, parameter.shape).astype(parameter.dtype.spelling))
    return layer


def step(cell, x, h, gate=sigmoid, node=np.tanh):
    """The documented equations of `paddle.fluid.dygraph.GRUCell`, gates in Paddle's order r, u, c."""
    p = [parameter.numpy() for parameter in cell.parameters()]
    size = h.shape[1]
    if cell._use_cudnn_impl:
        gi, gh = x @ p[0].T + p[2], h @ p[1].T + p[3]
        r, u = gate(gi[:, :size] + gh[:, :size]), gate(gi[:, size : 2 * size] + gh[:, size : 2 * size])
        c = node(gi[:, 2 * size :] + r * gh[:, 2 * size :])
    else:
        both = gate(np.concatenate([x, h], 1) @ p[0] + p[2])
        r, u = both[:, :size], both[:, size:]
        c = node(np.concatenate([x, r * h], 1) @ p[1] + p[3])
    return u * h + (1 - u) * c


@pytest.mark.parametrize("use_cudnn_impl", [True, False])
@pytest.mark.parametrize("activation", [None, "relu", "own"])
def test_fluid_cell_is_its_equations(use_cudnn_impl, activation):
    functions = {
        None: (None, np.tanh),
        "relu": (fluid.layers.relu, lambda v: np.maximum(v, 0)),
        "own": (lambda v: v * 0.5, lambda v: v * 0.5),
    }
    paddle_function, numpy_function = functions[activation]
    with fluid.dygraph.guard(fluid.CPUPlace()):
        cell = fill(GRUCell(4, 3, activation=paddle_function, use_cudnn_impl=use_cudnn_impl))
        rs = np.random.RandomState(1)
        x, h = rs.uniform(-1, 1, (2, 3)), rs.uniform(-1, 1, (2, 4))
        out = cell(to_variable(x), to_variable(h))
    np.testing.assert_allclose(out.numpy(), step(cell, x, h, node=numpy_function), rtol=0, atol=1e-12)


@pytest.mark.parametrize("use_cudnn_impl", [True, False])
def test_fluid_cell_gradients_by_differences(use_cudnn_impl):
    cell = fill(GRUCell(3, 2, use_cudnn_impl=use_cudnn_impl), 2)
    x = paddle.to_tensor(np.random.RandomState(3).uniform(-1, 1, (2, 2)))
    h = paddle.to_tensor(np.random.RandomState(4).uniform(-1, 1, (2, 3)))
    cell(x, h).sum().backward()
    for parameter in cell.parameters():
        values = parameter.numpy()
        place = tuple(0 for _ in values.shape)
        moved = []
        for shift in (1e-6, -1e-6):
            other = values.copy()
            other[place] += shift
            parameter.set_value(other)
            moved.append(float(cell(x, h).sum()))
        parameter.set_value(values)
        assert parameter.grad.numpy()[place] == pytest.approx((moved[0] - moved[1]) / 2e-6, abs=1e-7)


def test_the_first_documents_example():
    """As printed, its cut-off lines completed as its text says."""
    batch_size, input_size, hidden_size = 64, 128, 256
    step_input_np = np.random.uniform(-0.1, 0.1, (batch_size, input_size)).astype("float64")
    pre_hidden_np = np.random.uniform(-0.1, 0.1, (batch_size, hidden_size)).astype("float64")
    place = fluid.core.CUDAPlace(0) if fluid.core.is_compiled_with_cuda() else fluid.core.CPUPlace()
    with fluid.dygraph.guard(place):
        cudnn_gru = GRUCell(hidden_size, input_size)
        step_input_var = fluid.dygraph.to_variable(step_input_np)
        pre_hidden_var = fluid.dygraph.to_variable(pre_hidden_np)
        new_hidden = cudnn_gru(step_input_var, pre_hidden_var)
    assert new_hidden.shape == [batch_size, hidden_size]
    np.testing.assert_allclose(new_hidden.numpy(), step(cudnn_gru, step_input_np, pre_hidden_np), atol=1e-12)


def test_fluid_cell_names():
    with fluid.dygraph.guard():
        named = GRUCell(2, 3, param_attr=fluid.ParamAttr(name="enc"), bias_attr="enc_b")
        assert [p.name for p in named.parameters()] == [
            "enc_weight_ih",
            "enc_weight_hh",
            "enc_b_bias_ih",
            "enc_b_bias_hh",
        ]
        assert list(GRUCell(2, 3, use_cudnn_impl=False).state_dict()) == [
            "_gate_weight",
            "_candidate_weight",
            "_gate_bias",
            "_candidate_bias",
        ]
        frozen = GRUCell(2, 3, param_attr=fluid.ParamAttr(trainable=False))
        assert [p.stop_gradient for p in frozen.parameters()] == [True, True, False, False]


@pytest.mark.parametrize("use_cudnn_impl", [True, False])
def test_grucell_refuses(use_cudnn_impl):
    for attributes in ({"param_attr": False}, {"bias_attr": False}):
        with pytest.raises(AttributeError, match="must be a ParamAttr or None, got False"):
            GRUCell(2, 3, use_cudnn_impl=use_cudnn_impl, **attributes)
    cell = GRUCell(2, 3, use_cudnn_impl=use_cudnn_impl)
    with pytest.raises(ValueError, match=r"input must have 2 axes, got shape \[3\]"):
        cell(to_variable(np.ones(3)), to_variable(np.ones(2)))


def lstm_step(cell, x, h, c, gate, node):
    """The documented equations of `paddle.fluid.dygraph.LSTMCell`: gates i, f, c, o, or i, c, f, o in one matrix."""
    p = [parameter.numpy() for parameter in cell.parameters()]
    if cell._use_cudnn_impl:
        i, f, j, o = np.split(x @ p[0].T + p[2] + h @ p[1].T + p[3], 4, 1)
        added = gate(i) * node(j)
    else:
        i, j, f, o = np.split(np.concatenate([x, h], 1) @ p[0] + p[1], 4, 1)
        f = f + 0.25
        added = sigmoid(i) * np.tanh(j)
    c = gate(f) * c + added
    return gate(o) * node(c), c


@pytest.mark.parametrize("use_cudnn_impl", [True, False])
@pytest.mark.parametrize("own", [False, True])
def test_fluid_lstm_cell_is_its_equations(use_cudnn_impl, own):
    options = {"gate_activation": lambda v: v * 0.5, "activation": fluid.layers.relu} if own else {}
    cell = fill(LSTMCell(4, 3, forget_bias=0.25, use_cudnn_impl=use_cudnn_impl, **options))
    rs = np.random.RandomState(1)
    x, h, c = (rs.uniform(-1, 1, (2, size)) for size in (3, 4, 4))
    gate, node = (lambda v: v * 0.5, lambda v: np.maximum(v, 0)) if own else (sigmoid, np.tanh)
    for ours, expected in zip(cell(*map(to_variable, (x, h, c))), lstm_step(cell, x, h, c, gate, node), strict=True):
        np.testing.assert_allclose(ours.numpy(), expected, rtol=0, atol=1e-12)
    sum(each.sum() for each in cell(*map(to_variable, (x, h, c)))).backward()
    assert all(parameter.grad is not None for parameter in cell.parameters())


def test_fluid_lstm_cell_names():
    names = fluid.ParamAttr(name="w"), fluid.ParamAttr(name="b")
    assert [p.name for p in LSTMCell(2, 3, *names).parameters()] == [
        "w_weight_ih",
        "w_weight_hh",
        "b_bias_ih",
        "b_bias_hh",
    ]
    cell = LSTMCell(2, 3, *names, use_cudnn_impl=False)
    assert list(cell.state_dict()) == ["_weight", "_bias"]
    assert [p.name for p in cell.parameters()] == ["w", "b"]
    assert cell.full_name().startswith("float64_")
    with pytest.raises(ValueError, match=r"LSTMCell: pre_cell must have 2 axes, got shape \[2\]"):
        cell(paddle.ones([1, 3], "float64"), paddle.ones([1, 2], "float64"), paddle.ones([2], "float64"))


def test_a_numpy_dtype_makes_parameters_of_it():
    assert GRUCell(2, 3, dtype=np.dtype("float64"))._weight_ih.dtype == paddle.float64


def as_torch_gru(layer):
    other = torch.nn.GRU(
        layer.input_size,
        layer.hidden_size,
        layer.num_layers,
        batch_first=not layer.time_major,
        bidirectional=layer.num_directions == 2,
    )
    with torch.no_grad():
        for name, parameter in other.named_parameters():
            parameter.copy_(torch.from_numpy(dict(layer.named_parameters())[name].numpy()))
    return other


@pytest.mark.parametrize("direction", ["forward", "bidirect"])
@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("ragged", [False, True])
def test_gru_is_torchs(direction, num_layers, time_major, ragged):
    layer = fill(nn.GRU(4, 3, num_layers, direction, time_major))
    other = as_torch_gru(layer)
    rs = np.random.RandomState(1)
    x = rs.uniform(-1, 1, (5, 2, 4) if time_major else (2, 5, 4)).astype("float32")
    h = rs.uniform(-1, 1, (num_layers * layer.num_directions, 2, 3)).astype("float32")
    lengths = [3, 5]
    out, last = layer(paddle.to_tensor(x), paddle.to_tensor(h), paddle.to_tensor(lengths) if ragged else None)
    if ragged:
        packed = torch.nn.utils.rnn.pack_padded_sequence(
            torch.from_numpy(x), torch.tensor(lengths), not time_major, False
        )
        expected, expected_last = other(packed, torch.from_numpy(h))
        expected = torch.nn.utils.rnn.pad_packed_sequence(expected, not time_major)[0]
    else:
        expected, expected_last = other(torch.from_numpy(x), torch.from_numpy(h))
    np.testing.assert_allclose(out.numpy(), expected.detach().numpy(), atol=1e-6)
    np.testing.assert_allclose(last.numpy(), expected_last.detach().numpy(), atol=1e-6)
    (out.sum() + (last * last).sum()).backward()
    (expected.sum() + (expected_last**2).sum()).backward()
    for name, parameter in other.named_parameters():
        np.testing.assert_allclose(dict(layer.named_parameters())[name].grad.numpy(), parameter.grad.numpy(), atol=1e-5)


@pytest.mark.parametrize("is_reverse", [False, True])
@pytest.mark.parametrize("lengths", [None, [3, 5], [0, 5]])
def test_rnn_runs_its_cell_step_by_step(is_reverse, lengths):
    class Plain(nn.GRUCell):
        """Not the class itself, so that the loop over steps is taken."""

    cell, same = fill(nn.GRUCell(3, 4)), fill(Plain(3, 4))
    x = paddle.to_tensor(np.random.RandomState(1).uniform(-1, 1, (2, 5, 3)).astype("float32"))
    length = None if lengths is None else paddle.to_tensor(lengths)
    results = [nn.RNN(each, is_reverse)(x, sequence_length=length) for each in (cell, same)]
    for fast, slow in zip(*results, strict=True):
        np.testing.assert_allclose(fast.numpy(), slow.numpy(), atol=1e-6)


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.SimpleRNN])
def test_lengths_in_a_column(kind):
    """Public programs sum masks to [B, 1]; 2.6.2's kernel reads them in any shape that begins with the batch."""
    layer = fill(kind(3, 4, direction="bidirect"))
    x = paddle.to_tensor(np.random.RandomState(1).uniform(-1, 1, (2, 5, 3)).astype("float32"))
    column, row = (layer(x, sequence_length=paddle.to_tensor(lengths))[0].numpy() for lengths in ([[3], [5]], [3, 5]))
    np.testing.assert_array_equal(column, row)
    for refused in ([[3, 5]], [[3, 1], [5, 1]]):
        with pytest.raises(ValueError, match="The size of SequenceLength"):
            layer(x, sequence_length=paddle.to_tensor(refused))


def test_state_dict_of_a_gru_lists_its_cells_too():
    assert list(nn.GRU(2, 3).state_dict())[3:6] == ["bias_hh_l0", "0.cell.weight_ih", "0.cell.weight_hh"]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: nn.GRU(2, 3)(paddle.ones([1, 2, 9])), ValueError, "InvalidArgument"),
        (lambda: nn.GRU(2, 3)(paddle.ones([1, 2, 2], dtype="float64")), ValueError, "float32.*float64"),
        (lambda: nn.GRU(2, 3)(paddle.ones([1, 2, 2]), sequence_length=[1]), ValueError, "must be Tensor"),
        (lambda: nn.GRU(2, 3)(paddle.ones([1, 2, 2]), paddle.ones([1, 1, 9])), ValueError, "initial_states"),
        (lambda: nn.GRU(2, 2, direction="sideways"), ValueError, "direction should be"),
        (lambda: nn.GRUCell(2, 0), ValueError, "greater than 0"),
        (lambda: GRUCell(3, 2)(paddle.ones([2, 5], "float64"), paddle.ones([2, 3], "float64")), ValueError, "input"),
        (lambda: GRUCell(3), TypeError, "input_size"),
    ],
)
def test_errors(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert caught.type.__module__ == "builtins"


def test_from_dialect_shares_the_memory():
    layer = fill(nn.GRU(4, 3, 2, "bidirect"))
    shared = from_dialect(layer)
    assert isinstance(shared, anygru.GRU)
    layer.weight_ih_l1_reverse.set_value(layer.weight_ih_l1_reverse * 2)
    x = paddle.to_tensor(np.random.RandomState(0).uniform(-1, 1, (2, 5, 4)).astype("float32"))
    expected = layer(x)[0]
    np.testing.assert_allclose(shared(torch.from_numpy(x.numpy()))[0].detach().numpy(), expected.numpy(), atol=1e-6)
    cell = fill(GRUCell(3, 2))
    x, h = paddle.ones([1, 2], dtype="float64"), paddle.ones([1, 3], dtype="float64")
    from_cell = from_dialect(cell)(torch.ones(1, 2).double(), torch.ones(1, 3).double())
    np.testing.assert_allclose(from_cell.detach().numpy(), cell(x, h).numpy(), atol=1e-12)
    with pytest.raises(ValueError, match="use_cudnn_impl=False"):
        from_dialect(GRUCell(3, 2, use_cudnn_impl=False))


def test_cell_repeats_a_batch_of_one():
    cell = nn.GRUCell(3, 4)
    x, h = paddle.rand([2, 3]), paddle.rand([1, 4])
    whole, _ = cell(x, h.expand([2, 4]))
    assert cell(x, h)[0].tolist() == whole.tolist()
    assert cell(x[:1], h.expand([3, 4]))[0].shape == [3, 4]
    with pytest.raises(ValueError, match="InvalidArgument"):
        cell(x, paddle.rand([3, 4]))
    with pytest.raises(ValueError, match="must be Tensor, but got list"):
        cell(x, [h])


def test_dropout_state_is_a_buffer():
    gru = nn.GRU(2, 3)
    ((name, buffer),) = gru.named_buffers()
    assert (name, buffer.shape, str(buffer.dtype)) == ("_dropout_state", [], "paddle.uint8")
    assert "_dropout_state" in gru.to_static_state_dict()
    assert "_dropout_state" not in gru.state_dict()
    gru.to(dtype="float64")
    assert str(gru._dropout_state.dtype) == "paddle.uint8"


def test_dropout_between_layers_is_paddles():
    """Recorded from Paddle 2.6.2: one mask for both gaps, and where the generator stands afterwards."""
    paddle.seed(7)
    constant = nn.initializer.Constant
    gru = nn.GRU(2, 3, 3, dropout=0.5, weight_ih_attr=constant(0.3), weight_hh_attr=constant(0.2))
    paddle.rand([1])
    out, _ = gru(paddle.ones([2, 1, 2]))
    expected = [[[-0.16803242, -0.01679685, -0.06228193]]] * 2
    np.testing.assert_allclose(out.numpy(), np.array(expected, "float32"), rtol=1e-5)
    assert abs(float(paddle.rand([1])) - 0.5080488) < 1e-6


@pytest.mark.parametrize("origin_mode", [False, True])
def test_gru_unit_is_its_equations_and_becomes_a_cell(origin_mode):
    """Paddle 1.8.5 computes these for both values of `origin_mode`; the weight's memory is [H, 2H] and then [H, H]."""
    unit = fill(fluid.dygraph.GRUUnit(12, origin_mode=origin_mode, dtype="float64"))
    projection = fill(fluid.dygraph.Linear(3, 12, dtype="float64"), 1)
    rs = np.random.RandomState(2)
    x, h = rs.uniform(-1, 1, (2, 3)), rs.uniform(-1, 1, (2, 4))
    given = projection(to_variable(x))
    new, reset_state, gates = unit(given, to_variable(h))
    flat, bias, projected = unit.weight.numpy().ravel(), unit.bias.numpy().ravel(), given.numpy()
    both = sigmoid(projected[:, :8] + h @ flat[:32].reshape(4, 8) + bias[:8])
    u, r = both[:, :4], both[:, 4:]
    m = np.tanh(projected[:, 8:] + (r * h) @ flat[32:].reshape(4, 4) + bias[8:])
    expected = (1 - u) * h + u * m
    np.testing.assert_allclose(new.numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(reset_state.numpy(), r * h, atol=1e-12)
    np.testing.assert_allclose(gates.numpy(), np.concatenate([u, r, m], 1), atol=1e-12)
    cell = unit.to_gru_cell(projection.weight, projection.bias)
    np.testing.assert_allclose(cell(torch.tensor(x), torch.tensor(h)).detach().numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(
        unit.to_gru_cell()(torch.tensor(projected), torch.tensor(h)).detach().numpy(), expected, atol=1e-12
    )
    with pytest.raises(ValueError, match=r"unit\.to_gru_cell\(\) copies"):
        from_dialect(unit)


@pytest.mark.parametrize("biased", [True, False])
def test_a_converted_gru_unit_takes_projected_inputs(biased, tmp_path):
    with paddle.utils.unique_name.guard():
        net = nn.LayerDict(
            {"fc": nn.Linear(3, 12), "unit": fluid.dygraph.GRUUnit(12, bias_attr=None if biased else False)}
        )
    if biased:
        fill(net["unit"])
    paddle.save(net.state_dict(), str(tmp_path / "m.pdparams"))
    (found,) = load_checkpoint(tmp_path / "m.pdparams").gru_layers
    assert (found.path, found.input_size, found.hidden_size, found.reset) == ("unit", 12, 4, "before")
    assert any("GRUUnit" in note for note in found.notes)
    cell = load_checkpoint(tmp_path / "m.pdparams").gru("unit")
    projected, h = torch.randn(2, 12), torch.randn(2, 4)
    expected = net["unit"](paddle.to_tensor(projected.numpy()), paddle.to_tensor(h.numpy()))[0]
    np.testing.assert_allclose(cell(projected, h).detach().numpy(), expected.numpy(), atol=1e-6)


def test_layers_of_fluid():
    images = paddle.to_tensor(np.arange(16.0, dtype="float32").reshape(1, 1, 4, 4))
    assert fluid.dygraph.Pool2D(2, "avg", 2)(images).numpy().ravel().tolist() == [2.5, 4.5, 10.5, 12.5]
    assert fluid.layers.pool2d(images, pool_type="max", global_pooling=True).item() == 15
    assert fluid.dygraph.Conv2D(1, 2, 3, act="relu")(images).min().item() >= 0
    assert list(fluid.dygraph.BatchNorm(1, act="relu").state_dict()) == ["weight", "bias", "_mean", "_variance"]
    assert fluid.dygraph.parallel.prepare_context() is None
    with pytest.raises(NotImplementedError, match="use paddle.nn.GRU"):
        fluid.layers.dynamic_gru(images, 4)


class _Counting:
    """A cell that scores the token after its input highest."""

    def __call__(self, inputs, states):
        return nn.functional.one_hot((inputs + 1) % 5, 5) * 9.0, states + 1


@pytest.mark.parametrize("kind", ["GreedyEmbeddingHelper", "SampleEmbeddingHelper"])
def test_fluid_decodes_until_the_end_token(kind):
    helper = getattr(fluid.layers, kind)(lambda tokens: tokens, paddle.to_tensor([0, 2]), 4)
    decoder = fluid.layers.BasicDecoder(_Counting(), helper)
    outputs, states, lengths = fluid.layers.dynamic_decode(
        decoder, paddle.zeros([2]), max_step_num=9, impute_finished=True, return_length=True
    )
    assert outputs.cell_outputs.shape == [2, 4, 5]
    assert outputs.sample_ids.numpy()[:, :2].tolist() == [[1, 2], [3, 4]]
    assert outputs.sample_ids.numpy()[0].tolist() == [1, 2, 3, 4]


def test_fluid_trains_on_given_steps():
    steps = paddle.to_tensor(np.arange(6).reshape(2, 3))
    helper = fluid.layers.TrainingHelper(steps, paddle.to_tensor([3, 1]))
    decoder = fluid.layers.BasicDecoder(_Counting(), helper, output_fn=lambda scores: scores / 9)
    outputs, _ = fluid.layers.dynamic_decode(decoder, paddle.zeros([2]))
    np.testing.assert_array_equal(outputs.sample_ids.numpy()[0], [1, 2, 3])
    np.testing.assert_array_equal(outputs.sample_ids.numpy()[1, 0], 4)


@pytest.mark.parametrize("kind", ["GRUCell", "LSTMCell", "SimpleRNNCell"])
def test_the_output_of_a_cell_is_its_state(kind):
    """The same object, as in Paddle 2.6.2 (recorded), of the dialect's class; a loop over slices trains as torch's does."""
    cell, theirs = getattr(nn, kind)(3, 4), getattr(torch.nn, kind.replace("Simple", ""))(3, 4)
    fill(cell)
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            parameter.copy_(torch.from_numpy(getattr(cell, name).numpy()))
    values = np.random.RandomState(1).randn(2, 5, 3).astype("float32")
    x, states = paddle.to_tensor(values, stop_gradient=False), None
    y = torch.from_numpy(values).requires_grad_()
    expected = None
    for t in range(5):
        output, states = cell(x[:, t], states)
        expected = theirs(y[:, t], expected)
        first = states[0] if kind == "LSTMCell" else states
        assert first is output
        assert type(output) is paddle.Tensor
    output.square().sum().backward()
    (expected[0] if kind == "LSTMCell" else expected).square().sum().backward()
    for name, parameter in theirs.named_parameters():
        np.testing.assert_allclose(getattr(cell, name).grad.numpy(), parameter.grad.numpy(), atol=1e-5)
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), atol=1e-5)
    with pytest.raises(ValueError, match="inputs must have the parameters' dtype"):
        cell(paddle.ones([2, 3], "float64"))
    with pytest.raises(ValueError, match="argument 'inputs' must be Tensor"):
        cell(values[:, 0])
