"""Gradients against finite differences in float64, and MXNet's rules for recording them."""

import numpy as np
import pytest
import torch

import anygru_mxnet as mx
from anygru_mxnet import MXNetError, autograd, nd

ROW = nd.array([0, 2])
OPERATIONS = {
    "arithmetic": lambda a: (a * 2 - 1) / (a + 5) + a**2 + 2**a,
    "functions": lambda a: nd.tanh(a) + nd.sigmoid(a) + nd.log(a * a + 1) + nd.sin(a),
    "softmax": lambda a: nd.softmax(a) * nd.log_softmax(a, axis=0),
    "reductions": lambda a: a.sum(axis=0) + a.mean() + a.norm() + a.prod(axis=0) + a.max(axis=0),
    "shapes": lambda a: nd.concat(a.T, a.reshape((3, 2)), dim=1).expand_dims(0).tile((2, 1, 1)).flip(1),
    "picking": lambda a: nd.pick(a, ROW) + nd.take(a, nd.array([1, 1])).sum() + a[0, 1] + a[:, ::-1].sum(axis=1),
    "products": lambda a: nd.dot(a, a.T) + nd.batch_dot(a.expand_dims(0), a.expand_dims(0), transpose_b=True)[0],
    "norms": lambda a: nd.LayerNorm(a, a[0], a[1]) + nd.L2Normalization(a),
    "sequence": lambda a: nd.SequenceMask(a, sequence_length=nd.array([1, 2, 1]), use_sequence_length=True),
    "comparisons": lambda a: (a > 0) * a + nd.where(a > 0, a, a * 2) + nd.maximum(a, 0.1) + a.clip(-0.5, 0.5),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_gradients_are_those_of_finite_differences(name):
    values = np.random.RandomState(1).randn(2, 3)
    function = OPERATIONS[name]

    def total(v):
        return float(function(nd.array(v, dtype="float64").astype("float64")).sum().asscalar())

    array = nd.array(values, dtype="float64")
    array.attach_grad()
    globals()["ROW"] = nd.array([0, 2], dtype="float64")
    with autograd.record():
        result = function(array).sum()
    result.backward()
    for place in np.ndindex(values.shape):
        up, down = values.copy(), values.copy()
        up[place] += 1e-6
        down[place] -= 1e-6
        assert array.grad[place].asscalar() == pytest.approx((total(up) - total(down)) / 2e-6, abs=1e-6)


def variable(*values):
    array = nd.array(values)
    array.attach_grad()
    return array


def test_backward_replaces_adds_or_leaves():
    x = variable(1, 2)
    held = x.grad
    for _ in range(2):
        with autograd.record():
            y = x * 3
        y.backward()
    assert x.grad is held
    assert x.grad.asnumpy().tolist() == [3, 3]
    x.attach_grad(grad_req="add")
    for _ in range(2):
        with autograd.record():
            y = x * 3
        y.backward()
    assert x.grad.asnumpy().tolist() == [6, 6]
    with pytest.raises(KeyError):
        x.attach_grad("sometimes")


def test_equal_extremes_each_get_the_whole_gradient():
    x = variable(2, 2, 1)
    with autograd.record():
        y = x.max()
    y.backward()
    assert x.grad.asnumpy().tolist() == [1, 1, 0]
    left, right = variable(1, 5), variable(1, 7)
    with autograd.record():
        y = nd.maximum(left, right)
    y.backward()
    assert (left.grad.asnumpy().tolist(), right.grad.asnumpy().tolist()) == ([1, 0], [0, 1])


def test_what_is_in_no_graph_cannot_be_differentiated():
    x = variable(1, 2)
    with pytest.raises(MXNetError, match="not in a computational graph"):
        (x * 2).backward()
    with autograd.record():
        y = x * 2
    y.backward()
    with pytest.raises(MXNetError, match="not in a computational graph"):
        y.backward()
    with autograd.record():
        with autograd.pause():
            y = x * 2
        z = y.detach() * 3
    with pytest.raises(MXNetError):
        z.backward()


def test_a_graph_can_be_kept():
    x = variable(1, 2)
    with autograd.record():
        y = nd.exp(x)
    y.backward(retain_graph=True)
    first = x.grad.asnumpy()
    y.backward()
    np.testing.assert_array_equal(first, x.grad.asnumpy())


def test_what_is_recorded_cannot_be_overwritten():
    x, free = variable(1, 2), nd.zeros(2)
    with autograd.record():
        for change in (lambda: x.__iadd__(1), lambda: x.__setitem__(0, 5), lambda: nd.relu(x, out=x)):
            with pytest.raises(MXNetError, match="computational graph"):
                change()
        with pytest.raises(MXNetError, match="Inplace"):
            free[0:1] = x[0:1] * 2
        free[:] = x * 2
        y = (free * free).sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [40, 24]  # x is [5, 3]


def test_elements_are_replaced_before_the_error_of_recording():
    x = variable(1, 2)
    changes = [
        (lambda a: a.__iadd__(1), [2, 3]),
        (lambda a: a.__setitem__(slice(None), 7), [7, 7]),
        (lambda a: a.__setitem__(0, 9), [9, 2]),
        (lambda a: nd.elemwise_add(x, x, out=a), [2, 4]),
    ]
    for change, expected in changes:
        watched = variable(1, 2)
        with autograd.record(), pytest.raises(MXNetError, match="computational graph"):
            change(watched)
        assert watched.asnumpy().tolist() == expected
    for change in (lambda a: a.__setitem__(0, x), lambda a: a[0:1].__iadd__(x)):
        free = nd.zeros((2, 2))
        with autograd.record(), pytest.raises(MXNetError, match="Inplace"):
            change(free)
        assert free.asnumpy().tolist() == [[1, 2], [0, 0]]


def test_a_new_array_of_an_array_is_in_the_graph():
    x = variable(1, 2)
    for new in (nd.array, mx.np.array, lambda a: nd.array(a, dtype="float64"), lambda a: nd.array(a, mx.cpu(1))):
        with autograd.record():
            y = new(x) * 3
        y.backward()
        assert x.grad.asnumpy().tolist() == [3, 3]
        assert not new(x)._t.requires_grad


def test_gradients_as_results_and_of_second_order():
    x = variable(0.5, 1.5)
    with autograd.record():
        y = nd.sin(x)
        (first,) = autograd.grad(y, [x], create_graph=True, retain_graph=True)
        z = (first * first).sum()
    z.backward()
    expected = -2 * np.cos([0.5, 1.5]) * np.sin([0.5, 1.5])
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-5)
    other = variable(1, 1)
    with autograd.record():
        y = x * 2
    with pytest.raises(MXNetError, match="unreachable"):
        autograd.grad(y, [other], retain_graph=True)
    with pytest.raises(MXNetError, match="does not require gradient"):
        autograd.grad(y, [nd.ones(2)])


def test_a_function_with_a_gradient_of_its_own():
    class Cubed(autograd.Function):
        def forward(self, x):
            self.save_for_backward(x)
            return x * x * x

        def backward(self, dy):
            (x,) = self.saved_tensors
            return dy * 7 * x

    x = variable(1, 2)
    with autograd.record():
        y = Cubed()(x).sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [7, 14]


def test_modes():
    seen = []

    def look():
        seen.append((autograd.is_recording(), autograd.is_training()))

    look()
    with autograd.record():
        look()
        with autograd.pause():
            look()
        with autograd.predict_mode():
            look()
    with autograd.train_mode():
        look()
    with autograd.record(train_mode=False):
        look()
    assert seen == [(False, False), (True, True), (False, False), (True, False), (False, True), (True, False)]


def test_torch_keeps_its_own_switch():
    import torch

    assert torch.is_grad_enabled()
    x = variable(1, 2)
    assert not (x * 2)._t.requires_grad
    with autograd.record():
        assert (x * 2)._t.requires_grad
    assert torch.is_grad_enabled()


def test_a_state_carried_on_after_backward_is_constant():
    # As MXNet computes it: each step differentiates its own piece alone, 2 w h^2 with h doubled before.
    w, h = nd.array([2.0]), nd.array([1.0])
    w.attach_grad()
    found = []
    for _ in range(3):
        with autograd.record():
            h = h * w
            loss = h * h
        loss.backward()
        found.append(w.grad.asscalar())
    assert found == [4, 16, 64]


def test_backward_leaves_other_graphs_and_retained_ones_alone():
    a, b = nd.array([3.0]), nd.array([5.0])
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        first, second = a * a, b * b
    first.backward(retain_graph=True)
    second.backward()
    first.backward()
    assert [a.grad.asscalar(), b.grad.asscalar()] == [6, 10]
    with pytest.raises(MXNetError, match="not in a computational graph"):
        first.backward()


def test_an_array_inside_a_differentiated_graph_leaves_it():
    a = nd.array([3.0])
    a.attach_grad()
    with autograd.record():
        inner = a * a
        outer = inner * 2
    outer.backward()
    with pytest.raises(MXNetError, match="not in a computational graph"):
        inner.backward()


@pytest.mark.parametrize(
    "name", ["stop_gradient", "zeros_like", "ones_like", "logical_not", "argmax_channel", "argsort", "topk", "argmax"]
)
def test_what_does_not_change_has_a_gradient_of_zero(name):
    a = nd.array([[1.0, 2.0]])
    a.attach_grad()
    a.grad[:] = 7
    with autograd.record():
        loss = getattr(nd, name)(a).sum()
    loss.backward()
    assert a.grad.asnumpy().tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [({}, 1), ({"grad_scale": 3}, 3), ({"normalization": "batch"}, 0.5), ({"normalization": "valid"}, 1 / 3)],
)
def test_the_gradient_of_a_loss_is_a_number(attributes, expected):
    a = nd.array([[1.0, 2.0], [3.0, -1.0]])
    a.attach_grad()
    with autograd.record():
        head = nd.MakeLoss(a, **attributes) * 5
    head.backward()
    np.testing.assert_allclose(a.grad.asnumpy(), np.full((2, 2), expected), rtol=1e-6)


def test_an_unknown_normalization_of_a_loss_is_refused():
    with pytest.raises(MXNetError, match="normalization must be null, batch or valid, got 'mean'"):
        nd.MakeLoss(nd.ones((2,)), normalization="mean")


def test_heads_and_variables_must_be_there():
    ones = nd.ones((2,))
    with pytest.raises(AssertionError, match="head_grads"):
        autograd.backward([ones], [ones, ones])
    with pytest.raises(MXNetError, match="heads"):
        autograd.backward([])
    ones.attach_grad()
    with autograd.record():
        double = ones * 2
    with pytest.raises(AssertionError, match="variables"):
        autograd.grad(double, [])


@pytest.mark.parametrize(
    ("train_mode", "expected", "of_gamma", "running"),
    [
        (True, [0.8414, -0.2545, 0.5297], [-1.1182, 2.6524, -0.9619], [0.0674, 0.221, 0.3145]),
        (False, [1.4993, 1.0814, 0.2549], [-1.9079, 2.643, -0.6288], [0.1, 0.2, 0.3]),
    ],
)
@pytest.mark.parametrize("through", ["backward", "grad"])
def test_a_backward_pass_that_predicts_uses_running_averages(train_mode, expected, of_gamma, running, through):
    """MXNet 1.9.1's gradients of a BatchNorm that was recorded in training, and its averages."""
    x = nd.array(np.sin(np.arange(12) * 1.3).reshape(4, 3) * 2)
    seed = nd.array(np.cos(np.arange(12) * 0.7).reshape(4, 3))
    gamma, beta, mean, variance = (nd.array(v) for v in ([1.5, 2, 3], [0.1, 0, 0.2], [0.1, 0.2, 0.3], [1, 2, 4]))
    for variable in (x, gamma, beta):
        variable.attach_grad()
    with autograd.record():
        y = nd.BatchNorm(x, gamma, beta, mean, variance, fix_gamma=False)
    if through == "backward":
        y.backward(seed, train_mode=train_mode)
        found = [x.grad, gamma.grad, beta.grad]
    else:
        found = autograd.grad(y, [x, gamma, beta], seed, train_mode=train_mode)
    for array, numbers in zip(found, (expected, of_gamma, [1.005, 0.763, 0.162]), strict=True):
        np.testing.assert_allclose(array.asnumpy().ravel()[:3], numbers, atol=6e-4)
    np.testing.assert_allclose(mean.asnumpy(), running, atol=1e-4)


@pytest.mark.parametrize(("is_train", "expected"), [(True, -0.118), (False, 0.488)])
def test_an_executors_backward_pass_that_predicts_uses_running_averages(is_train, expected):
    x = mx.sym.var("x")
    y = mx.sym.BatchNorm(mx.sym.FullyConnected(x, num_hidden=3, name="f"), name="b", fix_gamma=False)
    executor = y.simple_bind(mx.cpu(), x=(4, 3))
    for place, array in enumerate(executor.arg_dict.values()):
        array[:] = np.sin(np.arange(array.size) + place).reshape(array.shape)
    executor.aux_dict["b_moving_var"][:] = 2
    executor.aux_dict["b_moving_mean"][:] = 0.5
    executor.forward(is_train=True)
    executor.backward([nd.array(np.cos(np.arange(12)).reshape(4, 3))], is_train=is_train)
    assert executor.grad_dict["x"].asnumpy().ravel()[0] == pytest.approx(expected, abs=6e-4)
    moved = (executor.aux_dict["b_moving_mean"].asnumpy() != 0.5).all()
    assert moved == is_train


def test_recording_set_inside_pause_records():
    x = nd.array([1.0, 2])
    x.attach_grad()
    with autograd.record(), autograd.pause():
        autograd.set_recording(True)
        y = x * 3
    y.backward()
    assert x.grad.asnumpy().tolist() == [3, 3]


def test_a_gradient_does_not_pass_through_torch_s_checks(monkeypatch):
    """They import sympy at the first call, which takes a second of each process."""
    monkeypatch.setattr(torch.autograd, "backward", None)
    monkeypatch.setattr(torch.autograd, "grad", None)
    x = nd.array([0.5, 2])
    x.attach_grad()
    with autograd.record():
        y = x.exp()
        (gx,) = autograd.grad([y], [x], create_graph=True)
    gx.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.exp([0.5, 2]), rtol=1e-6)


@pytest.mark.parametrize("name", ["LayerNorm", "InstanceNorm"])
def test_rows_far_from_zero_keep_the_digits_of_their_gradients(name):
    """The formula in float64; of rows that are not centred, torch's kernel has an error of 3e-3."""
    random = np.random.RandomState(0)
    x, slopes = (random.randn(4, 6, 16) * 0.01 + 1000).astype("f"), random.randn(4, 6, 16).astype("f")
    given, channels = nd.array(x), 16 if name == "LayerNorm" else 6
    given.attach_grad()
    with autograd.record():
        y = getattr(nd, name)(given, nd.ones(channels), nd.zeros(channels), eps=1e-5)
    y.backward(nd.array(slopes))
    exact = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    variance, mean = torch.var_mean(exact, -1, correction=0, keepdim=True)
    ((exact - mean) / (variance + 1e-5).sqrt() * torch.tensor(slopes)).sum().backward()
    assert np.abs(given.grad.asnumpy() - exact.grad.numpy()).max() < 2e-4 * exact.grad.abs().max().item()
