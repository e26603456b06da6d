"""Runs a GRU of a Paddle checkpoint in Paddle: read_back.py CHECKPOINT PREFIX KIND INPUT.npz OUTPUT.npz"""

import sys

import numpy as np
import paddle
from paddle import nn

checkpoint, prefix, kind, source, target = sys.argv[1:]
state = {name[len(prefix) :]: value for name, value in paddle.load(checkpoint).items() if name.startswith(prefix)}
data = np.load(source)
x, h = paddle.to_tensor(data["x"]), paddle.to_tensor(data["h"])
if kind == "cell":
    layer = nn.GRUCell(x.shape[-1], h.shape[-1])
else:
    layers, directions = (int(digit) for digit in kind.split("x"))
    layer = nn.GRU(x.shape[-1], h.shape[-1], layers, "bidirect" if directions == 2 else "forward", time_major=True)
missing, unexpected = layer.set_state_dict(state)
assert not missing + unexpected, missing + unexpected
y, hy = layer(x, h)
np.savez(target, y=y.numpy(), hy=hy.numpy())
