"""Optimizers against torch's if the formulas agree, otherwise against the formula in NumPy."""

import math

import numpy as np
import pytest
import torch

import anygru_chainer as chainer
import anygru_chainer.functions as F
import anygru_chainer.links as L
from anygru_chainer import optimizer_hooks, optimizers

X = np.random.RandomState(1).randn(6, 3)
T = np.random.RandomState(2).randn(6, 2)


def make_model():
    with chainer.using_config("dtype", np.float64):
        return L.Linear(3, 2, initialW=np.arange(6.0).reshape(2, 3) / 10)


def train(optimizer, hook=None, steps=5):
    model = make_model()
    optimizer.setup(model)
    if hook is not None:
        optimizer.add_hook(hook)
    for _ in range(steps):
        optimizer.update(lambda: F.mean_squared_error(model(X), T))
    return model.W.array


def train_torch(make, steps=5, **kwargs):
    w = torch.from_numpy(np.arange(6.0).reshape(2, 3) / 10).requires_grad_()
    b = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    optimizer = make([w, b], **kwargs)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(torch.from_numpy(X) @ w.T + b, torch.from_numpy(T)).backward()
        optimizer.step()
    return w.detach().numpy()


@pytest.mark.parametrize(
    ("ours", "theirs", "kwargs"),
    [
        (optimizers.SGD(0.1), torch.optim.SGD, {"lr": 0.1}),
        (optimizers.MomentumSGD(0.1, 0.8), torch.optim.SGD, {"lr": 0.1, "momentum": 0.8}),
        (optimizers.CorrectedMomentumSGD(0.1, 0.8), torch.optim.SGD, {"lr": 0.1, "momentum": 0.8}),
        (optimizers.AdaGrad(0.1), torch.optim.Adagrad, {"lr": 0.1, "eps": 1e-8}),
        (optimizers.AdaDelta(), torch.optim.Adadelta, {"lr": 1.0, "rho": 0.95, "eps": 1e-6}),
        (optimizers.RMSprop(0.01), torch.optim.RMSprop, {"lr": 0.01}),
        (optimizers.Adam(0.05, eps=0), torch.optim.Adam, {"lr": 0.05, "eps": 0}),
        (optimizers.AMSGrad(0.05, eps=0), torch.optim.Adam, {"lr": 0.05, "eps": 0}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, optimizers.SGD.__mro__[2]) else "",
)
def test_updates_agree_with_torchs(ours, theirs, kwargs):
    np.testing.assert_allclose(train(ours), train_torch(theirs, **kwargs), rtol=1e-7)


def test_adams_eps_is_added_to_the_uncorrected_root():
    model, g = make_model(), np.full((2, 3), 0.3)
    optimizer = optimizers.Adam(alpha=0.1, beta1=0.8, beta2=0.9, eps=0.5).setup(model)
    before, m, v = model.W.array.copy(), 0.0, 0.0
    for t in (1, 2, 3):
        model.cleargrads()
        model.W.grad = g.copy()
        optimizer.update()
        m, v = m + 0.2 * (g - m), v + 0.1 * (g * g - v)
        before -= 0.1 * math.sqrt(1 - 0.9**t) / (1 - 0.8**t) * m / (np.sqrt(v) + 0.5)
    np.testing.assert_allclose(model.W.array, before, rtol=1e-12)


@pytest.mark.parametrize(
    "optimizer",
    [optimizers.AdamW(0.05, weight_decay_rate=0.1), optimizers.AdaBound(0.05), optimizers.AMSBound(0.05),
     optimizers.NesterovAG(0.05), optimizers.RMSpropGraves(0.01), optimizers.SMORMS3(0.01)],
    ids=lambda optimizer: type(optimizer).__name__,
)  # fmt: skip
def test_the_others_go_downhill(optimizer):
    def loss(w):
        return ((X @ w.T - T) ** 2).mean()

    assert loss(train(optimizer, steps=30)) < loss(make_model().W.array)


def test_clipping_scales_all_gradients_to_the_threshold():
    model = make_model()
    optimizer = optimizers.SGD(0.0).setup(model)
    optimizer.add_hook(optimizer_hooks.GradientClipping(0.1))
    optimizer.update(lambda: F.mean_squared_error(model(X), T))
    assert np.sqrt(sum((p.grad**2).sum() for p in model.params())) == pytest.approx(0.1)


def test_weight_decay_is_torchs():
    hook = optimizer_hooks.WeightDecay(0.2)
    expected = train_torch(torch.optim.SGD, lr=0.1, weight_decay=0.2)
    np.testing.assert_allclose(train(optimizers.SGD(0.1), hook), expected)


def test_an_update_without_cleared_gradients_is_seen_at_once():
    model = make_model()
    optimizers.SGD(0.1).setup(model).update()
    assert np.isnan(model.W.array).all()


def test_one_parameter_can_have_hyperparameters_of_its_own():
    model = make_model()
    optimizer = optimizers.SGD(0.1).setup(model)
    model.W.update_rule.hyperparam.lr = 0.0
    before = model.W.array.copy()
    optimizer.update(lambda: F.mean_squared_error(model(X), T))
    np.testing.assert_array_equal(model.W.array, before)
    assert model.b.array.any()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: optimizers.SGD().setup([make_model()]), TypeError),
        (lambda: optimizers.SGD().add_hook(print), RuntimeError),
        (lambda: optimizers.SGD().setup(make_model()).add_hook(3), TypeError),
        (lambda: optimizers.SGD().setup(make_model()).add_hook(print, timing="now"), ValueError),
        (lambda: optimizers.SGD().setup(make_model()).remove_hook("absent"), KeyError),
        (lambda: optimizers.SGD().setup(make_model()).update(chainer.Variable(np.ones(()))), TypeError),
        (lambda: optimizers.Adam().alpha_t, RuntimeError),
    ],
)
def test_misuse_is_refused(call, error):
    with pytest.raises(error):
        call()


def test_weight_decay_grows_with_the_scale_of_the_loss():
    plain = train(optimizers.SGD(0.1), optimizer_hooks.WeightDecay(0.2))
    scaled = optimizers.SGD(0.1)
    scaled.set_loss_scale(8.0)
    np.testing.assert_allclose(train(scaled, optimizer_hooks.WeightDecay(0.2)), plain, rtol=1e-6)


@pytest.mark.parametrize(
    ("hyperparameters", "expected"),
    [
        ({}, [0.7999999523162842, -1.5999999046325684, 0.5, 2.973327875137329]),
        (
            {"lr": 0.05, "beta": 0.7, "eta": 0.5, "weight_decay_rate": 0.1},
            [0.7681328058242798, -1.5362656116485596, 0.40725311636924744, 2.437821626663208],
        ),
    ],
)
def test_msvag_is_chainers(hyperparameters, expected):
    """Recorded under Chainer 7.8.1; one element has only zero gradients."""
    link = chainer.Link()
    with link.init_scope():
        link.W = chainer.Parameter(np.array([1, -2, 0.5, 3], np.float32))
    optimizer = optimizers.MSVAG(**hyperparameters).setup(link)
    for sign in (1, -1, 1, -1):
        link.W.grad = np.array([0.5, -1, 0, 0.25 * sign], np.float32)
        optimizer.update()
    np.testing.assert_allclose(link.W.array, expected, rtol=1e-6)
