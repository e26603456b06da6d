"""Runs a GRU of a OneFlow saved state in OneFlow: read_back.py CHECKPOINT PREFIX KIND INPUT.npz OUTPUT.npz"""

import sys

import numpy as np
import oneflow as flow
from oneflow import nn

checkpoint, prefix, kind, source, target = sys.argv[1:]
state = {name[len(prefix) :]: value for name, value in flow.load(checkpoint).items() if name.startswith(prefix)}
data = np.load(source)
x, h = flow.tensor(data["x"]), flow.tensor(data["h"])
if kind == "cell":
    layer = nn.GRUCell(x.shape[-1], h.shape[-1])
else:
    layers, directions = (int(digit) for digit in kind.split("x"))
    layer = nn.GRU(x.shape[-1], h.shape[-1], layers, bidirectional=directions == 2)
layer.load_state_dict(state)
result = layer(x, h)
y, hy = result if isinstance(result, tuple) else (result, result)
np.savez(target, y=y.numpy(), hy=hy.numpy())
