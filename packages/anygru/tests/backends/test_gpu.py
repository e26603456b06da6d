"""The backends on a CUDA device against the reference in float64, values and all gradients: `make test-gpu`."""

import copy

import pytest
import torch
from helpers import CASES, Case, close

import anygru
from anygru.errors import BackendError
from anygru.extend import layer_of_torch
from anygru.functional import gru

pytestmark = pytest.mark.gpu
LARGE = {
    "one of 16 tiles": Case(T=20, B=16, I=8, H=256),
    "several tiles a program": Case(T=12, B=300, I=8, H=500),
    "all processors": Case(T=9, B=40, I=8, H=1024),
    "two directions, all processors": Case(T=9, B=3, I=8, H=1000, bidirectional=True),
    "weights that fit nowhere": Case(T=7, B=35, I=8, H=2100),
    "a long sequence": Case(T=2000, B=2, I=8, H=200),
    "many sequences": Case(T=5, B=3000, I=8, H=64),
    "ragged": Case(T=49, B=50, I=8, H=300, L=2, bidirectional=True, lengths=tuple(range(50))),
}
TIMES = 20
"""All calls must give the same bits: a race would change some."""


def compare(case: Case, backend: str, dtype: torch.dtype, decay: torch.Tensor | None = None) -> None:
    """Both on the device, so that the reference is fast enough; weights so small that states do not saturate."""
    scale = min(0.6, 1.5 / case.H**0.5)
    given = [*case.weights(dtype, scale), case.input(dtype), case.h_0(dtype)]
    given += [] if decay is None else [decay.to(dtype)]
    found = {}
    for name, kind in ((backend, dtype), ("reference", torch.float64)):
        tensors = [tensor.detach().cuda().to(kind).requires_grad_() for tensor in given]
        count = len(given) - 2 - (decay is not None)
        changes = {} if decay is None else {"decay": tensors[-1]}
        try:
            weights, (x, h_0) = tensors[:count], tensors[count : count + 2]
            output, h_n = gru(x, h_0, weights, backend=name, **case.options, **changes)
        except BackendError as error:
            pytest.skip(str(error))
        upstream = [torch.linspace(-1, 1, t.numel(), device="cuda").to(kind).view(t.shape) for t in (output, h_n)]
        found[name] = (output, h_n, *torch.autograd.grad((output, h_n), tensors, upstream))
    for index, (actual, expected) in enumerate(zip(*found.values(), strict=True)):
        # cuDNN's values are good to 1e-5, as torch's own tests take them to be; its gradients came to six times our tolerance.
        # Rounding adds up from step to step: over 2000 of them it came to twice the tolerance.
        times = 10.0 if backend == "cudnn" else max(1.0, case.T / 500)
        close(actual.cpu(), expected.cpu(), times=times, tensor=index)


@pytest.mark.parametrize("backend", ["cudnn", "triton"])
@pytest.mark.parametrize("name", CASES)
def test_small_cases(name: str, backend: str) -> None:
    compare(CASES[name], backend, torch.float32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize("name", LARGE)
def test_large_cases(name: str, reset: str, dtype: torch.dtype) -> None:
    compare(LARGE[name]._replace(reset=reset), "triton", dtype)


@pytest.mark.parametrize("hidden", [20, 300, 2100])
@pytest.mark.parametrize("reset", ["after", "before"])
@pytest.mark.parametrize("wide", [False, True])
def test_decay(wide: bool, reset: str, hidden: int) -> None:
    case = Case(T=9, B=20, I=5, H=hidden, reset=reset)
    decay = torch.rand(case.T, case.B, hidden if wide else 1)
    decay[3, 2] = 0
    compare(case, "triton", torch.float32, decay)


@pytest.mark.parametrize("hidden", [100, 1000, 2100])
@pytest.mark.parametrize("reset", ["after", "before"])
def test_calls_give_the_same_bits(reset: str, hidden: int) -> None:
    layer = anygru.GRU(8, hidden, bidirectional=True, reset=reset, backend="triton").cuda()
    input = torch.randn(50, 20, 8, device="cuda")
    first = None
    for _ in range(TIMES):
        output, _ = layer(input)
        grads = torch.autograd.grad(output.square().mean(), list(layer.parameters()))
        first = (output, *grads) if first is None else first
        assert all(map(torch.equal, first, (output, *grads)))


def test_tf32_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = anygru.GRU(8, 300, reset="before", backend="triton").cuda()
    input = torch.randn(20, 4, 8, device="cuda")
    exact = layer(input)[0]
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", True)
    rounded = layer(input)[0]
    assert not torch.equal(exact, rounded)
    torch.testing.assert_close(exact, rounded, rtol=2e-2, atol=2e-3)


def test_autocast_and_a_graph() -> None:
    layer = anygru.GRU(8, 100, reset="before").cuda()
    input = torch.randn(20, 4, 8, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        output = layer(input)[0]
    assert output.dtype is torch.bfloat16
    output.float().sum().backward()
    assert all(weight.grad.isfinite().all() for weight in layer.parameters())
    with torch.no_grad():
        expected = layer(input)[0]
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = layer(input)[0]
        graph.replay()
    assert torch.equal(captured, expected)


def test_second_derivatives() -> None:
    layer = anygru.GRU(3, 5, reset="before", backend="triton").cuda()
    input = torch.randn(4, 2, 3, device="cuda", requires_grad=True)
    (grad,) = torch.autograd.grad(layer(input)[0].square().sum(), input, create_graph=True)
    grad.square().sum().backward()
    assert input.grad.isfinite().all()


def test_the_weights_of_a_layer_lie_in_one_buffer() -> None:
    """Without it torch warns at each call, which is an error here, and takes twice the time."""
    layer = anygru.GRU(5, 8, 2, bidirectional=True)
    input, before = torch.randn(6, 3, 5), {name: value.clone() for name, value in layer.state_dict().items()}
    expected = layer(input)[0]
    for make in (lambda: layer.cuda(), lambda: copy.deepcopy(layer), lambda: layer.double().float()):
        moved = make()
        assert len({weight.untyped_storage().data_ptr() for weight in moved.parameters()}) == 1
        assert all(torch.equal(value.cpu(), before[name]) for name, value in moved.state_dict().items())
        close(moved(input.cuda())[0].cpu(), expected)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(input.cuda())[0].sum().backward()
    optimizer.step()
    assert not any(torch.equal(value.cpu(), before[name]) for name, value in layer.state_dict().items())
    close(layer(input.cuda())[0].cpu(), layer.cpu()(input)[0])
    made_there = anygru.GRU(5, 8, device="cuda")
    assert len({weight.untyped_storage().data_ptr() for weight in made_there.parameters()}) == 1


@pytest.mark.parametrize("kind", ["lstm", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("training", [False, True])
def test_torchs_other_layers_have_gradients_in_evaluation_too(kind: str, training: bool) -> None:
    gates = 4 if kind == "lstm" else 1
    shapes = [(gates * 8, 5), (gates * 8, 8), (gates * 8,), (gates * 8,)]
    found = {}
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        weights = [torch.randn(shape).mul(0.3).to(device).requires_grad_() for shape in shapes]
        input, h_0 = torch.randn(6, 3, 5).to(device).requires_grad_(), torch.zeros(1, 3, 8, device=device)
        states = (h_0, h_0) if kind == "lstm" else h_0
        output, *_ = layer_of_torch(kind)(input, states, weights, True, 1, 0.5, training, False, False)
        found[device] = [output, *torch.autograd.grad(output.square().sum(), [input, *weights])]
        sizes = torch.tensor([3, 3, 2, 1])
        rows = input.flatten(0, 1)[:9]
        output, *_ = layer_of_torch(kind)(rows, sizes, states, weights, True, 1, 0.0, training, False)
        found[device] += [output, *torch.autograd.grad(output.square().sum(), weights)]
    for actual, expected in zip(found["cuda"], found["cpu"], strict=True):
        torch.testing.assert_close(actual.cpu(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.compiles
def test_a_compiled_layer() -> None:
    layer = anygru.GRU(3, 40, reset="before").cuda()
    input = torch.randn(6, 2, 3, device="cuda")
    output, expected = torch.compile(layer, fullgraph=True)(input)[0], layer(input)[0]
    torch.testing.assert_close(output, expected)
    grads = [torch.autograd.grad(result.square().sum(), list(layer.parameters())) for result in (output, expected)]
    for actual, wanted in zip(*grads, strict=True):
        torch.testing.assert_close(actual, wanted, rtol=1e-4, atol=1e-5)


def test_the_choice() -> None:
    input = torch.randn(5, 2, 3, device="cuda")
    assert anygru.explain(anygru.GRU(3, 4).cuda(), input).backend == "cudnn"
    assert anygru.explain(anygru.GRU(3, 4, reset="before").cuda(), input).backend == "triton"


LIKE_TORCH = {
    "one layer": {},
    "deep, two directions": {"num_layers": 2, "bidirectional": True},
    "no bias": {"bias": False, "num_layers": 2},
}


@pytest.mark.filterwarnings(
    "ignore:RNN module weights are not part"
)  # torch's own layer does so where cuDNN wants gaps
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", LIKE_TORCH)
def test_plain_calls_give_torchs_bits(name: str, dtype: torch.dtype) -> None:
    theirs = torch.nn.GRU(5, 8, **LIKE_TORCH[name]).to("cuda", dtype)
    ours = anygru.GRU(5, 8, **LIKE_TORCH[name]).to("cuda", dtype)
    ours.load_state_dict(theirs.state_dict())
    input = torch.randn(6, 3, 5, device="cuda", dtype=dtype, requires_grad=True)
    found = {}
    for layer in (theirs, ours):
        output, h_n = layer(input)
        loss = output.float().square().sum() + h_n.float().sum()
        wanted = [input, *layer.parameters()]
        first = torch.autograd.grad(loss, wanted, retain_graph=True)
        found[layer] = [output, h_n, *first, *torch.autograd.grad(loss, wanted)]
        with torch.no_grad():
            found[layer] += layer(input)
    assert all(map(torch.equal, found[theirs], found[ours]))


@pytest.mark.parametrize("bias", [True, False])
def test_cells_give_torchs_bits(bias: bool) -> None:
    theirs = torch.nn.GRUCell(5, 8, bias).to("cuda", torch.float64)
    ours = anygru.GRUCell(5, 8, bias).to("cuda", torch.float64)
    ours.load_state_dict(theirs.state_dict())
    input = torch.randn(3, 5, device="cuda", dtype=torch.float64, requires_grad=True)
    h = torch.randn(3, 8, device="cuda", dtype=torch.float64, requires_grad=True)
    found = {}
    for cell in (theirs, ours):
        state = cell(input, h)
        found[cell] = [state, cell(input), *torch.autograd.grad(state.square().sum(), [input, h, *cell.parameters()])]
    assert all(map(torch.equal, found[theirs], found[ours]))
    assert torch.autograd.gradgradcheck(ours, (input, h), nondet_tol=1e-10)
    with pytest.raises(ValueError, match="must be"):
        ours(input, h[:, :4])


def test_layers_with_gaps_do_not_warn() -> None:
    """Warnings are errors here; torch's own layers without biases warn."""
    layer = anygru.GRU(5, 8, 2, bias=False).cuda()
    input = torch.randn(6, 3, 5, device="cuda", requires_grad=True)
    layer(input)[0].sum().backward()
    with torch.no_grad():
        close(layer(input)[0].cpu(), copy.deepcopy(layer).cpu()(input.cpu())[0])
    assert len({weight.untyped_storage().data_ptr() for weight in layer.parameters()}) == 1


def test_gradients_only_where_they_are_wanted() -> None:
    layer = anygru.GRU(5, 8, 2).cuda()
    input, h_0 = torch.randn(6, 3, 5, device="cuda"), torch.randn(2, 3, 8, device="cuda")
    layer(input, h_0)[0].sum().backward()
    expected = layer.weight_hh_l1.grad.clone()
    layer.zero_grad()
    layer.weight_ih_l0.requires_grad_(False)
    output, h_n = layer(input, h_0.requires_grad_())
    output.sum().backward()
    assert layer.weight_ih_l0.grad is None
    assert torch.equal(layer.weight_hh_l1.grad, expected)
    for weight in layer.parameters():
        weight.requires_grad_(False)
    (of_state,) = torch.autograd.grad(layer(input, h_0)[0].sum(), h_0)
    torch.testing.assert_close(of_state, h_0.grad)


@pytest.mark.parametrize("apart", [False, True])
def test_cudnn_has_second_derivatives_and_batched_ones(apart: bool) -> None:
    layer = anygru.GRU(3, 4, 2, bidirectional=True).to("cuda", torch.float64)
    weights = [w.detach().clone() if apart else w.detach() for w in layer.flat_weights]
    input = torch.randn(4, 2, 3, device="cuda", dtype=torch.float64, requires_grad=True)
    h_0 = torch.randn(4, 2, 4, device="cuda", dtype=torch.float64, requires_grad=True)
    weights = [weight.requires_grad_() for weight in weights]

    def call(input: torch.Tensor, h_0: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        return gru(input, h_0, weights, bidirectional=True, backend="cudnn")[0]

    assert torch.autograd.gradcheck(call, (input, h_0, *weights), nondet_tol=1e-10, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(call, (input, h_0, *weights), nondet_tol=1e-10)


def test_a_state_for_all_sequences_and_one_in_another_order() -> None:
    layer = anygru.GRU(5, 8).cuda()
    input, h_0 = torch.randn(6, 3, 5, device="cuda"), torch.randn(1, 8, 3, device="cuda").transpose(1, 2)
    close(layer(input, h_0)[0].cpu(), layer(input, h_0.contiguous())[0].cpu())
    one = h_0[:, :1]
    close(layer(input, one)[0].cpu(), layer(input, one.repeat(1, 3, 1))[0].cpu())


def test_weights_that_changed_before_the_backward_pass_are_an_error() -> None:
    layer = anygru.GRU(5, 8).cuda()
    loss = layer(torch.randn(6, 3, 5, device="cuda"))[0].sum()
    with torch.no_grad():
        layer.weight_hh_l0.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_an_accelerated_layer_is_torchs() -> None:
    layer = torch.nn.GRU(5, 8, 2).cuda()
    input = torch.randn(6, 3, 5, device="cuda")
    expected = layer(input)
    anygru.accelerate(layer)
    found = layer(input)
    assert all(map(torch.equal, found, expected))
    assert found[0].grad_fn.name() == expected[0].grad_fn.name() == "CudnnRnnBackward0"
    with torch.no_grad():
        assert all(map(torch.equal, layer(input), expected))


def both(dtype: torch.dtype = torch.float32, size: int = 64) -> tuple[torch.nn.GRU, anygru.GRU, torch.Tensor]:
    theirs, ours = torch.nn.GRU(size, size).to("cuda", dtype), anygru.GRU(size, size).to("cuda", dtype)
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours, torch.randn(20, 4, size, device="cuda", dtype=dtype, requires_grad=True)


def results(layer: torch.nn.Module, input: torch.Tensor) -> list[torch.Tensor]:
    output, h_n = layer(input)
    return [output, h_n, *torch.autograd.grad(output.float().square().sum(), [input, *layer.parameters()])]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("form", ["dense", "packed"])
@pytest.mark.parametrize("autocast", [None, torch.float16, torch.bfloat16], ids=str)
def test_half_precision_and_autocast_go_where_torchs_go(
    autocast: torch.dtype | None, form: str, dtype: torch.dtype
) -> None:
    theirs, ours, input = both(dtype)
    found = []
    for layer in (theirs, ours):
        given = input if form == "dense" else torch.nn.utils.rnn.pack_padded_sequence(input, [20, 9, 9, 2])
        with torch.autocast("cuda", dtype=autocast, enabled=autocast is not None):
            output, h_n = layer(given)
        output = output if form == "dense" else output.data
        loss = output.float().square().sum()
        found.append([output, h_n, *torch.autograd.grad(loss, [input, *layer.parameters()])])
    assert [one.dtype for one in found[0]] == [one.dtype for one in found[1]]
    assert all(map(torch.equal, *found))


def test_tf32_goes_where_torchs_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, ours, input = both(size=256)
    exact = results(ours, input)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", True)
    rounded = results(ours, input)
    assert all(map(torch.equal, rounded, results(theirs, input)))
    assert not torch.equal(exact[0], rounded[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_a_graph_captures_a_step_of_training(dtype: torch.dtype) -> None:
    _, ours, input = both(dtype)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # the first calls, which no graph can record, choose and allocate
        for _ in range(3):
            results(ours, input)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = results(ours, input)
    with torch.no_grad():
        input.copy_(torch.randn_like(input))
    graph.replay()
    assert all(map(torch.equal, captured, results(ours, input)))


def test_graphed_callables() -> None:
    theirs, ours, input = both()
    graphed = [torch.cuda.make_graphed_callables(copy.deepcopy(layer), (input,)) for layer in (theirs, ours)]
    assert all(map(torch.equal, *(results(layer, input) for layer in graphed)))


@pytest.mark.compiles
@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_a_compiled_layer_of_cudnn(mode: str) -> None:
    _, ours, input = both()
    compiled = torch.compile(ours, fullgraph=True, mode=mode)
    for _ in range(3):
        torch.compiler.cudagraph_mark_step_begin()
        output, h_n = compiled(input)
        grads = torch.autograd.grad(output.square().sum(), [input, *ours.parameters()])
    for actual, wanted in zip([output, h_n, *grads], results(ours, input), strict=True):
        torch.testing.assert_close(actual, wanted, rtol=1e-4, atol=1e-4)


def test_torchs_weights_that_lie_apart_are_joined_without_a_warning() -> None:
    """Warnings are errors here; torch warns at each call."""
    layer = torch.nn.GRU(5, 8).cuda()
    expected = results(layer, input := torch.randn(6, 3, 5, device="cuda", requires_grad=True))
    for weight in layer.parameters():
        weight.data = weight.data.clone()
    anygru.accelerate(layer)
    assert all(map(torch.equal, results(layer, input), expected))
