"""Results at the edges of operators (equal values, zeros, wrong places, no elements), as OneFlow 0.9.0 gave them on the CPU."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import anygru_oneflow as flow
from anygru_oneflow.nn import functional as F


def gradient(function: Callable[[Any], Any], values: Any) -> tuple[Any, Any]:
    """The result for a leaf of these values, and the gradient of the sum of its squares."""
    leaf = flow.tensor(values).clone().detach().requires_grad_()
    result = function(leaf)
    (result * result).sum().backward()
    return result.tolist(), leaf.grad.tolist()


def test_equal_extremes_share_the_gradient() -> None:
    values = [[1.0, 2.0], [1.0, 0.0], [3.0, 2.0]]
    assert gradient(lambda x: x.min(dim=0)[0], values) == ([1.0, 0.0], [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    assert gradient(lambda x: flow.max(x, -2, keepdim=True).values, values) == (
        [[3.0, 2.0]],
        [[0.0, 2.0], [0.0, 0.0], [6.0, 2.0]],
    )


def test_gradients_of_powers_at_zero_and_below() -> None:
    """Of one shape the exponent's gradient is 0 there, and otherwise NaN or infinite."""
    base, exponent = [-1.0, 0.0, 2.0, -2.0, 0.0], [2.0, 3.0, 2.0, 1.5, 0.0]
    _, of_exponent = gradient(lambda b: flow.tensor(base) ** b, exponent)
    np.testing.assert_allclose(of_exponent, [0, 0, 22.18071, 0, 0], rtol=1e-6)
    _, broadcast = gradient(lambda b: flow.tensor([base, base]) ** b, exponent)
    np.testing.assert_allclose(broadcast, [math.nan, math.nan, 44.36142, math.nan, -math.inf], rtol=1e-6)
    np.testing.assert_allclose(gradient(lambda b: 0.0**b, exponent)[1], [math.nan] * 4 + [-math.inf])
    np.testing.assert_allclose(gradient(lambda a: a ** flow.tensor(exponent), base)[1], [-4, 0, 32, math.nan, math.nan])


def test_power_is_twice_differentiable() -> None:
    leaves = [torch.rand(3, 2, dtype=torch.float64) + 0.5, torch.rand(2, dtype=torch.float64)]
    given = tuple(leaf.requires_grad_() for leaf in leaves)

    def function(base: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
        return (base.as_subclass(flow.Tensor) ** exponent.as_subclass(flow.Tensor)).as_subclass(torch.Tensor)

    assert torch.autograd.gradcheck(function, given)
    assert torch.autograd.gradgradcheck(function, given)


def test_places_that_are_too_large_have_zeros() -> None:
    """Without `padding_idx`."""
    rows = [[1.0, 2.0], [3.0, 4.0]]
    places = flow.tensor([0, 5, 1])
    expected = [[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]]
    assert gradient(lambda w: F.embedding(places, w), rows) == (expected, [[2.0, 4.0], [6.0, 8.0]])
    assert flow.index_select(flow.tensor(rows), 0, places).tolist() == expected
    assert flow.ones(5, 0, 1).index_select(-2, flow.tensor([0, 3])).tolist() == [[[0.0], [0.0]]] * 5
    layer = flow.nn.Embedding(2, 2)
    assert layer(flow.tensor([7])).tolist() == [[0.0, 0.0]]
    for refused in (
        lambda: F.embedding(flow.tensor([-1]), flow.tensor(rows)),
        lambda: F.embedding(places, flow.tensor(rows), padding_idx=0),
        lambda: flow.index_select(flow.tensor(rows), 2, places),
    ):
        with pytest.raises((IndexError, RuntimeError)):
            refused()


def test_results_of_nothing() -> None:
    leaf = flow.ones(0, 2, requires_grad=True)
    assert not flow.einsum("ij,jk->ik", leaf, flow.ones(2, 3)).requires_grad
    assert not leaf.median().requires_grad
    assert flow.zeros(0, 0, 2).argmax(0).shape == (0, 2)
    values, places = flow.zeros(0, 2, 0).max(0)
    assert (tuple(values.shape), tuple(places.shape)) == ((2, 0), (2, 0))
    x = flow.zeros(2, 0, 0, 2)
    assert tuple(x[:, :1:2, None, [-2, -1]].shape) == (2, 0, 1, 2, 2)
    assert tuple(flow.zeros(2, 0, 0)[1:2:2, -1:1, flow.tensor([0, 0])].shape) == (1, 0, 2)
    y = flow.zeros(0, 1)
    y[[0, 0], 1::1] = 3
    for refused in (lambda: flow.zeros(0, 3)[[0, 0]], lambda: flow.zeros(2, 0)[:, [0]], lambda: flow.zeros(0, 3)[0]):
        with pytest.raises(IndexError):
            refused()


def test_a_cell_of_one_vector_and_a_matrix_of_states() -> None:
    """The states' bias is added along their first dimension; other cells refuse it."""
    cell = flow.nn.RNNCell(2, 3)
    for parameter in cell.parameters():
        parameter.data.copy_(flow.tensor(np.random.RandomState(3).randn(*parameter.shape).astype("float32")))
    states = flow.tensor(np.arange(9, dtype="float32").reshape(3, 3) / 10)
    expected = [[0.99999326, -0.90587568, 0.67873037], [0.99997509, -0.99852234, -0.63600165]]
    np.testing.assert_allclose(cell(flow.tensor([1.0, 2.0]), states)[:2].detach().numpy(), expected, rtol=1e-5)
    for kind in (flow.nn.RNNCell, flow.nn.GRUCell):
        with pytest.raises(RuntimeError, match="hx must"):
            kind(2, 3)(flow.ones(2), flow.ones(4, 3))
    with pytest.raises(RuntimeError, match="hx must have 1 dimensions"):
        flow.nn.LSTMCell(2, 3)(flow.ones(2), (flow.ones(3, 3), flow.ones(3, 3)))


def test_types_of_logsumexp_bools_and_complex_numbers() -> None:
    assert flow.logsumexp(flow.tensor(1.0, dtype=flow.float64), 0).dtype is flow.float32
    assert flow.ones(2, dtype=flow.float64).logsumexp(0).dtype is flow.float64
    assert flow.Tensor(1 + 2j).item() == 1.0
    bools = flow.tensor([True, False])
    with pytest.raises(NotImplementedError):
        bools.clip_(0)
    for refused in (lambda: 2 % bools, lambda: -1 // bools):
        with pytest.raises(TypeError):
            refused()
    with pytest.raises(RuntimeError):
        flow.ones(2, 3).unfold(6, 1, 2)


def test_a_part_from_the_end_of_a_dimension() -> None:
    """A negative start counts from the number of dimensions, and a start in front of the tensor is refused."""
    line = flow.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (flow.narrow(line, 0, -1, 2).tolist(), flow.narrow(line, 0, 3, 2).tolist()) == ([1.0, 2.0], [4.0, 5.0])
    rows = flow.tensor([[1, 2, 3], [4, 5, 6]])
    assert rows.narrow(1, -1, 2).tolist() == [[2, 3], [5, 6]]
    assert rows.narrow(0, -1, 1).tolist() == [[4, 5, 6]]
    for refused in (lambda: line.narrow(0, -2, 2), lambda: line.narrow(0, -6, 1), lambda: line.narrow(1, 0, 1)):
        with pytest.raises(IndexError):
            refused()
    for behind in (lambda: flow.ones(4, 3, 1, 2).narrow(-2, -1, 1), lambda: flow.ones(1, 5, 1, 5).narrow(2, -1, 2)):
        with pytest.raises(RuntimeError, match=r"start \(3\) \+ length"):
            behind()


def test_a_small_row_is_normalized_by_the_root_of_eps() -> None:
    """Recorded in 0.9.0: of p = 2 the sum of squares is bounded by eps, of other norms the norm."""
    x = flow.tensor([[0.02, 0.0], [0.5, 0.1], [0.0, 0.0]], dtype=flow.float64, requires_grad=True)
    y = flow.nn.functional.normalize(x, eps=1e-3)
    expected = [[0.6324555170136635, 0.0], [0.9805806756909201, 0.19611613513818402], [0.0, 0.0]]
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-6)
    (y * flow.tensor([1.0, 2.0]).to(flow.float64)).sum().backward()
    slopes = [[31.622775850683176, 63.24555170136635], [-0.6788635447090983, 3.394317723545493]]
    np.testing.assert_allclose(x.grad.numpy(), [*slopes, slopes[0]], rtol=1e-6)
    np.testing.assert_allclose(flow.nn.functional.normalize(x, p=1.0, eps=1e-3).numpy()[0], [1.0, 0.0], rtol=1e-6)


def test_a_number_without_dimensions_stays_one_when_flattened() -> None:
    leaf = flow.tensor(2.0, requires_grad=True)
    assert leaf.flatten().shape == flow.flatten(leaf, -1, 0).shape == ()
    (leaf.flatten() * 3).backward()
    assert (leaf.grad.item(), flow.ones(2, 3).flatten().shape) == (3.0, (6,))
    with pytest.raises(IndexError):
        leaf.flatten(1)


def test_a_power_of_a_number_is_computed_in_the_type_of_its_exponent() -> None:
    exponent = flow.tensor([0.5, -2.0, 3.0], dtype=flow.float64, requires_grad=True)
    (0.3**exponent).sum().backward()
    expected = 0.3 ** np.array([0.5, -2.0, 3.0])
    np.testing.assert_allclose((0.3**exponent).detach().numpy(), expected, rtol=1e-14)
    np.testing.assert_allclose(exponent.grad.numpy(), expected * np.log(0.3), rtol=1e-14)


def test_batch_norm_keeps_its_options_as_float32() -> None:
    """Recorded in 0.9.0 of float64: `x` is [[-1, -0.63, -0.26], [0.11, 0.48, 0.85]], and the layer sees its squares."""
    layer = flow.nn.BatchNorm1d(3).to(flow.float64)
    output = layer(flow.tensor(np.arange(6.0).reshape(2, 3) * 0.37 - 1) ** 2)
    first = [0.9999795077019363, 0.9992793376359385, -0.9999533716951269]
    np.testing.assert_allclose(output.numpy()[0], first, rtol=1e-14)
    np.testing.assert_allclose(layer.running_mean.numpy()[0], 0.0506050120651722, rtol=1e-14)
    np.testing.assert_allclose(layer.running_var.numpy()[0], 0.9487973082923299, rtol=1e-14)
    with pytest.raises(ValueError, match="expected 2D or 3D input"):
        layer(flow.ones(3).to(flow.float64))


def test_ranges_that_end_before_they_begin() -> None:
    for count in (flow.arange(1, 0, 2), flow.arange(2, 0, 3), flow.arange(0, 1, -2)):
        assert (count.dtype, tuple(count.shape)) == (flow.int64, (0,))
    for refused in ((1, 0, 1), (3, 0, 2), (0, 1, -1), (0.0, -1.0, 2.0)):
        with pytest.raises(RuntimeError):
            flow.arange(*refused)


def test_padding_that_cuts_off_more_than_there_is() -> None:
    assert flow.nn.functional.pad(flow.ones(2, 1), (-2, 2), value=7).tolist() == [[7.0], [7.0]]
    assert flow.nn.functional.pad(flow.ones(2, 3), (-4, 2), value=7).tolist() == [[7.0], [7.0]]
    assert tuple(flow.pad(flow.ones(2, 0), (-1, 1)).shape) == (2, 0)
    leaf = flow.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    flow.pad(leaf, (1, -2)).sum().backward()
    assert leaf.grad.tolist() == [[1.0, 0.0, 0.0]]


def test_arguments_and_types_that_are_refused() -> None:
    x = flow.ones(2, 2)
    options = {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False, "reduction": "mean"}
    assert F.triplet_margin_loss(x, x, x, **options).item() == 1.0
    for refused in (
        lambda: F.triplet_margin_loss(x, x, x),
        lambda: F.triplet_margin_loss(x, x, x, 1.0),
        lambda: F.triplet_margin_loss(x, x, x, margin=1.0),
    ):
        with pytest.raises(TypeError):
            refused()
    small = [x.to(flow.uint8), x.to(flow.int8)]
    for no_type in (
        lambda: flow.cat(small).dtype,
        lambda: flow.stack(small).dtype,
        lambda: flow.tensor(np.ones(2, "int16")).dtype,
    ):
        with pytest.raises(RuntimeError):
            no_type()
    assert flow.ones(2, 0, 3, requires_grad=True).median(0)[0].requires_grad
