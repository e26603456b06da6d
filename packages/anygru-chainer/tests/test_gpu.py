"""Programs of Chainer on a GPU give the numbers of the CPU: `make test-gpu`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anygru_chainer as chainer
from anygru_chainer import functions as F
from anygru_chainer import links as L
from anygru_chainer import training
from anygru_chainer.backends import cuda
from anygru_chainer.training import extensions

pytestmark = pytest.mark.gpu
X = np.random.RandomState(0).randn(4, 6, 5).astype("float32")
Y = np.array([0, 2, 1, 1], "int32")


def _losses(device: str, kind: str) -> list[float]:
    np.random.seed(0)
    net = chainer.Chain()
    with net.init_scope():
        net.layer = getattr(L, kind)(2, 5, 8, 0.0)
        net.head = L.Linear(None, 3)
        net.head(np.zeros((1, 16 if "Bi" in kind else 8), "f"))
    net.to_device(device)
    optimizer = chainer.optimizers.Adam(0.01).setup(net)
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(1.0))
    losses = []
    for _ in range(4):
        rows = [chainer.Variable(net.xp.asarray(x[:length])) for x, length in zip(X, (6, 3, 2, 5), strict=True)]
        *_, outputs = net.layer(*([None] * (2 if "LSTM" in kind else 1)), rows)
        scores = net.head(F.stack([each[-1] for each in outputs]))
        loss = F.softmax_cross_entropy(scores, net.xp.asarray(Y))
        net.cleargrads()
        with chainer.using_config("train", False):
            loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
    return losses


@pytest.mark.parametrize("kind", ["NStepGRU", "NStepBiGRU", "NStepLSTM", "NStepBiLSTM", "NStepRNNTanh", "NStepRNNReLU"])
def test_layers_train_as_on_the_cpu(kind: str) -> None:
    np.testing.assert_allclose(_losses("@cupy:0", kind), _losses("@numpy", kind), rtol=1e-4)


def test_arrays_meet_numbers() -> None:
    cupy = cuda.cupy
    x = cupy.asarray(X)
    for name in ("maximum", "minimum"):
        of_numpy: Any = getattr(np, name)
        for y in (0, 0.5):
            np.testing.assert_array_equal(cuda.to_cpu(getattr(cupy, name)(x, y)), of_numpy(X, y))
            np.testing.assert_array_equal(cuda.to_cpu(getattr(cupy, name)(y, x)), of_numpy(y, X))


def test_a_trainer_keeps_snapshots(tmp_path: Path) -> None:
    model = L.Classifier(L.Linear(5, 3))
    model.to_device("@cupy:0")
    data = chainer.datasets.TupleDataset(X[:, 0], Y)
    optimizer = chainer.optimizers.Adam().setup(model)
    updater = training.StandardUpdater(chainer.iterators.SerialIterator(data, 2), optimizer, device=0)
    trainer = training.Trainer(updater, (2, "epoch"), out=str(tmp_path))
    trainer.extend(extensions.Evaluator(chainer.iterators.SerialIterator(data, 2, False, False), model, device=0))
    trainer.extend(extensions.snapshot())
    trainer.run()
    chainer.serializers.save_npz(str(tmp_path / "model.npz"), model)
    other = L.Classifier(L.Linear(5, 3))
    chainer.serializers.load_npz(str(tmp_path / "model.npz"), other)
    np.testing.assert_array_equal(cuda.to_cpu(model.predictor.W.array), other.predictor.W.array)
