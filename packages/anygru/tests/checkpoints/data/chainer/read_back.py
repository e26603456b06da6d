"""Runs a GRU of a Chainer checkpoint in Chainer: read_back.py CHECKPOINT PREFIX KIND INPUT.npz OUTPUT.npz"""

import sys

import chainer
import chainer.links as L
import numpy as np
from chainer import serializers

checkpoint, prefix, kind, source, target = sys.argv[1:]
data = np.load(source)
x, h = data["x"], data["h"]
if kind == "stateful":
    layer = L.GRU(x.shape[-1], h.shape[-1])
elif kind == "cell":
    layer = L.NStepGRU(1, x.shape[-1], h.shape[-1], 0.0)
else:
    layers, directions = (int(digit) for digit in kind.split("x"))
    layer = (L.NStepGRU, L.NStepBiGRU)[directions - 1](layers, x.shape[-1], h.shape[-1], 0.0)
into = layer[0] if kind == "cell" else layer
if checkpoint.endswith(".npz"):
    serializers.load_npz(checkpoint, into, path=prefix)
else:
    import h5py

    with h5py.File(checkpoint, "r") as file:
        serializers.HDF5Deserializer(file[prefix] if prefix else file).load(into)
if kind == "stateful":
    layer.set_state(chainer.Variable(h))
    y = layer(x).array
    np.savez(target, y=y, hy=y)
elif kind == "cell":
    hy, _ = layer(h[None], [row[None] for row in x])
    np.savez(target, y=hy.array[0], hy=hy.array[0])
else:
    hy, ys = layer(h, [x[:, number] for number in range(x.shape[1])])
    np.savez(target, y=np.stack([y.array for y in ys], 1), hy=hy.array)
