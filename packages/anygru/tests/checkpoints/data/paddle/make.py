"""Writes Paddle's checkpoints in this folder; needs Paddle 2."""

import os

import numpy as np
import paddle
from paddle import nn

HERE = os.path.dirname(os.path.abspath(__file__))
random = np.random.RandomState(1)
expected = {}


def path(name):
    return os.path.join(HERE, name)


def fill(layer):
    for parameter in layer.parameters():
        parameter.set_value(random.uniform(-0.7, 0.7, parameter.shape).astype("float32"))


def draw(*shape):
    return random.uniform(-1, 1, shape).astype("float32")


class Model(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.gru = nn.GRU(3, 4, num_layers=2, direction="bidirect")
        self.head = nn.Linear(8, 2)


class BasicCell(nn.Layer):
    """The second kind of fluid's GRUCell: one matrix for both gates, one for the candidate."""

    def __init__(self, hidden_size, input_size):
        super().__init__()
        self.hidden_size = hidden_size
        self._gate_weight = self.create_parameter([input_size + hidden_size, 2 * hidden_size])
        self._candidate_weight = self.create_parameter([input_size + hidden_size, hidden_size])
        self._gate_bias = self.create_parameter([2 * hidden_size], is_bias=True)
        self._candidate_bias = self.create_parameter([hidden_size], is_bias=True)

    def forward(self, x, h):
        gates = nn.functional.sigmoid(paddle.concat([x, h], 1) @ self._gate_weight + self._gate_bias)
        r, u = paddle.split(gates, 2, axis=1)
        c = paddle.tanh(paddle.concat([x, r * h], 1) @ self._candidate_weight + self._candidate_bias)
        return u * h + (1 - u) * c


model = Model()
fill(model)
x, h = draw(2, 6, 3), draw(4, 2, 4)
y, hy = model.gru(paddle.to_tensor(x), paddle.to_tensor(h))
expected.update({"model/x": x, "model/h": h, "model/y": y.numpy(), "model/hy": hy.numpy()})
paddle.save(model.state_dict(), path("model.pdparams"))
paddle.save(model.state_dict(), path("model_protocol2.pdparams"), protocol=2)

optimizer = paddle.optimizer.Adam(paddle.optimizer.lr.StepDecay(0.1, 2), parameters=model.parameters())
model.head(y).sum().backward()
optimizer.step()
paddle.save(optimizer.state_dict(), path("model.pdopt"))
paddle.save({"net": model.gru.state_dict(), "epoch": 3, "history": [1.5, 2.5]}, path("nested.pdparams"))
y, hy = model.gru(paddle.to_tensor(x), paddle.to_tensor(h))
expected.update({"nested/y": y.numpy(), "nested/hy": hy.numpy()})

cell = nn.GRUCell(3, 4)
fill(cell)
x, h = draw(2, 3), draw(2, 4)
expected.update({"cell/x": x, "cell/h": h, "cell/y": cell(paddle.to_tensor(x), paddle.to_tensor(h))[1].numpy()})
paddle.save(cell.state_dict(), path("cell.pdparams"))

basic = nn.Sequential(BasicCell(4, 3))
fill(basic)
expected["basic/y"] = basic[0](paddle.to_tensor(x), paddle.to_tensor(h)).numpy()
paddle.save(basic.state_dict(), path("basic.pdparams"))

paddle.save(
    {"half": paddle.ones([3]).astype("bfloat16"), "wide": paddle.ones([2]).astype("float64")}, path("dtypes.pdparams")
)


class Others(nn.Layer):
    """The recurrent layers that are no GRUs, and what an optimizer keeps for them."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(7, 3)
        self.lstm = nn.LSTM(3, 4, 2, direction="bidirect")
        self.rnn = nn.SimpleRNN(3, 4)
        self.fc = nn.Linear(8, 2)


others = Others()
fill(others)
words = others.emb(paddle.to_tensor([[1, 2, 3]]))
optimizer = paddle.optimizer.Adam(0.01, parameters=others.parameters(), beta1=0.8)
for _ in range(3):
    (others.fc(others.lstm(words)[0]).sum() + others.rnn(words)[0].sum()).backward()
    optimizer.step()
    optimizer.clear_grad()
    words = others.emb(paddle.to_tensor([[1, 2, 3]]))
paddle.save(others.state_dict(), path("others.pdparams"))
paddle.save(optimizer.state_dict(), path("others.pdopt"))

paddle.enable_static()
weight = paddle.static.create_global_var([2], 1.5, "float32", persistable=True, name="weight")
executor = paddle.static.Executor(paddle.CPUPlace())
executor.run(paddle.static.default_startup_program())
paddle.save(
    {"nested": {"weight": paddle.static.global_scope().find_var("weight").get_tensor()}, "e": 1},
    path("static.pdparams"),
)
np.savez(path("expected.npz"), **expected)


class Inference(nn.Layer):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(7, 3)
        self.gru = nn.GRU(3, 4, 2, direction="bidirect")
        self.fc = nn.Linear(8, 2)
        self.cell = nn.GRUCell(2, 3)  # not in the program
        self.bn = nn.BatchNorm1D(8)

    def forward(self, x):
        return self.fc(self.bn(self.gru(self.emb(x))[0][:, -1]))


paddle.disable_static()
paddle.seed(3)
net = Inference()
net.eval()
# The operators of both .pdmodel files (field 4 of a block) were taken out afterwards: they hold the paths of this script.
paddle.jit.save(net, path("inference"), input_spec=[paddle.static.InputSpec([None, 5], "int64")])
paddle.save(net.state_dict(), path("inference.pdparams"))
paddle.save(net.fc.weight, path("binary.pdtensor"), use_binary_format=True)
paddle.enable_static()
with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
    x = paddle.static.data("x", [None, 4, 3], "float32")
    out = paddle.static.nn.fc(nn.GRU(3, 4)(x)[0][:, -1], 2)
    executor.run(paddle.static.default_startup_program())
    paddle.static.save_inference_model(path("static_inference"), [x], [out], executor)
    paddle.distributed.io.save_persistables(executor, path("persistables"), paddle.static.default_main_program())
