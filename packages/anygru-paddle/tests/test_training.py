"""Optimizers, schedulers, clipping, data, metrics, PyLayer, saving and loading: a whole training, and its pieces."""

import io

import numpy as np
import pytest

import anygru_paddle as paddle
from anygru_paddle import nn
from anygru_paddle.autograd import PyLayer
from anygru_paddle.io import DataLoader, Dataset, TensorDataset, random_split
from anygru_paddle.nn import functional as F
from anygru_paddle.utils import unique_name


def one_parameter(value=1.0):
    return paddle.create_parameter([1], "float64", default_initializer=nn.initializer.Constant(value))


def follow(make, update, steps=4):
    """A parameter under an optimizer with gradient 2 * p, and the same by the formula in Python floats."""
    p, expected, state = one_parameter(), 1.0, {}
    optimizer = make([p])
    for step in range(1, steps + 1):
        (p * p).sum().backward()
        optimizer.step()
        optimizer.clear_grad()
        expected = update(expected, 2 * expected, state, step)
        assert p.item() == pytest.approx(expected, rel=1e-6)
    return optimizer, p


def adam(p, g, s, t, lr=0.1, b1=0.9, b2=0.999, eps=1e-8):
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g * g
    return p - lr * (s["m"] / (1 - b1**t)) / ((s["v"] / (1 - b2**t)) ** 0.5 + eps)


def momentum(p, g, s, t):
    s["v"] = 0.9 * s.get("v", 0) + g
    return p - 0.1 * s["v"]


def rmsprop(p, g, s, t):
    s["v"] = 0.95 * s.get("v", 0) + 0.05 * g * g
    return p - 0.1 * g / (s["v"] + 1e-6) ** 0.5


O = paddle.optimizer  # noqa: E741


@pytest.mark.parametrize(
    ("make", "update"),
    [
        (lambda p: O.SGD(0.1, parameters=p), lambda p, g, s, t: p - 0.1 * g),
        (lambda p: O.SGD(0.1, parameters=p, weight_decay=0.5), lambda p, g, s, t: p - 0.1 * (g + 0.5 * p)),
        (lambda p: O.Momentum(0.1, 0.9, parameters=p), momentum),
        (lambda p: O.Adam(0.1, parameters=p), adam),
        (lambda p: O.AdamW(0.1, parameters=p, weight_decay=0.5), lambda p, g, s, t: adam(p * (1 - 0.05), g, s, t)),
        (lambda p: O.RMSProp(0.1, parameters=p), rmsprop),
        (
            lambda p: O.SGD(0.1, parameters=p, grad_clip=nn.ClipGradByGlobalNorm(0.5)),
            lambda p, g, s, t: p - 0.1 * min(g, 0.5),
        ),
        (
            lambda p: O.SGD(0.1, parameters=p, grad_clip=nn.ClipGradByValue(0.3)),
            lambda p, g, s, t: p - 0.1 * min(g, 0.3),
        ),
    ],
)
def test_update_rules(make, update):
    follow(make, update)


def test_the_means_of_rmsprop_are_rounded_as_paddle_rounds_them():
    """To the last bit (Paddle 2.6.2, recorded), since the step divides by a small difference of two squares."""
    p = paddle.create_parameter([4], "float32")
    rmsprop = O.RMSProp(0.1, rho=0.9, centered=True, parameters=[p])
    for step in range(1, 9):
        (p * paddle.to_tensor([1.1, -0.3, 0.017, 2.9]) / step).sum().backward()
        rmsprop.step()
        rmsprop.clear_grad()
    squares, means = (value.tolist() for name, value in rmsprop.state_dict().items() if "mean" in name)
    assert squares == [0.09721452742815018, 0.007230833172798157, 2.3219006834551692e-05, 0.6756812334060669]
    assert means == [0.18031686544418335, -0.049177318811416626, 0.0027867150492966175, 0.4753807783126831]


def test_state_keys_and_going_on():
    with unique_name.guard():
        optimizer, p = follow(lambda p: O.Adam(0.1, parameters=p), adam)
    state = optimizer.state_dict()
    name = p.name
    assert sorted(state) == sorted(
        f"{name}_{key}_0" for key in ("moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc")
    )
    assert state[f"{name}_beta1_pow_acc_0"].numpy() == pytest.approx(0.9**5)
    value = p.item()
    with unique_name.guard():
        q = one_parameter(value)
    other = O.Adam(0.1, parameters=[q])
    other.set_state_dict({key: each.numpy() for key, each in state.items()})
    for parameter, each in ((p, optimizer), (q, other)):
        (parameter * parameter).sum().backward()
        each.step()
    assert p.item() == pytest.approx(q.item(), rel=1e-12)
    stranger = one_parameter()
    wrong = O.Adam(0.1, parameters=[stranger])
    wrong.set_state_dict(state)
    (stranger * 2).sum().backward()
    with pytest.raises(AssertionError, match="should in state dict"):
        wrong.step()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda p: O.SGD(0.1), AttributeError),
        (lambda p: O.SGD(0.1, parameters=p), TypeError),
        (lambda p: O.SGD("fast", parameters=[p]), TypeError),
        (lambda p: O.Adamax(None, parameters=[p]), AssertionError),
        (lambda p: O.Adam(0.1, beta1=1.5, parameters=[p]), ValueError),
        (lambda p: O.SGD(O.lr.StepDecay(0.1, 1), parameters=[p]).set_lr(0.1), RuntimeError),
    ],
)
def test_optimizer_errors(call, error):
    with pytest.raises(error):
        call(one_parameter())


def rates(scheduler, steps=6):
    out = [scheduler()]
    for _ in range(steps):
        scheduler.step()
        out.append(scheduler())
    return out


@pytest.mark.parametrize(
    ("scheduler", "rate"),
    [
        (lambda: O.lr.StepDecay(0.5, 2, 0.1), lambda e: 0.5 * 0.1 ** (e // 2)),
        (lambda: O.lr.ExponentialDecay(0.5, 0.9), lambda e: 0.5 * 0.9**e),
        (lambda: O.lr.NoamDecay(64, 4), lambda e: 64**-0.5 * min(1.0 if e == 0 else e**-0.5, e * 4**-1.5)),
        (lambda: O.lr.CosineAnnealingDecay(0.5, 6), lambda e: 0.25 * (1 + np.cos(np.pi * e / 6))),
        (lambda: O.lr.PiecewiseDecay([2, 4], [3, 2, 1]), lambda e: 3 if e < 2 else 2 if e < 4 else 1),
        (lambda: O.lr.LinearWarmup(0.5, 4, 0.0, 0.5), lambda e: min(0.5, 0.125 * e)),
    ],
)
def test_schedulers(scheduler, rate):
    np.testing.assert_allclose(rates(scheduler()), [rate(epoch) for epoch in range(7)], atol=1e-12)


def test_save_and_load_resume_the_curve(tmp_path):
    def build():
        paddle.seed(3)
        model = nn.GRU(2, 3)
        return model, O.Adam(O.lr.StepDecay(0.05, 2), parameters=model.parameters(), weight_decay=0.01)

    def run(model, optimizer, steps):
        losses = []
        for step in steps:
            x = paddle.to_tensor(np.random.RandomState(step).uniform(-1, 1, (2, 4, 2)).astype("float32"))
            loss = (model(x)[0] - 0.5).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            optimizer._learning_rate.step()
            losses.append(float(loss))
        return losses

    with unique_name.guard():
        model, optimizer = build()
        run(model, optimizer, range(3))
        paddle.save(model.state_dict(), str(tmp_path / "run" / "m.pdparams"))
        paddle.save(optimizer.state_dict(), str(tmp_path / "run" / "m.pdopt"))
        expected = run(model, optimizer, range(3, 6))
    with unique_name.guard():
        model, optimizer = build()
        assert model.set_state_dict(paddle.load(str(tmp_path / "run" / "m.pdparams"))) == ([], [])
        optimizer.set_state_dict(paddle.load(str(tmp_path / "run" / "m.pdopt")))
        assert run(model, optimizer, range(3, 6)) == pytest.approx(expected, rel=1e-6)


def test_nested_objects_come_back(tmp_path):
    path = str(tmp_path / "x")
    paddle.save({"epoch": 3, "list": [paddle.zeros([1]), 5], "t": paddle.ones([2])}, path)
    back = paddle.load(path)
    assert (back["epoch"], back["list"][1], back["t"].tolist()) == (3, 5, [1.0, 1.0])
    assert isinstance(paddle.load(path, return_numpy=True)["t"], np.ndarray)
    with pytest.raises(ValueError, match="not exists"):
        paddle.load(path + "y")
    with pytest.raises(ValueError, match="Layer"):
        paddle.save(nn.Linear(1, 1), path)


class Numbers(Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, index):
        return np.full(2, index, "float32"), index


def test_data_loader():
    batches = list(DataLoader(Numbers(), batch_size=2))
    assert [labels.tolist() for _, labels in batches] == [[0, 1], [2, 3], [4]]
    assert batches[0][0].shape == [2, 2]
    np.random.seed(3)
    assert [labels.tolist() for _, labels in DataLoader(Numbers(), batch_size=2, shuffle=True)] == [[3, 4], [1, 0], [2]]
    paddle.seed(3)
    assert [part.indices for part in random_split(Numbers(), [2, 3])] == [[1, 2], [3, 4, 0]]
    assert len(TensorDataset([paddle.ones([3, 2])])) == 3


def test_metrics_give_numbers_of_numpy():
    """As in Paddle 2.6.2 (recorded); before the first batch they give 0.0."""
    accuracy = paddle.metric.Accuracy(topk=(1, 2))
    assert [type(each) for each in accuracy.accumulate()] == [float, float]
    correct = accuracy.compute(paddle.to_tensor([[0.1, 0.9, 0.3], [0.4, 0.2, 0.1]]), paddle.to_tensor([[1], [1]]))
    for found in (accuracy.update(correct), accuracy.accumulate()):
        assert [type(each) for each in found] == [np.float64, np.float64]
        assert found == [0.5, 1.0]
    area = paddle.metric.Auc()
    area.update(np.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]]), np.array([[1], [0], [0]]))
    assert type(area.accumulate()) is np.float64


def test_accuracy():
    accuracy = paddle.metric.Accuracy(topk=(1, 2))
    scores = paddle.to_tensor([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]])
    accuracy.update(accuracy.compute(scores, paddle.to_tensor([[1], [1]])))
    assert accuracy.accumulate() == [0.5, 1.0]
    assert accuracy.name() == ["acc_top1", "acc_top2"]


class Scaled(PyLayer):
    @staticmethod
    def forward(ctx, x, y, factor=1.0):
        ctx.save_for_backward(y)
        ctx.factor = factor
        return x * y * factor

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensor()
        return grad * y * ctx.factor, None


def test_py_layer():
    x, y = paddle.to_tensor([2.0], stop_gradient=False), paddle.to_tensor([5.0])
    Scaled.apply(x, y, factor=3.0).backward()
    assert x.grad.tolist() == [15.0]
    z = paddle.to_tensor([5.0], stop_gradient=False)
    Scaled.apply(x, z).backward()
    assert z.grad is None

    class Wrong(Scaled):
        @staticmethod
        def backward(ctx, grad):
            return grad, grad

    with pytest.raises(ValueError, match="should return None at 1"):
        Wrong.apply(x, y).backward()


def test_a_second_optimizer_of_the_same_parameters_numbers_its_accumulators_on():
    with unique_name.guard():
        layer = nn.Linear(1, 1)

        def stepped():
            optimizer = O.Adam(0.1, parameters=layer.parameters())
            layer(paddle.ones([1, 1])).sum().backward()
            optimizer.step()
            return optimizer.state_dict()

        first, second = stepped(), stepped()
        assert "linear_0.w_0_moment1_0" in first
        assert "linear_0.w_0_moment1_1" in second
        third = O.Adam(0.1, parameters=layer.parameters())
        third.set_state_dict(first)
        with pytest.raises(AssertionError, match="moment1_2"):
            third.step()


def test_optimizer_arguments_of_the_wrong_kind():
    parameters = nn.Linear(1, 1).parameters()
    with pytest.raises(TypeError, match="learning rate should be float"):
        O.SGD(1, parameters)
    with pytest.raises(AssertionError, match="beta1"):
        O.Adam(0.1, beta1=None, parameters=parameters)
    with pytest.raises(TypeError, match="weight_decay"):
        O.AdamW(0.1, weight_decay=3, parameters=parameters)
    with pytest.raises(KeyError, match="LR_Scheduler"):
        O.SGD(O.lr.StepDecay(0.1, 2), parameters).set_state_dict({})
    assert O.SGD(0.1, parameters).minimize(paddle.ones([1])) == O.SGD(0.1, []).minimize(paddle.ones([1])) == ([], [])


def test_lamb_leaves_undecayed_updates_unscaled():
    def stepped(**options):
        layer = nn.Linear(1, 1)
        layer.bias.set_value(np.full(1, 4.0, "float32"))
        optimizer = O.Lamb(
            0.1, 0.5, parameters=[layer.bias], exclude_from_weight_decay_fn=lambda parameter: True, **options
        )
        layer(paddle.ones([1, 1])).sum().backward()
        optimizer.step()
        return layer.bias.item()

    assert stepped() == pytest.approx(3.9, abs=1e-5)
    assert stepped(always_adapt=True) == pytest.approx(3.6, abs=1e-4)


def test_losses_as_paddle_computes_them():
    logit = paddle.to_tensor([-2.0, 2.0], stop_gradient=False)
    loss = nn.functional.binary_cross_entropy_with_logits(
        logit, paddle.ones([2]), pos_weight=paddle.full([2], 3.0), reduction="sum"
    )
    loss.backward()
    np.testing.assert_allclose(loss.item(), 2.3807843 + 0.3807841, rtol=1e-5)
    np.testing.assert_allclose(logit.grad.numpy(), [-0.6423912, 1.6423912], rtol=1e-5)
    with pytest.raises(ValueError, match="dtype"):
        nn.functional.mse_loss(paddle.ones([2]), paddle.to_tensor([1, 2]))
    with pytest.raises(AssertionError, match="data format should be in"):
        nn.functional.pad(paddle.ones([1, 2, 3]), [1, 1])


def test_saving_an_empty_dict_warns(tmp_path):
    with pytest.warns(UserWarning, match="empty, no need to save"):
        paddle.save({}, str(tmp_path / "empty"))


@pytest.mark.parametrize("kind", [nn.ClipGradByNorm, nn.ClipGradByGlobalNorm, nn.ClipGradByValue])
def test_clipped_gradients_are_tensors_of_the_dialect(kind):
    layer = nn.Linear(1, 1)
    (_, clipped), (_, missing) = kind(1.0)([(layer.weight, paddle.full([1, 1], 3.0)), (layer.bias, None)])
    assert isinstance(clipped, paddle.Tensor)
    assert clipped.numpy().tolist() == [[1.0]]
    assert missing is None


def test_optimizer_that_has_stepped_needs_its_accumulators():
    weight = paddle.create_parameter([2], "float32")
    adam = paddle.optimizer.Adam(0.1, parameters=[weight])
    weight.sum().backward()
    adam.step()
    with pytest.raises(AssertionError, match="should in state dict"):
        adam.set_state_dict({})


def test_gradient_of_soft_labels_is_softmax_minus_label():
    logits, label = paddle.to_tensor([[0.3, -0.2, 1.0]], stop_gradient=False), paddle.to_tensor([[0.5, 1.0, 0.2]])
    label.stop_gradient = False
    loss = nn.functional.cross_entropy(logits, label, soft_label=True)
    loss.backward()
    assert loss.item() == pytest.approx(2.5471389, rel=1e-6)  # recorded from 2.6.2, as are the gradients
    np.testing.assert_allclose(logits.grad.numpy(), [[-0.2237785, -0.8324632, 0.3562417]], rtol=1e-6)
    assert label.grad is None


def test_several_objects_in_one_file_object():
    file = io.BytesIO()
    for content in ({"w": paddle.ones([2])}, paddle.zeros([3]), {"epoch": 4}):
        paddle.save(content, file)
    file.seek(0)
    assert paddle.load(file)["w"].numpy().tolist() == [1.0, 1.0]
    assert paddle.load(file).shape == [3]
    assert paddle.load(file) == {"epoch": 4}


def test_the_protocol_has_an_old_name(tmp_path):
    with pytest.warns(UserWarning, match="'pickle_protocol' is a deprecated argument"):
        paddle.save({"w": paddle.ones([2])}, tmp_path / "old", pickle_protocol=2)
    assert (tmp_path / "old").read_bytes()[:2] == b"\x80\x02"


class _Numbers(paddle.io.Dataset):
    def __getitem__(self, index):
        return paddle.ones([2]) * index, index

    def __len__(self):
        return 4


def test_a_loader_with_workers_draws_their_seed_from_numpy():
    """Paddle 2.6.2 (recorded): what a program shuffles afterwards depends on it."""
    np.random.seed(3)
    list(paddle.io.DataLoader(_Numbers(), batch_size=2, num_workers=1))
    after = np.random.rand()
    np.random.seed(3)
    np.random.randint(0, 2**63 - 1)
    assert after == np.random.rand()


def test_collated_numbers_are_arrays_and_tensors_stay_tensors():
    """Paddle 2.6.2 (recorded); the loader makes tensors of arrays."""
    from anygru_paddle.io.dataloader.collate import default_collate_fn

    stacked, numbers = default_collate_fn([_Numbers()[1], _Numbers()[2]])
    assert stacked.tolist() == [[1, 1], [2, 2]]
    assert isinstance(numbers, np.ndarray)
    ((_, numbers),) = paddle.io.DataLoader(_Numbers(), batch_size=4, collate_fn=default_collate_fn)
    assert numbers.tolist() == [0, 1, 2, 3]
    assert isinstance(numbers, paddle.Tensor)
    with pytest.raises(ValueError, match="while replacement is False"):
        paddle.io.RandomSampler(_Numbers(), num_samples=2)


def test_a_disabled_scaler_keeps_the_values_that_were_set():
    with pytest.warns(UserWarning, match="makes no effect"):
        scaler = paddle.amp.GradScaler()
    with pytest.raises(AttributeError):
        scaler.get_incr_ratio()
    scaler.set_incr_ratio(3.0)
    assert scaler.get_incr_ratio() == 3.0


@pytest.mark.parametrize(
    ("loss", "by_score", "by_label"),
    [
        (lambda x, y: F.kl_div(x, y), [-0.1, -0.15], None),
        (lambda x, y: F.binary_cross_entropy(x, y), [0.41666666, 0.95238084], None),
        (lambda x, y: F.binary_cross_entropy_with_logits(x, y), [0.19934383, 0.18409386], None),
        (lambda x, y: F.log_loss(x.reshape([2, 1]), y.reshape([2, 1])), [0.83323598, 1.90404558], None),
        (lambda x, y: F.gaussian_nll_loss(x, x.detach(), y), [0.0, 0.0], None),
        (lambda x, y: F.label_smooth(x, y), [0.9, 0.9], None),
        (lambda x, y: F.nll_loss(x.reshape([1, 2]), paddle.to_tensor([1]), y), [0.0, -1.0], None),
        (lambda x, y: F.softmax_with_cross_entropy(x, y, soft_label=True), [0.22555749, 0.27444249], None),
        (lambda x, y: F.sigmoid_focal_loss(x, y), [0.16833873, 0.12501211], [-0.24977674, -0.34823668]),
        (lambda x, y: F.soft_margin_loss(x, y), [-0.04800107, -0.06715382], [-0.09600214, -0.15669224]),
    ],
)
def test_gradients_of_losses_as_recorded(loss, by_score, by_label):
    """From Paddle 2.6.2, where most labels, weights and variances have none."""
    x, y = (paddle.to_tensor(values, stop_gradient=False) for values in ([0.4, 0.7], [0.2, 0.3]))
    loss(x, y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), by_score, rtol=1e-6)
    assert (y.grad is None) == (by_label is None)
    if by_label is not None:
        np.testing.assert_allclose(y.grad.numpy(), by_label, rtol=1e-6)
