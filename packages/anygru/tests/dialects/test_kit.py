"""The shared definitions of the dialects, against torch's own."""

import inspect
import math

import numpy as np
import pytest
import torch

from anygru.dialects.kit import cpp_numbers, schedules
from anygru.dialects.kit.arguments import bound
from anygru.dialects.kit.fans import fans
from anygru.dialects.kit.graph import behind_hooks, is_release
from anygru.dialects.kit.numbers import NUMPY_OF_TORCH, TORCH_OF_NUMPY, centred, single
from anygru.facts.torch_private import leave_graph


@pytest.mark.parametrize("shape", [(5, 3), (4, 2, 7), (6, 4, 3, 2)])
def test_fans_are_torchs(shape: tuple[int, ...]) -> None:
    assert fans(shape) == torch.nn.init._calculate_fan_in_and_fan_out(torch.empty(shape))


def test_types_have_the_same_bits_in_numpy_and_torch() -> None:
    for dtype, numpy_dtype in NUMPY_OF_TORCH.items():
        assert torch.from_numpy(np.zeros(1, numpy_dtype)).dtype == dtype
        assert TORCH_OF_NUMPY[numpy_dtype] == dtype


@pytest.mark.parametrize("value", [0.1, 1 / 3, -1e-30, 3e38, 1e39, -1e39, math.inf])
def test_single_rounds_as_torch_does(value: float) -> None:
    assert single(value) == torch.tensor(value, dtype=torch.float64).to(torch.float32).item()


def test_single_keeps_what_is_no_number() -> None:
    assert math.isnan(single(math.nan))


def test_schedules_begin_end_and_pass_where_torchs_do() -> None:
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.7)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8, eta_min=0.1)
    for step in range(9):
        assert schedules.cosine(0.7, 0.1, step, 8) == pytest.approx(cosine.get_last_lr()[0], rel=1e-12)
        assert schedules.polynomial(0.7, 0.1, step, 8, 2) == pytest.approx(0.1 + 0.6 * (1 - step / 8) ** 2, rel=1e-12)
        optimizer.step()
        cosine.step()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        ctx.save_for_backward(value)
        return value * 2

    @staticmethod
    def backward(ctx, gradient):
        (value,) = ctx.saved_tensors
        return gradient * 2 * torch.ones_like(value)


def error_of(loss) -> RuntimeError:
    with pytest.raises(RuntimeError) as caught:
        loss.backward()
    return caught.value


@pytest.mark.parametrize("function", [torch.exp, lambda x: x * x, lambda x: x @ x, Doubled.apply])
def test_the_error_of_a_graph_that_serves_once_is_known(function) -> None:
    loss = function(torch.ones(3, requires_grad=True)).sum()
    loss.backward()
    assert is_release(error_of(loss))


class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return value.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise RuntimeError("something else")


def test_an_error_in_the_middle_of_backward_is_another_one() -> None:
    """The steps before the failure are already released."""
    loss = Failing.apply(torch.ones(3, requires_grad=True)).exp().sum()
    assert not is_release(error_of(loss))


def test_fractions_end_below_one() -> None:
    words = np.array([0, 1 << 31, (1 << 32) - 1, (1 << 32) - 1], np.uint32)
    assert cpp_numbers.fractions(words, np.float32).tolist() == [0.0, 0.5, *[1 - 2.0**-24] * 2]
    assert cpp_numbers.fractions(words, np.float64).tolist() == [0.5, 1 - 2.0**-53]


def test_logarithms_are_those_of_the_c_library() -> None:
    values = np.random.default_rng(0).random(1000)
    assert cpp_numbers.logarithms(values).tolist() == [math.log(value) for value in values]
    single_values = values.astype(np.float32)
    exact = np.log(single_values.astype(np.float64))
    error = np.abs(cpp_numbers.logarithms(single_values) - exact) / np.spacing(np.abs(exact).astype(np.float32))
    assert error.max() < 0.85


def test_a_view_leaves_its_graph_and_keeps_its_memory() -> None:
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    for part in (y[1:3], x * 1):
        leave_graph(part)
        assert (part.requires_grad, part.is_leaf) == (False, True)
    view = y[1:3]
    square = view * view  # the graph keeps the view
    leave_graph(view)
    assert torch.autograd.grad(square.sum(), x)[0].tolist() == [0.0, 8.0, 8.0, 0.0]
    view.fill_(7.0)
    assert y.tolist() == [2.0, 7.0, 7.0, 2.0]


def test_the_gradients_that_hooks_leave() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda gradient: gradient * 10)
    with behind_hooks([y, x]) as found:
        torch.autograd.grad((y * y).sum(), [y, x], retain_graph=True)
    assert {place: gradient.tolist() for place, gradient in found.items()} == {0: [40.0, 40.0]}
    found.clear()
    torch.autograd.grad((y * y).sum(), [y, x])
    assert found == {}


@pytest.mark.parametrize("shape", [(2, 4, 1), (2, 4, 3)])
def test_centred_rows_leave_a_normalization_its_digits(shape):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0)) + 1000
    x.requires_grad_()
    wide = x.detach().double().requires_grad_()
    mine = torch.instance_norm(centred(x, [2]), None, None, None, None, True, 0.1, 1e-5, False)
    exact = torch.instance_norm(wide, None, None, None, None, True, 0.1, 1e-5, False)
    torch.testing.assert_close(mine.double(), exact, rtol=1e-6, atol=1e-6)
    slopes = torch.linspace(-1, 1, mine.numel()).reshape(shape)
    mine.backward(slopes)
    exact.backward(slopes.double())
    torch.testing.assert_close(x.grad.double(), wide.grad, rtol=1e-4, atol=1e-5)


def test_an_error_about_arguments_names_the_function_and_the_near_name() -> None:
    def layer(size: int, num_layers: int = 1) -> None: ...

    form = inspect.signature(layer)
    assert bound(form, "layer", (3,), {}).arguments == {"size": 3, "num_layers": 1}
    assert bound(form, "layer", (3,), {}, defaults=False).arguments == {"size": 3}
    with pytest.raises(TypeError, match=r"^layer\(\) got an .* 'num_layer'; did you mean num_layers\?$"):
        bound(form, "layer", (3,), {"num_layer": 2})
    with pytest.raises(TypeError, match=r"^layer\(\) missing a required argument: 'size'$"):
        bound(form, "layer", (), {})
