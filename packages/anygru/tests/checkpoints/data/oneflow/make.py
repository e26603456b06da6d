"""Writes OneFlow's saved states in this folder; needs OneFlow 0.9."""

import os
import shutil

import numpy as np
import oneflow as flow
from oneflow import nn

HERE = os.path.dirname(os.path.abspath(__file__))
random = np.random.RandomState(4)
expected = {}


def save(obj, name):
    path = os.path.join(HERE, name)
    shutil.rmtree(path, ignore_errors=True)
    flow.save(obj, path)


def fill(module):
    for parameter in module.parameters():
        parameter.data.copy_(flow.tensor(random.uniform(-0.7, 0.7, tuple(parameter.shape)), dtype=flow.float32))


def draw(*shape):
    return random.uniform(-1, 1, shape).astype("float32")


gru = nn.GRU(3, 4, num_layers=2, bidirectional=True)
fill(gru)
x, h = draw(6, 2, 3), draw(4, 2, 4)
y, hy = gru(flow.tensor(x), flow.tensor(h))
expected.update({"model/x": x, "model/h": h, "model/y": y.numpy(), "model/hy": hy.numpy()})
model = nn.Sequential(gru, nn.Linear(8, 2))
optimizer = flow.optim.Adam(model.parameters(), lr=0.5)
save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "words": ["a", "b"]}, "model")

cell = nn.GRUCell(3, 4)
fill(cell)
x, h = draw(2, 3), draw(2, 4)
expected.update({"cell/x": x, "cell/h": h, "cell/y": cell(flow.tensor(x), flow.tensor(h)).numpy()})
save(cell.state_dict(), "cell")

kinds = (flow.float64, flow.float16, flow.int8, flow.int32, flow.int64, flow.uint8, flow.bool)
save({str(kind): flow.ones(2, dtype=kind) for kind in kinds}, "dtypes")
save(nn.GRU(2, 3), "whole_module")
np.savez(os.path.join(HERE, "expected.npz"), **expected)
