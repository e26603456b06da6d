"""Distributions, multinomial draws, edges of linear interpolation, summaries of recurrent networks, `Model` with amp."""
import contextlib
import io
import warnings

import numpy as np
from recorder import record, record_error

import paddle
import paddle.nn.functional as F
from paddle import distribution as D
from paddle import nn

paddle.seed(5)
weights = paddle.rand([4, 7])
record("multinomial", paddle.multinomial(weights, 9, True))
record("multinomial_without_replacement", paddle.multinomial(weights, 5))
record("multinomial_zeros", paddle.multinomial(paddle.to_tensor([0.0, 1.0, 0.0, 3.0, 0.001]), 3))
record_error("multinomial_too_many", lambda: paddle.multinomial(paddle.to_tensor([1.0, 0.0]), 2))

loc = paddle.to_tensor([0.5, 1.0], stop_gradient=False)
normals = [D.Normal(0.0, 1.0), D.Normal([0.0, 1.0], [1.0, 2.0]), D.Normal(loc, paddle.to_tensor([1.0, 3.0]))]
value = paddle.to_tensor([0.3, 0.7])
for i, each in enumerate(normals):
    record(f"normal_{i}", [each.sample([2, 3]), each.sample([2], seed=7), each.rsample([2]), each.entropy()])
    record(f"normal_{i}_probabilities", [each.log_prob(value), each.probs(value), each.variance])
record("normal_divergence", D.kl_divergence(normals[0], normals[1]))
for i, each in enumerate([D.Uniform(-1, 2), D.Uniform([0.0, 1.0], [1.0, 2.0])]):
    record(f"uniform_{i}", [each.sample([2, 3]), each.sample([2], seed=7), each.entropy(), each.probs(value)])
for i, each in enumerate([D.Categorical(weights[0]), D.Categorical(weights)]):
    record(f"categorical_{i}", [each.sample([2, 3]), each.entropy(), each.probs(paddle.to_tensor([2, 0, 5]))])
record("categorical_divergence", D.kl_divergence(D.Categorical(weights[0]), D.Categorical(weights[1])))
coin = D.Bernoulli(paddle.to_tensor([0.1, 0.9]))
record("bernoulli", [coin.sample([4]), coin.rsample([3], 0.5), coin.entropy(), coin.cdf(value), coin.log_prob(value)])
record_error("normal_mixed", lambda: D.Normal(loc, 1.0))
(normals[2].rsample([3]).sum() + normals[2].log_prob(value).sum()).backward()
record("normal_gradient", loc.grad)

x = paddle.rand([1, 2, 4, 5])
x.stop_gradient = False
resized = F.interpolate(x, size=[7, 3], mode="bilinear", align_mode=1)
(resized * resized).sum().backward()
record("from_edges", [resized, x.grad, F.interpolate(x, scale_factor=[1.7, 2.0], mode="bilinear", align_mode=1)])


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embedding, self.norm = nn.Embedding(10, 8), nn.BatchNorm1D(4)
        self.gru, self.lstm = nn.GRU(8, 6, num_layers=2, direction="bidirect"), nn.LSTM(12, 5)
        self.head = nn.Sequential(nn.Linear(5, 3), nn.ReLU(), nn.Linear(3, 1, bias_attr=False))

    def forward(self, ids):
        states = self.lstm(self.gru(self.embedding(ids))[0])
        return self.head(self.norm(states[0])), states[1]


with paddle.utils.unique_name.guard():
    net = Net()
    net.embedding.weight.stop_gradient = True
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        counts = paddle.summary(net, (3, 4), dtypes="int64")
        paddle.summary(nn.GRU(300, 400), [(None, 5, 300)])
        paddle.Model(net, paddle.static.InputSpec([None, 4], "int64", "ids")).summary(dtype="int64")
record("summary", printed.getvalue())
record("summary_counts", [int(counts["total_params"]), int(counts["trainable_params"])])
record("after_summary", paddle.rand([2]))
record_error("summary_of_nothing", lambda: paddle.summary(net))

paddle.seed(1)
model = paddle.Model(nn.Linear(3, 2))
sgd = paddle.optimizer.SGD(0.1, parameters=model.parameters())
record_error("amp_level", lambda: model.prepare(sgd, nn.MSELoss(), amp_configs="O3"))
model.prepare(sgd, nn.MSELoss(), amp_configs={"level": "O1", "init_loss_scaling": 64.0})
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    model.train_batch([np.ones([2, 3], "float32")], [np.ones([2, 2], "float32")])
record("amp_step", model.network.weight)
