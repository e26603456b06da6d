"""Every optimizer and scheduler over three lives of one training: each life loads what the one before saved."""
import numpy as np
from recorder import record

import paddle
from paddle.utils import unique_name

O = paddle.optimizer
x = paddle.to_tensor([[1.0, -2.0], [0.5, 3.0]])


def live(make, weights, saved):
    """Two steps; the weights, the state, and how much the optimizer had right after loading."""
    with unique_name.guard():
        layer = paddle.nn.Linear(2, 1)
        layer.weight.set_value(np.array([[0.5], [-0.25]], "float32"))
        layer.bias.set_value(np.array([0.125], "float32"))
        if weights is not None:
            layer.set_state_dict(weights)
        optimizer = make(layer.parameters())
        if saved is not None:
            optimizer.set_state_dict(saved)
        early = sorted(optimizer.state_dict())
        for _ in range(2):
            loss = ((layer(x) - 1) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            scheduler = optimizer._learning_rate
            if isinstance(scheduler, O.lr.ReduceOnPlateau):
                scheduler.step(loss)
            elif isinstance(scheduler, O.lr.LRScheduler):
                scheduler.step()
        paddle.save(optimizer.state_dict(), "life.pdopt")
        paddle.save(layer.state_dict(), "life.pdparams")
    return paddle.load("life.pdparams"), paddle.load("life.pdopt"), early


def three(name, make):
    weights = saved = None
    for life in range(3):
        weights, saved, early = live(make, weights, saved)
        record("%s_%d_early" % (name, life), early)
        record("%s_%d_keys" % (name, life), list(saved))
    record(name + "_weights", [weights[key].numpy() for key in sorted(weights)])
    record(name + "_state", [saved[key].numpy() for key in saved if key != "LR_Scheduler"])
    if "LR_Scheduler" in saved:
        state = saved["LR_Scheduler"]
        record(name + "_scheduler", [[key, str(state[key]) if isinstance(state[key], dict) else state[key]] for key in sorted(state)])


for name, make in {
    "sgd": lambda p: O.SGD(0.1, p),
    "momentum": lambda p: O.Momentum(0.1, 0.9, p),
    "nesterov": lambda p: O.Momentum(0.1, 0.9, p, use_nesterov=True),
    "adam": lambda p: O.Adam(0.1, parameters=p),
    "adamw": lambda p: O.AdamW(0.1, parameters=p, weight_decay=0.1),
    "adamax": lambda p: O.Adamax(0.1, parameters=p),
    "adagrad": lambda p: O.Adagrad(0.1, parameters=p, initial_accumulator_value=0.5),
    "adadelta": lambda p: O.Adadelta(0.1, parameters=p),
    "rmsprop": lambda p: O.RMSProp(0.1, parameters=p, momentum=0.5),
    "rmsprop_centered": lambda p: O.RMSProp(0.1, parameters=p, centered=True),
    "lamb": lambda p: O.Lamb(0.1, parameters=p),
}.items():
    three(name, make)

lr = O.lr
for name, make in {
    "noam": lambda: lr.NoamDecay(4, 3),
    "piecewise": lambda: lr.PiecewiseDecay([2, 4], [0.1, 0.05, 0.01]),
    "natural": lambda: lr.NaturalExpDecay(0.1, 0.2),
    "inverse": lambda: lr.InverseTimeDecay(0.1, 0.2),
    "polynomial": lambda: lr.PolynomialDecay(0.1, 4, cycle=True),
    "warmup": lambda: lr.LinearWarmup(lr.StepDecay(0.1, 2), 3, 0.01, 0.1),
    "exponential": lambda: lr.ExponentialDecay(0.1, 0.8),
    "multistep": lambda: lr.MultiStepDecay(0.1, [1, 4]),
    "step": lambda: lr.StepDecay(0.1, 2),
    "lambda": lambda: lr.LambdaDecay(0.1, lambda epoch: 0.9**epoch),
    "multiplicative": lambda: lr.MultiplicativeDecay(0.1, lambda epoch: 0.9),
    "plateau": lambda: lr.ReduceOnPlateau(0.1, patience=1, threshold=0.5),
    "cosine": lambda: lr.CosineAnnealingDecay(0.1, 4),
    "onecycle": lambda: lr.OneCycleLR(0.1, 10),
    "onecycle_three": lambda: lr.OneCycleLR(0.1, 20, three_phase=True, anneal_strategy="linear"),
    "cyclic": lambda: lr.CyclicLR(0.01, 0.1, 2, 3, mode="triangular2"),
    "cyclic_exp": lambda: lr.CyclicLR(0.01, 0.1, 2, mode="exp_range", exp_gamma=0.9),
    "linear": lambda: lr.LinearLR(0.1, 4),
    "restarts": lambda: lr.CosineAnnealingWarmRestarts(0.1, 2, 2),
}.items():
    three(name, lambda p, make=make: O.Momentum(make(), 0.9, p))
