"""Optimizers against their formulas, their states, and the learning rates over time."""

import math
from typing import Any

import numpy as np
import pytest

import anygru_oneflow as flow
from anygru_oneflow import nn

S = flow.optim.lr_scheduler
GRADIENTS = [np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.1, -0.3]), np.array([-0.2, 0.4, 0.6])]


def single(number: float) -> float:
    """OneFlow's kernels have the options in float32, also where the parameters are float64."""
    return float(np.float32(number))


# Rates that the tests ask for, as OneFlow's kernels have them.
TENTH, NINE = single(0.1), single(0.9)


def run(make: Any, steps: int = 3) -> tuple[np.ndarray, Any]:
    parameter = nn.Parameter(flow.tensor([1.0, 2.0, 3.0], dtype=flow.float64))
    optimizer = make([parameter])
    for gradient in GRADIENTS[:steps]:
        parameter.grad = flow.tensor(gradient)
        optimizer.step()
    return parameter.numpy(), optimizer


LAMB = {  # of OneFlow 0.9.0, after three steps
    "plain": ({}, [0.72873569, -1.72873569, 0.22873569, 2.72873569], -0.05512537),
    "decay": ({"weight_decay": 0.1}, [0.70649087, -1.67917931, 0.22014657, 2.65186810], -0.05509847),
    "l2": ({"weight_decay": 0.1, "adam_w_mode": False}, [0.72819525, -1.72940993, 0.23121653, 2.72622627], -0.05512676),
    "no correction": (
        {"weight_decay": 0.05, "do_bias_correction": False},
        [0.72588426, -1.72238612, 0.22763291, 2.71888924],
        -0.17429224,
    ),
}


@pytest.mark.parametrize(("options", "expected", "from_zero"), LAMB.values(), ids=LAMB.keys())
def test_lamb(options: dict[str, Any], expected: list[float], from_zero: float) -> None:
    weight, zeros = nn.Parameter(flow.tensor([1.0, -2.0, 0.5, 3.0])), nn.Parameter(flow.zeros(2))
    optimizer = flow.optim.LAMB([weight, zeros], lr=0.05, **options)
    for step in (1, 2, 3):
        weight.grad = flow.tensor([0.1, -0.3, 0.2, 0.05]) * step
        zeros.grad = flow.tensor([0.5, -0.2])
        optimizer.step()
    np.testing.assert_allclose(weight.numpy(), expected, rtol=2e-6)
    np.testing.assert_allclose(zeros.numpy()[0], from_zero, rtol=2e-6)
    with pytest.raises(RuntimeError, match="amsgrad"):
        flow.optim.LAMB([weight], amsgrad=True)


def test_lamb_rounds_the_rate_that_a_parameter_gets() -> None:
    """The learning rate times the ratio of the norms, in float32 also for float64 parameters (0.9.0, recorded)."""
    value, mean, square = np.array([1.0, 2.0, 3.0]), np.zeros(3), np.zeros(3)
    for gradient in GRADIENTS:
        mean = NINE * mean + (1 - NINE) * gradient
        square = single(0.999) * square + (1 - single(0.999)) * gradient**2
        change = mean / (np.sqrt(square) + single(1e-8))
        ratio = np.linalg.norm(value) / np.linalg.norm(change)
        value = value - single(TENTH * ratio) * (change + TENTH * value)
    found, _ = run(lambda parameters: flow.optim.LAMB(parameters, 0.1, weight_decay=0.1, do_bias_correction=False))
    np.testing.assert_allclose(found, value, rtol=1e-12)


def test_momentum_begins_at_zero() -> None:
    value, buffer = np.array([1.0, 2.0, 3.0]), np.zeros(3)
    for gradient in GRADIENTS:
        buffer = NINE * buffer + 0.5 * gradient
        value = value - TENTH * buffer
    found, _ = run(lambda parameters: flow.optim.SGD(parameters, 0.1, momentum=0.9, dampening=0.5))
    np.testing.assert_allclose(found, value, rtol=1e-12)


@pytest.mark.parametrize("centered", [False, True])
def test_rmsprop_has_eps_inside_the_root(centered: bool) -> None:
    value, square, mean = np.array([1.0, 2.0, 3.0]), np.zeros(3), np.zeros(3)
    for gradient in GRADIENTS:
        square = NINE * square + (1 - NINE) * gradient**2
        mean = NINE * mean + (1 - NINE) * gradient
        value = value - TENTH * gradient / np.sqrt(square - (mean**2 if centered else 0) + single(0.01))
    found, _ = run(lambda parameters: flow.optim.RMSprop(parameters, 0.1, 0.9, 0.01, centered=centered))
    np.testing.assert_allclose(found, value, rtol=1e-12)


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("correct", [False, True])
def test_adam(decoupled: bool, correct: bool) -> None:
    value, mean, square = np.array([1.0, 2.0, 3.0]), np.zeros(3), np.zeros(3)
    for step, given in enumerate(GRADIENTS, 1):
        gradient = given if decoupled else given + TENTH * value
        mean = NINE * mean + (1 - NINE) * gradient
        square = single(0.999) * square + (1 - single(0.999)) * gradient**2
        one, two = np.float32([1 - 0.9**step, 1 - 0.999**step] if correct else [1, 1])
        change = float(np.float32(0.1) / one) * mean / (np.sqrt(square) / float(np.sqrt(two)) + single(1e-8))
        value = value - change - (float(np.float32(0.1) * np.float32(0.1)) * value if decoupled else 0)
    kind = flow.optim.AdamW if decoupled else flow.optim.Adam
    found, optimizer = run(lambda parameters: kind(parameters, 0.1, weight_decay=0.1, do_bias_correction=correct))
    np.testing.assert_allclose(found, value, rtol=1e-12)
    options = optimizer.state_dict()["param_groups"][0]["_options"]
    assert (options["lr"], options["eps"], options["weight_decay"]) == (0.1, 1e-8, 0.1)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "LAMB", "RMSprop", "Adagrad", "Adadelta"])
def test_state_goes_on_where_it_stopped(kind: str) -> None:
    def make(parameters: Any) -> Any:
        return getattr(flow.optim, kind)(parameters, **({"lr": 0.1, "momentum": 0.9} if kind == "SGD" else {"lr": 0.1}))

    whole, _ = run(make)
    part, optimizer = run(make, 2)
    parameter = nn.Parameter(flow.tensor(part))
    resumed = make([parameter])
    resumed.load_state_dict(optimizer.state_dict())
    parameter.grad = flow.tensor(GRADIENTS[2])
    resumed.step()
    np.testing.assert_allclose(parameter.numpy(), whole, rtol=1e-12)
    assert resumed.state_dict()["state"]["step"] == 3


def test_state_has_oneflows_form() -> None:
    _, optimizer = run(lambda parameters: flow.optim.SGD(parameters, 0.1, momentum=0.9))
    state = optimizer.state_dict()
    assert list(state["state"]) == ["step", 0]
    assert list(state["state"][0]) == ["momentum_buf"]
    group = state["param_groups"][0]
    assert list(group) == ["_options", "_enable_clip_grad", "params"]
    assert list(group["_options"]) == ["lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize", "fused"]
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict({"state": {}, "param_groups": []})
    with pytest.raises(AssertionError, match="Invalid learning rate: -1"):
        flow.optim.SGD([nn.Parameter(flow.ones(1))], -1.0)


def test_closure_runs_without_gradients() -> None:
    layer = nn.Linear(2, 1)
    optimizer = flow.optim.SGD(layer.parameters())
    assert optimizer.param_groups[0]["lr"] == 0.001
    assert not optimizer.step(lambda: layer(flow.ones(1, 2)).sum()).requires_grad


def test_clip_grad() -> None:
    parameter = nn.Parameter(flow.ones(4))
    group = {"params": [parameter], "clip_grad_max_norm": 1.0, "clip_grad_norm_type": 2.0}
    optimizer = flow.optim.SGD([group])
    parameter.grad = flow.ones(4) * 3
    optimizer.clip_grad()
    np.testing.assert_allclose(parameter.grad.numpy(), 0.5, rtol=1e-5)
    with pytest.warns(UserWarning, match="To enable clip_grad"):
        flow.optim.SGD([parameter]).clip_grad()


RATES: dict[str, tuple[Any, Any]] = {
    "StepLR": (lambda o: S.StepLR(o, 2, 0.5), lambda n: 0.5 ** (n // 2)),
    "ExponentialLR": (lambda o: S.ExponentialLR(o, 0.8), lambda n: 0.8**n),
    "CosineAnnealingLR": (lambda o: S.CosineAnnealingLR(o, 4), lambda n: (1 + math.cos(math.pi * n / 4)) / 2),
    "CosineDecayLR": (
        lambda o: S.CosineDecayLR(o, 4, 0.1),
        lambda n: 0.1 if n >= 4 else 0.9 * (1 + math.cos(math.pi * n / 4)) / 2 + 0.1,
    ),
    "PolynomialLR": (lambda o: S.PolynomialLR(o, 4, 0.0, 2.0), lambda n: (1 - min(n, 4) / 4) ** 2),
    "LambdaLR": (lambda o: S.LambdaLR(o, lambda n: 1 / (1 + n)), lambda n: 1 / (1 + n)),
    "WarmupLR": (lambda o: S.WarmupLR(o, 0.5, 4), lambda n: min(1, 0.5 + n / 8)),
    "warm-up, then steps": (
        lambda o: S.WarmupLR(S.StepLR(o, 2, 0.5), 0.5, 2, "constant", True),
        lambda n: 0.5 if n < 2 else 0.5 ** ((n - 2) // 2),
    ),
    "restarts": (
        lambda o: S.CosineAnnealingWarmRestarts(o, 2, 2),
        lambda n: (1 + math.cos(math.pi * (n / 2 if n < 2 else (n - 2) / 4 if n < 6 else (n - 6) / 8))) / 2,
    ),
}


@pytest.mark.parametrize(("make", "factor"), RATES.values(), ids=RATES.keys())
def test_rates_over_time(make: Any, factor: Any) -> None:
    optimizer = flow.optim.SGD([nn.Parameter(flow.ones(1))], 2.0)
    schedule = make(optimizer)
    for step in range(8):
        assert optimizer.param_groups[0]["lr"] == pytest.approx(2.0 * factor(step), abs=1e-12)
        assert schedule.get_last_lr() == [optimizer.param_groups[0]["lr"]]
        schedule.step()
    fresh = flow.optim.SGD([nn.Parameter(flow.ones(1))], 2.0)
    resumed = make(fresh)
    resumed.load_state_dict(schedule.state_dict())
    resumed.step()
    assert fresh.param_groups[0]["lr"] == pytest.approx(2.0 * factor(9), abs=1e-12)


def test_maximize_goes_the_way_of_the_momentum() -> None:
    value, buffer = np.array([1.0, 2.0, 3.0]), np.zeros(3)
    for gradient in GRADIENTS:
        buffer = NINE * buffer + gradient + single(0.2) * value
        value = value + TENTH * buffer
    found, optimizer = run(lambda parameters: flow.optim.SGD(parameters, 0.1, 0.9, weight_decay=0.2, maximize=True))
    np.testing.assert_allclose(found, value, rtol=1e-12)
    np.testing.assert_allclose(optimizer.state_dict()["state"][0]["momentum_buf"].numpy(), buffer, rtol=1e-12)


def test_adagrad_slows_down() -> None:
    value, total = np.array([1.0, 2.0, 3.0]), np.full(3, 0.3)
    for step, gradient in enumerate(GRADIENTS):
        total = total + gradient**2
        rate = np.float32(0.1) / (np.float32(1) + np.float32(step) * np.float32(0.7))
        value = value - float(rate) * gradient / (np.sqrt(total) + single(1e-10))
    found, _ = run(lambda parameters: flow.optim.Adagrad(parameters, 0.1, 0.7, initial_accumulator_value=0.3))
    np.testing.assert_allclose(found, value, rtol=1e-12)


BEGINNINGS: dict[str, tuple[Any, list[str]]] = {
    "SGD": (lambda p: flow.optim.SGD(p), []),
    "momentum": (lambda p: flow.optim.SGD(p, momentum=0.9), ["momentum_buf"]),
    "Adam": (lambda p: flow.optim.Adam(p), ["exp_avg", "exp_avg_sq"]),
    "AMSGrad": (lambda p: flow.optim.AdamW(p, amsgrad=True), ["exp_avg", "exp_avg_sq", "max_exp_avg_sq"]),
    "RMSprop": (lambda p: flow.optim.RMSprop(p, centered=True), ["square_avg", "grad_avg"]),
    "Adadelta": (lambda p: flow.optim.Adadelta(p), ["square_avgs", "acc_deltas"]),
}


@pytest.mark.parametrize(("make", "names"), BEGINNINGS.values(), ids=BEGINNINGS.keys())
def test_states_are_zeros_at_first(make: Any, names: list[str]) -> None:
    parameter = nn.Parameter(flow.ones(2))
    optimizer = make([parameter])
    assert optimizer.state_dict()["state"]["step"] == 0
    parameter.grad = flow.zeros(2)
    optimizer.step()
    state = optimizer.state_dict()["state"][0]
    assert {name: value.tolist() for name, value in state.items()} == dict.fromkeys(names, [0.0, 0.0])


def test_steps_are_counted_for_all_parameters_together() -> None:
    late, optimizer = run(flow.optim.Adam, 2)
    parameter = nn.Parameter(flow.zeros(1, dtype=flow.float64))
    optimizer.add_param_group({"params": [parameter]})
    parameter.grad = flow.ones(1, dtype=flow.float64)
    optimizer.step()
    # Its first step is the optimizer's third, so the averages of one gradient get the correction for three steps.
    change = 0.1 / (1 - 0.9**3) / math.sqrt(0.001 / (1 - 0.999**3))
    assert parameter.item() == pytest.approx(-0.001 * change, rel=1e-4)


def test_an_optimizer_of_no_parameters_steps() -> None:
    optimizer = flow.optim.SGD(nn.ReLU().parameters())
    optimizer.step()
    assert optimizer.state_dict()["param_groups"][0]["params"] == []


def test_refused_parameters() -> None:
    layer = nn.Linear(1, 1)
    with pytest.raises(ValueError, match="must be tensors, got a tuple"):
        flow.optim.SGD(layer.named_parameters())
    with pytest.raises(AssertionError, match="leaf"):
        flow.optim.SGD([layer.weight * 2])
    with pytest.raises(AssertionError, match="Invalid alpha value: -1"):
        flow.optim.RMSprop(layer.parameters(), alpha=-1)
    with pytest.raises(ValueError, match="'gamma' must be greater than zero"):
        S.ExponentialLR(flow.optim.SGD(layer.parameters()), -1)


def test_maximize_without_momentum_has_no_effect_and_warns() -> None:
    plain, _ = run(lambda parameters: flow.optim.SGD(parameters, 0.1))
    with pytest.warns(UserWarning, match="minimizes in spite of maximize=True"):
        found, _ = run(lambda parameters: flow.optim.SGD(parameters, 0.1, maximize=True))
    np.testing.assert_array_equal(found, plain)


def test_nesterov_with_dampening() -> None:
    value, buffer = np.array([1.0, 2.0, 3.0]), np.zeros(3)
    for gradient in GRADIENTS:
        buffer = NINE * buffer + 0.5 * gradient
        value = value - TENTH * (gradient + NINE * buffer)
    found, _ = run(lambda parameters: flow.optim.SGD(parameters, 0.1, 0.9, 0.5, nesterov=True))
    np.testing.assert_allclose(found, value, rtol=1e-12)


def test_a_loaded_state_is_shared() -> None:
    _, optimizer = run(lambda parameters: flow.optim.SGD(parameters, 0.1, 0.9))
    parameter = nn.Parameter(flow.ones(3, dtype=flow.float64))
    other = flow.optim.SGD([parameter], 0.1)
    other.load_state_dict(optimizer.state_dict())
    parameter.grad = flow.ones(3, dtype=flow.float64)
    other.step()
    states = [known.state_dict()["state"][0]["momentum_buf"].tolist() for known in (optimizer, other)]
    assert states[0] == states[1]


PLATEAUS: dict[str, tuple[dict[str, Any], list[float]]] = {
    "patience": ({"factor": 0.5, "patience": 1}, [1, 1, 1, 0.5, 0.5, 0.5]),
    "cooldown": ({"factor": 0.5, "patience": 0, "cooldown": 2}, [1, 1, 0.5, 0.5, 0.5, 0.5]),
    "maximum": ({"mode": "max", "factor": 0.5, "patience": 2}, [1, 1, 1, 0.5, 0.5, 0.5]),
    "least": ({"factor": 0.1, "patience": 0, "min_lr": 0.5}, [1, 1, 0.25, 0.25, 0.25, 0.25]),
    "absolute": ({"factor": 0.5, "patience": 0, "threshold": 0.5, "threshold_mode": "abs"}, [1, 0.5, 0.25, 0.125]),
}


@pytest.mark.parametrize(("options", "factors"), PLATEAUS.values(), ids=PLATEAUS.keys())
def test_plateau(options: dict[str, Any], factors: list[float]) -> None:
    optimizer = flow.optim.SGD([nn.Parameter(flow.ones(1))], 2.0)
    schedule = S.ReduceLROnPlateau(optimizer, **options)
    for measure, factor in zip([1.0, 0.9, 0.9, flow.tensor(0.9), 0.8, 0.7], factors, strict=False):
        schedule.step(measure)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(2.0 * factor)
    assert schedule.get_last_lr() == [optimizer.param_groups[0]["lr"]]
    assert {"last_step", "num_bad_steps", "best"} <= schedule.state_dict().keys()
    again = S.ReduceLROnPlateau(optimizer)
    again.load_state_dict(schedule.state_dict())
    assert (again.best, again.last_step) == (schedule.best, len(factors))


@pytest.mark.parametrize(
    "options", [{"factor": 1.0}, {"mode": "least"}, {"threshold_mode": "none"}, {"min_lr": [0.1, 0.2]}], ids=str
)
def test_plateau_refuses(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        S.ReduceLROnPlateau(flow.optim.SGD([nn.Parameter(flow.ones(1))]), **options)


@pytest.mark.parametrize(
    ("kind", "untouched"),
    [("Adam", []), ("AdamW", []), ("RMSprop", []), ("Adagrad", ["sum"]), ("Adadelta", ["square_avgs", "acc_deltas"])],
)
def test_states_of_parameters_without_gradient(kind: str, untouched: list[str]) -> None:
    used, unused = (nn.Parameter(flow.ones(2)) for _ in range(2))
    optimizer = getattr(flow.optim, kind)([used, unused])
    assert list(optimizer.state_dict()["state"][0]) == untouched
    (used * 2).sum().backward()
    optimizer.step()
    state = optimizer.state_dict()["state"]
    assert (bool(state[0]), list(state[1])) == (True, untouched)
    assert unused.tolist() == [1.0, 1.0]


class Averaging(flow.optim.Optimizer):
    """A program's own optimizer, on OneFlow's base class."""

    def __init__(self, parameters: Any, lr: float) -> None:
        super().__init__(parameters, {"lr": lr})
        for group in self.param_groups:
            for parameter in group.parameters:
                self._state[parameter] = {}

    def step(self, closure: Any = None) -> None:
        with flow.no_grad():
            for group in self.param_groups:
                for parameter in group.parameters:
                    own = self._state[parameter]
                    if "average" not in own:
                        own["average"] = flow.zeros_like(parameter)
                    own["average"].mul_(0.5).add_(parameter.grad * 0.5)
                    parameter.add_(own["average"] * -group["lr"])
            self._state["step"] = self._state["step"] + 1


def test_an_optimizer_of_a_program_keeps_its_state() -> None:
    """`_state` and `state_dict()` have the step and the program's tensors, as under OneFlow 0.9.0."""

    def stepped(optimizer: Any, weight: Any) -> list[float]:
        (weight * weight).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        return weight.tolist()

    weight = flow.nn.Parameter(flow.tensor([1.0, -2.0]))
    optimizer = Averaging([weight], lr=0.5)
    assert stepped(optimizer, weight) == [0.5, -1.0]
    saved = optimizer.state_dict()
    assert (saved["state"]["step"], saved["state"][0]["average"].tolist()) == (1, [1.0, -2.0])
    again = flow.nn.Parameter(weight.detach().clone())
    resumed = Averaging([again], lr=0.5)
    resumed.load_state_dict(saved)
    assert (resumed._state["step"], again in resumed._state, len(resumed._state)) == (1, True, 2)
    assert stepped(resumed, again) == [0.0, 0.0]
    adam = flow.optim.Adam([again])
    stepped(adam, again)
    assert (adam._state["step"], sorted(adam._state[again])) == (1, ["exp_avg", "exp_avg_sq"])


# The values of [0.5, -1, 2] after three steps toward [1, 2, 3] in OneFlow 0.9.0 (recorded).
_DISPATCHED: list[tuple[str, int, dict[str, Any], list[float]]] = [
    ("sgd", 0, {"l2": 0.01}, [0.583211, -0.48945, 2.163602]),
    ("sgd", 0, {"weight_decay": 0.1}, [0.569872, -0.468969, 2.111796]),
    ("momentum", 1, {"l2": 0.01, "dampening": 0.1}, [0.642029, -0.128567, 2.279244]),
    ("momentum", 1, {"beta": 0.8, "nesterov": True}, [0.694747, 0.16848, 2.389493]),
    ("momentum", 1, {"beta": 0.8, "maximize": True}, [0.334412, -1.993528, 1.668824]),
    ("adam", 2, {}, [1.403691, 0.226344, 3.162148]),
    ("adam", 2, {"weight_decay": 0.3, "l2": 0.1}, [1.138494, 0.27928, 2.865522]),
    ("adam", 3, {"amsgrad": True, "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-3}, [0.734957, -0.760999, 2.237637]),
    ("adagrad", 1, {"lr_decay": 0.5, "train_step_val": 0}, [0.866944, -0.554649, 2.418202]),
    ("adadelta", 2, {"rho": 0.8, "epsilon": 1e-3, "maximize": True, "learning_rate": 0.5, "l2": 0.5},
     [0.389348, -1.111224, 1.888747]),
    ("rmsprop", 1, {"epsilon": 1e-3, "decay_rate": 0.9, "l2": 0.1}, [0.856036, -0.295889, 2.509665]),
    ("rmsprop", 2, {"epsilon": 1e-3, "centered": True}, [1.021352, 0.925182, 2.998641]),
    ("sgd", 0, {"scale": 0.5, "l1": 0.2}, [0.485445, -0.679801, 2.029109]),
    ("lamb", 2, {}, [0.907811, -0.580403, 2.416734]),
    ("lamb", 2, {"l2": 0.1, "weight_decay": 0.2, "beta1": 0.8, "bias_correction2": 0.25}, [0.880481, -0.556153, 2.367658]),
    ("ftrl", 2, {"lr_power": -0.5, "lambda1": 0.1, "lambda2": 0.02, "beta": 1.0}, [0.016143, 0.525261, 0.082013]),
    ("adagrad", 1, {"lr_decay": 0.5, "train_step_val": 3, "weight_decay": 0.3}, [0.586464, -0.844388, 2.022905]),
    ("adadelta", 2, {"rho": 0.8, "epsilon": 0.001, "maximize": True, "l1": 0.2, "weight_decay": 0.3},
     [0.477886, -1.022256, 1.977782]),
    ("rmsprop", 1, {"epsilon": 0.001, "weight_decay": 0.3}, [1.021096, 0.912725, 2.998481]),
    ("lamb", 2, {"bias_correction1": 0.1, "bias_correction2": 0.2, "do_bias_correction": False, "epsilon": 0.1,
                 "weight_decay": 0.2}, [0.615399, -0.348126, 2.133821]),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "tensors", "options", "expected"), _DISPATCHED)
def test_programs_call_the_update_rules_by_their_names(
    kernel: str, tensors: int, options: dict[str, Any], expected: list[float]
) -> None:
    weight = flow.nn.Parameter(flow.tensor([0.5, -1.0, 2.0]))
    states = [flow.zeros_like(weight) + (kernel == "ftrl") for _ in range(tensors)]  # which divides by its root
    for _ in range(3):
        ((weight - flow.tensor([1.0, 2.0, 3.0])) ** 2 * 0.3).sum().backward()
        update = getattr(flow._C, f"dispatch_{kernel}_update")
        update(flow.optim.SGD([weight])._sgd, (weight, weight.grad, *states), **{"learning_rate": 0.1, **options})
        weight.grad = None
    np.testing.assert_allclose(weight.detach().numpy(), expected, atol=2e-6)


def test_update_rules_refuse_options_that_they_have_not() -> None:
    weight = flow.ones(2)
    for refused in ({"momentum": 0.9}, {"rho": 0.9}):
        with pytest.raises(
            TypeError, match=r"dispatch_sgd_update\(\) takes learning_rate, scale, l1, l2, weight_decay; got"
        ):
            flow._C.dispatch_sgd_update(None, (weight, weight), **refused)
    with pytest.raises(TypeError, match="rho"):
        flow._C.dispatch_adadelta_update(None, (weight, weight, weight, weight), learning_rate=0.1)
    adagrad = flow.optim.Adagrad([flow.nn.Parameter(weight)], initial_accumulator_value=0.5)
    (first,) = adagrad.param_groups[0].parameters
    assert adagrad._state[first]["sum"].tolist() == [0.5, 0.5]  # from the beginning


def test_a_parameter_in_two_groups_moves_twice() -> None:
    """The constructor takes it, with one state for both; `add_param_group` refuses it (0.9.0, recorded)."""
    weight, other = flow.nn.Parameter(flow.ones(2)), flow.nn.Parameter(flow.ones(1))
    groups = [{"params": [weight, weight]}, {"params": [other, weight], "lr": 0.5}]
    with pytest.warns(UserWarning, match="duplicate parameters"):
        sgd = flow.optim.SGD(groups, lr=0.1, momentum=0.9)
    weight.grad = flow.ones(2)
    sgd.step()
    np.testing.assert_allclose(weight.numpy(), 1 - 0.1 * (1 + 1.9) - 0.5 * 2.71, rtol=1e-6)
    state = sgd.state_dict()
    assert [group["params"] for group in state["param_groups"]] == [[1, 1], [2, 1]]
    assert list(state["state"]) == ["step", 1, 2]
    with pytest.raises(ValueError, match="more than one parameter group"):
        sgd.add_param_group({"params": weight})


def test_options_of_a_group_are_set_through_its_attribute() -> None:
    weight = flow.nn.Parameter(flow.ones(2))
    sgd = flow.optim.SGD([weight], lr=0.1)
    (group,) = sgd.param_groups
    group.options["lr"] = 0.5
    group._options.update(momentum=0.9)
    assert (group["lr"], group["momentum"]) == (0.5, 0.9)
    # Whether a group clips is known from the beginning (0.9.0, recorded).
    group.options.update(clip_grad_max_norm=1.0, clip_grad_norm_type=2.0)
    weight.grad = flow.ones(2) * 3
    with pytest.warns(UserWarning, match="To enable clip_grad"):
        sgd.clip_grad()
    assert weight.grad.tolist() == [3.0, 3.0]


def test_what_shows_of_optimizers() -> None:
    weight = flow.nn.Parameter(flow.ones(1))
    sgd = flow.optim.SGD([{"params": [weight], "momentum": 0.5}], lr=0.1)
    assert str(sgd).startswith("<")
    assert sgd._default_options["lr"] == 0.1  # schedules of Oneflow-Inc/models read it
    assert list(sgd.param_groups[0].options)[:2] == ["lr", "momentum"]
    assert str(sgd.param_groups[0]).endswith("'params': [tensor([1.], dtype=oneflow.float32, requires_grad=True)]}")
    with pytest.raises(AssertionError, match="rho"):
        flow.optim.Adadelta([weight], rho=2)
    with pytest.raises(AssertionError, match="params"):
        flow.optim.SGD([{"lr": 1}])
    with pytest.raises(ValueError, match="list of schedulers"):
        flow.optim.lr_scheduler.ChainedScheduler(flow.optim.lr_scheduler.StepLR(sgd, 2))


def test_what_schedules_print(capsys: pytest.CaptureFixture[str]) -> None:
    schedulers = flow.optim.lr_scheduler

    class Own(schedulers.StepLR):
        pass

    for kind in (schedulers.MultiStepLR, schedulers.CosineAnnealingLR, Own):
        sgd = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=0.5)
        kind(sgd, [3] if kind is schedulers.MultiStepLR else 3, verbose=True)
    places = [line.split("'")[1] for line in capsys.readouterr().out.splitlines()]
    assert places[:2] == [
        "oneflow.nn.optimizer.multistep_lr.MultiStepLR",
        "oneflow.nn.optimizer.cosine_annealing_lr.CosineAnnealingLR",
    ]
    assert places[2].endswith("Own")


def test_the_options_of_adamw_have_the_order_of_the_original() -> None:
    options = ["lr", "eps", "betas", "weight_decay", "bias_correction1", "bias_correction2", "do_bias_correction"]
    weight = nn.Linear(1, 1).weight
    assert list(flow.optim.AdamW([weight]).param_groups[0].options) == [*options, "amsgrad", "fused"]
    assert list(flow.optim.Adam([weight]).param_groups[0].options) == [*options[:4], "amsgrad", *options[4:], "fused"]
