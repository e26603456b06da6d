"""Writes Chainer's checkpoints in this folder; needs Chainer 7 and h5py."""

import os

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import serializers, training
from chainer.training import extensions

HERE = os.path.dirname(os.path.abspath(__file__))
random = np.random.RandomState(3)
expected = {}


def path(name):
    return os.path.join(HERE, name)


def fill(link):
    for _, parameter in sorted(link.namedparams(include_uninit=False)):
        parameter.array[...] = random.uniform(-0.7, 0.7, parameter.shape)


def draw(*shape):
    return random.uniform(-1, 1, shape).astype("float32")


class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(5, 3)
            self.rnn = L.NStepGRU(2, 3, 4, 0.0)
            self.both = L.NStepBiGRU(2, 3, 4, 0.0)
            self.cell = L.GRU(3, 4)
            self.out = L.Linear(3, 2)
            self.lazy = L.Linear(None, 2)
        self.add_persistent("seen", 7)
        self.add_persistent("note", None)
        self.add_persistent("words", "d\u00e9j\u00e0 vu")

    def forward(self, x):
        return F.sum(self.embed.W) + F.sum(self.out(self.embed(x)))


model = Model()
fill(model)
x, h1, h2 = draw(6, 2, 3), draw(2, 2, 4), draw(4, 2, 4)
for name, link, h in (("rnn", model.rnn, h1), ("both", model.both, h2)):
    hy, ys = link(h, [x[:, 0], x[:, 1]])
    expected.update({name + "/h": h, name + "/y": np.stack([y.array for y in ys], 1), name + "/hy": hy.array})
expected["x"] = x
cx, ch = draw(2, 3), draw(2, 4)
model.cell.set_state(chainer.Variable(ch))
expected.update({"cell/x": cx, "cell/h": ch, "cell/y": model.cell(cx).array})
model.cell.reset_state()
serializers.save_npz(path("model.npz"), model)
serializers.save_npz(path("stored.npz"), model, compression=False)

square = L.NStepBiGRU(1, 4, 4, 0.0)
fill(square)
x = draw(5, 1, 4)
hy, (y,) = square(None, [x[:, 0]])
expected.update({"square/x": x, "square/y": y.array[:, None], "square/hy": hy.array})
serializers.save_npz(path("square.npz"), square)

# h5py has no type for NumPy's text, and each dataset of HDF5 takes some room
del model.words
small = chainer.Chain(cell=model.cell.copy())
small.add_persistent("seen", 7)
small.add_persistent("note", None)
serializers.save_hdf5(path("model.h5"), small)

optimizer = chainer.optimizers.Adam().setup(model)
iterator = chainer.iterators.SerialIterator(list(range(4)), 2)
updater = training.updaters.StandardUpdater(iterator, optimizer)
trainer = training.Trainer(updater, (2, "iteration"), out=HERE)
trainer.extend(extensions.LogReport(trigger=(1, "iteration"), filename=None))
trainer.extend(extensions.snapshot(filename="snapshot.npz"), trigger=(2, "iteration"))
trainer.run()
expected.update({"snapshot/w0": model.rnn[0].w0.array})
os.remove(path("log"))
np.savez(path("expected.npz"), **expected)
