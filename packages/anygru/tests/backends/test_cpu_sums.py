"""Loops over a cell sum the gradients of the weights once, and keep every promise of autograd."""

import copy
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any, Literal

import pytest
import torch
from torch import Tensor

import anygru
from anygru.backends import cpu_sums
from anygru.backends.cpu_calls import native

pytestmark = [
    pytest.mark.skipif(native is None, reason="the native module is not built"),
    pytest.mark.needs_torch(2, 10, because="calls with an older torch take the general path"),
]


def cell_of(reset: Literal["after", "before"] = "after", backend: str | None = None) -> anygru.GRUCell:
    torch.manual_seed(3)
    return anygru.GRUCell(3, 5, reset=reset, backend=backend, dtype=torch.float64)


def run(cell: torch.nn.Module, steps: int = 6, batch: int = 4) -> Tensor:
    """A loss of a loop with steps that depend on each other."""
    generator = torch.Generator().manual_seed(0)
    state: Tensor | None = None
    for _ in range(steps):
        state = cell(torch.randn(batch, 3, generator=generator, dtype=torch.float64), state)
    assert state is not None
    return state.square().sum()


def expected_of(cell: anygru.GRUCell, times: int = 1) -> list[Tensor]:
    """Gradients by torch's operations alone."""
    other = cell_of(cell.reset, "reference")
    other.load_state_dict(cell.state_dict())
    return [times * grad for grad in torch.autograd.grad(run(other), list(other.parameters()))]


def check(cell: anygru.GRUCell, expected: list[Tensor]) -> None:
    torch.testing.assert_close([parameter.grad for parameter in cell.parameters()], expected)


def nodes_of(loss: Tensor) -> set[Any]:
    """The nodes of a graph."""
    seen, todo = set(), [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [following for following, _ in node.next_functions]
    return seen


def anchored(loss: Tensor) -> bool:
    """Whether a graph has an anchor."""
    return any("Anchor" in node.name() for node in nodes_of(loss))


def loop_in(loss: Tensor) -> cpu_sums.Loop:
    """The only loop of a graph."""
    (loop,) = {node.loop for node in nodes_of(loss) if hasattr(node, "loop")}
    return loop


@pytest.mark.parametrize("rows", [1024, 5])
@pytest.mark.parametrize("reset", ["after", "before"])
def test_gradients_are_those_of_separate_steps(
    reset: Literal["after", "before"], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu_sums, "MOST_ROWS", rows)
    cell = cell_of(reset)
    loss = run(cell)
    assert anchored(loss)
    loss.backward(retain_graph=True)
    check(cell, expected_of(cell))
    loss.backward()
    check(cell, expected_of(cell, 2))


def test_one_step_has_no_anchor() -> None:
    assert not anchored(run(cell_of(), steps=1))


def test_a_loop_ends_with_its_graph() -> None:
    cell = cell_of()
    loss = run(cell)
    loop = weakref.ref(loop_in(loss))
    following = run(cell)
    assert loop_in(following) is not loop()
    (loss + following).backward()
    check(cell, expected_of(cell, 2))
    del loss, following
    gc.disable()  # no cycle may keep it
    try:
        assert loop() is None
        parameter, tensor = weakref.ref(cell), weakref.ref(cell.weight_hh)
        del cell
        assert parameter() is None
        assert tensor() is None
    finally:
        gc.enable()


def test_a_state_that_passes_other_operations_continues_the_loop() -> None:
    def grads(backend: str | None) -> list[Tensor | None]:
        cell = cell_of(backend=backend)
        state = torch.zeros(4, 5, dtype=torch.float64)
        keeps = torch.tensor([[True], [False], [True], [True]])
        for _ in range(4):
            state = torch.where(keeps, cell(torch.ones(4, 3, dtype=torch.float64), state), state) * 0.5
        loss = state.sum()
        assert anchored(loss) is (backend is None)
        loss.backward()
        return [parameter.grad for parameter in cell.parameters()]

    torch.testing.assert_close(grads(None), grads("reference"))


class Interrupt(BaseException):
    """It replaces Ctrl-C."""


# Point 6 with a graph of the gradients is left out: torch 2.13 keeps the graph of its own GRUCell there.
@pytest.mark.parametrize(("point", "again"), [(point, again) for point in range(7) for again in (False, True)][:-1])
def test_an_interrupted_backward_leaves_nothing(point: int, again: bool) -> None:
    """A hook of each step, or of a weight, interrupts a backward pass, also a pass that is differentiated again."""
    cell = cell_of()
    state, states = None, []
    for _ in range(6):
        state = cell(torch.ones(4, 3, dtype=torch.float64), state)
        states.append(state)

    def stop(grad: Tensor) -> None:
        raise Interrupt

    handle = (states[point] if point < 6 else cell.weight_hh).register_hook(stop)
    loss, loop = state.square().sum(), weakref.ref(loop_in(state))
    with pytest.raises(Interrupt):
        loss.backward(create_graph=again)
    handle.remove()
    del loss, state, states
    cell.zero_grad()  # with create_graph a gradient holds the graph
    gc.collect()
    assert loop() is None
    run(cell).backward()
    check(cell, expected_of(cell))


def test_only_what_is_asked_for_is_computed() -> None:
    cell = cell_of()
    first = torch.zeros(4, 5, dtype=torch.float64, requires_grad=True)
    input = torch.ones(4, 3, dtype=torch.float64)
    loss = cell(input, cell(input, cell(input, first))).sum()
    (grad,) = torch.autograd.grad(loss, first, retain_graph=True)
    assert not loop_in(loss).sums
    (weight,) = torch.autograd.grad(loss, cell.weight_hh, retain_graph=True)
    loss.backward(inputs=[cell.bias_ih])
    assert cell.weight_hh.grad is None
    other = cell_of(backend="reference")
    own = cell_of(backend="reference").weight_hh  # unused
    loss = other(input, other(input, other(input, first))).sum()
    expected = torch.autograd.grad(loss, [first, other.weight_hh, other.bias_ih, own], allow_unused=True)
    torch.testing.assert_close([grad, weight, cell.bias_ih.grad], list(expected[:3]))


def test_hooks_of_weights_see_the_sum() -> None:
    cell = cell_of()
    seen: list[Tensor] = []
    after: list[Tensor] = []
    cell.weight_hh.register_hook(lambda grad: seen.append(grad.clone()))
    cell.weight_hh.register_post_accumulate_grad_hook(lambda weight: after.append(weight.grad.clone()))
    run(cell).backward()
    (own,) = seen
    torch.testing.assert_close([own, after[0]], [expected_of(cell)[1]] * 2)


def test_second_derivatives_and_batched_gradients() -> None:
    def penalty(backend: str | None) -> list[Tensor]:
        cell = cell_of(backend=backend)
        grads = torch.autograd.grad(run(cell, 3), list(cell.parameters()), create_graph=True)
        sum(grad.square().sum() for grad in grads).backward()
        return [parameter.grad for parameter in cell.parameters()]

    torch.testing.assert_close(penalty(None), penalty("reference"))

    def many(backend: str | None) -> tuple[Tensor, ...]:
        cell = cell_of(backend=backend)
        state = cell(torch.ones(2, 3, dtype=torch.float64))
        state = cell(torch.ones(2, 3, dtype=torch.float64), cell(torch.ones(2, 3, dtype=torch.float64), state))
        directions = torch.eye(10, dtype=torch.float64).view(10, 2, 5)
        return torch.autograd.grad(state, list(cell.parameters()), directions, is_grads_batched=True)

    torch.testing.assert_close(many(None), many("reference"))


@pytest.mark.parametrize("change", ["frozen", "replaced", "data", "wider", "history"])
def test_weights_that_change_between_steps(change: str) -> None:
    """While the graph of the first steps is alive."""

    def grads(backend: str | None) -> list[Tensor | None]:
        cell = cell_of(backend=backend)
        first = run(cell)
        if change == "frozen":
            cell.weight_hh.requires_grad_(False)
        elif change == "replaced":
            cell.weight_hh = torch.nn.Parameter(cell.weight_hh.detach() * 2)
        elif change == "data":
            cell.weight_hh.data = cell.weight_hh.data * 2
        elif change == "wider":
            first.backward()
            found = [parameter.grad.clone() for parameter in cell.parameters()]
            cell.zero_grad()
            cell.float()
            state = cell(torch.ones(2, 3))
            cell(torch.ones(2, 3), state).sum().backward()
            return [*found, *(parameter.grad for parameter in cell.parameters())]
        else:
            torch.nn.utils.parametrizations.weight_norm(cell, "weight_hh")
        second = run(cell)
        second.backward()
        if change in ("replaced", "history"):
            first.backward()
        return [parameter.grad for parameter in cell.parameters()]

    torch.testing.assert_close(grads(None), grads("reference"))


def test_a_weight_changed_in_place_after_it_was_read_is_refused() -> None:
    cell = cell_of()
    loss = run(cell)
    with torch.no_grad():
        cell.weight_hh.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    cell.zero_grad()
    run(cell).backward()
    check(cell, expected_of(cell))


@pytest.mark.parametrize("wrap", ["checkpoint", "reentrant", "copied", "hooked"])
def test_ways_of_training(wrap: str) -> None:
    cell = cell_of()
    if wrap == "copied":
        loss = run(cell)
        other = copy.deepcopy(cell)
        run(other).backward()
        check(other, expected_of(cell))
    elif wrap == "hooked":
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.clone(), lambda tensor: tensor):
            loss = run(cell)
    else:
        start = torch.zeros((), dtype=torch.float64, requires_grad=True)

        def whole(start: Tensor) -> Tensor:
            return run(cell) + start

        loss = torch.utils.checkpoint.checkpoint(whole, start, use_reentrant=wrap == "reentrant")
        loss = loss + 0
    loss.backward()
    check(cell, expected_of(cell))


def test_threads_that_share_a_cell() -> None:
    cell = cell_of()
    expected = expected_of(cell)
    found: list[tuple[Tensor, ...]] = []

    def work() -> None:
        for _ in range(5):
            found.append(torch.autograd.grad(run(cell), list(cell.parameters())))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 15
    for grads in found:
        torch.testing.assert_close(list(grads), expected)


@pytest.mark.parametrize("make", [torch.nn.GRUCell, anygru.GRUCell])
def test_an_accelerated_cell(make: Callable[..., torch.nn.Module]) -> None:
    cell = make(3, 5, bias=False, dtype=torch.float64)
    plain = torch.nn.GRUCell(3, 5, bias=False, dtype=torch.float64)
    plain.load_state_dict(cell.state_dict())
    if make is torch.nn.GRUCell:
        anygru.accelerate(cell)
    for module in (cell, plain):
        state = module(torch.ones(3, dtype=torch.float64))
        for _ in range(3):
            state = module(torch.ones(3, dtype=torch.float64), state)
        state.sum().backward()
    torch.testing.assert_close([p.grad for p in cell.parameters()], [p.grad for p in plain.parameters()])
