"""The operator's front: dropout, activations, autocast, transforms, and a table of bad inputs with their words."""

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers import Case, all_close, close

import anygru
from anygru.errors import ArgumentError, ArgumentTypeError, BackendError
from anygru.facts.weights import Weights
from anygru.functional import gru, gru_cell

CASE = Case(T=5, B=3, I=4, H=6)


def good(dtype=torch.float32, **changes):
    case = CASE._replace(**changes)
    return case.input(dtype), case.h_0(dtype), case.weights(dtype)


def test_activations_replace_sigmoid_and_tanh() -> None:
    x, h_0, weights = good(torch.float64)
    named, _ = gru(x, h_0, weights, gate_activation="hardsigmoid", activation="relu")
    called, _ = gru(x, h_0, weights, gate_activation=F.hardsigmoid, activation=lambda v: v.clamp(min=0))
    close(named, called)
    w_ih, w_hh, b_ih, b_hh = weights
    h = h_0[0]
    for t in range(CASE.T):
        ir, iz, i_n = F.linear(x[t], w_ih, b_ih).chunk(3, -1)
        hr, hz, hn = F.linear(h, w_hh, b_hh).chunk(3, -1)
        r, z = F.hardsigmoid(ir + hr), F.hardsigmoid(iz + hz)
        h = (1 - z) * F.relu(i_n + r * hn) + z * h
        close(named[t], h)


def test_a_callable_that_has_a_name_is_as_good_as_the_name() -> None:
    x, h_0, weights = good()
    output, _ = gru(x, h_0, weights, gate_activation=torch.sigmoid, activation=torch.tanh, backend="aten")
    close(output, gru(x, h_0, weights)[0])
    layer = anygru.GRU(4, 6, gate_activation=F.hardsigmoid, activation=F.relu)
    assert (layer.gate_activation, layer.activation) == ("hardsigmoid", "relu")


def test_dropout_draws_as_torch_does() -> None:
    layer = torch.nn.GRU(4, 6, 3, dropout=0.4, bidirectional=True)
    x = torch.randn(5, 3, 4)
    torch.manual_seed(7)
    expected, expected_h = layer(x)
    torch.manual_seed(7)
    output, h_n = gru(x, None, layer._flat_weights, dropout=0.4, training=True, bidirectional=True)
    close(output, expected)
    close(h_n, expected_h)
    output, _ = gru(x, None, layer._flat_weights, dropout=0.4, training=False, bidirectional=True)
    close(output, layer.eval()(x)[0])


@pytest.mark.parametrize("backend", ["cpu", "aten", "reference"])
@pytest.mark.parametrize("lengths", [None, (2, 5, 0)], ids=["dense", "ragged"])
@pytest.mark.parametrize("reset", ["after", "before"])
def test_reverse_is_the_second_direction(reset: str, lengths: tuple[int, ...] | None, backend: str) -> None:
    if (reset, backend) == ("before", "aten"):
        pytest.skip("torch has no such kernel")
    case = CASE._replace(bidirectional=True, reset=reset)
    x, h_0, weights = case.input(), case.h_0(), case.weights()
    options = {"reset": reset, "lengths": lengths}
    both, both_n = gru(x, h_0, weights, bidirectional=True, backend="reference", **options)
    alone, alone_n = gru(x, h_0[1:], weights[4:], reverse=True, backend=backend, **options)
    close(alone, both[..., CASE.H :])
    close(alone_n, both_n[1:])
    inputs = (x, h_0, *weights[4:])
    upstream = torch.randn_like(alone)
    found = torch.autograd.grad((alone, alone_n.sum()), inputs, (upstream, torch.tensor(1.0, dtype=x.dtype)))
    wanted = torch.autograd.grad(
        (both[..., CASE.H :], both_n[1:].sum()), inputs, (upstream, torch.tensor(1.0, dtype=x.dtype))
    )
    all_close(found, wanted)
    with torch.no_grad():
        close(gru(x, h_0[1:], weights[4:], reverse=True, backend=backend, **options)[0], alone)


def test_reverse_in_every_layer() -> None:
    case = CASE._replace(L=2)
    x, h_0, weights = case.input(), case.h_0(), case.weights()
    output, h_n = gru(x, h_0, weights, reverse=True)
    flipped, flipped_n = gru(x.flip(0), h_0, weights)
    close(output, flipped.flip(0))
    close(h_n, flipped_n)
    with pytest.raises(ArgumentError, match="reverse goes with one direction"):
        gru(x, h_0, weights, reverse=True, bidirectional=True)


@pytest.mark.parametrize("lengths", [None, (2, 5, 1)], ids=["dense", "ragged"])
def test_dropout_of_the_callers(lengths: tuple[int, ...] | None) -> None:
    case = CASE._replace(L=3, bidirectional=True)
    x, h_0, weights = case.input(), case.h_0(), case.weights()
    seen = []

    def halve(layer: int, output: torch.Tensor) -> torch.Tensor:
        seen.append((layer, tuple(output.shape)))
        return output * 0.5

    found, found_n = gru(x, h_0, weights, bidirectional=True, lengths=lengths, dropout=halve)
    shape = (5, 3, 12) if lengths is None else (8, 12)
    assert seen == [(1, shape), (2, shape)]
    halved = [w * 0.5 if i in (8, 12, 16, 20) else w for i, w in enumerate(weights)]
    expected, expected_n = gru(x, h_0, halved, bidirectional=True, lengths=lengths)
    close(found, expected)
    close(found_n, expected_n)


def test_dropout_of_the_callers_for_each_direction() -> None:
    case = CASE._replace(L=2, bidirectional=True)
    x, h_0, weights = case.input(), case.h_0(), case.weights()
    found, found_n = gru(x, h_0, weights, bidirectional=True, dropout=lambda layer, y: (y * 0.5, y * 3.0))
    scaled = [w * {8: 0.5, 12: 3.0}.get(i, 1.0) for i, w in enumerate(weights)]
    expected, expected_n = gru(x, h_0, scaled, bidirectional=True)
    close(found, expected)
    close(found_n, expected_n)
    for wrong in ([x], (x, x, x), None):
        with pytest.raises(ArgumentTypeError, match="dropout must return a tensor, or a tuple of 2"):
            gru(x, h_0, weights, bidirectional=True, dropout=lambda layer, y, wrong=wrong: wrong)


@pytest.mark.parametrize("reset", ["after", "before"])
def test_batched_gradients(reset: str) -> None:
    """As jacobian(vectorize=True) and hessian(vectorize=True) ask for them."""
    x, h_0, weights = good(torch.float64, reset=reset)
    output, h_n = gru(x, h_0, weights, reset=reset)
    inputs = (x, h_0, *weights)
    upstream = torch.randn(4, *output.shape, dtype=torch.float64)
    together = torch.autograd.grad(output, inputs, upstream, is_grads_batched=True, retain_graph=True)
    apart = [torch.autograd.grad(output, inputs, one, retain_graph=True) for one in upstream]
    for index, grad in enumerate(together):
        close(grad, torch.stack([one[index] for one in apart]))
    small = CASE._replace(T=2, B=1, I=2, H=3)
    w = [weight.detach() for weight in small.weights()]

    def call(v: torch.Tensor) -> torch.Tensor:
        return gru(v, None, w, reset=reset)[0]

    point = small.input().detach()
    jacobian = torch.autograd.functional.jacobian
    close(jacobian(call, point, vectorize=True), jacobian(call, point))
    hessian = torch.autograd.functional.hessian
    scalar = lambda v: call(v).square().sum()  # noqa: E731
    close(hessian(scalar, point, vectorize=True), hessian(scalar, point))


CHANGES = {
    "relu_": lambda output: output.relu_(),
    "add_": lambda output: output.add_(1.0),
    "index": lambda output: output.__setitem__((slice(1, 3), 0), 0.0),
    "a view": lambda output: output.transpose(0, 1).mul_(2.0),
    "data": lambda output: output.data.mul_(2.0),
    "NumPy": lambda output: np.multiply(output.detach().numpy(), 2.0, out=output.detach().numpy()),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("backend", ["cpu", "aten", "reference"])
@pytest.mark.parametrize("lengths", [None, (2, 5, 1)], ids=["dense", "ragged"])
def test_the_output_may_be_changed_in_place(lengths: tuple[int, ...] | None, backend: str, name: str) -> None:
    x, h_0, weights = good(torch.float64, L=2)
    inputs, found = (x, h_0, *weights), []
    for copies in (True, False):
        output, h_n = gru(x, h_0, weights, lengths=lengths, backend=backend)
        output = output.clone() if copies else output
        CHANGES[name](output)
        found.append(torch.autograd.grad(output.square().sum() + h_n.sum(), inputs))
    all_close(*found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_backward_reads_no_memory_of_the_output(dtype: torch.dtype) -> None:
    x, h_0, weights = good(dtype)
    results = gru(x, h_0, weights, backend="cpu")
    own = {tensor.untyped_storage().data_ptr() for tensor in results[0].grad_fn.saved_tensors}
    assert not own & {result.untyped_storage().data_ptr() for result in results}


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), float("nan")], ids=str)
@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize("batch", [1, 3, 9])
def test_a_state_that_is_not_finite(batch: int, reset: str, value: float) -> None:
    for dtype in (torch.float32, torch.float64):
        x, h_0, weights = good(dtype, B=batch, reset=reset)
        h_0 = h_0.detach()
        h_0[0, 0, 2] = value
        expected = gru(x, h_0, weights, reset=reset, backend="reference")[0]
        close(gru(x, h_0, weights, reset=reset)[0], expected)
        with torch.no_grad():
            close(gru(x, h_0, weights, reset=reset)[0], expected)


def test_cell_is_one_step() -> None:
    x, h_0, weights = good(torch.float64)
    for reset in ("after", "before"):
        expected, _ = gru(x[:1], h_0, weights, reset=reset)
        close(gru_cell(x[0], h_0[0], *weights, reset=reset), expected[0])
        close(gru_cell(x[0, 1], h_0[0, 1], *weights, reset=reset), expected[0, 1])
        close(
            gru_cell(x[0], None, *weights[:2], reset=reset),
            gru(x[:1], None, weights[:2], bias=False, reset=reset)[0][0],
        )


@pytest.mark.parametrize("reset", ["after", "before"])
def test_vmap_per_sample_gradients_and_jvp(reset: str) -> None:
    x, h_0, weights = good(torch.float64)
    x, h_0, weights = x.detach(), h_0.detach(), [w.detach() for w in weights]

    def loss(weights, sequence, h):
        return gru(sequence, h, weights, reset=reset)[0].square().sum()

    per_sample = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 1, 1))(weights, x, h_0)
    for b in range(CASE.B):
        alone = [w.clone().requires_grad_() for w in weights]
        loss(alone, x[:, b], h_0[:, b]).backward()
        for weight, batched in zip(alone, per_sample, strict=True):
            close(batched[b], weight.grad)

    tangent = torch.randn_like(x)
    _, forward = torch.func.jvp(lambda v: gru(v, h_0, weights, reset=reset)[0], (x,), (tangent,))
    step = 1e-6
    low, high = (gru(x + sign * step * tangent, h_0, weights, reset=reset)[0] for sign in (-1, 1))
    torch.testing.assert_close(forward, (high - low) / (2 * step), rtol=1e-6, atol=1e-8)


def test_a_tensor_that_outlives_a_transform_is_taken() -> None:
    """It has no memory, though torch's operators take it as any other."""
    x, h_0, weights = good()
    kept = []
    torch.func.grad(lambda each: (kept.append(each), each.sum())[1])(x)
    close(gru(kept[0], h_0, weights)[0], gru(x, h_0, weights)[0])
    close(gru_cell(kept[0][0], h_0[0], *weights), gru_cell(x[0], h_0[0], *weights))


def test_autocast_on_the_cpu_follows_the_state() -> None:
    x, h_0, weights = good()
    x, h_0 = x.repeat(1, 4, 1), h_0.repeat(1, 4, 1)  # fewer rows are multiplied as float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, h_n = gru(x.bfloat16(), h_0, weights)
    assert output.dtype is h_n.dtype is torch.float32
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision(
            "medium"
        )  # products in bfloat16, as autocast allows, where the CPU has units
        close(output, gru(x.bfloat16().float(), h_0, weights)[0])
    finally:
        torch.set_float32_matmul_precision(before)


def test_inference_mode_and_meta_device() -> None:
    x, h_0, weights = good()
    with torch.inference_mode():
        assert not gru(x, h_0, weights)[0].requires_grad
    meta = [tensor.detach().to("meta") for tensor in (x, h_0, *weights)]
    output, h_n = gru(meta[0], meta[1], meta[2:])
    assert (output.device.type, output.shape, h_n.shape) == ("meta", (5, 3, 6), (1, 3, 6))


def test_tied_weights_add_their_gradients() -> None:
    case = CASE._replace(I=6, L=2)
    x, h_0, weights = case.input(), case.h_0(), case.weights()[:4]
    gru(x, h_0, weights * 2)[0].sum().backward()
    tied = [weight.grad for weight in weights]
    apart = [weight.detach().requires_grad_() for weight in weights * 2]
    gru(x, h_0, apart)[0].sum().backward()
    for index, grad in enumerate(tied):
        close(grad, apart[index].grad + apart[index + 4].grad)


BAD = {
    "dimensions": (
        lambda x, h, w: gru(x[None], h, w),
        ArgumentError,
        "input must have 2 or 3 dimensions, got [1, 5, 3, 4]",
    ),
    "h_0 shape": (
        lambda x, h, w: gru(x, h[:, :2], w),
        ArgumentError,
        "h_0 must be [L*D, B, H] = [1, 3, 6], got [1, 2, 6]",
    ),
    "h_0 for one sequence": (
        lambda x, h, w: gru(x[:, 0], h, w),
        ArgumentError,
        "h_0 must be [L*D, H] for one sequence [T, I], got [1, 3, 6]",
    ),
    "h_0 dtype": (
        lambda x, h, w: gru(x, h.double(), w),
        ArgumentTypeError,
        "h_0 must be torch.float32 on cpu as input is, got torch.float64 on cpu",
    ),
    "integer input": (
        lambda x, h, w: gru(x.long(), None, w),
        ArgumentTypeError,
        "input must be float32, float64, bfloat16 or float16, got torch.int64",
    ),
    "weight dtype": (
        lambda x, h, w: gru(x, h, [w[0].detach().double(), *w[1:]]),
        ArgumentTypeError,
        "weights[0] must be torch.float32 on cpu as input is, got torch.float64 on cpu",
    ),
    "dtypes of weights": (
        lambda x, h, w: Weights.of([*w[:3], w[3].detach().double()]),
        ArgumentTypeError,
        "weights[3] must be torch.float32 on cpu as weights[0] is, got torch.float64 on cpu",
    ),
    "a layer for its weights": (
        lambda x, h, w: anygru.GRU.around(torch.nn.GRU(4, 6)),
        ArgumentTypeError,
        "weights must be Weights.of(tensors, bidirectional, bias), got GRU",
    ),
    "a layer for its tensors": (
        lambda x, h, w: Weights.of(torch.nn.GRU(4, 6)),
        ArgumentTypeError,
        "weights must be a list or tuple of tensors, got GRU",
    ),
    "state of a cell": (
        lambda x, h, w: gru_cell(x[0], h[0, :2], *w),
        ArgumentError,
        "h must be [B, H] = [3, 6], got [2, 6]",
    ),
    "dtype of a cell's state": (
        lambda x, h, w: gru_cell(x[0, 0], h[0, 0].double(), *w),
        ArgumentTypeError,
        "h must be torch.float32 on cpu as input is, got torch.float64 on cpu",
    ),
    "input size": (
        lambda x, h, w: gru(x[..., :3], h, w),
        ArgumentError,
        "input must have I = 4 features as the weights have, got 3",
    ),
    "double input": (
        lambda x, h, w: gru(x.double(), None, w),
        ArgumentTypeError,
        "input must be torch.float32 on cpu as the weights are, got torch.float64 on cpu",
    ),
    "input size and a weight": (
        lambda x, h, w: gru(x[..., :3], h, [*w[:3], w[3][:5]]),
        ArgumentError,
        "weights[0] (weight_ih of layer 0) must be [3*H, I] = [18, 3], got [18, 4]; "
        "H is 6 from weights[1] (weight_hh), I is 3 from input",
    ),
    "weight_hh": (
        lambda x, h, w: gru(x, h, [w[0], w[1][:, :5], *w[2:]]),
        ArgumentError,
        "weights[1] (weight_hh of layer 0) must be [3*H, H], got [18, 5]",
    ),
    "bias": (
        lambda x, h, w: gru(x, h, [*w[:3], w[3][:5]]),
        ArgumentError,
        "weights[3] (bias_hh of layer 0) must be [3*H] = [18], got [5]",
    ),
    "second layer": (
        lambda x, h, w: gru(x, None, w + w),
        ArgumentError,
        "weights[4] (weight_ih of layer 1) must be [3*H, I] = [18, 6], got [18, 4]; "
        "H is 6 from weights[1] (weight_hh), I is 6 from the layer below",
    ),
    "number of weights": (
        lambda x, h, w: gru(x, h, w[:3]),
        ArgumentError,
        "weights must hold 4 tensors a layer (bias=True, bidirectional=False), got 3 tensors",
    ),
    "no weights": (lambda x, h, w: gru(x, h, []), ArgumentError, "got 0 tensors"),
    "dropout": (
        lambda x, h, w: gru(x, h, w, dropout=1.5),
        ArgumentError,
        "dropout must be a probability between 0 and 1, got 1.5",
    ),
    "dropout as text": (
        lambda x, h, w: gru(x, h, w, dropout="a"),
        ArgumentTypeError,
        "dropout must be a probability between 0 and 1, got str",
    ),
    "h_0 as a list": (lambda x, h, w: gru(x, [0.0], w), ArgumentTypeError, "h_0 must be a tensor or None, got list"),
    "no list of weights": (
        lambda x, h, w: gru(x, h, dict(enumerate(w))),
        ArgumentTypeError,
        "weights must be a list or tuple of tensors, got dict",
    ),
    "an array as weight": (
        lambda x, h, w: gru(x, h, [w[0], w[1].detach().numpy(), *w[2:]]),
        ArgumentTypeError,
        "weights[1] must be a tensor, got ndarray",
    ),
    "sparse input": (
        lambda x, h, w: gru(x.to_sparse(), h, w),
        ArgumentTypeError,
        "input must be a dense tensor, got torch.sparse_coo",
    ),
    "activation of another shape": (
        lambda x, h, w: gru(x, h, w, activation=lambda values: values[:1]),
        ArgumentError,
        "activation must keep the shape [3, 6], got [1, 6]",
    ),
    "reset": (
        lambda x, h, w: gru(x, h, w, reset="later"),
        ArgumentError,
        "reset must be 'after' or 'before', got 'later'",
    ),
    "activation": (
        lambda x, h, w: gru(x, h, w, activation="tan"),
        ArgumentError,
        "activation must be one of sigmoid, tanh",
    ),
    "gate activation": (
        lambda x, h, w: gru(x, h, w, gate_activation=3),
        ArgumentTypeError,
        "gate_activation must be a name or a callable, got int",
    ),
    "backend": (lambda x, h, w: gru(x, h, w, backend="gpu"), ArgumentError, "got 'gpu'"),
    "backend that refuses": (
        lambda x, h, w: gru(x, h, w, backend="aten", reset="before"),
        BackendError,
        "backend='aten' cannot take this call: torch's own GRU knows reset='after' only",
    ),
    "form": (lambda x, h, w: gru("text", h, w), ArgumentTypeError, "input must be a tensor, a list of tensors"),
    "lengths with a list": (
        lambda x, h, w: gru([x[:, 0]], None, w, lengths=[5]),
        ArgumentError,
        "lengths goes with a padded tensor only",
    ),
    "lengths too long": (
        lambda x, h, w: gru(x, h, w, lengths=[1, 6, 2]),
        ArgumentError,
        "between 0 and the 5 steps of input, got 6",
    ),
    "lengths negative": (lambda x, h, w: gru(x, h, w, lengths=[1, -1, 2]), ArgumentError, "got -1"),
    "lengths of another batch": (
        lambda x, h, w: gru(x, h, w, lengths=[1]),
        ArgumentError,
        "lengths must be [B] = [3], got [1]",
    ),
    "lengths as floats": (
        lambda x, h, w: gru(x, h, w, lengths=[1.0, 2, 3]),
        ArgumentTypeError,
        "lengths must be integers",
    ),
    "list of unequal features": (
        lambda x, h, w: gru([x[:, 0], x[:, 0, :2]], None, w),
        ArgumentError,
        "input[1] must be [L, 4], got [5, 2]",
    ),
    "list of unequal dtypes": (
        lambda x, h, w: gru([x[:, 0], x[:, 0].double()], None, w),
        ArgumentTypeError,
        "input[1] must be",
    ),
    "empty list": (lambda x, h, w: gru([], None, w), ArgumentError, "without a sequence"),
    "cell with one bias": (lambda x, h, w: gru_cell(x[0], h[0], w[0], w[1], w[2]), ArgumentError, "b_ih and b_hh"),
    "cell's input": (lambda x, h, w: gru_cell(x, h, *w), ArgumentError, "input must be [B, I] or [I], got [5, 3, 4]"),
    "cell's input as a list": (
        lambda x, h, w: gru_cell([[0.0] * 4], h[0], *w),
        ArgumentTypeError,
        "input must be a tensor [B, I] or [I], got list",
    ),
    "cell's state as a number": (
        lambda x, h, w: gru_cell(x[0], 0, *w),
        ArgumentTypeError,
        "h must be a tensor or None",
    ),
    "cell's state": (lambda x, h, w: gru_cell(x[0], h, *w), ArgumentError, "h must have 2 dimensions"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_says_what_is_wrong(name: str) -> None:
    call, error, words = BAD[name]
    x, h_0, weights = good()
    with pytest.raises(error, match=re.escape(words)):
        call(x.detach(), h_0.detach(), weights)
