"""Optimizers that programs write themselves, names of accumulators, and `ModelAverage`: recorded from Paddle 2.6.2."""

import numpy as np
import pytest

import anygru_paddle as paddle
from anygru_paddle.incubate import ModelAverage


class Lion(paddle.optimizer.Optimizer):
    """Written as programs write one for Paddle."""

    def __init__(self, learning_rate=0.1, beta=0.9, parameters=None, **options):
        super().__init__(learning_rate, parameters, **options)
        self._beta, self._default, self.finished = beta, beta, 0

    def _create_accumulators(self, block, parameters):
        assert isinstance(block, paddle.base.framework.Block)
        for each in self._update_param_group(parameters) if isinstance(parameters, dict) else parameters:
            self._add_accumulator("exp_avg", each)
            self._add_accumulator("steps", each, dtype="int64", shape=[1], fill_value=3)

    def _update_param_group(self, parameters):
        self._beta = parameters.get("beta", self._default)
        return parameters["params"]

    def _append_optimize_op(self, block, param_and_grad):
        if isinstance(param_and_grad, dict):
            param_and_grad = self._update_param_group(param_and_grad)
        parameter, gradient = param_and_grad
        mean, steps = (self._get_accumulator(name, parameter) for name in ("exp_avg", "steps"))
        mixed = mean * self._beta + gradient * (1 - self._beta)
        parameter.set_value(parameter - self._create_param_lr(param_and_grad) * paddle.sign(mixed))
        mean.set_value(mean * 0.99 + gradient * 0.01)
        steps.set_value(steps + 1)

    def _finish_update(self, block, parameters_and_grads):
        self.finished += 1


@pytest.fixture
def linear():
    with paddle.utils.unique_name.guard():
        layer = paddle.nn.Linear(2, 2)
        layer.weight.set_value(np.array([[1, 2], [3, 4]], "float32"))
        layer.bias.optimize_attr["learning_rate"] = 0.5
        yield layer


def go_back(layer):
    layer(paddle.to_tensor([[1.0, -1]])).sum().backward()


def test_an_optimizer_of_the_programs_own(linear):
    clip = paddle.nn.ClipGradByGlobalNorm(1.0)
    optimizer = Lion(parameters=linear.parameters(), weight_decay=0.01, grad_clip=clip)
    assert optimizer.state_dict() == {}
    for _ in range(2):
        go_back(linear)
        optimizer.step()
        optimizer.clear_grad()
    np.testing.assert_allclose(linear.weight.numpy(), [[0.8, 1.8], [3.2, 4.2]], rtol=1e-6)
    np.testing.assert_allclose(linear.bias.numpy(), [-0.1, -0.1], rtol=1e-6)
    state = optimizer.state_dict()
    assert list(state) == [f"linear_0.{p}_{name}_0" for name in ("exp_avg", "steps") for p in ("w_0", "b_0")]
    np.testing.assert_allclose(
        state["linear_0.w_0_exp_avg_0"].numpy(), [[0.00831, 0.00851], [-0.00752, -0.00732]], atol=5e-6
    )
    assert state["linear_0.b_0_steps_0"].tolist() == [5]
    assert optimizer.finished == 2

    renamed = {key[:-1] + "1": value for key, value in state.items()}
    other = Lion(parameters=linear.parameters())
    other.set_state_dict(renamed)
    go_back(linear)
    other.step()
    found = other.state_dict()["linear_0.w_0_exp_avg_1"].numpy()
    np.testing.assert_allclose(found, [[0.01823, 0.01843], [-0.01744, -0.01724]], atol=5e-6)
    with pytest.raises(RuntimeError, match="Accumulator foo does not exist"):
        other._get_accumulator("foo", linear.weight)


def test_groups_of_an_optimizer_of_the_programs_own(linear):
    groups = [{"params": [linear.weight], "beta": 0.5, "learning_rate": 0.1}, {"params": [linear.bias]}]
    optimizer = Lion(paddle.optimizer.lr.StepDecay(0.2, 1), parameters=groups)
    go_back(linear)
    optimizer.step()
    np.testing.assert_allclose(linear.weight.numpy(), [[0.98, 1.98], [3.02, 4.02]], rtol=1e-6)
    np.testing.assert_allclose(linear.bias.numpy(), [-0.2, -0.2], rtol=1e-6)
    assert optimizer.finished == 2


def test_an_optimizer_without_an_operation_is_refused(linear):
    go_back(linear)
    with pytest.raises(NotImplementedError, match="_append_optimize_op"):
        paddle.optimizer.Optimizer(0.1, linear.parameters()).step()


@pytest.mark.parametrize(
    ("kind", "first"),
    [("Adam", "moment1_0"), ("Momentum", "velocity_0"), ("RMSProp", "momentum_0"), ("Adadelta", "_avg_squared_grad_0")],
)
def test_the_name_of_an_optimizer_is_in_those_of_its_accumulators(linear, kind, first):
    optimizer = getattr(paddle.optimizer, kind)(learning_rate=0.1, parameters=linear.parameters(), name="own")
    go_back(linear)
    optimizer.step()
    assert next(iter(optimizer.state_dict())) == f"linear_0.w_0_own_{first}"


def test_the_mean_of_a_model_is_in_its_state(linear):
    unused = paddle.nn.Linear(1, 1)
    sgd = paddle.optimizer.SGD(0.1, parameters=[linear.weight])
    parameters = [linear.weight, unused.weight]
    average = ModelAverage(0.5, parameters=parameters, min_average_window=2, max_average_window=4)
    assert isinstance(average, paddle.optimizer.Optimizer)
    assert average.state_dict() == {}
    assert average.get_lr() == 0
    with pytest.raises(RuntimeError, match="does not exist"), average.apply():
        pass
    for _ in range(6):
        go_back(linear)
        sgd.step()
        average.step()
        sgd.clear_grad()
    before = linear.weight.numpy()
    average.apply()  # without `with` nothing happens
    assert (linear.weight.numpy() == before).all()
    with average.apply(need_restore=False):
        np.testing.assert_allclose(linear.weight.numpy(), [[0.55, 1.55], [3.45, 4.45]], rtol=1e-6)
        assert np.isnan(unused.weight.numpy()).all()  # it never had a gradient
    for _ in range(2):
        average.restore()
        assert (linear.weight.numpy() == before).all()
    state = {key: value.tolist() for key, value in average.state_dict().items() if "linear_0" in key}
    counts = {"num_accumulates": [2], "old_num_accumulates": [2], "num_updates": [6]}
    assert {key: state.pop(f"linear_0.w_0_{key}_0") for key in counts} == counts
    assert list(state) == [f"linear_0.w_0_{name}_0" for name in ("sum_1", "sum_2", "sum_3", "restore")]
    np.testing.assert_allclose(state["linear_0.w_0_sum_3_0"], [[1.3, 3.3], [6.7, 8.7]], rtol=1e-6)
    assert state["linear_0.w_0_restore_0"] == before.tolist()


def test_names_of_arguments():
    assert paddle.trunc(input=paddle.to_tensor([1.5])).tolist() == [1]
    assert paddle.nn.SpectralNorm([2, 2], eps=1e-6)(paddle.ones([2, 2])).shape == [2, 2]
    scaler = paddle.amp.GradScaler(enable=False)
    scaler.set_incr_ratio(new_incr_ratio=3.0)
    assert scaler.get_incr_ratio() == 3
    with pytest.raises(AssertionError, match="new_decr_ratio"):
        scaler.set_decr_ratio(2.0)
    with pytest.raises(AssertionError, match="boolean"):
        paddle.io.BatchSampler([1, 2], shuffle=3)
    assert not paddle.callbacks.ReduceLROnPlateau().in_cooldown()
