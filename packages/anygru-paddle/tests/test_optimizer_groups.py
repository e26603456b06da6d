"""Groups of parameters with separate options, and rows that a lazy Adam skips; answers recorded from Paddle 2.6.2."""

import numpy as np
import pytest

import anygru_paddle as paddle
from anygru_paddle import nn

O = paddle.optimizer  # noqa: E741


def stepped(make, options, steps=3):
    """A parameter with a separate rate and decay, in a group with `options`, after some steps on 1 / 2 * p ** 2."""
    attr = paddle.ParamAttr(
        initializer=nn.initializer.Constant(2.0), learning_rate=0.5, regularizer=paddle.regularizer.L1Decay(0.7)
    )
    p = paddle.create_parameter([1], "float32", attr=attr)
    q = paddle.create_parameter([1], "float32", default_initializer=nn.initializer.Constant(1.0))
    optimizer = make([{"params": [p], **options}, {"params": [q]}])
    for _ in range(steps):
        ((p * p).sum() / 2 + (q * q).sum()).backward()
        optimizer.step()
        optimizer.clear_grad()
    return [p.item(), q.item()]


@pytest.mark.parametrize(
    ("make", "options", "expected"),
    [
        (lambda g: O.SGD(0.1, parameters=g), {}, [1.458, 0.512]),
        (lambda g: O.SGD(0.1, parameters=g, weight_decay=0.3), {"learning_rate": 0.2}, [1.848021, 0.456533]),
        (
            lambda g: O.SGD(0.1, parameters=g, weight_decay=0.3),
            {"weight_decay": paddle.regularizer.L1Decay(0.4)},
            [1.3496, 0.456533],
        ),
        (
            lambda g: O.Momentum(0.1, parameters=g),
            {"momentum": 0.5, "use_nesterov": True, "weight_decay": 0.2},
            [0.9743359, 0.06200001],
        ),
        (
            lambda g: O.Adagrad(0.1, parameters=g),
            {"epsilon": 0.5, "initial_accumulator_value": 0.3},
            [1.816552, 0.7804562],
        ),
        (lambda g: O.Adadelta(0.1, parameters=g), {"epsilon": 0.1, "rho": 0.6}, [1.841252, 0.9986435]),
        (
            lambda g: O.RMSProp(0.1, parameters=g),
            {"epsilon": 0.1, "rho": 0.6, "momentum": 0.4, "centered": True},
            [1.237454, 0.2020355],
        ),
        (lambda g: O.Adam(0.1, parameters=g), {"beta1": 0.5, "beta2": 0.6, "epsilon": 0.1}, [1.715508, 0.7015873]),
        (
            lambda g: O.AdamW(0.1, parameters=g),
            {"beta1": 0.5, "weight_decay": 0.6, "learning_rate": 0.3},
            [1.805991, 0.6989121],
        ),
        (lambda g: O.Adamax(0.1, parameters=g), {"beta1": 0.5, "beta2": 0.6, "epsilon": 0.1}, [1.695026, 0.7154995]),
        (lambda g: O.Lamb(0.1, parameters=g), {"beta1": 0.5, "lamb_weight_decay": 0.6}, [1.458, 0.729]),
        (lambda g: O.Lamb(0.1, parameters=g), {"exclude_from_weight_decay_fn": lambda p: True}, [1.700625, 0.729]),
    ],
)
def test_a_group_overrides_what_its_parameters_and_the_optimizer_want(make, options, expected):
    assert stepped(make, options) == pytest.approx(expected, rel=2e-6)


def test_powers_of_betas_that_are_tensors_start_at_the_defaults():
    p = paddle.create_parameter([1], "float32", default_initializer=nn.initializer.Constant(2.0))
    adam = O.Adam(0.1, paddle.to_tensor([0.8]), paddle.to_tensor([0.5]), parameters=[p])
    (p * p).sum().backward()
    adam.step()
    assert p.item() == pytest.approx(1.991056, rel=2e-6)


def test_a_lazy_adam_leaves_the_rows_that_were_not_used():
    layer = nn.Embedding(4, 2, sparse=True)
    layer.weight.set_value(np.arange(8, dtype="float32").reshape(4, 2))
    adam = O.Adam(0.1, parameters=layer.parameters(), lazy_mode=True)
    layer(paddle.to_tensor([1, 2])).sum().backward()
    adam.step()
    adam.clear_grad()
    first = layer.weight.numpy().copy()
    layer(paddle.to_tensor([2])).sum().backward()
    adam.step()
    assert (layer.weight.numpy() == first)[[0, 1, 3]].all()
    assert (layer.weight.numpy() != first)[2].all()
    moment = next(value for name, value in adam.state_dict().items() if "moment1" in name)
    assert moment.numpy()[:, 0] == pytest.approx([0, 0.1, 0.19, 0], rel=1e-6)


def test_warm_restarts_that_begin_at_an_epoch():
    rates = O.lr.CosineAnnealingWarmRestarts(1.0, 3, last_epoch=0)
    seen = [rates()]
    for _ in range(3):
        rates.step()
        seen.append(rates())
    assert seen == pytest.approx([0.75, 0.25, 1.0, 0.75], rel=1e-12)
