"""Calls on CUDA without a GPU: torch's own node of cuDNN, with stand-ins for the kernels below it."""

import gc
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from backends import cudnn_stand_in
from helpers import CASES, Case, all_close, close
from torch.utils.checkpoint import checkpoint

import anygru
from anygru.backends import one_buffer, reference
from anygru.functional import gru

NODE = "CudnnRnnBackward0"
PLAIN = Case(T=4, B=2, I=3, H=4)
SMALL = {
    "plain": PLAIN,
    "deep, two directions": PLAIN._replace(L=2, bidirectional=True),
    "no bias": PLAIN._replace(bias=False),
    "ragged": PLAIN._replace(T=3, lengths=(2, 3)),
    "ragged with an empty one": PLAIN._replace(T=3, B=3, L=2, bidirectional=True, lengths=(0, 3, 2)),
}


@pytest.fixture(autouse=True)
def _cudnn() -> Iterator[None]:
    with cudnn_stand_in.installed():
        yield


@pytest.fixture
def no_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test with backward passes that need no formulas in plain torch."""

    def fail(*call: Any, **options: Any) -> None:
        raise AssertionError("a plain backward pass went through the reference")

    monkeypatch.setattr(reference, "gradients", fail)


def tensors_of(case: Case) -> list[torch.Tensor]:
    return [case.input(), case.h_0(), *case.weights()]


def caller(case: Case, backend: str | None = None) -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
    def call(input: torch.Tensor, h_0: torch.Tensor, *weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        output, h_n = gru(input, h_0, weights, backend=backend, **case.options)
        return output, h_n

    return call


def penalty(results: tuple[torch.Tensor, ...], wanted: list[torch.Tensor]) -> torch.Tensor:
    """A function of first derivatives."""
    loss = sum((result.sin() * (number + 1)).sum() for number, result in enumerate(results))
    grads = torch.autograd.grad(loss, wanted, create_graph=True)
    return sum(grad.square().sum() for grad in grads) + loss


LOOKS = {
    "isinstance", "len", "any", "name", "dim", "is_grad_enabled", "peek_interpreter_stack", "_is_any_autocast_enabled",
    "_len_torch_dispatch_stack", "_get_tracing_state", "_profiler_enabled", "_get_cudnn_enabled", "is_legacy_batchedtensor",
}  # fmt: skip
"""Calls in C that take a tenth of a microsecond and compute nothing."""


def called(work: Callable[[], Any]) -> Counter[str]:
    """The functions in C that anygru calls while this runs, by name."""
    found: Counter[str] = Counter()

    def note(frame: Any, event: str, function: Any) -> None:
        if event == "c_call" and "anygru/src" in frame.f_code.co_filename:
            found[function.__name__] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def test_a_step_of_training_is_torchs(no_reference: None) -> None:
    theirs, ours = torch.nn.GRU(3, 4), anygru.GRU(3, 4)
    ours.load_state_dict(theirs.state_dict())
    input, found, kernels = torch.randn(5, 2, 3), {}, {}
    for name, layer in (("torch", theirs), ("anygru", ours)):
        output, h_n = layer(input)
        assert output.grad_fn.name() == h_n.grad_fn.name() == NODE
        assert [one is None for one, _ in output.grad_fn.next_functions] == [True, *[False] * 4, True, True]
        output.sum().backward()
        found[name] = [output, h_n, *(weight.grad for weight in layer.parameters())]
        kernels[name] = list(cudnn_stand_in.calls)
        cudnn_stand_in.calls.clear()
    assert kernels["anygru"] == kernels["torch"] == ["forward, training", "backward"]
    assert all(map(torch.equal, found["torch"], found["anygru"]))


def test_python_calls_one_function_before_the_kernel_and_one_in_backward(no_reference: None) -> None:
    layer, input = anygru.GRU(3, 4), torch.randn(5, 2, 3)
    layer(input)  # plans are made once
    forward = called(lambda: layer(input))
    assert {name: count for name, count in forward.items() if name not in LOOKS} == {
        "new_zeros": 1,
        "register_prehook": 1,
    }
    assert forward.total() <= 20
    loss = layer(input)[0].sum()
    assert called(loss.backward) == {
        "is_grad_enabled": 1,
        "peek_interpreter_stack": 1,
        "any": 1,
        "is_legacy_batchedtensor": 1,
    }
    with torch.no_grad():
        found = called(lambda: layer(input))
    assert {name for name in found if name not in LOOKS} == {"new_zeros"}
    assert cudnn_stand_in.calls[-1] == "forward"


OURS = [name for name, case in CASES.items() if case.reset == "after" and case.T * case.B and case.lengths != (0, 0)]
"""Torch refuses batches without a step."""


@pytest.mark.parametrize("name", OURS)
def test_values_and_gradients(name: str, no_reference: None) -> None:
    case, found = CASES[name], []
    for backend in (None, "reference"):
        results = caller(case, backend)(*(tensors := tensors_of(case)))
        upstream = [torch.linspace(-1, 1, one.numel(), dtype=one.dtype).view(one.shape) for one in results]
        found.append((*results, *torch.autograd.grad(results, tensors, upstream)))
    all_close(*found)


@pytest.mark.parametrize("name", SMALL)
def test_second_derivatives_and_batched_ones(name: str) -> None:
    case = SMALL[name]
    tensors = tensors_of(case)
    assert torch.autograd.gradcheck(caller(case), tensors, check_batched_grad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(caller(case), tensors, check_batched_grad=True, fast_mode=True)


@pytest.mark.parametrize("options", [{"reverse": True}, {"reverse": True, "lengths": [2, 4]}, {"groups": 2}])
def test_second_derivatives_of_calls_that_are_taken_apart(options: dict[str, Any]) -> None:
    case = PLAIN
    tensors = tensors_of(case)
    if "groups" in options:
        tensors[2:] = [
            torch.randn(2, *shape, dtype=torch.float64).requires_grad_() for shape in ((6, 3), (6, 2), (6,), (6,))
        ]

    def call(input: torch.Tensor, h_0: torch.Tensor, *weights: torch.Tensor) -> Any:
        return gru(input, h_0, weights, **options)

    assert torch.autograd.gradgradcheck(call, tensors, fast_mode=True)


@pytest.mark.parametrize("results", [slice(0, 1), slice(1, 2)], ids=["output alone", "h_n alone"])
@pytest.mark.parametrize("name", SMALL)
def test_each_gradient_alone(name: str, results: slice) -> None:
    """For one tensor torch's node computes only some gradients, and gets only some."""
    case = SMALL[name]
    for place in range(len(tensors_of(case))):
        found = []
        for backend in (None, "reference"):
            tensors = tensors_of(case)
            loss = penalty(caller(case, backend)(*tensors)[results], [tensors[place]])
            found.append(torch.autograd.grad(loss, tensors, allow_unused=True))
        for actual, expected in zip(*found, strict=True):
            assert (actual is None) == (expected is None)
            if actual is not None:
                close(actual, expected)


@pytest.mark.parametrize("changed", ["frozen before", "frozen after", "unfrozen after", "detached"])
def test_weights_whose_need_changes(changed: str) -> None:
    """Only tensors that required a gradient in the forward pass have second derivatives."""
    case, found = PLAIN, []
    for backend in (None, "reference"):
        tensors = tensors_of(case)
        w_hh, b_ih = tensors[3:5]
        if changed in ("frozen before", "unfrozen after"):
            w_hh.requires_grad_(False)
        given = [*tensors[:4], b_ih.detach(), *tensors[5:]] if changed == "detached" else tensors
        results = caller(case, backend)(*given)
        if changed == "frozen after":
            w_hh.requires_grad_(False)
        if changed == "unfrozen after":
            w_hh.requires_grad_(True)
        wanted = [tensors[0], tensors[2]]
        loss = penalty(results, wanted)
        found.append(torch.autograd.grad(loss, [each for each in tensors if each.requires_grad], allow_unused=True))
    if changed == "frozen after":  # the reference's graph was built before
        found[1] = found[1][: len(found[0])]
    for actual, expected in zip(*found, strict=True):
        assert (actual is None) == (expected is None)
        if actual is not None:
            close(actual, expected)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("place", range(4))  # torch's node reads no bias
def test_a_tensor_that_changes_before_the_backward_pass_is_an_error(place: int, create_graph: bool) -> None:
    tensors = tensors_of(PLAIN)
    given = [tensor * 1 for tensor in tensors]
    output, h_n = caller(PLAIN)(*given)
    given[place].mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(output.sum() + h_n.sum(), tensors, create_graph=create_graph)


def test_a_pass_that_ends_in_an_error_leaves_nothing_behind() -> None:
    """The hook that was set for that pass must not act in the next one."""
    tensors = tensors_of(PLAIN)
    output, _ = caller(PLAIN)(*tensors)
    expected = torch.autograd.grad(output.sum(), tensors, retain_graph=True)
    handle = output.grad_fn.register_prehook(lambda grads: 1 / 0)
    loss = output.square().sum()
    with pytest.raises(ZeroDivisionError):
        torch.autograd.grad(loss, tensors, create_graph=True)
    handle.remove()
    again = torch.autograd.grad(output.sum(), tensors, retain_graph=True)
    assert all(map(torch.equal, again, expected))
    assert not any(grad.requires_grad for grad in again)
    assert penalty((output,), tensors).isfinite()


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("runs", [0, 1, 2])
def test_nothing_keeps_the_graph_alive(runs: int, create_graph: bool) -> None:
    tensors = tensors_of(PLAIN)
    given = [tensor * 1 for tensor in tensors]
    results = caller(PLAIN)(*given)
    alive = [weakref.ref(one) for one in (*given, *results)]
    for _ in range(runs):
        torch.autograd.grad(sum(one.sum() for one in results), tensors, create_graph=create_graph, retain_graph=True)
    gc.disable()
    try:
        del given, results
        assert [one() for one in alive] == [None] * len(alive)
    finally:
        gc.enable()


def test_nothing_keeps_the_gradients_that_arrived() -> None:
    tensors = tensors_of(PLAIN)
    output, _ = caller(PLAIN)(*tensors)
    upstream = torch.ones_like(output)
    alive = weakref.ref(upstream)
    torch.autograd.grad(output, tensors, upstream, create_graph=True)
    del upstream
    assert alive() is None


def test_a_graph_that_is_kept_is_walked_again(no_reference: None) -> None:
    tensors = tensors_of(PLAIN)
    output, _ = caller(PLAIN)(*tensors)
    first = torch.autograd.grad(output.sum(), tensors, retain_graph=True)
    assert all(map(torch.equal, first, torch.autograd.grad(output.sum(), tensors)))
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(output.sum(), tensors)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint(reentrant: bool, no_reference: None) -> None:
    tensors = tensors_of(PLAIN)
    results = checkpoint(caller(PLAIN), *tensors, use_reentrant=reentrant)
    torch.autograd.backward(sum(one.sum() for one in results))
    found = [tensor.grad for tensor in tensors]
    expected = torch.autograd.grad(sum(one.sum() for one in caller(PLAIN)(*tensors)), tensors)
    assert all(map(torch.equal, found, expected))


def test_second_derivatives_through_a_checkpoint() -> None:
    """A checkpoint gives each tensor of the node once in a backward pass."""
    found = []
    for backend, wrapped in ((None, True), (None, False), ("reference", False)):
        tensors = tensors_of(SMALL["deep, two directions"])
        call = caller(SMALL["deep, two directions"], backend)
        results = checkpoint(call, *tensors, use_reentrant=False) if wrapped else call(*tensors)
        found.append(torch.autograd.grad(penalty(results, tensors[:3]), tensors))
    for wrapped, plain, expected in zip(*found, strict=True):
        close(wrapped, expected)
        assert torch.equal(wrapped, plain)


def test_saved_tensors_in_another_place() -> None:
    tensors = tensors_of(PLAIN)
    with torch.autograd.graph.saved_tensors_hooks(lambda one: one.detach().numpy().copy(), torch.from_numpy):
        results = caller(PLAIN)(*tensors)
    loss = penalty(results, tensors[:3])
    expected = penalty(caller(PLAIN, "reference")(*tensors), tensors[:3])
    for actual, wanted in zip(*(torch.autograd.grad(each, tensors) for each in (loss, expected)), strict=True):
        close(actual, wanted)


def test_dropout_between_layers_has_one_mask_in_all_derivatives() -> None:
    layer = anygru.GRU(3, 4, 2, dropout=0.5).double()
    input = torch.randn(4, 2, 3, dtype=torch.float64, requires_grad=True)

    def call(input: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(3)
        return gru(input, None, weights, dropout=0.5, training=True)[0]

    assert torch.autograd.gradgradcheck(call, (input, *layer.flat_weights), fast_mode=True)
    torch.manual_seed(3)
    output = layer(input)[0]  # the mask of this pass, independent of later draws
    torch.manual_seed(4)
    found = torch.autograd.grad(penalty((output,), [input]), list(layer.parameters()))
    expected = torch.autograd.grad(penalty((call(input, *layer.flat_weights),), [input]), list(layer.parameters()))
    assert all(map(torch.equal, found, expected))


def test_weights_that_two_calls_share_and_third_derivatives() -> None:
    found = []
    for backend in (None, "reference"):
        tensors = tensors_of(PLAIN)
        call = caller(PLAIN, backend)
        middle = call(*tensors)
        results = call(middle[0][..., :3] + tensors[0], middle[1], *tensors[2:])
        (first,) = torch.autograd.grad(penalty(results, [tensors[3]]), [tensors[2]], create_graph=True)
        found.append(torch.autograd.grad(first.square().sum(), tensors))
    all_close(*found)


@pytest.mark.filterwarnings("ignore:Using backward")  # of the cycle that this makes
def test_gradients_that_accumulate() -> None:
    found = []
    for backend in (None, "reference"):
        layer = anygru.GRU(3, 4, 2, backend=backend).double()
        torch.manual_seed(5)
        for weight in layer.parameters():
            torch.nn.init.normal_(weight, std=0.5)
        seen: list[str] = []
        layer.weight_hh_l0.register_hook(lambda grad, seen=seen: seen.append("hook"))
        layer.weight_hh_l0.register_post_accumulate_grad_hook(lambda weight, seen=seen: seen.append("sum"))
        input = PLAIN.input()
        layer(input)[0].square().sum().backward(create_graph=True)
        layer(input)[0].square().sum().backward()
        input.grad.sum().backward()
        assert seen[:2] == ["hook", "sum"]
        found.append([input.grad, *(weight.grad for weight in layer.parameters())])
    all_close(*found)


def test_transforms() -> None:
    layer = anygru.GRU(3, 4).double()
    weights = {name: weight.detach() for name, weight in layer.named_parameters()}
    inputs = torch.randn(5, 4, 2, 3, dtype=torch.float64)

    def loss(weights: dict[str, torch.Tensor], input: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(layer, weights, (input,))[0].square().sum()

    found = torch.func.vmap(torch.func.grad(loss), (None, 0))(weights, inputs)
    for number, input in enumerate(inputs):
        expected = torch.autograd.grad(layer(input)[0].square().sum(), list(layer.parameters()))
        for grad, wanted in zip(found.values(), expected, strict=True):
            close(grad[number], wanted)
    value, tangent = torch.func.jvp(lambda one: loss(weights, one), (inputs[0],), (inputs[1],))
    (grad,) = torch.autograd.grad(loss(weights, one := inputs[0].clone().requires_grad_()), one)
    close(value, loss(weights, inputs[0]))
    close(tangent, (grad * inputs[1]).sum())


def test_vmap_over_a_backward_pass() -> None:
    tensors = tensors_of(PLAIN)
    output, _ = caller(PLAIN)(*tensors)
    upstream = torch.randn(3, *output.shape, dtype=torch.float64)
    found = torch.func.vmap(lambda one: torch.autograd.grad(output, tensors, one, retain_graph=True))(upstream)
    for number in range(3):
        expected = torch.autograd.grad(output, tensors, upstream[number], retain_graph=True)
        for grads, wanted in zip(found, expected, strict=True):
            close(grads[number], wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_torch_gets_each_dtype_as_it_is(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = _tensors_that_torch_gets(monkeypatch)
    layer, input = anygru.GRU(3, 4).to(dtype), torch.randn(4, 2, 3, dtype=dtype)
    layer(input)
    layer([input[:2, 0], input[:, 1]])
    with torch.no_grad():
        layer(input)
    assert len(seen) == 3
    assert {tensor.dtype for tensors in seen for tensor in tensors} == {dtype}
    assert all(tensors[0] is layer.weight_ih_l0 for tensors in seen)


@pytest.mark.parametrize("form", ["dense", "ragged", "dropout", "a state in half precision"])
def test_torch_casts_under_autocast(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its call casts all weights into one buffer; the tensors arrive there unchanged."""
    seen = _tensors_that_torch_gets(monkeypatch)
    layer, input, h_0 = anygru.GRU(3, 4, 2, dropout=0.5 * (form == "dropout")), torch.randn(4, 2, 3), None
    if form == "a state in half precision":
        h_0 = torch.randn(2, 2, 4, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        layer([input[:2, 0], input[:, 1]] if form == "ragged" else input, h_0)
        with pytest.raises(ValueError, match="input must have I = 3 features"):
            layer(input[..., :2])
        with pytest.raises(ValueError, match=r"h_0 must be \[L\*D, B, H\]"):
            layer(input, torch.zeros(2, 3, 4))
    weights = [tensor for tensors in seen for tensor in tensors]
    assert all(weight is own for weight, own in zip(weights, layer.flat_weights, strict=True))
    assert set(autocasts) == {True}


autocasts: list[bool] = []
"""Whether torch's calls came under autocast."""


def _tensors_that_torch_gets(monkeypatch: pytest.MonkeyPatch) -> list[list[torch.Tensor]]:
    seen: list[list[torch.Tensor]] = []
    autocasts.clear()

    def note(*call: Any) -> tuple[torch.Tensor, torch.Tensor]:
        weights = next(each for each in call if isinstance(each, list))
        seen.append(weights)
        autocasts.append(torch.is_autocast_enabled("cpu"))
        cast = [
            each.to(call[0].dtype) if isinstance(each, torch.Tensor) and each.is_floating_point() else each
            for each in call
        ]
        return computed(*cast)

    computed = cudnn_stand_in.gru
    monkeypatch.setattr(cudnn_stand_in, "gru", note)
    return seen


def test_wrong_calls_raise_our_errors() -> None:
    layer = anygru.GRU(3, 4, 2)
    with pytest.raises(ValueError, match="input must have I = 3 features"):
        layer(torch.zeros(4, 2, 5))
    with pytest.raises(TypeError, match="input must be torch.float32"):
        layer(torch.zeros(4, 2, 3, dtype=torch.float64))
    with pytest.raises(ValueError, match="h_0 must be"):
        layer(torch.zeros(4, 2, 3), torch.zeros(2, 3, 4))
    with pytest.raises(TypeError, match="h_0 must be torch.float32"):
        layer(torch.zeros(4, 2, 3), torch.zeros(2, 2, 4, dtype=torch.float64))
    cell = anygru.GRUCell(3, 4)
    with pytest.raises(ValueError, match="input must have I = 3 features"):
        cell(torch.zeros(2, 5))
    with pytest.raises(ValueError, match="h must be"):
        cell(torch.zeros(2, 3), torch.zeros(3, 4))
    with pytest.raises(TypeError, match="input must be torch.float32"):
        cell(torch.zeros(2, 3, dtype=torch.float64))
    assert cell(torch.zeros(2, 3), torch.ones(1, 4)).shape == (2, 4)  # one state for all


def test_a_cell_is_torchs_call() -> None:
    cell, input, h = anygru.GRUCell(3, 4), torch.randn(2, 3), torch.randn(2, 4, requires_grad=True)
    cell(input, h)
    found = called(lambda: cell(input, h))
    assert {name: count for name, count in found.items() if name not in LOOKS} == {"gru_cell": 1}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert "gru_cell" in called(lambda: cell(input, h))
    close(cell(input, h), torch.nn.GRUCell.forward(cell, input, h))


def test_weights_that_lie_apart_are_joined_by_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_a_row(shapes: Any, *rest: Any) -> one_buffer.Places:
        ends = [sum(shape.numel() for shape in shapes[: number + 1]) for number in range(len(shapes))]
        return one_buffer.Places(ends[-1], (0, *ends[:-1]))

    monkeypatch.setattr(one_buffer, "places", in_a_row)
    case = SMALL["deep, two directions"]
    tensors = tensors_of(case)
    seen = _tensors_that_torch_gets(monkeypatch)
    loss = penalty(caller(case)(*tensors), tensors[:3])
    assert len({weight.untyped_storage().data_ptr() for weight in seen[0]}) == 1
    expected = penalty(caller(case, "reference")(*tensors), tensors[:3])
    for actual, wanted in zip(*(torch.autograd.grad(each, tensors) for each in (loss, expected)), strict=True):
        close(actual, wanted)


@pytest.mark.needs_torch(2, 10, because="an older torch breaks the graph at a layer")
@pytest.mark.compiles
def test_a_compiled_layer_computes_its_gradients_by_cudnn() -> None:
    layer, input = anygru.GRU(3, 4, 2), torch.randn(5, 2, 3)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    output = compiled(input)[0]
    assert cudnn_stand_in.calls == ["forward"]
    found = torch.autograd.grad(output.square().sum(), list(layer.parameters()))
    assert cudnn_stand_in.calls[1:] == ["forward, training", "backward"]
    expected = torch.autograd.grad(layer(input)[0].square().sum(), list(layer.parameters()))
    all_close(found, expected)
