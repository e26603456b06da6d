"""Graphs: their files, and operators with a number of results that depends on the arguments."""

import json
import pathlib

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru_mxnet import MXNetError, autograd, cpu, gluon, nd, sym
from anygru_mxnet.gluon import nn, rnn

DATA = pathlib.Path(__file__).parent / "conformance" / "data"


def test_a_file_of_mxnets_is_written_back_byte_for_byte(tmp_path):
    target = tmp_path / "again.json"
    sym.load(str(DATA / "encoder-symbol.json")).save(str(target))
    assert target.read_bytes() == (DATA / "encoder-symbol.json").read_bytes()


def test_an_exported_model_has_mxnets_bytes(tmp_path):
    net = nn.HybridSequential(prefix="encoder_")
    with net.name_scope():
        net.add(nn.Embedding(10, 4), rnn.GRU(3, 2, layout="NTC", bidirectional=True, input_size=4))
        net.add(nn.Dense(5, flatten=False, in_units=6))
    net.load_parameters(str(DATA / "encoder.params"))
    net.hybridize()
    net(nd.array([[1, 2, 3]]))
    net.export(str(tmp_path / "encoder"), epoch=7)
    for name in ("encoder-symbol.json", "encoder-0007.params"):
        assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes()


def test_parameters_are_exported_in_the_order_of_the_graph(tmp_path):
    cell = rnn.GRUCell(3, input_size=2, prefix="c_")
    cell.initialize()
    cell.hybridize()
    cell(nd.ones((1, 2)), cell.begin_state(1))
    cell.export(str(tmp_path / "cell"))
    names = ["arg:c_i2h_weight", "arg:c_i2h_bias", "arg:c_h2h_weight", "arg:c_h2h_bias"]
    assert list(nd.load(str(tmp_path / "cell-0000.params"))) == names


def test_split_v2_in_a_graph_and_in_a_file():
    class Cut(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return [*F.split_v2(x, 2, axis=1), *x.split_v2((1, 3), axis=1)]

    block = Cut()
    x = nd.arange(8).reshape((2, 4))
    expected = [part.asnumpy() for part in block(x)]
    assert [part.shape[1] for part in expected] == [2, 2, 1, 2, 1]
    block.hybridize()
    for part, plain in zip(block(x), expected, strict=True):
        np.testing.assert_array_equal(part.asnumpy(), plain)
    halves = sym.split_v2(sym.var("x"), 2, axis=1)
    assert halves.list_attr()["sections"] == "2"
    assert len(sym.load_json(halves.tojson()).list_outputs()) == 2


def test_statistics_of_normalisations_on_request():
    a = nd.array(np.random.RandomState(0).randn(2, 3, 4))
    plain = a.asnumpy()
    output, mean, deviation = nd.LayerNorm(a, nd.ones((4,)), nd.zeros((4,)), output_mean_var=True)
    np.testing.assert_allclose(output.asnumpy(), nd.LayerNorm(a, nd.ones((4,)), nd.zeros((4,))).asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(mean.asnumpy(), plain.mean(-1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(deviation.asnumpy(), np.sqrt(plain.var(-1, keepdims=True) + 1e-5), rtol=1e-5)
    gamma, others = nd.ones((3,)) * 2, [nd.zeros((3,)), nd.zeros((3,)), nd.ones((3,))]
    with autograd.record():
        _, mean, scale = nd.BatchNorm(a, gamma, *others, output_mean_var=True)
    np.testing.assert_allclose(mean.asnumpy(), plain.mean((0, 2)), rtol=1e-5)
    np.testing.assert_allclose(scale.asnumpy(), 1 / np.sqrt(plain.var((0, 2)) + 1e-3), rtol=1e-5)
    assert gamma.asnumpy().tolist() == [1, 1, 1]  # fixed
    norm = sym.LayerNorm(sym.var("a"), name="ln", output_mean_var=True)
    assert norm.list_outputs() == ["ln_output", "ln_mean", "ln_std"]
    assert json.loads(norm.tojson())["node_row_ptr"] == [0, 1, 2, 3, 6]


def test_a_layer_without_its_bias_is_refused():
    with pytest.raises(MXNetError, match="3 inputs .data, weight, bias., but got 2"):
        nd.FullyConnected(nd.ones((2, 3)), nd.ones((4, 3)), num_hidden=4)
    assert nd.FullyConnected(nd.ones((2, 3)), nd.ones((4, 3)), num_hidden=4, no_bias=True).shape == (2, 4)


def test_dtypes_follow_from_each_other_or_are_refused():
    dense = sym.FullyConnected(sym.var("d"), num_hidden=3, name="f")
    assert dense.infer_type(d="float64") == ([np.float64] * 3, [np.float64], [])
    assert sym.Cast(dense, dtype="float16").infer_type(d="float64")[1] == [np.float16]
    layer = rnn.GRU(3, input_size=4)
    x = nd.ones((2, 3, 4))
    layer.infer_type(x, layer.begin_state(3))
    with pytest.raises(MXNetError, match="one dtype"):
        layer.infer_type(x.astype("float64"), layer.begin_state(3, dtype="float64"))
    layer.cast("float64")
    layer.infer_type(x.astype("float64"), layer.begin_state(3))
    with pytest.raises(MXNetError, match="one dtype"):
        nn.Dense(2, in_units=4).infer_type(x[0].astype("float64"))


def test_shapes_follow_in_either_direction():
    x, y, z = (sym.var(name) for name in "xyz")
    both = [(2, 3), (2, 3)]
    assert (sym.tanh(x * 2) + y).infer_shape(y=(2, 3)) == (both, [(2, 3)], [])
    assert (x + y).infer_shape(x=(0, 3), y=(2, 0)) == (both, [(2, 3)], [])
    assert sym.add_n(x, y, z).infer_shape(y=(4,)) == ([(4,)] * 3, [(4,)], [])
    assert sym.concat(x, y, dim=1).infer_shape(x=(2, 3), y=(0, 4)) == ([(2, 3), (2, 4)], [(2, 7)], [])
    layer = sym.RNN(x, state_size=3, num_layers=2, mode="gru", name="r")
    assert layer.infer_shape(x=(5, 2, 4))[0] == [(5, 2, 4), (3 * 3 * (4 + 3 + 3 + 3 + 4),), (2, 2, 3)]
    last = sym.SequenceLast(x, y, use_sequence_length=True)
    assert last.infer_shape(x=(5, 2, 3)) == ([(5, 2, 3), (2,)], [(2, 3)], [])


def test_a_state_of_unknown_batch_size_gets_the_inputs():
    outputs, _ = rnn.GRUCell(3, prefix="c_").unroll(2, sym.var("x"), layout="NTC", merge_outputs=True)
    arguments, results, _ = outputs.infer_shape(x=(4, 2, 5))
    assert (arguments, results) == ([(4, 2, 5), (9, 5), (9,), (9, 3), (9,)], [(4, 2, 3)])


def test_what_cannot_be_inferred_is_none_with_a_warning():
    x, y = sym.var("x"), sym.var("y")
    with pytest.warns(UserWarning, match="Cannot decide shape"):
        assert sym.broadcast_add(x, y).infer_shape(x=(2, 3)) == (None, None, None)
    assert (sym.dot(x, y)).infer_shape_partial(x=(2, 3)) == ([(2, 3), ()], [()], [])
    with pytest.warns(UserWarning, match="Cannot decide type"):
        assert sym.where(x, y, y).infer_type(x="int32") == (None, None, None)
    assert sym.where(x, y, y).infer_type_partial(x="int32") == ([np.int32, None], [None], [])


def test_names_and_shapes_of_inference_are_checked():
    x, y = sym.var("x", shape=(2, 3)), sym.var("y")
    assert (x * 2).infer_shape(x=(2, 4)) == ([(2, 4)], [(2, 4)], [])  # given values take precedence
    for infer in (x.infer_shape, x.infer_type):
        with pytest.raises(MXNetError, match="not found"):
            infer(q=(2, 3))
    with pytest.raises(TypeError, match="tuple"):
        x.infer_shape(x=[2, 3])
    with pytest.raises(MXNetError, match="shape"):
        (x + y).infer_shape(y=(2, 4))


def test_dtypes_follow_in_either_direction():
    x, y, n = sym.var("x"), sym.var("y"), sym.var("n")
    assert (sym.relu(x * 2) + y).infer_type(y="float64")[0] == [np.float64] * 2
    masked = sym.SequenceMask(x, n, use_sequence_length=True)
    assert masked.infer_type(x="float64")[0] == [np.float64] * 2
    assert masked.infer_type(x="float64", n="int32")[0] == [np.float64, np.int32]
    both = sym.topk(x, ret_typ="both", dtype="int32")
    assert both.infer_type(x="float64")[1] == [np.float64, np.int32]
    assert sym.Embedding(x, input_dim=2, output_dim=2).infer_type(x="int32")[0] == [np.int32, np.float32]
    assert sym.BatchNorm(x).infer_type(x="float16") == (
        [np.float16, np.float32, np.float32],
        [np.float16],
        [np.float32] * 2,
    )
    with pytest.raises(MXNetError, match="one dtype"):
        (x > y).infer_type(x="float32", y="float64")


def test_draws_in_graphs():
    """Shapes and dtypes as MXNet 1.9.1's."""
    draws, x = sym.random, sym.var("x")
    for drawn, shape, dtype in (
        (draws.poisson(2, shape=(3,)), (3,), "float32"),
        (draws.exponential(2.0, shape=(3,)), (3,), "float32"),
        (draws.gamma(2, 1, shape=(2,)), (2,), "float32"),
        (draws.randint(0, 5, shape=(4,)), (4,), "int32"),
        (draws.randn(2, 3), (2, 3), "float32"),
    ):
        (value,) = drawn.eval(ctx=cpu())
        assert (value.shape, np.dtype(value.dtype).name) == (shape, dtype)
    for drawn, shape in (
        (draws.multinomial(x, shape=2), (2, 2)),
        (draws.shuffle(x), (2, 2)),
        (draws.uniform_like(x), (2, 2)),
    ):
        assert drawn.eval(ctx=cpu(), x=nd.array([[0.5, 0.5], [0.2, 0.8]]))[0].shape == shape
    with pytest.raises(TypeError, match="missing a required argument: 'high'"):
        draws.randint(5)


class _Reset(gluon.HybridBlock):
    """A cell over a sequence. For padding the first states replace the last states, as in GluonTS."""

    def __init__(self):
        super().__init__()
        self.cell = rnn.LSTMCell(4)

    def hybrid_forward(self, F, x, padding):
        begin = self.cell.begin_state(func=F.zeros, batch_size=0 if F is sym else x.shape[0])
        output, last = self.cell.unroll(3, x, begin_state=begin, layout="NTC", merge_outputs=True)
        padded = padding.repeat(repeats=4, axis=1)
        return output, [F.where(padded, first, state) for first, state in zip(begin, last, strict=True)]


def test_a_state_of_unknown_size_gets_the_size_that_follows_from_the_inputs():
    """Recorded from MXNet 1.9.1; a state that only goes into cells has batch size 1 inside."""
    net = _Reset()
    net.initialize(mx.init.One())
    net.hybridize()
    for batch in (2, 3):
        padding = nd.array([[1.0]] + [[0.0]] * (batch - 1))
        output, states = net(nd.arange(12 * batch).reshape((batch, 3, 4)), padding)
        assert output.shape == (batch, 3, 4)
        assert np.allclose(states[0][:2].asnumpy(), [[0] * 4, [0.9950548] * 4], atol=1e-6)
        assert np.allclose(states[1][:2].asnumpy(), [[0] * 4, [3.0] * 4], atol=1e-4)


def test_a_state_of_unknown_size_as_a_result():
    x, state = sym.var("x"), sym.zeros((0, 3))
    cell = rnn.RNNCell(3, input_size=2)
    output, _ = cell(x, [state])
    graph = sym.Group([output * state, state])
    values = {name: nd.ones(p.shape) for name, p in cell.params.items()}
    assert [array.shape for array in graph.eval(x=nd.ones((4, 2)), **values)] == [(4, 3), (4, 3)]


def test_multinomial_of_any_number_of_axes():
    sure = nd.array([[[0, 1.0], [1, 0]], [[1, 0], [0, 1]]])
    assert nd.random.multinomial(sure).asnumpy().tolist() == [[1, 0], [0, 1]]
    assert nd.random.multinomial(sure, shape=2).asnumpy().tolist() == [[[1, 1], [0, 0]], [[0, 0], [1, 1]]]
    assert [a.shape for a in nd.sample_multinomial(sure, get_prob=True, shape=(2, 3))] == [(2, 2, 2, 3)] * 2


def test_modules_that_mxnets_modules_import_are_theirs_too():
    assert mx.metric.ndarray is mx.init.ndarray is gluon.utils.ndarray is nd


def test_symbols_of_diagonals_and_of_equal_distances():
    """Names, shapes and dtypes are MXNet 1.9.1's (recorded)."""
    diagonal = sym.eye(2, 3, 1, dtype="int32")
    points = sym.linspace(0, 1, 4, endpoint=False, name="points")
    assert diagonal.name.startswith("_eye")
    assert diagonal.list_attr() == {"N": "2", "M": "3", "k": "1", "dtype": "int32"}
    assert sym.Group([diagonal, points]).infer_shape() == ([], [(2, 3), (4,)], [])
    assert diagonal.eval()[0].asnumpy().tolist() == [[0, 1, 0], [0, 0, 1]]
    assert points.eval()[0].asnumpy().tolist() == [0, 0.25, 0.5, 0.75]


def test_the_larger_of_two_numbers_is_a_number():
    assert (sym.maximum(2, 3.5), sym.minimum(2, 3.5)) == (3.5, 2)


@pytest.mark.parametrize("shapes", [{"data": (2, 4)}, {"foo": (2, 4)}, {"data": 4}])
def test_simple_bind_fails_with_a_runtime_error_that_names_the_arguments(shapes):
    """The class in MXNet 1.9.1, which is not MXNetError (recorded)."""
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), weight=mx.sym.var("w", shape=(3, 9)), num_hidden=3, name="f")
    name = next(iter(shapes))
    for each in (symbol, mx.sym.dot(mx.sym.var("data"), mx.sym.var("v"))):
        with pytest.raises(RuntimeError, match=f"simple_bind error. Arguments:\n{name}: ") as caught:
            each.simple_bind(mx.cpu(), **shapes)
        assert not isinstance(caught.value, mx.MXNetError)


@pytest.mark.parametrize(
    "name",
    ["FullyConnected", "Embedding", "Convolution", "Deconvolution", "RNN", "clip", "expand_dims", "one_hot", "Cast"],
)
def test_a_symbol_needs_its_parameters_at_once(name):
    with pytest.raises(MXNetError, match=f"Required parameter .* is not presented, in operator {name}"):
        getattr(mx.sym, name)(mx.sym.var("data"))


def test_the_values_of_all_variables_are_needed():
    with pytest.raises(ValueError, match="no values for b"):
        (mx.sym.var("a") + mx.sym.var("b")).eval(a=mx.nd.ones(2))
