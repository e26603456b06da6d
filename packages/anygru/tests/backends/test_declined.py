"""Which calls the native module reads in place, which it gets a copy of, and which go another way, and why.

Of the four ways the first two are one native call for each pass; "general" is checks in Python around the same kernels, and
"reference" plain torch.
"""

import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

import anygru
from anygru.backends import cpu, cpu_calls, reference

B, T, FEATURES, H = 3, 4, 5, 6


def negative(tensor: Tensor) -> Tensor:
    return torch._neg_view(-tensor)


def spread(tensor: Tensor) -> Tensor:
    """Values with gaps between them."""
    return torch.stack((tensor, torch.full_like(tensor, torch.nan)), -1)[..., 0]


def in_wider_rows(tensor: Tensor) -> Tensor:
    return torch.cat((tensor, torch.full_like(tensor, torch.nan)), -1)[..., : tensor.shape[-1]]


def steps_last(tensor: Tensor) -> Tensor:
    """As a step `x[:, t]` of a batch-first tensor, or as a batch-first tensor itself."""
    if tensor.dim() == 3:
        return tensor.transpose(0, 1).contiguous().transpose(0, 1)
    return torch.stack((torch.full_like(tensor, torch.nan), tensor), 1)[:, 1]


def misaligned(tensor: Tensor) -> Tensor:
    memory = np.zeros(tensor.numel() * 4 + 4, np.uint8)
    own = memory[1 : 1 + tensor.numel() * 4].view("f4").reshape(tuple(tensor.shape))
    own[...] = tensor.numpy()
    return torch.from_numpy(own)


class Own(Tensor):
    pass


def subclass(tensor: Tensor) -> Tensor:
    return tensor.as_subclass(Own)


def same(tensor: Tensor) -> Tensor:
    return tensor


PLACE, COPY, GENERAL, REFERENCE = "in place", "copied", "general", "reference"

# Each unusual form, and the ways of a cell in inference and in training, a layer in inference and in training.
INPUTS = {
    same: (PLACE, PLACE, PLACE, PLACE),
    # Rows may be anywhere for the forward pass; the gradient of weight_ih reads them in order.
    steps_last: (PLACE, COPY, PLACE, COPY),
    in_wider_rows: (PLACE, COPY, PLACE, COPY),
    # The values of a row have no stride. A layer's general way also copies, and costs little against many steps.
    spread: (COPY, COPY, GENERAL, GENERAL),
    negative: (COPY, COPY, GENERAL, GENERAL),
    misaligned: (COPY, COPY, GENERAL, GENERAL),
    # A class of tensors may give its memory another meaning: only its operators are called.
    subclass: (GENERAL, GENERAL, GENERAL, GENERAL),
}
STATES = INPUTS | {in_wider_rows: (COPY, COPY, GENERAL, GENERAL)}
del STATES[steps_last]
CASES = [("input", make, place, way) for make, ways in INPUTS.items() for place, way in enumerate(ways)]
CASES += [("state", make, place, way) for make, ways in STATES.items() for place, way in enumerate(ways)]


class Ways:
    """Records by which ways calls go."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.seen: set[str] = set()
        self.watch(patch, reference, "run", lambda _: REFERENCE)
        self.watch(patch, reference, "gradients", lambda _: REFERENCE)
        self.watch(patch, cpu_calls, "forward", lambda _: GENERAL)
        self.watch(patch, cpu, "BackwardPass", lambda _: GENERAL)
        self.watch(patch, cpu_calls, "copied", lambda found: PLACE if found is None else COPY)

    def watch(self, patch: pytest.MonkeyPatch, owner: object, name: str, way: Callable[[object], str]) -> None:
        original = getattr(owner, name)

        def call(*arguments: object) -> object:
            found = original(*arguments)
            self.seen.add(way(found))
            return found

        patch.setattr(owner, name, call)

    def slowest(self) -> str:
        return max(self.seen, default=PLACE, key=(PLACE, COPY, GENERAL, REFERENCE).index)


@pytest.mark.needs_torch(2, 10, because="calls with an older torch take the general path")
@pytest.mark.parametrize(
    ("argument", "make", "place", "way"), CASES, ids=lambda one: getattr(one, "__name__", str(one))
)
def test_ways(argument: str, make: Callable[[Tensor], Tensor], place: int, way: str, monkeypatch) -> None:
    trains, cell = bool(place % 2), place < 2
    torch.manual_seed(0)
    layer = anygru.GRUCell(FEATURES, H) if cell else anygru.GRU(FEATURES, H)
    input, state = torch.randn(T, B, FEATURES), torch.randn(1, B, H)
    call = (input[0], state[0]) if cell else (input, state)
    unusual = tuple(
        make(one) if (name == argument) else one for name, one in zip(("input", "state"), call, strict=True)
    )
    expected, grads = run(layer, call, trains)
    ways = Ways(monkeypatch)
    found, own_grads = run(layer, unusual, trains)
    assert torch.equal(found, expected)
    torch.testing.assert_close(own_grads, grads, rtol=1e-5, atol=1e-6)
    assert ways.slowest() == way


def run(layer: torch.nn.Module, call: tuple[Tensor, ...], trains: bool) -> tuple[Tensor, list[Tensor]]:
    with torch.set_grad_enabled(trains):
        given = [tensor.detach().requires_grad_(trains) for tensor in call]
        output = layer(*given)
        output = output[0] if isinstance(output, tuple) else output
        grads = list(torch.autograd.grad(output.square().sum(), [*given, *layer.parameters()])) if trains else []
    plain = [grad.as_subclass(Tensor) for grad in grads]
    return output.detach().as_subclass(Tensor), plain


@pytest.mark.needs_torch(2, 10, because="calls with an older torch take the general path")
@pytest.mark.parametrize("make", [same, steps_last, spread])
def test_a_loop_over_steps_never_goes_to_the_reference(make: Callable[[Tensor], Tensor], monkeypatch) -> None:
    """From the second step on the rows are collected, and copied once when they are joined."""
    torch.manual_seed(0)
    cell, steps = anygru.GRUCell(FEATURES, H), torch.randn(T, B, FEATURES)

    def loop(make: Callable[[Tensor], Tensor]) -> list[Tensor]:
        inputs, h = [make(step).requires_grad_() for step in steps], torch.zeros(B, H)
        for step in inputs:
            h = cell(step, h)
        return list(torch.autograd.grad(h.square().sum(), [*inputs, *cell.parameters()]))

    expected = loop(same)
    ways = Ways(monkeypatch)
    torch.testing.assert_close(loop(make), expected, rtol=1e-5, atol=1e-6)
    assert REFERENCE not in ways.seen
    assert GENERAL not in ways.seen


def test_many_rows_of_one_step_with_gaps() -> None:
    """The rows of one product, so that they are not joined with others."""
    torch.manual_seed(0)
    cell, x = anygru.GRUCell(FEATURES, H), torch.randn(2, 300, FEATURES)
    ours, plain = ([make(step) for step in x] for make in (spread, same))

    def gradients(inputs: list[Tensor]) -> tuple[Tensor, ...]:
        h = cell(inputs[1], cell(inputs[0]))
        return torch.autograd.grad(h.square().sum(), list(cell.parameters()))

    torch.testing.assert_close(gradients(ours), gradients(plain), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "words"),
    [(same, None), (steps_last, None), (spread, r"copies input: its strides are \(10, 2\)"),
     (negative, "copies input: its memory holds the negative of its values"),
     (misaligned, "copies input: its memory is not aligned")],
)  # fmt: skip
def test_explain_names_what_is_copied(make: Callable[[Tensor], Tensor], words: str | None) -> None:
    cell = anygru.GRUCell(FEATURES, H)
    text = str(anygru.explain(cell, make(torch.randn(B, FEATURES))))
    assert "cpu        computes this call" in text
    if words is None:
        assert "copies" not in text
    else:
        assert re.search(words, text)
    cell.weight_hh.data = torch.randn(H, 3 * H).t()
    assert "copies weights[1]: its strides are (1, 18)" in str(anygru.explain(cell, torch.randn(B, FEATURES)))
