"""Programs of MXNet on a GPU give the numbers of the CPU: `make test-gpu`."""

from typing import Any

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru_mxnet import autograd, gluon, nd

pytestmark = pytest.mark.gpu
X = np.random.RandomState(0).randn(4, 6, 5).astype("float32")
Y = np.array([0, 2, 1, 1], "float32")


def _losses(ctx: Any, kind: str) -> list[float]:
    layer = getattr(gluon.rnn, kind)(8, 2, layout="NTC", bidirectional=True, input_size=5)
    head = gluon.nn.Dense(3, in_units=96)
    parameters = {**layer.collect_params(), **head.collect_params()}
    values = np.random.RandomState(1)
    for parameter in parameters.values():
        parameter.initialize(ctx=ctx)
        parameter.set_data(nd.array(values.randn(*parameter.shape) * 0.3, ctx=ctx))
    trainer = gluon.Trainer(parameters, "adam", {"learning_rate": 0.01})
    measure, losses = gluon.loss.SoftmaxCrossEntropyLoss(), []
    for _ in range(4):
        with autograd.record():
            loss = measure(head(layer(nd.array(X, ctx=ctx))), nd.array(Y, ctx=ctx))
        loss.backward()
        trainer.step(4)
        losses.append(float(loss.mean().asscalar()))
    assert loss.context == ctx
    return losses


@pytest.mark.parametrize("kind", ["GRU", "LSTM", "RNN"])
def test_layers_train_as_on_the_cpu(kind: str) -> None:
    np.testing.assert_allclose(_losses(mx.gpu(0), kind), _losses(mx.cpu(), kind), rtol=1e-4)


def test_arrays_of_two_contexts_do_not_meet() -> None:
    with mx.gpu(0):
        a = nd.random.uniform(shape=(2, 3))
    assert a.context == mx.gpu(0)
    with pytest.raises(mx.MXNetError):
        a + nd.ones((2, 3))
    assert (a.as_in_context(mx.cpu()) + nd.ones((2, 3))).context == mx.cpu()
