"""Graphs: the files that hold them, and operators whose number of results depends on their arguments."""

import json
import pathlib

import numpy as np
import pytest

from grus.dialects.mxnet import MXNetError, autograd, gluon, nd, sym
from grus.dialects.mxnet.gluon import nn, rnn

DATA = pathlib.Path(__file__).parents[2] / "conformance" / "mxnet" / "data"


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
    with pytest.raises(MXNetError, match="no_bias"):
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
