"""`gluon.contrib.estimator` logs and writes the same as MXNet 1.9.1 (`data/estimator.txt`, recorded from this program)."""

import io
import logging
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import anygru_mxnet as mx
from anygru_mxnet import gluon, nd
from anygru_mxnet.gluon.contrib.estimator import (
    CheckpointHandler,
    EarlyStoppingHandler,
    Estimator,
    LoggingHandler,
    MetricHandler,
)

RECORDED = (Path(__file__).parent / "data" / "estimator.txt").read_text()


@pytest.fixture
def data():
    x = nd.array(np.sin(np.arange(24).reshape(12, 2)))
    return gluon.data.DataLoader(gluon.data.ArrayDataset(x, nd.array(np.arange(12) % 3)), 4)


@pytest.fixture
def estimator():
    net = gluon.nn.HybridSequential(prefix="n_")
    with net.name_scope():
        net.add(gluon.nn.Dense(4, activation="tanh", in_units=2), gluon.nn.Dense(3, in_units=4))
    net.initialize(mx.init.One())
    net.hybridize()
    for parameter in net.collect_params().values():
        parameter.set_data(nd.array(np.cos(np.arange(parameter.data().size)).reshape(parameter.shape)))
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    made = Estimator(net, loss, train_metrics=mx.metric.Accuracy(), trainer=trainer, context=mx.cpu())
    made.messages = io.StringIO()
    made.logger.handlers = [logging.StreamHandler(made.messages)]
    return made


def messages(estimator, folder):
    text = re.sub(r"\d+\.\d+s|total \d+s", "T", estimator.messages.getvalue().replace(str(folder), "DIR"))
    estimator.messages.truncate(0)
    estimator.messages.seek(0)
    return text


def test_training_with_handlers_and_resuming_it(estimator, data, tmp_path):
    found = []
    best = CheckpointHandler(
        str(tmp_path), monitor=estimator.val_metrics[0], save_best=True, mode="max", verbose=1, max_checkpoints=2
    )
    early = EarlyStoppingHandler(estimator.val_metrics[0], patience=2, mode="max")
    estimator.fit(
        data, data, epochs=6, event_handlers=[best, early, LoggingHandler(2, metrics=estimator.train_metrics)]
    )
    found += [messages(estimator, tmp_path), str(sorted(path.name for path in tmp_path.iterdir()))]
    resuming = CheckpointHandler(str(tmp_path), resume_from_checkpoint=True, verbose=1)
    estimator.fit(data, epochs=8, event_handlers=[resuming])
    found += [messages(estimator, tmp_path), str(sorted(path.name for path in tmp_path.iterdir()))]
    assert "\n".join(found) + "\n" == RECORDED
    with pytest.raises(ValueError, match="Found checkpoint with maximum number of epoch 3 reached"):
        estimator.fit(data, epochs=3, event_handlers=[CheckpointHandler(str(tmp_path), resume_from_checkpoint=True)])


def test_what_it_refuses(estimator, data, tmp_path):
    with pytest.raises(ValueError, match="outside of the known training and validation metrics"):
        estimator.fit(data, epochs=1, event_handlers=[MetricHandler([mx.metric.MSE()])])
    with pytest.raises(ValueError, match="exactly one type of iteration"):
        estimator.fit(data, epochs=1, batches=1)
    with pytest.raises(ValueError, match="Estimator only support input as Gluon DataLoader"):
        estimator.evaluate([1])
    with pytest.raises(ValueError, match="To save best model only"):
        CheckpointHandler(str(tmp_path), save_best=True)
    with pytest.raises(ValueError, match="loss must be a Loss"):
        Estimator(estimator.net, lambda a, b: a)


def test_defaults_come_with_warnings(data):
    net = gluon.nn.Dense(1)
    with pytest.warns(UserWarning, match="No trainer specified"):
        made = Estimator(net, gluon.loss.L2Loss())
    assert [metric.name for metric in made.train_metrics] == ["training l2loss"]
    assert [metric.name for metric in made.val_metrics] == ["validation l2loss"]
    with pytest.warns(UserWarning, match="`greater` operator will be used"):
        EarlyStoppingHandler(made.val_metrics[0])


def test_an_executor_has_gradients_after_a_prediction():
    x, y = mx.sym.var("x"), mx.sym.var("y")
    given = {"x": nd.array([1.0, 2.0]), "y": nd.array([3.0, 5.0])}
    grads = {"x": nd.zeros((2,)), "y": nd.zeros((2,))}
    executor = (x * y).bind(mx.cpu(), given, grads)
    executor.forward()
    executor.backward([nd.ones((2,))])
    assert grads["x"].asnumpy().tolist() == [3, 5]
    assert grads["y"].asnumpy().tolist() == [1, 2]


def test_an_executor_for_fewer_rows_shares_the_memory():
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=4, name="f")
    large = net.simple_bind(mx.cpu(), x=(5, 4), grad_req="null")
    large.arg_dict["x"][:] = 1
    large.arg_dict["f_weight"][:] = 1
    small = large.reshape(x=(3, 4))
    assert small.forward()[0].asnumpy().tolist() == [[4] * 4] * 3
    larger = large.reshape(allow_up_sizing=True, x=(6, 4))
    larger.arg_dict["x"][:] = 0
    assert large.arg_dict["x"].asnumpy().min() == 1


def test_features_of_the_library():
    features = mx.runtime.Features()
    assert features.is_enabled("cuda") == (mx.num_gpus() > 0)
    assert str(features).startswith(("[✖ CUDA", "[✔ CUDA"))
    with pytest.raises(RuntimeError, match="Feature 'WINGS' is unknown"):
        features.is_enabled("wings")


def test_the_first_form_of_autograd():
    from anygru_mxnet.contrib import autograd

    gradients, result = autograd.grad_and_loss(lambda a, b: a * a * b, argnum=[0])(nd.array([3.0]), nd.array([2.0]))
    assert gradients[0].asscalar() == 12
    assert result.asscalar() == 18
    x, found = nd.array([2.0]), nd.zeros((1,))
    autograd.mark_variables([x], [found])
    with autograd.train_section():
        y = x * x
        with autograd.test_section():
            assert not mx.autograd.is_recording()
    autograd.backward([y])
    assert found.asscalar() == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert autograd.set_is_training(False) is False


@pytest.mark.parametrize("name", ["uniform", "normal", "exponential", "gamma", "poisson", "negative_binomial"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_draws_in_the_shape_of_an_array(name, dtype):
    """Their means and deviations, of 100,000 draws, are within five standard errors."""
    parameters, mean, deviation = {
        "uniform": ({"low": -1.5, "high": 3.0}, 0.75, 4.5 / 12**0.5),
        "normal": ({"loc": 10.0, "scale": 0.5}, 10, 0.5),
        "exponential": ({"lam": 4.0}, 0.25, 0.25),
        "gamma": ({"alpha": 9.0, "beta": 0.5}, 4.5, 1.5),
        "poisson": ({"lam": 4.0}, 4, 2),
        "negative_binomial": ({"k": 3, "p": 0.4}, 4.5, (3 * 0.6) ** 0.5 / 0.4),
    }[name]
    mx.random.seed(128)
    like = nd.zeros((1000, 100), dtype=dtype)
    drawn = getattr(nd.random, f"{name}_like")(like, **parameters).asnumpy()
    assert drawn.dtype == dtype
    drawn = drawn.astype(np.float64)
    assert abs(drawn.mean() - mean) < 5 * deviation / 100_000**0.5 + 2e-3 * (dtype == "float16")
    assert abs(drawn.std() - deviation) < 0.03 * deviation


def test_draws_of_arrays_take_a_dtype():
    found = nd.random.gamma(nd.array([1.0, 2.0]), nd.array([1.0, 1.0]), shape=(3,), dtype="float64")
    assert found.shape == (2, 3)
    assert found.dtype == np.float64


def test_classes_of_a_sampled_softmax():
    mx.random.seed(3)
    drawn, right, sampled = nd.contrib.rand_zipfian(nd.array([0, 50]), 20_000, 100)
    assert drawn.dtype == np.int64
    shares = np.bincount(drawn.asnumpy(), minlength=100) / 20_000
    law = np.log((np.arange(100) + 2) / (np.arange(100) + 1)) / np.log(101)
    assert abs(shares - law).max() < 0.015
    np.testing.assert_allclose(right.asnumpy(), law[[0, 50]] * 20_000)
    np.testing.assert_allclose(sampled.asnumpy()[:5], law[drawn.asnumpy()[:5]] * 20_000)
    different, tries = mx.nd._internal._sample_unique_zipfian(100, shape=(2, 30))
    assert all(len(set(row)) == 30 for row in different.asnumpy().tolist())
    assert (tries.asnumpy() >= 30).all()


def test_the_density_of_dirichlet():
    """At (0.3, 0.7) for alpha = (2, 3) it is 12 * 0.3 * 0.7**2."""
    found = nd.random_pdf_dirichlet(nd.array([[[0.3, 0.7]]]), nd.array([[2.0, 3.0]]))
    assert found.asscalar() == pytest.approx(12 * 0.3 * 0.49)
