"""Runs a GRU of an MXNet checkpoint in MXNet: read_back.py CHECKPOINT PREFIX KIND INPUT.npz OUTPUT.npz"""

import sys

import numpy as np
from mxnet import nd
from mxnet.gluon import rnn

checkpoint, prefix, kind, source, target = sys.argv[1:]
state = {name[len(prefix) :]: value for name, value in nd.load(checkpoint).items() if name.startswith(prefix)}
nd.save(target + ".params", state)
data = np.load(source)
x, h = nd.array(data["x"]), nd.array(data["h"])
if kind == "cell":
    layer = rnn.GRUCell(h.shape[-1], input_size=x.shape[-1])
else:
    layers, directions = (int(digit) for digit in kind.split("x"))
    layer = rnn.GRU(h.shape[-1], layers, bidirectional=directions == 2, input_size=x.shape[-1])
layer.load_parameters(target + ".params")
y, (hy,) = layer(x, [h])
np.savez(target, y=y.asnumpy(), hy=hy.asnumpy())
