"""Writes MXNet's checkpoints in this folder; needs MXNet 1.9."""

import os

import mxnet as mx
import numpy as np
from mxnet import nd
from mxnet.gluon import nn, rnn

HERE = os.path.dirname(os.path.abspath(__file__))
random = np.random.RandomState(2)
expected = {}


def path(name):
    return os.path.join(HERE, name)


def fill(block):
    for parameter in block.collect_params().values():
        parameter.set_data(nd.array(random.uniform(-0.7, 0.7, parameter.shape), dtype=parameter.dtype))


def draw(*shape):
    return random.uniform(-1, 1, shape).astype("float32")


net = nn.HybridSequential(prefix="model_")
with net.name_scope():
    net.add(
        nn.Embedding(5, 3),
        rnn.GRU(4, 2, layout="NTC", bidirectional=True, input_size=3),
        nn.Dense(2, in_units=8, flatten=False),
    )
net.initialize()
fill(net)
x, h = draw(2, 6, 3), draw(4, 2, 4)
y, (hy,) = net[1](nd.array(x), [nd.array(h)])
expected.update({"model/x": x, "model/h": h, "model/y": y.asnumpy(), "model/hy": hy.asnumpy()})
net.save_parameters(path("model.params"))
net.collect_params().save(path("names.params"))
net.hybridize()
net(nd.array([[1, 2, 3]]))
net.export(path("exported"), epoch=3)

plain = rnn.GRU(4, 2, input_size=3)
plain.initialize()
fill(plain)
x, h = draw(6, 2, 3), draw(2, 2, 4)
y, (hy,) = plain(nd.array(x), [nd.array(h)])
expected.update({"plain/x": x, "plain/h": h, "plain/y": y.asnumpy(), "plain/hy": hy.asnumpy()})
plain.save_parameters(path("plain.params"))

cell = rnn.GRUCell(4, input_size=3)
cell.initialize()
fill(cell)
x, h = draw(2, 3), draw(2, 4)
expected.update({"cell/x": x, "cell/h": h, "cell/y": cell(nd.array(x), [nd.array(h)])[0].asnumpy()})
cell.save_parameters(path("cell.params"))

fused = mx.rnn.FusedRNNCell(4, num_layers=2, mode="gru", bidirectional=True, prefix="fused_", get_next_state=True)
symbol, states = fused.unroll(6, mx.sym.var("data"), begin_state=[mx.sym.var("h")], layout="TNC", merge_outputs=True)
symbol = mx.sym.Group([symbol, *states])
x, h = draw(6, 2, 3), draw(4, 2, 4)
shapes = dict(zip(symbol.list_arguments(), symbol.infer_shape(data=x.shape, h=h.shape)[0]))  # noqa: B905 (Python 3.8)
arguments = {"fused_parameters": nd.array(random.uniform(-0.7, 0.7, shapes["fused_parameters"]))}
y, hy = symbol.bind(mx.cpu(), {"data": nd.array(x), "h": nd.array(h), **arguments}).forward()
expected.update({"fused/x": x, "fused/h": h, "fused/y": y.asnumpy(), "fused/hy": hy.asnumpy()})
nd.save(path("fused.params"), {"arg:" + name: value for name, value in fused.unpack_weights(arguments).items()})

lstm = rnn.LSTM(3, input_size=4)
lstm.initialize()
lstm.save_parameters(path("lstm.params"))

rows = nd.sparse.row_sparse_array((np.arange(6.0).reshape(2, 3), [1, 4]), shape=(6, 3))
matrix = nd.sparse.csr_matrix((np.array([1.0, 2, 3]), np.array([0, 2, 1]), np.array([0, 1, 3])), shape=(2, 4))
expected.update({"sparse/rows": rows.asnumpy(), "sparse/matrix": matrix.asnumpy()})
nd.save(path("sparse.nd"), {"rows": rows, "matrix": matrix, "dense": nd.ones((2,))})
with mx.util.np_shape(True):
    mx.npx.set_np()
    mx.npx.save(path("numpy.nd"), {"scalar": mx.np.array(3.5), "none": mx.np.zeros((0, 3)), "four": mx.np.arange(4)})
    mx.npx.reset_np()
np.savez(path("expected.npz"), **expected)
