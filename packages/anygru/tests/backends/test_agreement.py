"""Every backend against float64 NumPy and against the reference: values and all gradients, on every case that it accepts."""

import os

import pytest
import torch
from helpers import CASES, Case, close, detached, numpy_gru

from anygru import backends
from anygru.errors import BackendError
from anygru.functional import gru
from anygru.layers import GRU

NAMES = [name for name in backends.NAMES if name not in ("cudnn", "triton")]  # test_gpu.py has them
REQUIRED = [name for name in os.environ.get("ANYGRU_REQUIRE", "").split(",") if name]


def compute(case: Case, backend: str, dtype: torch.dtype = torch.float64):
    weights, x, h_0 = case.weights(dtype), case.input(dtype), case.h_0(dtype)
    try:
        output, h_n = gru(x, h_0, weights, backend=backend, **case.options)
    except BackendError as error:
        if backend in REQUIRED:
            raise
        pytest.skip(str(error))
    return (x, h_0, *weights), output, h_n


@pytest.mark.parametrize("backend", NAMES)
@pytest.mark.parametrize("name", CASES)
def test_values_against_numpy(name: str, backend: str) -> None:
    case = CASES[name]
    (x, h_0, *weights), output, h_n = compute(case, backend)
    expected, expected_h = numpy_gru(case, *detached([x, h_0]), detached(weights))
    close(output, torch.from_numpy(expected))
    close(h_n, torch.from_numpy(expected_h))


@pytest.mark.parametrize("backend", [name for name in NAMES if name != "reference"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_against_reference(name: str, dtype: torch.dtype, backend: str) -> None:
    case = CASES[name]
    found = {}
    for chosen in (backend, "reference"):
        tensors, output, h_n = compute(case, chosen, dtype)
        results = [result for result in (output, h_n) if result.requires_grad]  # no step: no way back from the output
        upstream = [
            torch.randn(t.shape, generator=torch.Generator().manual_seed(t.dim() + len(t))).to(dtype) for t in results
        ]
        found[chosen] = torch.autograd.grad(results, tensors, upstream, allow_unused=True)
    for index, (grad, expected) in enumerate(zip(found[backend], found["reference"], strict=True)):
        if grad is None or expected is None:
            left = grad if grad is not None else expected
            assert left is None or not left.any(), index
        else:
            close(grad, expected, tensor=index)


@pytest.mark.parametrize("backend", NAMES)
@pytest.mark.parametrize("reset", ["after", "before"])
def test_double_backward(backend: str, reset: str) -> None:
    case = Case(T=3, B=2, I=2, H=3, reset=reset)
    (x, h_0, *weights), _, _ = compute(case, backend)

    def run(x, h_0, *weights):
        return gru(x, h_0, weights, backend=backend, reset=reset)

    assert torch.autograd.gradcheck(run, (x, h_0, *weights))
    assert torch.autograd.gradgradcheck(run, (x, h_0, *weights))


@pytest.mark.parametrize("backend", NAMES)
def test_some_weights_frozen(backend: str) -> None:
    case = CASES["deep"]
    (x, h_0, *weights), output, _ = compute(case, backend)
    expected = torch.autograd.grad(output.square().sum(), weights)
    kept = [weight.detach().requires_grad_(index % 3 == 0) for index, weight in enumerate(weights)]
    output, _ = gru(x.detach(), h_0.detach(), kept, backend=backend)
    output.square().sum().backward()
    for weight, full in zip(kept, expected, strict=True):
        if weight.requires_grad:
            close(weight.grad, full)
        else:
            assert weight.grad is None


@pytest.mark.parametrize("backend", NAMES)
def test_strided_and_transposed_inputs(backend: str) -> None:
    case = CASES["plain"]
    (x, h_0, *weights), output, h_n = compute(case, backend)
    wide = torch.zeros(case.B, 2 * case.T, case.I, dtype=x.dtype)
    wide[:, ::2] = x.detach().transpose(0, 1)
    strided = [weight.detach().t().contiguous().t() for weight in weights]
    again, h_again = gru(
        wide[:, ::2], h_0.detach().expand(3, 1, case.B, case.H)[1], strided, batch_first=True, backend=backend
    )
    close(again.transpose(0, 1), output)
    close(h_again, h_n)


@pytest.mark.parametrize("backend", NAMES)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e4, 1e-310], ids=str)
def test_unusual_numbers_as_in_torch(backend: str, value: float) -> None:
    case = Case(T=4, B=3)
    (x, h_0, *weights), _, _ = compute(case, backend)
    with torch.no_grad():
        x[1, 1, 2] = value
    output, _ = gru(x, h_0, weights, backend=backend)
    expected, _ = torch._VF.gru(x, h_0, weights, True, 1, 0.0, False, False, False)
    close(output, expected)


@pytest.mark.parametrize("backend", NAMES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["float16", "bfloat16"])
def test_half_precision(backend: str, dtype: torch.dtype) -> None:
    case = CASES["odd sizes"]
    (x, h_0, *weights), output, h_n = compute(case, backend, dtype)
    assert output.dtype is dtype
    expected, expected_h = numpy_gru(case, *detached([x, h_0]), detached(weights))
    close(output, torch.from_numpy(expected))
    close(h_n, torch.from_numpy(expected_h))


def test_second_derivatives_of_a_state_that_came_from_the_same_weights() -> None:
    """A sequence in two chunks: the state before the second comes from the weights, and is not the second call's."""

    def derivatives(cut: bool) -> list[torch.Tensor]:
        torch.manual_seed(0)
        layer = GRU(3, 5, dtype=torch.float64)
        input, parameters = torch.randn(4, 2, 3, dtype=torch.float64), list(layer.parameters())
        _, h_n = layer(input[2:], layer(input[:2])[1]) if cut else layer(input)
        grads = torch.autograd.grad(h_n.square().sum(), parameters, create_graph=True)
        return [*grads, *torch.autograd.grad(sum(grad.square().sum() for grad in grads), parameters)]

    torch.testing.assert_close(derivatives(True), derivatives(False))
