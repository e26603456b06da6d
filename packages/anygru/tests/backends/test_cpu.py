"""Promises of the native kernels only: every instruction set, batch invariance, accuracy, threads, and bad input."""

import os
import random
import subprocess
import sys
import threading
from typing import Literal

import numpy as np
import pytest
import torch
from helpers import Case, all_close, close, make_problem, with_kernels

from anygru.backends import cpu, cpu_backward, cpu_calls, reference
from anygru.facts import torch_private
from anygru.facts.problem import Call
from anygru.facts.quantization import Stored
from anygru.functional import gru, gru_cell
from anygru.layers import GRU

native = pytest.importorskip("anygru._native", reason="anygru was installed without its native kernels")
of_the_short_way = pytest.mark.needs_torch(2, 10, because="calls with an older torch take the general path")

SHAPES = [
    Case(T=1, B=1, I=3, H=1),
    Case(T=5, B=1, I=4, H=7),
    Case(T=4, B=3, I=5, H=17, L=2, bidirectional=True),
    Case(T=3, B=11, I=9, H=33, reset="before"),
    Case(T=6, B=19, I=20, H=50, L=3, bias=False),
    Case(T=3, B=2, I=130, H=140, bidirectional=True, reset="before", bias=False),
    Case(T=20, B=1, I=8, H=24, L=3),
    Case(T=7, B=6, I=5, H=19, L=2, bidirectional=True, lengths=(7, 5, 5, 2, 1, 0)),
    Case(T=7, B=6, I=5, H=19, reset="before", lengths=(7, 7, 4, 3, 0, 0)),
    Case(T=0, B=2),
    Case(T=3, B=0, bidirectional=True),
]


variant = with_kernels(native.variants())


def make_input(case: Case, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor | None]:
    """[T, B, I] and None, or packed rows and the batch sizes."""
    dense = case.input(dtype).detach()
    if case.lengths is None:
        return dense.requires_grad_(), None
    sizes = torch.tensor([sum(length > t for length in case.lengths) for t in range(case.T)])
    rows = torch.cat([dense[t, :size] for t, size in enumerate(sizes.tolist())])
    return rows.requires_grad_(), sizes


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_every_variant_equals_the_reference(variant: str, case: Case, dtype: torch.dtype) -> None:
    input, sizes = make_input(case, torch.float64)
    exact = (input, case.h_0(), *case.weights(scale=0.4))
    given = [tensor.detach().to(dtype).requires_grad_() for tensor in exact]
    expected = reference.run(make_problem(case), Call(exact[0], exact[1], exact[2:], sizes))
    actual = cpu.run(make_problem(case, dtype, True), Call(given[0], given[1], given[2:], sizes))
    for one, other in zip(actual, expected, strict=True):
        close(one, other.to(dtype))
    if not expected[0].numel():
        return
    upstream = [torch.randn(result.shape, dtype=torch.float64) for result in expected]
    truth = torch.autograd.grad(expected, exact, upstream)
    found = torch.autograd.grad(actual, given, [grad.to(dtype) for grad in upstream])
    for one, other in zip(found, truth, strict=True):
        close(one, other.to(dtype))
    with torch.no_grad():
        inference = cpu.run(make_problem(case, dtype), Call(given[0], given[1], given[2:], sizes))
    assert torch.equal(inference[0], actual[0])
    assert torch.equal(inference[1], actual[1])


def test_variants_with_fused_multiply_add_give_the_same_bits() -> None:
    case = Case(T=6, B=5, I=30, H=45, L=2, bidirectional=True)
    input, h_0, weights = case.input(torch.float32), case.h_0(torch.float32), case.weights(torch.float32)
    before, results = native.isa(), []
    for name in native.variants():
        if name != "baseline":  # rounds after the multiplication too
            native.use(name)
            with torch.no_grad():
                results.append(cpu.run(make_problem(case), Call(input, h_0, weights, None))[0])
    native.use(before)
    assert all(torch.equal(result, results[0]) for result in results)


@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("features", "hidden"), [(150, 40), (133, 256), (515, 72), (3, 16)])
def test_a_sequence_has_the_same_bits_in_every_batch(
    variant: str, reset: str, dtype: torch.dtype, features: int, hidden: int
) -> None:
    case = Case(T=9, B=21, I=features, H=hidden, reset=reset)
    input, h_0 = case.input(dtype).detach(), case.h_0(dtype).detach()
    weights = [weight.detach() for weight in case.weights(dtype, scale=0.1)]
    problem = make_problem(case, dtype)
    whole, last = cpu.run(problem, Call(input, h_0, weights, None))
    order = torch.randperm(case.B)
    assert torch.equal(cpu.run(problem, Call(input[:, order], h_0[:, order], weights, None))[0], whole[:, order])
    for b in (0, 7, 20):
        alone = cpu.run(problem, Call(input[:, b : b + 1], h_0[:, b : b + 1], weights, None))
        assert torch.equal(alone[0], whole[:, b : b + 1])
        assert torch.equal(alone[1], last[:, b : b + 1])
    # ... in chunks and step by step, which read the weights in their own order
    steps, state = [], h_0
    for t in range(case.T):
        output, state = cpu.run(problem, Call(input[t : t + 1], state, weights, None))
        steps.append(output)
    assert torch.equal(torch.cat(steps), whole)
    for count in (1, 2, 3, 4, 5):
        few, state = [], h_0[:, 3 : 3 + count]
        for t in range(case.T):
            output, state = cpu.run(problem, Call(input[t : t + 1, 3 : 3 + count], state, weights, None))
            few.append(output)
        assert torch.equal(torch.cat(few), whole[:, 3 : 3 + count])
    # ... among sequences of other lengths
    lengths = sorted([random.Random(1).randint(0, case.T) for _ in range(case.B)], reverse=True)
    sizes = torch.tensor([sum(length > t for length in lengths) for t in range(case.T)])
    rows = torch.cat([input[t, :size] for t, size in enumerate(sizes.tolist())])
    ragged, ragged_last = cpu.run(problem._replace(ragged=True), Call(rows, h_0, weights, sizes))
    for t, part in enumerate(ragged.split(sizes.tolist())):
        assert torch.equal(part, whole[t, : len(part)])
    for b, length in enumerate(lengths):
        assert torch.equal(ragged_last[0, b], whole[length - 1, b] if length else h_0[0, b])


@pytest.mark.parametrize("layers", [1, 3])
def test_prepared_weights_give_the_same_bits(variant: str, layers: int) -> None:
    case = Case(T=4, B=2, I=20, H=35, L=layers)
    weights = [weight.detach() for weight in case.weights(torch.float32)]
    input, h_0 = case.input(torch.float32).detach(), case.h_0(torch.float32).detach()
    expected = cpu.run(make_problem(case), Call(input, h_0, weights, None))
    prepared = cpu.Prepared(make_problem(case), [Stored(weight) for weight in weights])
    for weight in weights:
        weight.zero_()  # the copy is the stream's own
    actual = prepared.run(Call(input, h_0, ()))
    assert torch.equal(actual[0], expected[0])
    assert torch.equal(actual[1], expected[1])


def test_no_packed_copy_outlives_a_call() -> None:
    case = Case(T=4, B=2, I=20, H=35)
    weights = [weight.detach() for weight in case.weights(torch.float32)]
    input, h_0 = case.input(torch.float32).detach(), case.h_0(torch.float32).detach()
    for _ in range(2):
        close(
            cpu.run(make_problem(case), Call(input, h_0, weights, None))[0],
            reference.run(make_problem(case), Call(input, h_0, weights, None))[0],
        )
        for weight in weights:
            weight.mul_(-0.5)


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize(
    "case",
    [
        Case(T=30, B=1, I=64, H=200),
        Case(T=10, B=30, I=64, H=100, bidirectional=True, L=2),
        Case(T=40, B=1, I=64, H=64, L=4),
        Case(T=9, B=40, I=30, H=40, reset="before", lengths=tuple(range(9, -1, -1)) * 1 + (0,) * 30),
        Case(T=1, B=40, I=200, H=256),
        Case(T=3, B=20, I=150, H=70),
    ],
    ids=str,
)
def test_threads_do_not_change_the_result(threads: int, case: Case) -> None:
    input, sizes = make_input(case, torch.float32)
    inputs = [input, case.h_0(torch.float32), *case.weights(torch.float32, scale=0.2)]
    results = []
    before = torch.get_num_threads()
    for count in (1, threads, threads):
        torch.set_num_threads(count)
        try:
            output, h_n = cpu.run(make_problem(case, needs_grad=True), Call(inputs[0], inputs[1], inputs[2:], sizes))
            grads = torch.autograd.grad((output.sum(), h_n.sum()), inputs)
        finally:
            torch.set_num_threads(before)
        results.append((output, h_n, *grads))
    for found in results[1:]:
        assert all(torch.equal(one, other) for one, other in zip(found, results[0], strict=True))


def test_calls_from_several_python_threads() -> None:
    case = Case(T=20, B=4, I=64, H=96)
    weights = [weight.detach() for weight in case.weights(torch.float32, scale=0.2)]
    inputs = [case.input(torch.float32, seed=seed).detach() for seed in range(4)]
    h_0 = case.h_0(torch.float32).detach()
    expected = [cpu.run(make_problem(case), Call(input, h_0, weights, None))[0] for input in inputs]
    wrong = []

    def work(number: int) -> None:
        torch.set_num_threads(2)
        for _ in range(10):
            if not torch.equal(
                cpu.run(make_problem(case), Call(inputs[number], h_0, weights, None))[0], expected[number]
            ):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.set_num_threads(1)
    assert not wrong


FORKED = """
import os, resource, sys, torch
torch.set_num_threads(2)
import anygru
layer, x = anygru.GRU(64, 256), torch.randn(50, 8, 64)
a = torch.randn(600, 600)
a @ a, (torch.randn(4_000_000) + 1).sum()  # torch's own threads run
child = os.fork()
if child == 0:
    with torch.no_grad():
        if sys.argv[1] == "limited":
            pages = int(open("/proc/self/statm").read().split()[0])
            limit = pages * os.sysconf("SC_PAGE_SIZE") + (7 << 20)  # less than a thread's stack
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        torch.set_num_threads(4)
        first, second = layer(x)[0], layer(x)[0]
        torch.set_num_threads(1)  # torch itself must not use threads in a child
    os._exit(0 if torch.equal(first, second) else 1)
import time
for _ in range(3000):
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        sys.exit(os.waitstatus_to_exitcode(status))
    time.sleep(0.1)
os.kill(child, 9)
sys.exit("the child hangs")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("how", ["free", "limited"])
def test_a_child_computes_whose_parent_used_torchs_threads_and_not_ours(how: str) -> None:
    """Also where the system starts no thread for it."""
    # The matrix product of torch 2.4.1 itself also waits there; in torch 2.13 it ends the child.
    if how == "limited" and not torch_private.at_least(2, 6):
        pytest.skip("needs torch 2.6: an older torch waits without end in a child without memory for its threads")
    environment = dict(os.environ, OMP_NUM_THREADS="2")
    done = subprocess.run(
        [sys.executable, "-c", FORKED, how], capture_output=True, text=True, env=environment, timeout=6000
    )
    assert done.returncode == 0, done.stderr


ALONE = """
import os, resource, torch
import anygru
torch.set_num_threads(1)
layer, x = anygru.GRU(64, 256), torch.randn(50, 8, 64)
with torch.no_grad():
    expected = layer(x)[0]
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + (7 << 20)  # less than a thread's stack
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    torch.set_num_threads(4)
    raise SystemExit(0 if torch.equal(layer(x)[0], expected) else 1)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs the memory limits of Linux")
def test_a_process_computes_that_gets_no_second_thread() -> None:
    """OpenMP gives none, and the system none of our own."""
    environment = dict(os.environ, OMP_THREAD_LIMIT="1")
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_computes() -> None:
    program = """
import os, torch
from anygru.functional import gru
torch.set_num_threads(2)
weights = [torch.randn(300, 100) / 10, torch.randn(300, 100) / 10, torch.randn(300), torch.randn(300)]
input = torch.randn(20, 4, 100)
expected = gru(input, None, weights)[0]
child = os.fork()
if child == 0:
    os._exit(0 if torch.equal(gru(input, None, weights)[0], expected) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=600)


def errors(result: torch.Tensor, truth: torch.Tensor) -> tuple[float, float]:
    difference = (result.double() - truth).abs()
    return difference.max().item(), difference.square().mean().sqrt().item()


@pytest.mark.parametrize("kind", ["random", "saturated", "denormal", "long", "wide"])
def test_no_less_accurate_than_torch(kind: str) -> None:
    steps, batch, size = {"long": (10_000, 1, 24), "wide": (20, 1, 600)}.get(kind, (60, 4, 64))
    case = Case(T=steps, B=batch, I=size, H=size)
    scale = {"saturated": 20.0, "denormal": 1e-39}.get(kind, 1.0)
    weights = [weight.detach() * size**-0.5 for weight in case.weights(torch.float32, scale=1.0)]
    input = case.input(torch.float64).detach().mul(scale).float()
    h_0 = case.h_0(torch.float64).detach().mul(min(scale, 1.0)).float()
    truth = reference.run(make_problem(case), Call(input.double(), h_0.double(), [w.double() for w in weights], None))[
        0
    ]
    ours = errors(cpu.run(make_problem(case), Call(input, h_0, weights, None))[0], truth)
    theirs = errors(torch._VF.gru(input, h_0, weights, True, 1, 0.0, False, False, False)[0], truth)
    assert ours[1] <= 1.02 * theirs[1], (ours, theirs)
    # The single worst element of many is a matter of luck, within a factor.
    assert ours[0] <= 1.5 * theirs[0], (ours, theirs)


def test_activations_over_all_magnitudes() -> None:
    """Through a layer with the argument as its only input: z -> 0 with n = tanh(x), and h' = z h + ... with z = sigmoid(x)."""
    x = torch.cat([torch.logspace(-44, 2, 20_001), -torch.logspace(-44, 2, 20_001), torch.tensor([0.0, -0.0])])
    inf = float("inf")
    weight = torch.tensor([[0.0], [0.0], [1.0]])
    bias = torch.tensor([0.0, -inf, 0.0])
    zero = torch.zeros(3, 1), torch.zeros(3)
    problem = make_problem(Case(I=1, H=1))
    h_0 = torch.zeros(1, x.numel(), 1)
    got = cpu.run(problem, Call(x.view(1, -1, 1), h_0, [weight, zero[0], bias, zero[1]], None))[0].flatten().double()
    truth = x.double().tanh()
    ulp = torch.from_numpy(np.spacing(truth.float().abs().numpy())).double()
    assert ((got - truth).abs() / ulp).max() <= 2.5
    weight = torch.tensor([[0.0], [1.0], [0.0]])
    got = cpu.run(problem, Call(x.view(1, -1, 1), h_0 + 1, [weight, *zero, zero[1]][:2] + [zero[1], zero[1]], None))[0]
    truth = x.double().sigmoid()
    ulp = torch.from_numpy(np.spacing(truth.float().numpy())).double().clamp_min(1e-38)
    assert ((got.flatten().double() - truth).abs() / ulp).max() <= 2.5


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("hidden", [1, 8, 37])
def test_nan_and_infinity_propagate_as_in_torch(variant: str, value: float, hidden: int) -> None:
    case = Case(T=4, B=3, I=5, H=hidden)
    weights = [weight.detach() for weight in case.weights(torch.float32)]
    input, h_0 = case.input(torch.float32).detach(), case.h_0(torch.float32).detach()
    input[2, 1, 3] = value
    actual = cpu.run(make_problem(case), Call(input, h_0, weights, None))[0]
    expected = torch._VF.gru(input, h_0, weights, True, 1, 0.0, False, False, False)[0]
    assert torch.equal(actual.isnan(), expected.isnan())
    close(actual, expected)


@pytest.mark.parametrize("layout", ["batch first", "expanded", "every other", "offset", "reversed rows"])
def test_strided_input(layout: str) -> None:
    case = Case(T=6, B=4, I=5, H=9)
    weights = case.weights(torch.float64)
    base = torch.randn(12, 8, 11, dtype=torch.float64)
    input = {
        "batch first": base[:4, :6, :5].contiguous().transpose(0, 1),
        "expanded": base[:1, :1, :5].expand(6, 4, 5),
        "every other": base[::2, ::2, ::2][:6, :4, :5],
        "offset": base[3:9, 2:6, 1:6],
        "reversed rows": base[:6, :4, :5].flip(0),
    }[layout]
    problem = make_problem(case, torch.float64, needs_grad=True)
    h_0 = torch.randn(4, 1, 9, dtype=torch.float64).transpose(0, 1).requires_grad_()
    turned = [weight.t().contiguous().t() for weight in weights]
    found = torch.autograd.grad(cpu.run(problem, Call(input, h_0, turned, None))[0].sum(), (h_0, *weights))
    truth = torch.autograd.grad(reference.run(problem, Call(input, h_0, weights, None))[0].sum(), (h_0, *weights))
    all_close(found, truth)


def test_gradients_only_for_what_asks() -> None:
    case = Case(T=3, B=2, L=2, bidirectional=True)
    problem = make_problem(case, torch.float64, needs_grad=True)
    tensors = [case.input(), case.h_0(), *case.weights()]
    for wanted in ([0], [1], [2], [5, 9], list(range(2, len(tensors)))):
        given = [tensor.detach().requires_grad_(i in wanted) for i, tensor in enumerate(tensors)]
        results = [
            backend.run(problem, Call(given[0], given[1], given[2:], None))[1].sum() for backend in (cpu, reference)
        ]
        found, truth = (
            torch.autograd.grad(result, [given[i] for i in wanted], allow_unused=True) for result in results
        )
        for one, other in zip(found, truth, strict=True):
            close(one, torch.zeros_like(one) if other is None else other)


def test_gradients_can_be_differentiated_again() -> None:
    case = Case(T=3, B=2, I=2, H=3)
    tensors = [case.input(), case.h_0(), *case.weights()]
    problem = make_problem(case, torch.float64, needs_grad=True)
    assert torch.autograd.gradgradcheck(lambda x, h, *w: cpu.run(problem, Call(x, h, w, None)), tensors)


def test_the_native_module_refuses_what_does_not_fit() -> None:
    """Thousands of calls with one or two facts wrong; each must be refused before a pointer is touched."""
    generator = random.Random(0)
    case = Case(T=3, B=2, I=4, H=5, L=2, bidirectional=True)
    tensors = [case.input(torch.float32), case.h_0(torch.float32)]
    weights = case.weights(torch.float32)
    output, h_n = torch.zeros(3, 2, 10), torch.zeros(4, 2, 5)

    def address(tensor: torch.Tensor) -> tuple[int, int]:
        return tensor.data_ptr(), tensor.nbytes

    good = {
        "itemsize": 4, "steps": 3, "batch": 2, "input_size": 4, "hidden": 5, "layers": 2,
        "kind": native.Kind(True, True, False, False), "batch_sizes": None,
        "input": address(tensors[0]), "step_stride": 8, "row_stride": 4,
        "h_0": address(tensors[1]), "weights": [address(weight) for weight in weights], "output": address(output),
        "output_step_stride": 20, "output_row_stride": 10, "h_n": address(h_n), "reserve": None, "threads": 1,
    }  # fmt: skip
    native.forward(good)
    expected = output.clone()
    numbers = [-(2**62), -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 64, 2**31, 2**40, 2**62]
    refused = 0
    for _ in range(5000):
        bad = dict(good)
        for name in generator.sample(sorted(good), generator.choice((1, 1, 2, 3))):
            value = good[name]
            if name == "threads":
                bad[name] = generator.choice((-1, 0))
            elif name == "weights":
                changed = list(value)
                place = generator.randrange(len(changed))
                kind = generator.randrange(4)
                if kind == 0:
                    del changed[place]
                elif kind == 1:
                    changed[place] = (changed[place][0], changed[place][1] + generator.choice((-1, 1, 2**40)))
                elif kind == 2:
                    changed[place] = (generator.choice((0, changed[place][0] + 1)), changed[place][1])
                else:
                    changed.append(changed[place])
                bad[name] = changed
            elif isinstance(value, tuple):
                wrong_elements = value[1] + generator.choice((-2, -1, 1, 7, 2**50))
                bad[name] = generator.choice(((0, value[1]), (value[0] + 2, value[1]), (value[0], wrong_elements)))
            elif name == "kind":
                bad[name] = generator.choice(
                    (native.Kind(False, True, False, False), native.Kind(True, False, False, False))
                )
            elif isinstance(value, int):
                bad[name] = generator.choice([number for number in numbers if number != value])
            elif name == "batch_sizes":
                wrong = torch.tensor(generator.choice(([3, 2, 1], [1, 2, 2], [2, 2, -1], [2, 2], [2, 1, 1])))
                bad["_alive"], bad[name] = wrong, address(wrong)
            elif name == "reserve":
                bad[name] = (address(output)[0], generator.choice((1, 1916, 1924)))
        bad.pop("_alive", None)
        if bad == good:
            continue
        # The stride of an axis of size 1 may be any number; other arguments may not.
        with pytest.raises((ValueError, TypeError, OverflowError)):
            native.forward(bad)
        refused += 1
    assert refused > 4500
    assert torch.equal(output, expected)


@pytest.mark.parametrize("count", [1 << 60, 1 << 61, 1 << 62, -1])
def test_a_count_of_bytes_that_overflows_is_refused(count: int) -> None:
    """4 * 2^62 bytes are 0 in 64 bits, the number that is given here."""
    values = torch.zeros(4)
    with pytest.raises(ValueError, match="too large to address" if count > 0 else "must have 0 bytes, got 16"):
        native.sum_float32((values.data_ptr(), 0 if count > 0 else values.nbytes), count)


@of_the_short_way
def test_gradients_refuse_what_does_not_fit() -> None:
    rows, size, hidden = 2, 3, 4
    shapes = {
        "gates": (rows, 4 * hidden), "previous": (rows, hidden), "kept": (rows, 4, hidden), "input": (rows, size),
        "weight_ih_gradient": (3 * hidden, size), "weight_hh_gradient": (3 * hidden, hidden),
        "bias_ih_gradient": (3 * hidden,), "bias_hh_gradient": (3 * hidden,),
    }  # fmt: skip
    tensors = {name: torch.ones(shape) for name, shape in shapes.items()}
    good = {"itemsize": 4, "rows": rows, "input_size": size, "hidden": hidden}
    good |= {"adds": False, "threads": 1, "kind": native.Kind(False, True, False, False)}
    native.gradients({**good, **tensors})
    expected = {name: tensor.clone() for name, tensor in tensors.items()}
    for name in shapes:
        for wrong in (
            torch.ones(7),
            torch.ones(shapes[name]).double(),
            torch.ones(2, *shapes[name])[:, :1],
            (0, 4),
            "x",
        ):
            with pytest.raises((ValueError, TypeError)):
                native.gradients({**good, **tensors, name: wrong})
    for name, value in (
        ("itemsize", 2),
        ("rows", 0),
        ("rows", 3),
        ("hidden", -1),
        ("input_size", 2**62),
        ("kind", native.Kind(False, True, True, False)),
        ("threads", 0),
    ):
        with pytest.raises(ValueError, match="native kernel"):
            native.gradients({**good, **tensors, name: value})
    assert all(torch.equal(tensors[name], expected[name]) for name in shapes)


def test_gradients_through_norms_are_the_same_on_every_number_of_threads(variant: str) -> None:
    torch.manual_seed(0)
    layer = GRU(16, 64, norm="layer")
    input = torch.randn(4, 21, 16)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(torch.autograd.grad(layer(input)[0].sin().sum(), list(layer.parameters())))
    finally:
        torch.set_num_threads(before)
    for one, two in zip(*found, strict=True):
        assert torch.equal(one, two)


@of_the_short_way
@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize("bias", [True, False])
def test_backward_through_norms_in_one_call(
    variant: str, reset: Literal["after", "before"], bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu, "BackwardPass", None)  # the general way
    torch.manual_seed(0)
    layer = GRU(3, 19, bias=bias, reset=reset, norm="layer", dtype=torch.float64)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_()
    layer.gain_hh_l0.requires_grad_(False)
    weights = [weight for weight in layer.parameters() if weight.requires_grad]
    truth = GRU(3, 19, bias=bias, reset=reset, norm="layer", dtype=torch.float64, backend="reference")
    truth.load_state_dict(layer.state_dict())
    theirs = [weight for name, weight in truth.named_parameters() if name != "gain_hh_l0"]
    for steps, batch in ((1, 3), (4, 1), (3, 9)):
        input = torch.randn(steps, batch, 3, dtype=torch.float64, requires_grad=True)
        found = torch.autograd.grad(layer(input)[0].sin().sum(), [input, *weights])
        expected = torch.autograd.grad(truth(input)[0].sin().sum(), [input, *theirs])
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@of_the_short_way
def test_backward_of_a_layer_takes_plain_calls_only() -> None:
    """It declines all other calls, and the general way computes them."""

    def call(rows: int = 2, layers: int = 1, **changed: object) -> object:
        case = Case(T=rows, B=1, I=3, H=4, L=layers)
        weights = [weight.detach() for weight in case.weights()]
        output = torch.zeros(rows, 1, 4, dtype=torch.float64)
        given = {
            "grad_output": output, "grad_h_n": None, "input": case.input().detach(), "h_0": case.h_0().detach(),
            "weights": weights, "output": output, "reserve": torch.zeros(rows * 16, dtype=torch.float64),
            "kind": native.Kind(False, True, False, False), "needs": (True,) * (2 + len(weights)), "threads": 1,
        }  # fmt: skip
        return native.backward_of_layer({**given, **changed})

    found = call(needs=(True, False, True, True, False, True))
    assert [None if grad is None else grad.shape for grad in found] == [(2, 1, 3), None, (12, 3), (12, 4), None, (12,)]
    assert [grad.shape for grad in call(rows=5)][:2] == [(5, 1, 3), (1, 1, 4)]
    assert call(rows=2049) is None  # in pieces
    assert call(layers=2) is None
    assert call(grad_output=torch.zeros(2, 1, 4)) is None
    assert call(grad_output=torch.zeros(1, 1, 1, dtype=torch.float64).expand(2, 1, 4)) is None
    assert call(reserve=torch.zeros(0, dtype=torch.float64)) is None
    assert call(output=_Own(2, 1, 4)) is None
    with pytest.raises(ValueError, match="needs must have one value"):
        call(needs=(True, True))
    for name in ("reserve", "output"):
        with pytest.raises(ValueError, match="missing"):
            call(**{name: None})


class _Own(torch.Tensor):
    pass


def _unusual(kind: str, tensor: torch.Tensor) -> torch.Tensor:
    """The same values in a tensor that holds them in another order in memory."""
    if kind == "negative":
        return torch._neg_view(-tensor)
    if kind == "subclass":
        return tensor.as_subclass(_Own)
    if kind == "strided":
        return torch.stack((tensor, torch.full_like(tensor, torch.nan)), -1)[..., 0]
    memory = np.zeros(tensor.numel() * 4 + 4, np.uint8)
    own = memory[1 : 1 + tensor.numel() * 4].view("f4").reshape(tuple(tensor.shape))
    own[...] = tensor.numpy()
    return torch.from_numpy(own)  # misaligned


@pytest.mark.parametrize("kind", ["negative", "subclass", "strided", "misaligned"])
@pytest.mark.parametrize("place", range(6))
def test_unusual_tensors_count_as_their_values(kind: str, place: int) -> None:
    case = Case(T=3, B=2, I=4, H=5)
    tensors = [case.input(torch.float32), case.h_0(torch.float32), *case.weights(torch.float32)]
    tensors = [tensor.detach() for tensor in tensors]
    tensors[place] = _unusual(kind, tensors[place])
    plain = [tensor.as_subclass(torch.Tensor).resolve_neg().contiguous() for tensor in tensors]
    expected = gru(plain[0], plain[1], plain[2:])
    actual = gru(tensors[0], tensors[1], tensors[2:])
    assert torch.equal(actual[0].as_subclass(torch.Tensor), expected[0])
    assert torch.equal(actual[1].as_subclass(torch.Tensor), expected[1])


@of_the_short_way
def test_the_short_way_takes_plain_calls_only() -> None:
    case = Case(T=3, B=2, I=4, H=5, L=2, bidirectional=True)
    input, h_0 = case.input(torch.float32).detach(), case.h_0(torch.float32).detach()
    weights = [weight.detach() for weight in case.weights(torch.float32)]

    def short(input: object = input, h_0: object = h_0, weights: object = weights, both: bool = True) -> object:
        return native.dense(input, h_0, weights, native.Kind(both, True, False, False), 1, False)

    expected = reference.run(make_problem(case), Call(input, h_0, weights, None))
    for state, truth in ((h_0, expected), (None, gru(input, None, weights, bidirectional=True, backend="reference"))):
        for own in (weights, tuple(weights)):
            all_close(short(h_0=state, weights=own), truth)
    refused = [
        short(input[0]), short(input.double()), short(input[:, :0]), short(input[..., :3]), short(input.to_sparse()),
        short(input.to("meta")), short([[[1.0]]]), short(h_0=h_0[:3]), short(h_0=h_0.double()), short(h_0=3),
        short(weights=weights[:-1]), short(weights=[]), short(weights=[*weights[:3], weights[3].double(), *weights[4:]]),
        short(weights=[weights[1], weights[0], *weights[2:]]), short(weights="weights"), short(both=False),
        short(weights=[weights[0].t().contiguous().t(), *weights[1:]]), short(weights=[None, *weights[1:]]),
    ]  # fmt: skip
    assert refused == [None] * len(refused)


@of_the_short_way
@pytest.mark.parametrize(
    "case",
    [
        Case(T=1, B=1, I=128, H=256),
        Case(T=1, B=3, I=35, H=16, reset="before"),
        Case(T=1, B=9, I=6, H=40, bias=False),
        Case(T=4, B=2, I=300, H=37, L=2, bidirectional=True),
    ],
    ids=str,
)
def test_a_call_in_bfloat16_has_the_bits_of_its_numbers_in_float32(variant: str, case: Case) -> None:
    """Weights that are widened as they are read have the sums of weights that were float32 before the call."""
    tensors = [case.input(torch.float32), case.h_0(torch.float32), *case.weights(torch.float32, scale=0.3)]
    halves = [tensor.detach().bfloat16() for tensor in tensors]
    wide = [tensor.float() for tensor in halves]
    kind = native.Kind(case.bidirectional, case.bias, case.reset == "before", False)
    for layout in (halves[0], halves[0].transpose(0, 1).contiguous().transpose(0, 1)):
        for state, of_floats in ((halves[1], wide[1]), (None, None)):
            found = native.dense(layout, state, halves[2:], kind, 1, False)
            expected = native.dense(wide[0], of_floats, wide[2:], kind, 1, False)
            assert all(torch.equal(one, other.bfloat16()) for one, other in zip(found, expected, strict=True))
    if case.T == 1 and case.L == 1:
        step = native.cell(halves[0][0], halves[1][0], halves[2:], kind, 1, False)
        assert torch.equal(step, native.cell(wide[0][0], wide[1][0], wide[2:], kind, 1, False).bfloat16())
    mixed = [halves[2].float(), *halves[3:]]
    assert native.dense(halves[0], halves[1], mixed, kind, 1, False) is None
    assert native.dense(halves[0], wide[1], halves[2:], kind, 1, False) is None
    assert native.dense(halves[0], halves[1], halves[2:], kind, 1, True) is None


@of_the_short_way
@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize("bias", [True, False])
def test_the_short_way_of_one_step(variant: str, reset: str, bias: bool) -> None:
    case = Case(T=1, B=3, I=6, H=40, bias=bias, reset=reset)
    input, h_0 = case.input(torch.float32).detach()[0], case.h_0(torch.float32).detach()[0]
    weights = [weight.detach() for weight in case.weights(torch.float32)]

    def short(input: object = input, h: object = h_0, weights: object = weights) -> object:
        return native.cell(input, h, weights, native.Kind(False, bias, reset == "before", False), 2, False)

    whole = cpu.run(make_problem(case), Call(input[None], h_0[None], weights, None))[1][0]
    assert torch.equal(short(), whole)
    assert torch.equal(short(input=input[:, None].expand(3, 2, 6)[:, 1]), whole)
    assert torch.equal(short(input=input[1], h=h_0[1]), whole[1])
    close(short(h=None), reference.run(make_problem(case), Call(input[None], h_0[None] * 0, weights, None))[1][0])
    assert torch.equal(gru_cell(input, h_0, *weights, reset=reset), whole)
    refused = [
        short(input=input[None]), short(input=input.double()), short(input=input[:0]), short(input=input[:, :5]),
        short(input=input[:, ::2]), short(input=input[0]), short(h=h_0[0]), short(h=h_0[:2]), short(h=h_0.double()),
        short(h=h_0[:, :39]), short(h=3), short(weights=weights[:-1]), short(weights=weights + weights),
        short(weights=weights[::-1]), short(input=3), short(input=input[0, 0]),
    ]  # fmt: skip
    assert refused == [None] * len(refused)


@of_the_short_way
def test_without_the_table_of_functions_results_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under a torch that has no such table."""
    case = Case(T=3, B=1, I=4, H=32, L=2, bidirectional=True)

    def compute() -> list[torch.Tensor]:
        tensors = [case.input(torch.float32), case.h_0(torch.float32), *case.weights(torch.float32)]
        output, h_n = gru(tensors[0], tensors[1], tensors[2:], bidirectional=True)
        (output.sum() + h_n.sum()).backward()
        with torch.no_grad():
            plain = gru(tensors[0], tensors[1], tensors[2:], bidirectional=True)
        return [output, h_n, *plain, *(tensor.grad for tensor in tensors)]

    expected = compute()
    monkeypatch.setattr(cpu_calls, "reads_tensors", False)
    native.set_tensor_types(None, torch.Tensor, torch.nn.Parameter)
    try:
        assert native.dense(case.input(), None, case.weights(), native.Kind(True, True, False, False), 1, False) is None
        actual = compute()
    finally:
        native.set_tensor_types(torch.Tensor.__dlpack_c_exchange_api__, torch.Tensor, torch.nn.Parameter)
    assert all(torch.equal(one, other) for one, other in zip(actual, expected, strict=True))


@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize("lengths", [None, (9, 9, 7, 4, 4, 1, 0)])
@pytest.mark.parametrize("rows", [1, 5, 20])
def test_backward_in_pieces(
    monkeypatch: pytest.MonkeyPatch, reset: str, lengths: tuple[int, ...] | None, rows: int
) -> None:
    """A long sequence's gradients are summed a piece of its steps at a time."""
    case = Case(T=9, B=7, I=6, H=8, L=2, reset=reset, lengths=lengths)
    input, sizes = make_input(case, torch.float64)
    tensors = [input, case.h_0(), *case.weights()]
    results = [reference.run(make_problem(case), Call(tensors[0], tensors[1], tensors[2:], sizes))]
    results.append(cpu.run(make_problem(case, torch.float64, True), Call(tensors[0], tensors[1], tensors[2:], sizes)))
    upstream = [torch.randn_like(result) for result in results[0]]
    expected = torch.autograd.grad(results[0], tensors, upstream)
    monkeypatch.setattr(cpu_backward, "PIECE_BYTES", rows * 4 * 8 * case.H)
    monkeypatch.setattr(cpu_backward, "PIECE_ROWS", 1)
    all_close(torch.autograd.grad(results[1], tensors, upstream), expected)


@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize("steps_and_batch", [(1, 1), (2, 2), (1, 3), (4, 1), (1, 5)])
@pytest.mark.parametrize("frozen", [(), (0,), (1, 2), (3,), (4, 5)])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_gradients_of_few_rows(
    variant: str, reset: str, steps_and_batch: tuple[int, int], frozen: tuple, bidirectional: bool
) -> None:
    """One direction is one native call, with other kernels up to four rows; each tensor may require a gradient or not."""
    steps, batch = steps_and_batch
    case = Case(T=steps, B=batch, I=37, H=32, bidirectional=bidirectional, reset=reset)
    exact = [case.input(), case.h_0(), *case.weights(scale=0.4)]
    for place in frozen:
        exact[place].requires_grad_(False)
    given = [tensor.detach().float().requires_grad_(tensor.requires_grad) for tensor in exact]
    options = {"bidirectional": bidirectional, "reset": reset}
    for own, backend in ((exact, "reference"), (given, "cpu")):
        sum(part.sin().sum() for part in gru(own[0], own[1], own[2:], backend=backend, **options)).backward()
    for one, other in zip(given, exact, strict=True):
        assert (one.grad is None) == (other.grad is None)
        if one.grad is not None:
            close(one.grad, other.grad.float())


@of_the_short_way
@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize("batch", [None, 1, 7])
@pytest.mark.parametrize("frozen", [(), (0,), (1, 2), (None,)], ids=str)
def test_gradients_of_a_cell(reset: str, batch: int | None, frozen: tuple) -> None:
    """One node for a step, with or without a state, differentiable twice and in a batch; frozen None: no state."""
    case = Case(T=1, B=batch or 1, I=37, H=32, reset=reset)
    place = 0 if batch is None else slice(None)
    exact = [case.input()[0][place], case.h_0()[0][place], *case.weights(scale=0.4)]
    exact = [tensor.detach().requires_grad_(number not in frozen) for number, tensor in enumerate(exact)]
    given = [tensor.detach().float().requires_grad_(tensor.requires_grad) for tensor in exact]
    wanted = [
        number for number, tensor in enumerate(exact) if tensor.requires_grad and not (None in frozen and number == 1)
    ]

    def step(own: list[torch.Tensor], backend: str | None) -> tuple[torch.Tensor, list[torch.Tensor]]:
        state = gru_cell(own[0], None if None in frozen else own[1], *own[2:], reset=reset, backend=backend)
        return state, [own[number] for number in wanted]

    (state, own), (truth, theirs) = step(given, None), step(exact, "reference")
    assert "GRUCell" in state.grad_fn.name()
    for graph in (False, True):
        found = torch.autograd.grad(state.sin().sum(), own, create_graph=graph, retain_graph=True)
        expected = torch.autograd.grad(truth.sin().sum(), theirs, create_graph=graph, retain_graph=True)
        for one, other in zip(found, expected, strict=True):
            close(one, other.float())
    second = torch.autograd.grad(sum(grad.square().sum() for grad in found), own, retain_graph=True)
    truths = torch.autograd.grad(sum(grad.square().sum() for grad in expected), theirs)
    for one, other in zip(second, truths, strict=True):
        torch.testing.assert_close(one, other.float(), rtol=1e-3, atol=1e-4)
    rows = torch.eye(state.numel()).view(-1, *state.shape)[:3]
    batched = torch.autograd.grad(state, own, rows, is_grads_batched=True, retain_graph=True)
    for number, row in enumerate(rows):
        for one, other in zip(torch.autograd.grad(state, own, row, retain_graph=True), batched, strict=True):
            close(one, other[number])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize(
    "size", [(5, 1, 1, 1), (90, 3, 70, 21), (1, 600, 17, 8), (1, 70, 9, 170), (30, 20, 130, 41)], ids=str
)
def test_gradients_of_many_rows(variant: str, size: tuple[int, int, int, int], reset: str, dtype: torch.dtype) -> None:
    """Sums over more rows than one pass takes, of units and columns that are not a multiple of a tile's."""
    steps, batch, input_size, hidden = size
    case = Case(T=steps, B=batch, I=input_size, H=hidden, reset=reset)
    exact = [case.input(), case.h_0(), *case.weights(scale=0.4)]
    upstream = torch.randn(steps, batch, hidden, dtype=torch.float64)
    expected = torch.autograd.grad(
        gru(exact[0], exact[1], exact[2:], reset=reset, backend="reference")[0], exact, upstream
    )
    given = [tensor.detach().to(dtype).requires_grad_() for tensor in exact]
    results = []
    before = torch.get_num_threads()
    for threads in (1, 3):
        torch.set_num_threads(threads)
        try:
            output = gru(given[0], given[1], given[2:], reset=reset)[0]
            results.append(torch.autograd.grad(output, given, upstream.to(dtype)))
        finally:
            torch.set_num_threads(before)
    for one, other in zip(results[0], expected, strict=True):
        scale = float(other.abs().max())
        torch.testing.assert_close(
            one.double() / scale, other / scale, rtol=0, atol=1e-12 if dtype == torch.float64 else 3e-6
        )
    assert all(torch.equal(one, other) for one, other in zip(results[0][2:], results[1][2:], strict=True))


@pytest.mark.parametrize("what", ["input", "h_0", "weight"])
def test_a_wrong_dtype_never_reaches_the_kernel(what: str) -> None:
    case = Case(I=6, H=6)
    tensors = {
        "input": case.input(torch.float32),
        "h_0": case.h_0(torch.float32),
        "weight": case.weights(torch.float32),
    }
    if what == "weight":
        tensors["weight"][0] = tensors["weight"][0].double()
    else:
        tensors[what] = tensors[what].double()
    with torch.no_grad(), pytest.raises(RuntimeError, match="contiguous CPU tensor of torch.float32"):
        cpu.run(make_problem(case), Call(tensors["input"], tensors["h_0"], tensors["weight"], None))


def test_the_environment_chooses_the_instruction_set() -> None:
    program = "from anygru import _native; print(_native.isa())"

    def isa(name: str) -> subprocess.CompletedProcess:
        environment = {**os.environ, "ANYGRU_CPU_ISA": name}
        return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)

    assert isa("baseline" if "baseline" in native.variants() else "neon").stdout.strip() in ("baseline", "neon")
    wrong = isa("sse9")
    assert wrong.returncode != 0
    assert "ANYGRU_CPU_ISA" in wrong.stderr
    assert native.variants()[0] in wrong.stderr


def test_the_kernels_load_with_the_first_call() -> None:
    program = "import sys, anygru; sys.exit('anygru._native' in sys.modules or 'anygru.backends.cpu' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
