"""Tensors that share memory with another (slices, reshapes ...) take every in-place operation that other tensors take.

The expected gradients are those of the same operation out of place, as Paddle 2.6.2 gives them (recorded for these pairs).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import anygru_paddle as paddle

VIEWS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda y: y.reshape([4, 3]),
    "row": lambda y: y[0],
    "range": lambda y: y[:, 1:4],
    "transpose": lambda y: y.transpose([1, 0]),
    "unsqueeze": lambda y: y.unsqueeze(0),
    "flatten": lambda y: y.flatten(),
    "unbind": lambda y: y.unbind(0)[0],
    "columns": lambda y: paddle.unbind(y, 1)[2],
    "split": lambda y: paddle.split(y, 2, 1)[0],
    "loop": lambda y: list(y)[1],
    "view of a view": lambda y: y.reshape([4, 3])[1:],
}
IN_PLACE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "add_": (lambda z: z.add_(paddle.full_like(z, 0.5)), lambda z: z + 0.5),
    "scale_": (lambda z: z.scale_(2.0), lambda z: z * 2),
    "clip_": (lambda z: z.clip_(0, 1.5), lambda z: z.clip(0, 1.5)),
    "exp_": (lambda z: z.exp_(), lambda z: z.exp()),
    "zero_": (lambda z: z.zero_(), lambda z: z * 0),
    "setitem": (lambda z: z.__setitem__(slice(None), 1.0), lambda z: z * 0 + 1),
    "masked_fill_": (lambda z: z.masked_fill_(z > 1, 0.0), lambda z: z * (z <= 1).astype("float32")),
    "cast_": (lambda z: z.cast_("float64"), lambda z: z.astype("float64")),
}


def _leaf() -> Any:
    return paddle.to_tensor(np.arange(1.0, 13.0, dtype="float32").reshape(2, 6), stop_gradient=False)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("leave", ["stop_gradient", "detach_"])
def test_a_view_leaves_the_graph(view: str, leave: str) -> None:
    leaf = _leaf()
    base = leaf * 0.25
    part = VIEWS[view](base)
    before, later = part, part * 2
    if leave == "detach_":
        assert part.detach_() is part
    else:
        part.stop_gradient = True
    assert before is part
    assert part.stop_gradient
    assert part.is_leaf
    np.testing.assert_array_equal(part.numpy(), VIEWS[view](base).numpy())
    ((part * 3).sum() + leaf.sum()).backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), np.ones((2, 6), "float32"))
    leaf.clear_grad()
    later.sum().backward()  # what was computed before keeps its gradient
    assert float(leaf.grad.sum()) == 0.5 * part.numpy().size
    leaf.clear_grad()
    part.stop_gradient = False
    (part * 3).sum().backward()
    if leave == "detach_":
        np.testing.assert_array_equal(part.grad.numpy(), np.full(part.numpy().shape, 3, "float32"))
    else:  # back in its graph
        assert float(leaf.grad.sum()) == 0.75 * part.numpy().size


class _Flat(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return (x * 2).reshape([-1])

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient.reshape([2, 6]) * 2


class _Same(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient


@pytest.mark.parametrize("view", [lambda y: y, lambda y: y.unsqueeze(0)])
@pytest.mark.parametrize("layer", [_Flat, _Same])
def test_results_of_custom_functions_are_changed_in_place(layer: Any, view: Callable[[Any], Any]) -> None:
    leaf = _leaf()
    result = view(layer.apply(leaf * 1))
    result.scale_(0.5)
    result.sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), np.full((2, 6), 1.0 if layer is _Flat else 0.5, "float32"))


def test_a_maximum_that_was_changed_has_no_gradient() -> None:
    """Its gradient needs the value; RuntimeError in Paddle 2.6.2 (recorded)."""
    changed = paddle.max(_leaf() * 2, 1)
    changed.unsqueeze(0).scale_(3.0)
    with pytest.raises(RuntimeError):
        changed.sum().backward()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("operation", IN_PLACE)
def test_a_view_is_changed_in_place(view: str, operation: str) -> None:
    in_place, out_of_place = IN_PLACE[operation]
    leaf = _leaf()
    expected = out_of_place(VIEWS[view](leaf * 0.25))
    (expected * 3).sum().backward()
    gradient = leaf.grad.numpy().copy()
    leaf.clear_grad()
    part = VIEWS[view](leaf * 0.25)
    in_place(part)
    np.testing.assert_array_equal(part.numpy(), expected.numpy())
    (part * 3).sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), gradient)


@pytest.mark.parametrize("base", ["leaf", "result"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_made_without_gradients_stops_them(view: str, base: str) -> None:
    leaf = _leaf()
    given = leaf if base == "leaf" else leaf * 1
    with paddle.no_grad():
        part = VIEWS[view](given)
        assert part.stop_gradient
        part.scale_(2.0)
    part.add_(paddle.ones_like(part))
    assert (part * 2).stop_gradient
    if view != "split":  # it copies
        np.testing.assert_array_equal(part.numpy(), VIEWS[view](given).numpy())


def test_a_reshaped_tensor_without_axes_has_its_own_memory():
    """As in 2.6.2 (recorded): a program may sum `loss.reshape([1])` over processes in place, and use the loss later."""
    for form in (lambda x: x.reshape([1]), lambda x: x.reshape([1, 1]), paddle.flatten, paddle.atleast_1d):
        loss = paddle.to_tensor([1.0, 2.0]).sum()
        form(loss).fill_(9.0)
        assert loss.item() == 3.0
    loss = paddle.stack([paddle.to_tensor(2.0), paddle.to_tensor(3.0)])[1]
    for form in (lambda x: x.unsqueeze(0), lambda x: x.detach().reshape_([1])):
        assert form(loss).item() == 3.0
        form(loss).fill_(9.0)
        assert loss.item() == 9.0
        loss.fill_(3.0)
