"""Gradients as Paddle 2.6.2 gives them on a CPU (recorded)."""

import copy
import inspect

import numpy as np
import pytest
import torch

import anygru_paddle as paddle
from anygru_paddle.autograd import PyLayer


def leaf(*values):
    return paddle.to_tensor(list(values), stop_gradient=False)


def values(tensors):
    return [None if each is None else each.numpy().tolist() for each in tensors]


def test_a_retained_gradient_is_as_the_hooks_before_left_it():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.register_hook(lambda gradient: gradient + 1)
    y.retain_grads()
    y.register_hook(lambda gradient: gradient * 3)
    for _ in range(2):
        y.sum().backward(retain_graph=True)
    assert values([y.grad, x.grad]) == [[2.0, 2.0], [24.0, 24.0]]
    y.clear_grad()
    assert values([y.grad]) == [[0.0, 0.0]]


def test_no_gradient_passes_no_grad_vars():
    x, y = leaf(2.0), leaf(3.0)
    z = x * x
    assert values(paddle.grad(z * y + x, x, no_grad_vars=[z])) == [[1.0]]
    assert values(paddle.grad(x * y, [x], no_grad_vars=[y])) == [[3.0]]
    assert paddle.grad(z * z, x, no_grad_vars=z, allow_unused=True) == [None]
    with pytest.raises(ValueError, match="does not appear in the backward graph"):
        paddle.grad(z * z, x, no_grad_vars=(z,))
    with pytest.raises(AssertionError, match="no_grad_vars must be"):
        paddle.grad(z, x, no_grad_vars="z")


def test_a_gradient_that_may_have_a_graph_does_not_stop_gradients():
    x = leaf(2.0)
    (gradient,) = paddle.grad(x * 3, x, create_graph=True)
    assert not gradient.stop_gradient
    assert paddle.grad(gradient, x, allow_unused=True) == [None]
    assert paddle.grad(x * x, x)[0].stop_gradient


@pytest.mark.parametrize("loop", [1, 3])
def test_a_second_derivative_of_a_cell_from_gradients_that_are_given(loop):
    paddle.seed(1)
    cell, x = paddle.nn.GRUCell(2, 3), leaf([0.1, 0.2], [0.3, 0.4])
    state, half = None, paddle.full([2, 3], 0.5)
    for _ in range(loop):
        _, state = cell(x, state)
    (given,) = paddle.grad(state, x, grad_outputs=[half], create_graph=True)
    (summed,) = paddle.grad((state * half).sum(), x, create_graph=True)
    found, expected = (paddle.grad((first * first).sum(), x)[0].numpy() for first in (given, summed))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_an_unused_part_of_a_split_has_zeros():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    used, other = paddle.split(x, 2)
    other.retain_grads()
    used.sum().backward(retain_graph=True)
    assert values([x.grad, other.grad]) == [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0]]
    assert values(paddle.grad(used.sum(), [x, other])) == [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0]]


def test_grad_keeps_the_graph():
    x = leaf(2.0)
    y = x * x * x
    assert values([*paddle.grad(y, x, retain_graph=False), *paddle.grad(y, x, retain_graph=False)]) == [[12.0], [12.0]]
    y.backward()
    assert values([x.grad]) == [[12.0]]


def test_a_used_graph_and_a_changed_tensor_raise_different_errors():
    x = leaf(1.0)
    y = x * x
    y.backward()
    with pytest.raises(SystemError, match="second time"):
        y.backward()
    with pytest.raises(SystemError, match="second time"):
        paddle.grad(y, x)
    z = x * 1
    w = z * z
    z.add_(paddle.ones([1]))
    with pytest.raises(RuntimeError):
        w.backward()


class Twice(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return [x * 2, paddle.to_tensor([1, 2]), x > 0]

    @staticmethod
    def backward(ctx, gradient, *others):
        return gradient * 2


def test_a_layer_with_integer_outputs():
    x = leaf(1.0, 2.0)
    outputs = Twice.apply(x)
    assert isinstance(outputs, list)
    assert [each.stop_gradient for each in outputs] == [False] * 3
    outputs[0].sum().backward()
    assert values([x.grad]) == [[2.0, 2.0]]


def test_errors_of_a_layer():
    class Same(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x

    class NoBackward(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.raises(ValueError, match="inplace strategy"):
        Same.apply(leaf(1.0))
    with pytest.raises(OSError, match="must implement the backward"):
        NoBackward.apply(leaf(1.0)).backward()


def test_casts_to_bfloat16_cut_digits_off():
    given = [1.005, 3.1415926, -1.005, float("inf")]
    expected = [1.0, 3.140625, -1.0, float("inf")]
    for cast in (
        paddle.to_tensor(given).astype("bfloat16"),
        paddle.to_tensor(given, dtype="float64").cast("bfloat16"),
        paddle.to_tensor(given, dtype="bfloat16"),
        paddle.to_tensor(given).to("bfloat16"),
    ):
        assert cast.astype("float32").tolist() == expected
    assert paddle.full([1], 1.005, "bfloat16").astype("float32").tolist() == [1.0]
    assert np.isnan(paddle.to_tensor([float("nan")]).astype("bfloat16").astype("float32").numpy()).all()
    x = leaf(1.005)
    x.astype("bfloat16").astype("float32").sum().backward()
    assert x.grad.tolist() == [1.0]


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad, torch.optim.RMSprop])
def test_torch_optimizers_meet_the_tensors_at_the_seams(optimizer):
    parameter, plain = paddle.create_parameter([3], "float32"), torch.nn.Parameter(torch.zeros(3))
    plain.data.copy_(torch.from_numpy(parameter.numpy()))
    both = [optimizer([each], lr=0.1) for each in (parameter, plain)]
    for _ in range(3):
        for each, steps in zip((parameter, plain), both, strict=True):
            torch.sum(each * each).backward()
            steps.step()
            steps.zero_grad()
            steps.load_state_dict(steps.state_dict())
    np.testing.assert_allclose(parameter.numpy(), plain.detach().numpy(), rtol=1e-6)
    assert parameter.grad is None
    assert str(parameter.dtype) == "paddle.float32"
    with pytest.raises(ValueError, match="must be Tensor"):
        parameter.grad = None


def test_a_weight_of_one_element_suits_a_scalar():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (by_x,) = paddle.grad(paddle.matmul(x, y), [x], [paddle.ones([1])])
    assert by_x.numpy().tolist() == [3.0, 4.0]
    assert x._grad_ivar() is None
    with pytest.raises(ValueError, match=r"grad_outputs\[0\] must have the shape \[2\]"):
        paddle.grad(x * y, [x], [paddle.ones([3])])


def test_the_error_of_a_function_without_gradients_names_its_types():
    def scaled(x, factor=2):
        return x * factor

    for decorator in (paddle.no_grad(), paddle.enable_grad(), paddle.set_grad_enabled(True)):
        assert inspect.getfullargspec(decorator(scaled)).args == ["x", "factor"]
    assert paddle.no_grad()(scaled)(leaf(1.0)).stop_gradient


def test_hooks_on_what_the_graph_keeps():
    """Values of 2.6.2."""
    kept = []

    def pack(tensor):
        kept.append(tensor.shape)
        return tensor.numpy()

    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with paddle.autograd.saved_tensors_hooks(pack, paddle.to_tensor):
        y = paddle.multiply(a, b)
    y.sum().backward()
    assert values([a.grad, b.grad]) == [[3.0, 4.0], [1.0, 2.0]]
    assert kept == [[2], [2]]


def test_an_empty_tensor_takes_over_the_flag_of_what_is_copied_into_it():
    """As in Paddle 2.6.2 (recorded); a gradient with elements stays."""
    for length, expected in ((0, True), (2, False)):
        target = paddle.zeros([length])
        target.stop_gradient = False
        target.copy_(paddle.ones([2]), True)
        assert (target.tolist(), target.stop_gradient) == ([1, 1], expected)


def test_a_gradient_does_not_pass_through_torch_s_checks(monkeypatch):
    """They import sympy at the first call, which takes a second of each process."""
    monkeypatch.setattr(torch.autograd, "backward", None)
    monkeypatch.setattr(torch.autograd, "grad", None)
    x = paddle.to_tensor([0.5, 2.0], stop_gradient=False)
    (gx,) = paddle.grad([x.exp()], [x], create_graph=True)
    gx.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([0.5, 2]), rtol=1e-6)


def test_grad_and_hooks():
    """2.6.2 gives a leaf's gradient without the leaf's hooks, and that of a result behind the result's hooks."""
    x = leaf(1.0, 2.0)
    y = x * 2
    for tensor, factor in ((x, 100), (y, 10)):
        tensor.register_hook(lambda gradient, factor=factor: gradient * factor)
    loss = (y * y).sum()
    assert values(paddle.grad(loss, [y, x])) == [[40.0, 80.0], [80.0, 160.0]]
    loss.backward()
    assert values([x.grad]) == [[8000.0, 16000.0]]


class Doubling(PyLayer):
    seen: list = []

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        Doubling.seen = [gradient.stop_gradient]
        return gradient * 2


def test_stop_gradient_of_gradients():
    """As in 2.6.2 (recorded): False, except where a leaf's gradient is what a PyLayer computed."""
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    hooked = []
    x.register_hook(lambda gradient: hooked.append(gradient.stop_gradient))
    product = Doubling.apply(x) * Doubling.apply(y + 0)
    product.register_hook(lambda gradient: hooked.append(gradient.stop_gradient))
    product.sum().backward()
    assert (Doubling.seen, hooked) == ([False], [False, True])
    assert (x.grad.stop_gradient, y.grad.stop_gradient) == (True, False)
    x.clear_gradient(set_to_zero=False)
    (x * 3).sum().backward()
    assert not x.grad.stop_gradient


def test_grad_through_a_py_layer_stops_gradients():
    class Same(Doubling):
        @staticmethod
        def backward(ctx, gradient):
            return gradient

    x = leaf(1.0, 2.0)
    assert paddle.grad(Same.apply(x).sum(), x)[0].stop_gradient


def test_a_leaf_that_is_frozen_twice_gets_its_gradient_once():
    """As a GAN freezes its critic in each step (recorded in 2.6.2)."""
    w = paddle.create_parameter([2], "float32")
    first, second = (w * 3).sum(), (w * 5).sum()
    for stop in (True, False, True):
        w.stop_gradient = stop
    first.backward()
    assert w.grad.tolist() == [3.0, 3.0]
    w.stop_gradient = False
    w.stop_gradient = True
    second.backward()
    assert w.grad.tolist() == [8.0, 8.0]


def test_graphs_of_a_leaf_that_is_frozen_later_give_it_its_gradient():
    """A generator's step freezes the critic after its forward pass; 2.6.2 adds the gradient nevertheless (recorded)."""
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    x.register_hook(lambda gradient: gradient * 2)
    y = x * 3
    x.stop_gradient = True
    z = x * 5
    assert z.stop_gradient
    for expected in (6.0, 12.0):
        (y + z).sum().backward(retain_graph=True)
        np.testing.assert_array_equal(x.grad.numpy(), [expected] * 2)
    x.stop_gradient = False
    (y + x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [20.0] * 2)


@pytest.mark.parametrize("part", [lambda y: y, lambda y: y[1:], lambda y: y.reshape([2, 1])])
def test_a_tensor_returns_to_its_graph(part):
    """`stop_gradient = False` after True: a critic's step and then a generator's through one sample (recorded, 2.6.2)."""
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = part(x * 2)
    expected = paddle.grad(y.sum() * 3, x, retain_graph=True)[0].numpy()
    square = y * y
    y.stop_gradient = True
    assert (y * 3).stop_gradient
    copy.deepcopy(y)
    y.stop_gradient = False
    (y * 3).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected)
    square.sum().backward()  # its saved value counts as unchanged
    y = x * 2
    y.stop_gradient = True
    y.detach_()
    y.stop_gradient = False
    assert y.is_leaf


def test_a_pylayer_may_return_an_input_that_stops_gradients():
    class Same(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x

    assert Same.apply(paddle.ones([2])).stop_gradient
