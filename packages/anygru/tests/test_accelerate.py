"""accelerate and restore: the same modules, the same results and the same errors as torch, computed by anygru."""

import copy
import doctest
import gc
import importlib
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence

import anygru
from anygru import functional
from anygru.facts import torch_private

TORCH_FORWARDS = nn.GRU.__dict__["forward"], nn.GRUCell.__dict__["forward"]


@pytest.fixture(autouse=True)
def leave_torch_as_it_was() -> Iterator[None]:
    torch.manual_seed(0)
    yield
    anygru.restore()
    left = nn.GRU.__dict__["forward"], nn.GRUCell.__dict__["forward"]
    for _ in range(3):
        if left != TORCH_FORWARDS:
            gc.collect()  # compilers keep what they have seen in reference cycles, those of torch 2.6 behind finalizers
            anygru.restore()
            left = nn.GRU.__dict__["forward"], nn.GRUCell.__dict__["forward"]
    nn.GRU.forward, nn.GRUCell.forward = TORCH_FORWARDS  # type: ignore[method-assign]
    sys.modules["anygru.patching.rerouting"].Mark.alive.clear()
    assert left == TORCH_FORWARDS, "an accelerated module is still alive"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the operators of anygru that were called."""
    called: list[str] = []

    def spy(name: str) -> Callable:
        original = getattr(functional, name)

        def call(*args: object, **kwargs: object) -> object:
            called.append(name)
            return original(*args, **kwargs)

        return call

    for name in ("gru", "gru_cell"):
        monkeypatch.setattr(functional, name, spy(name))
    direct_cell = functional.direct_cell

    def fast_path(*args: object) -> Tensor | None:
        found = direct_cell(*args)  # type: ignore[arg-type]
        if found is not None:
            called.append("gru_cell")
        return found

    monkeypatch.setattr(functional, "direct_cell", fast_path)
    return called


class Echo(nn.GRU):
    """A subclass that adds to the result of torch's forward."""

    def forward(self, input, hx=None):
        output, h_n = super().forward(input, hx)
        return output + 1, h_n


class LouderEcho(Echo):
    def forward(self, input, hx=None):
        output, h_n = super().forward(input, hx)
        return output * 2, h_n


class Explicit(nn.GRU):
    """A subclass in the old style."""

    def forward(self, input, hx=None):
        return nn.GRU.forward(self, input, hx)


class OnItsOwn(nn.GRU):
    def forward(self, input, hx=None):
        return torch._VF.gru(
            input, hx, self._flat_weights, self.bias, self.num_layers, 0.0, False, self.bidirectional, self.batch_first
        )


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 4)
        self.encoder = nn.GRU(4, 5, num_layers=2, batch_first=True)
        self.decoder = self.encoder
        self.cells = nn.ModuleList([nn.GRUCell(5, 5), nn.GRUCell(5, 5)])
        self.cells[1].weight_hh = self.cells[0].weight_hh

    def forward(self, tokens: Tensor) -> Tensor:
        state = self.encoder(self.embed(tokens))[1][-1]
        for cell in self.cells:
            state = cell(state, state)
        return state


def results(module: nn.Module, *args: object) -> list[Tensor]:
    """The tensors that a call gives, and the gradients of every parameter under a fixed upstream gradient."""
    found = module(*args)
    flat = [found] if isinstance(found, Tensor) else list(found)
    tensors = [part.data if isinstance(part, PackedSequence) else part for part in flat]
    generator = torch.Generator().manual_seed(1)
    loss = sum((t.float() * torch.randn(t.shape, generator=generator)).sum() for t in tensors)
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    gradients = torch.autograd.grad(loss, parameters) if parameters else ()
    return [*(tensor.detach() for tensor in tensors), *gradients]


def assert_same(found: list[Tensor], expected: list[Tensor]) -> None:
    assert len(found) == len(expected)
    for got, wanted in zip(found, expected, strict=True):
        assert got.shape == wanted.shape
        assert got.dtype == wanted.dtype
        torch.testing.assert_close(got, wanted)


OPTIONS = {
    "plain": {},
    "batch first, two layers": {"batch_first": True, "num_layers": 2},
    "both directions": {"bidirectional": True, "num_layers": 2},
    "no bias": {"bias": False},
    "double": {"dtype": torch.float64},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("form", ["batch", "state", "one sequence", "one sequence with state", "strided"])
def test_dense_input_gives_what_torch_gives(options: dict, form: str, calls: list[str]) -> None:
    gru = nn.GRU(3, 4, **options)
    dtype = options.get("dtype", torch.float32)
    states = gru.num_layers * (2 if gru.bidirectional else 1)
    input = torch.randn(6, 6, 3, dtype=dtype)
    arguments: tuple[Tensor, ...] = {
        "batch": (input,),
        "state": (input, torch.randn(states, 6, 4, dtype=dtype)),
        "one sequence": (input[0],),
        "one sequence with state": (input[0], torch.randn(states, 4, dtype=dtype)),
        "strided": (torch.randn(6, 12, 6, dtype=dtype)[:, ::2, ::2],),
    }[form]
    expected = results(gru, *arguments)
    anygru.accelerate(gru)
    assert_same(results(gru, *arguments), expected)
    assert calls == ["gru"]
    anygru.restore(gru)


@pytest.mark.parametrize("sort", [True, False], ids=["sorted", "unsorted"])
@pytest.mark.parametrize("state", [True, False], ids=["state", "no state"])
def test_packed_input_keeps_the_callers_order(sort: bool, state: bool, calls: list[str]) -> None:
    gru = nn.GRU(3, 4, 2, bidirectional=True)
    lengths = [5, 4, 2] if sort else [2, 5, 4]
    packed = pack_sequence([torch.randn(length, 3) for length in lengths], enforce_sorted=sort)
    h_0 = torch.randn(4, 3, 4) if state else None
    output, _ = gru(packed, h_0)
    expected = results(gru, packed, h_0)
    anygru.accelerate(gru)
    assert_same(results(gru, packed, h_0), expected)
    again, _ = gru(packed, h_0)
    assert isinstance(again, PackedSequence)
    for got, wanted in zip(again[1:], output[1:], strict=True):
        assert (got is None and wanted is None) or torch.equal(got, wanted)
    assert calls == ["gru", "gru"]
    anygru.restore(gru)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("form", ["batch", "state", "one"])
def test_cell_gives_what_torch_gives(bias: bool, form: str, calls: list[str]) -> None:
    cell = nn.GRUCell(3, 4, bias=bias)
    arguments = {
        "batch": (torch.randn(2, 3),),
        "state": (torch.randn(2, 3), torch.randn(2, 4)),
        "one": (torch.randn(3), torch.randn(4)),
    }[form]
    expected = results(cell, *arguments)
    anygru.accelerate(cell)
    assert_same(results(cell, *arguments), expected)
    assert calls[0] == "gru_cell"
    anygru.restore(cell)


@pytest.mark.parametrize("name", ["bias_ih", "bias_hh"])
def test_cell_with_one_bias_is_torchs_affair(name: str, calls: list[str]) -> None:
    cell = nn.GRUCell(3, 4)
    setattr(cell, name, None)
    arguments = torch.randn(2, 3), torch.randn(2, 4)
    expected = cell(*arguments)
    with anygru.accelerate(cell):
        torch.testing.assert_close(cell(*arguments), expected, rtol=0, atol=0)
    assert calls == []


def test_dropout_between_layers_draws_as_torch_does() -> None:
    gru = nn.GRU(3, 4, 3, dropout=0.5)
    input = torch.randn(5, 2, 3)
    expected, found = [], []
    for seed in range(3):
        torch.manual_seed(seed)
        expected.append(gru(input)[0])
    with anygru.accelerate(gru):
        for seed in range(3):
            torch.manual_seed(seed)
            found.append(gru(input)[0])
        torch.testing.assert_close(found, expected)
        gru.eval()
        torch.testing.assert_close(gru(input), gru(input), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype: torch.dtype) -> None:
    gru = nn.GRU(3, 4).to(dtype)
    input = torch.randn(5, 2, 3, dtype=dtype)
    expected = gru(input)
    with anygru.accelerate(gru):
        torch.testing.assert_close(gru(input), expected, rtol=2e-2, atol=2e-2)


def test_second_derivative() -> None:
    gru = nn.GRU(2, 3, dtype=torch.float64)
    input = torch.randn(4, 2, 2, dtype=torch.float64, requires_grad=True)
    with anygru.accelerate(gru):
        assert torch.autograd.gradgradcheck(lambda x: gru(x)[0], input)


def test_some_weights_frozen() -> None:
    gru = nn.GRU(3, 4, 2)
    gru.weight_hh_l0.requires_grad_(False)
    gru.bias_ih_l1.requires_grad_(False)
    input = torch.randn(5, 2, 3)
    expected = results(gru, input)
    with anygru.accelerate(gru):
        assert_same(results(gru, input), expected)
        gru.requires_grad_(False)
        assert not gru(input)[0].requires_grad


WRONG = {
    "hidden size": (torch.zeros(5, 2, 3), torch.zeros(1, 2, 9)),
    "hidden batch": (torch.zeros(5, 2, 3), torch.zeros(1, 3, 4)),
    "hidden layers": (torch.zeros(5, 2, 3), torch.zeros(2, 2, 4)),
    "hidden 2-D for a batch": (torch.zeros(5, 2, 3), torch.zeros(2, 4)),
    "hidden 3-D for one sequence": (torch.zeros(5, 3), torch.zeros(1, 2, 4)),
    "hidden dtype": (torch.zeros(5, 2, 3), torch.zeros(1, 2, 4, dtype=torch.float64)),
    "input features": (torch.zeros(5, 2, 7),),
    "input 4-D": (torch.zeros(5, 2, 3, 1),),
    "input 1-D": (torch.zeros(3),),
    "input dtype": (torch.zeros(5, 2, 3, dtype=torch.float64),),
    "integers": (torch.zeros(5, 2, 3, dtype=torch.int64),),
    "no steps": (torch.zeros(0, 2, 3),),
    "no tensor": ([[1.0, 2.0, 3.0]],),
    "another device": (torch.zeros(5, 2, 3, device="meta"), torch.zeros(1, 2, 4)),
    "packed features": (pack_sequence([torch.zeros(3, 7)]),),
    "packed state": (pack_sequence([torch.zeros(3, 3)]), torch.zeros(1, 2, 4)),
}


WRONG_STEPS = {
    "features": (torch.zeros(2, 7),),
    "state features": (torch.zeros(2, 3), torch.zeros(2, 9)),
    "state batch": (torch.zeros(2, 3), torch.zeros(5, 4)),
    "state 1-D for a batch": (torch.zeros(2, 3), torch.zeros(4)),
    "3-D": (torch.zeros(1, 2, 3),),
    "dtype": (torch.zeros(2, 3, dtype=torch.float64),),
}


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [*((nn.GRU, each) for each in WRONG.values()), *((nn.GRUCell, each) for each in WRONG_STEPS.values())],
    ids=[*WRONG, *(f"step, {name}" for name in WRONG_STEPS)],
)
def test_wrong_arguments_raise_what_torch_raises(kind: type[nn.Module], arguments: tuple) -> None:
    layer = kind(3, 4)
    with pytest.raises(Exception) as expected:
        layer(*arguments)
    with anygru.accelerate(layer), pytest.raises(type(expected.value)) as found:
        layer(*arguments)
    assert str(found.value) == str(expected.value)


def test_batch_of_no_sequence_is_torchs_affair() -> None:
    gru = nn.GRU(3, 4)
    expected = gru(torch.zeros(5, 0, 3))
    with anygru.accelerate(gru):
        torch.testing.assert_close(gru(torch.zeros(5, 0, 3)), expected)


def test_whole_model_is_the_same_object_with_the_same_parameters(calls: list[str]) -> None:
    model = Tagger()
    tokens = torch.randint(11, (3, 6))
    before = {name: id(value) for name, value in [*model.named_modules(), *model.named_parameters()]}
    attributes = {name: dict(module.__dict__) for name, module in model.named_modules()}
    keys = list(model.state_dict())
    expected = results(model, tokens)
    report = anygru.accelerate(model)
    assert {name: id(value) for name, value in [*model.named_modules(), *model.named_parameters()]} == before
    assert type(model.encoder) is nn.GRU
    assert list(model.state_dict()) == keys
    assert_same(results(model, tokens), expected)
    assert calls.count("gru_cell") == 2
    assert list(report.changed) == ["encoder = decoder", "cells.0", "cells.1"]
    assert report.unchanged == {}
    anygru.restore(model)
    for name, module in model.named_modules():
        assert {key: id(value) for key, value in module.__dict__.items()} == {
            key: id(value) for key, value in attributes[name].items()
        }


def test_training_takes_the_same_course() -> None:
    ours, torchs = Tagger(), Tagger()
    torchs.load_state_dict(ours.state_dict())
    optimizers = [torch.optim.Adam(model.parameters(), 0.1) for model in (ours, torchs)]
    anygru.accelerate(ours)  # after the optimizer was made
    tokens = torch.randint(11, (3, 6))
    for _ in range(5):
        for model, optimizer in zip((ours, torchs), optimizers, strict=True):
            optimizer.zero_grad()
            model(tokens).square().sum().backward()
            optimizer.step()
    torch.testing.assert_close(ours.state_dict(), torchs.state_dict(), rtol=1e-4, atol=1e-5)
    anygru.restore(ours)


def test_hooks_run_once_a_call() -> None:
    gru, seen = nn.GRU(3, 4), []
    gru.register_forward_pre_hook(lambda module, args: seen.append("before"))
    gru.register_forward_hook(lambda module, args, result: seen.append("after"))
    gru.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append("backward"))
    with anygru.accelerate(gru):
        gru(torch.randn(2, 2, 3, requires_grad=True))[0].sum().backward()
    assert seen == ["before", "after", "backward"]


def change_in_place(gru: nn.GRU) -> None:
    with torch.no_grad():
        gru.weight_hh_l0.mul_(3)


def change_data(gru: nn.GRU) -> None:
    gru.weight_ih_l0.data = gru.weight_ih_l0.data * 3


def change_numpy_view(gru: nn.GRU) -> None:
    gru.bias_hh_l0.detach().numpy()[:] += 1


def change_parameter(gru: nn.GRU) -> None:
    gru.weight_hh_l0 = nn.Parameter(torch.ones_like(gru.weight_hh_l0))


def change_table(gru: nn.GRU) -> None:
    gru._parameters["bias_ih_l0"] = nn.Parameter(torch.ones_like(gru.bias_ih_l0))


def change_state(gru: nn.GRU) -> None:
    gru.load_state_dict({key: value + 1 for key, value in gru.state_dict().items()}, assign=True)


CHANGES = [change_in_place, change_data, change_numpy_view, change_parameter, change_table, change_state]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_weights_are_read_at_every_call(change: Callable[[nn.GRU], None]) -> None:
    gru, input = nn.GRU(3, 4), torch.randn(5, 2, 3)
    anygru.accelerate(gru)
    before = gru(input)[0]
    change(gru)
    found = results(gru, input)
    assert not torch.equal(found[0], before)
    anygru.restore(gru)
    assert_same(found, results(gru, input))


def test_functional_call_and_per_sample_gradients() -> None:
    gru = nn.GRU(2, 3)
    parameters = {name: parameter.detach() for name, parameter in gru.named_parameters()}
    inputs = torch.randn(4, 5, 2)

    def loss(parameters: dict[str, Tensor], input: Tensor) -> Tensor:
        return torch.func.functional_call(gru, parameters, (input,))[0].square().sum()

    expected = [torch.func.grad(loss)(parameters, input) for input in inputs]
    with anygru.accelerate(gru):
        found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, inputs)
        doubled = torch.func.functional_call(gru, {key: 2 * value for key, value in parameters.items()}, (inputs[0],))
    for name, stacked in found.items():
        torch.testing.assert_close(stacked, torch.stack([sample[name] for sample in expected]))
    torch.testing.assert_close(
        doubled, torch.func.functional_call(gru, {key: 2 * value for key, value in parameters.items()}, (inputs[0],))
    )


def test_inference_mode_and_casts() -> None:
    gru = nn.GRU(3, 4)
    with anygru.accelerate(gru):
        with torch.inference_mode():
            assert gru(torch.randn(5, 2, 3))[0].is_inference()
        assert gru.double()(torch.randn(5, 2, 3, dtype=torch.float64))[0].dtype == torch.float64
        assert gru.half()(torch.randn(5, 2, 3, dtype=torch.float16))[1].dtype == torch.float16
        output, h_n = gru.to("meta", torch.float32)(torch.randn(5, 2, 3, device="meta"))
        assert (output.shape, h_n.shape, output.device.type) == ((5, 2, 4), (1, 2, 4), "meta")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(dtype: torch.dtype) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.GRU(3, 4))
    input = torch.randn(5, 2, 3)
    with torch.autocast("cpu", dtype):
        expected = model(input)
    with anygru.accelerate(model), torch.autocast("cpu", dtype):
        found = model(input)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype is other.dtype
        torch.testing.assert_close(one, other, rtol=0.02, atol=0.02)


def test_fake_tensors_and_flop_counters_see_torchs_operators(calls: list[str]) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils.flop_counter import FlopCounterMode

    gru, input = nn.GRU(3, 4), torch.randn(5, 2, 3)
    with FlopCounterMode(display=False) as counter:
        gru(input)
    with anygru.accelerate(gru):
        with FlopCounterMode(display=False) as ours:
            gru(input)
        with FakeTensorMode(allow_non_fake_inputs=True):
            assert gru(input)[0].shape == (5, 2, 4)
    assert ours.get_total_flops() == counter.get_total_flops() > 0
    assert calls == []


def test_unlike_tensor_classes_go_to_torch(calls: list[str]) -> None:
    class Tagged(Tensor):
        pass

    gru = nn.GRU(3, 4)
    with anygru.accelerate(gru):
        assert isinstance(gru(torch.randn(5, 2, 3).as_subclass(Tagged))[0], Tagged)
    assert calls == []


def test_copies_compute_through_anygru_and_are_restored_alone(calls: list[str]) -> None:
    model, tokens = Tagger(), torch.randint(11, (3, 6))
    expected = model(tokens)

    def operators(model: nn.Module) -> int:
        calls.clear()
        torch.testing.assert_close(model(tokens), expected)
        return len(calls)

    anygru.accelerate(model)
    for twin in (copy.deepcopy(model), copy.copy(model), pickle.loads(pickle.dumps(model))):
        assert operators(twin) == operators(model) > 0
    twin = copy.deepcopy(model)
    assert len(anygru.restore(twin).changed) == 3
    assert operators(twin) == 0 < operators(model)
    anygru.restore(model)
    assert operators(model) == 0


@pytest.mark.usefixtures("warm_python")
def test_whole_module_loads_in_a_fresh_process(tmp_path) -> None:
    gru, path = nn.GRU(3, 4), tmp_path / "gru.pt"
    input = torch.randn(5, 2, 3)
    with anygru.accelerate(gru):
        torch.save({"gru": gru, "input": input, "output": gru(input)[0]}, path)
    program = (
        "import sys, torch\n"
        "saved = torch.load(sys.argv[1], weights_only=False)\n"
        "import anygru\n"
        "assert callable(anygru.accelerate)\n"
        "torch.testing.assert_close(saved['gru'](saved['input'])[0], saved['output'])\n"
        "print(anygru.restore(saved['gru']))\n"
    )
    run = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert run.stdout == "restored 1 module\n  (model): GRU(3, 4)\n", run.stderr


@pytest.mark.parametrize("kind", [Echo, LouderEcho, Explicit])
def test_subclasses_that_call_torchs_forward(kind: type[nn.GRU], calls: list[str]) -> None:
    gru, input = kind(3, 4), torch.randn(5, 2, 3)
    expected = results(gru, input)
    with anygru.accelerate(gru) as report:
        assert list(report.changed.values()) == [f"{kind.__name__}(3, 4)"]
        assert_same(results(gru, input), expected)
    assert calls == ["gru"]


def test_parametrized_and_normalized_weights(calls: list[str]) -> None:
    input = torch.randn(5, 2, 3)
    for normalize in (
        lambda gru: parametrizations.weight_norm(gru, "weight_hh_l0"),
        lambda gru: parametrizations.orthogonal(gru, "weight_hh_l0"),
        lambda gru: parametrizations.spectral_norm(gru, "weight_ih_l0"),
        lambda gru: torch.nn.utils.spectral_norm(gru, "weight_ih_l0"),
    ):
        for first in (True, False):
            gru = nn.GRU(3, 4)
            if first:
                normalize(gru)
                anygru.accelerate(gru)
            else:
                anygru.accelerate(gru)
                normalize(gru)
            gru.eval()  # spectral_norm iterates at every call in training
            twin = copy.deepcopy(gru)  # before the first call, after which torch cannot copy it
            found = results(gru, input)
            calls.clear()
            assert_same(results(twin, input), found)
            assert calls == ["gru"]
            anygru.restore(twin)
            anygru.restore(gru)
            assert_same(results(gru, input), found)
    gru = parametrizations.weight_norm(nn.GRU(3, 4), "weight_hh_l0")
    with anygru.accelerate(gru):
        torch.nn.utils.parametrize.remove_parametrizations(gru, "weight_hh_l0")
        assert type(gru) is nn.GRU
        calls.clear()
        gru(input)
        assert calls == ["gru"]


@pytest.mark.parametrize("sizes", [[2, 3], [4, 2], [2, 1], [0], [2, -1]])
def test_wrong_batch_sizes_are_torchs(sizes: list[int]) -> None:
    gru, packed = nn.GRU(3, 4), PackedSequence(torch.randn(5, 3), torch.tensor(sizes))

    def outcome() -> str:
        try:
            return str(gru(packed))
        except Exception as error:  # whatever torch raises
            return repr(error)

    expected = outcome()
    with anygru.accelerate(gru):
        assert outcome() == expected


@pytest.mark.filterwarnings("ignore:.torch.jit.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")  # from torch's own forward
def test_scripting_and_tracing_keep_torchs_kernel(calls: list[str]) -> None:
    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru = nn.GRU(3, 4)
            self.cell = nn.GRUCell(4, 4)

        def forward(self, input: Tensor) -> Tensor:
            return self.cell(self.gru(input)[0][-1])

    model, input = Last(), torch.randn(5, 2, 3)
    expected = model(input)
    with anygru.accelerate(model):
        for compiled in (torch.jit.script(model), torch.jit.trace(model, input, check_trace=False)):
            assert "aten::gru" in str(compiled.inlined_graph)
            torch.testing.assert_close(compiled(input), expected)
            report = anygru.accelerate(compiled)
            assert report.changed == {}
            assert all("TorchScript" in reason for reason in report.unchanged.values())
            assert len(report.unchanged) == 2
    assert calls == []


def test_symbolic_trace_keeps_the_gru_a_leaf() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.GRU(3, 4))
    with anygru.accelerate(model):
        graph = torch.fx.symbolic_trace(model)
        assert [node.op for node in graph.graph.nodes].count("call_module") == 2


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_quantized_modules_are_left_with_a_reason() -> None:
    from torch.ao.nn.quantized.dynamic import GRU, LSTM
    from torch.ao.nn.quantized.reference import GRUCell

    model = nn.ModuleDict(
        {"cell": GRUCell(3, 4), "lstm": nn.LSTM(3, 4), "gru": anygru.GRU(3, 4), "own": OnItsOwn(3, 4)}
    )
    model["dynamic"], model["dynamic_lstm"] = GRU(3, 4), LSTM(3, 4)
    model["patched"] = nn.GRU(3, 4)
    model["patched"].forward = lambda input: input
    report = anygru.accelerate(model)
    assert report.changed == {}
    reasons = {
        "cell": "quantized",
        "dynamic": "GRU is quantized",
        "dynamic_lstm": "LSTM is quantized",
        "lstm": "LSTM is no GRU",
        "gru": "computes through anygru already",
        "own": "OnItsOwn.forward computes on its own and never calls super().forward",
        "patched": "`forward`",
    }
    assert report.unchanged.keys() == reasons.keys()
    for name, words in reasons.items():
        assert words in report.unchanged[name]


def test_report_reads_well() -> None:
    model = nn.ModuleDict({"gru": nn.GRU(3, 4), "lstm": nn.LSTM(3, 4)})
    report = anygru.accelerate(model)
    assert str(report) == "accelerated 1 module\n  gru: GRU(3, 4)\nleft unchanged\n  lstm: LSTM is no GRU"
    assert repr(report) == str(report)
    assert anygru.accelerate(model).unchanged["gru"] == "already accelerated"
    assert str(anygru.restore(model)) == "restored 1 module\n  gru: GRU(3, 4)"
    assert str(anygru.restore(model)) == "restored 0 modules"
    with pytest.raises(TypeError, match=r"model must be a torch.nn.Module, got list"):
        anygru.accelerate([nn.GRU(3, 4)])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"model must be a torch.nn.Module, got type"):
        anygru.restore(nn.GRU)  # type: ignore[arg-type]


def test_forward_replaced_by_somebody_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nn.GRU, "forward", lambda self, input, hx=None: (input, hx))
    with pytest.raises(anygru.errors.AnygruError, match="calls no kernel that anygru could take over"):
        anygru.accelerate()
    gru = nn.GRU(3, 4)
    with pytest.raises(anygru.errors.AnygruError, match="calls no kernel that anygru could take over"):
        anygru.accelerate(gru)
    monkeypatch.undo()


@pytest.fixture
def graphs() -> Iterator[list[torch.fx.GraphModule]]:
    import torch._dynamo

    torch._dynamo.reset()
    yield []
    torch._dynamo.reset()


def compiled(model: nn.Module, graphs: list[torch.fx.GraphModule], **options: bool) -> nn.Module:
    def keep(graph: torch.fx.GraphModule, _: list[Tensor]) -> Callable:
        graphs.append(graph)
        return graph.forward

    return torch.compile(model, backend=keep, **options)


@pytest.mark.compiles
@pytest.mark.skipif(not torch_private.compiles_routes, reason="this torch breaks the graph at a GRU")
def test_an_accelerated_gru_compiles_without_a_break(graphs: list) -> None:
    """Only while it is accelerated, and one node for any length; torch's other layers still break graphs."""
    model = nn.Sequential(nn.Linear(3, 3), nn.GRU(3, 4))
    with anygru.accelerate(model):
        fast = compiled(model, graphs, fullgraph=True, dynamic=True)
        for steps in (5, 6, 7):
            input = torch.randn(steps, 2, 3)
            torch.testing.assert_close(fast(input), model(input))
        assert len(graphs) == 1
        assert graphs[0].code.count("anygru.gru.default(") == 1
        for other in (nn.GRU(3, 4), nn.LSTM(3, 4)):
            with pytest.raises(torch._dynamo.exc.Unsupported, match="RNN, GRU, or LSTM"):
                compiled(nn.Sequential(other), graphs, fullgraph=True)(input)
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="RNN, GRU, or LSTM"):
        compiled(model, graphs, fullgraph=True)(input)


class Packing(nn.Module):
    """The usual layer around padded sequences."""

    def __init__(self) -> None:
        super().__init__()
        self.gru, self.head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, input: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(input, lengths, batch_first=True, enforce_sorted=False)
        output, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True)
        return self.head(output)


@pytest.mark.compiles
def test_a_compiled_model_packs_sequences_for_an_accelerated_gru(graphs: list) -> None:
    """torch's packing breaks the graph, so the compiler meets our functions between two graphs."""
    model = Packing()
    input, lengths = torch.randn(3, 5, 3), torch.tensor([2, 5, 1])
    expected = model(input, lengths)
    with anygru.accelerate(model), torch.no_grad():
        torch.testing.assert_close(compiled(model, graphs)(input, lengths), expected)


@pytest.mark.slow
def test_cells_compile_in_one_graph_accelerated_or_not(graphs: list) -> None:
    model, input = nn.Sequential(nn.GRUCell(3, 4), nn.Linear(4, 4)), torch.randn(2, 3)
    expected = model(input)
    with anygru.accelerate(model):
        torch.testing.assert_close(compiled(model, graphs, fullgraph=True)(input), expected)
        untouched = nn.Sequential(nn.GRUCell(3, 4))
        torch.testing.assert_close(compiled(untouched, graphs, fullgraph=True)(input), untouched(input))
    codes = [graph.code for graph in graphs]
    assert ["anygru.gru" in code for code in codes] == [True, False]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The tensor attributes .* assigned during export:UserWarning")  # torch's GRU does
def test_exported_programs_do_without_anygru(calls: list[str]) -> None:
    model = nn.Sequential(nn.GRU(3, 4))
    with anygru.accelerate(model):
        program = torch.export.export(model, (torch.randn(5, 2, 3),))
    assert "aten.gru" in program.graph_module.code
    assert "anygru" not in program.graph_module.code


def test_whole_process_and_back(calls: list[str]) -> None:
    early = nn.GRU(3, 4)
    report = anygru.accelerate()
    assert str(report).startswith("accelerated every torch.nn.GRU and torch.nn.GRUCell")
    late, input = nn.GRU(3, 4), torch.randn(5, 2, 3)
    early(input)
    late(input)
    nn.GRUCell(3, 4)(input[0])
    assert calls.count("gru") >= 2
    assert calls.count("gru_cell") == 1
    assert "whole process" in anygru.restore(nn.Sequential(late)).unchanged.get("0", "whole process")
    anygru.restore()
    calls.clear()
    early(input)
    assert calls == []


def test_nested_blocks(calls: list[str]) -> None:
    gru, input = nn.GRU(3, 4), torch.randn(5, 2, 3)

    def accelerated() -> bool:
        calls.clear()
        gru(input)
        return calls == ["gru"]

    with anygru.accelerate():
        with anygru.accelerate():
            assert accelerated()
        assert accelerated()
        with anygru.accelerate(gru):
            assert accelerated()
        assert accelerated()
        with pytest.raises(ZeroDivisionError), anygru.accelerate():
            1 / 0  # noqa: B018
        assert accelerated()
    assert not accelerated()
    whole = anygru.accelerate()
    with whole:
        assert accelerated()
    assert not accelerated()
    with whole:
        assert accelerated()
    assert not accelerated()
    with anygru.accelerate(gru):
        with anygru.accelerate(gru) as inner:
            assert inner.changed == {}
        assert accelerated(), "the inner block changed nothing, and undoes nothing"
    assert not accelerated()


def test_restoring_a_model_in_an_accelerated_process_says_so() -> None:
    gru = nn.GRU(3, 4)
    anygru.accelerate(gru)
    with anygru.accelerate():
        assert "whole process is accelerated" in anygru.restore(gru).unchanged["(model)"]


def test_other_threads_see_it_too(calls: list[str]) -> None:
    gru, input, outputs = nn.GRU(3, 4), torch.randn(5, 2, 3), []
    expected = gru(input)[0]
    with anygru.accelerate():
        threads = [threading.Thread(target=lambda: outputs.append(gru(input)[0])) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert calls == ["gru"] * 4
    for output in outputs:
        torch.testing.assert_close(output, expected)


def test_the_docstring_example_runs() -> None:
    module = importlib.import_module("anygru.patching.accelerate")
    found = doctest.DocTestFinder(recurse=False).find(anygru.accelerate, "accelerate", module=False, globs=vars(module))
    outcome = doctest.DocTestRunner().run(found[0])
    assert outcome.failed == 0 < outcome.attempted
    anygru.restore()


@pytest.fixture
def alone() -> Iterator[None]:
    """A process group of one process."""
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.usefixtures("alone")
def test_distributed_data_parallel(calls: list[str]) -> None:
    model = Tagger()
    tokens = torch.randint(11, (3, 6))
    expected = results(model, tokens)
    wrapped = nn.parallel.DistributedDataParallel(model)
    with anygru.accelerate(wrapped) as report:
        assert "module.encoder = module.decoder" in report.changed
        wrapped(tokens).sum().backward()
        assert "gru" in calls
        torch.testing.assert_close(wrapped(tokens).detach(), expected[0])


@pytest.mark.usefixtures("alone")
@pytest.mark.skipif(not torch_private.at_least(2, 8), reason="this torch shards on GPUs only")
def test_fully_sharded(calls: list[str]) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    input = torch.randn(5, 2, 3)
    for first in (True, False):
        gru = nn.GRU(3, 4)
        expected = gru(input)[0].detach()
        mesh = init_device_mesh("cpu", (1,))
        if first:
            anygru.accelerate(gru)
        fully_shard(gru, mesh=mesh)
        if not first:
            anygru.accelerate(gru)
        calls.clear()
        output = gru(input)[0]
        torch.testing.assert_close(output.detach(), expected)
        output.sum().backward()
        assert calls == ["gru"]
        anygru.restore(gru)


def test_a_cell_without_units_stays_with_torch() -> None:
    cell = torch.nn.GRUCell(10, 0)
    x = torch.randn(3, 10)
    with anygru.accelerate(cell):
        assert cell(x).shape == (3, 0)
