"""`CellLayer`: cells of other formulas against float64 NumPy, in every form of batch, twice differentiable, compiled."""

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from helpers import all_close, close
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence

import anygru
from anygru.operator import cell_loops


class Peephole(nn.Module):
    """A GRU with an update gate that also reads the state unit by unit."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input, self.state = nn.Linear(input_size, 3 * hidden_size), nn.Linear(hidden_size, 3 * hidden_size)
        self.peephole = nn.Parameter(torch.linspace(-1, 1, hidden_size))

    def of_input(self, input: Tensor) -> Tensor:
        return self.input(input)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        (x_r, x_z, x_n), (h_r, h_z, h_n) = x.chunk(3, -1), self.state(h).chunk(3, -1)
        z = torch.sigmoid(x_z + h_z + self.peephole * h)
        return z * h + (1 - z) * torch.tanh(x_n + torch.sigmoid(x_r + h_r) * h_n)


class LiGRU(nn.Module):
    """Ravanelli et al. 2018: no reset gate, a relu; here with a step that reads the input itself."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.gates = nn.Linear(input_size + hidden_size, 2 * hidden_size)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        z, n = self.gates(torch.cat((x, h), -1)).chunk(2, -1)
        return torch.lerp(torch.relu(n), h, torch.sigmoid(z))


class MinGRU(nn.Module):
    """Feng et al. 2024 (arXiv:2410.01201): gates that do not see the state."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.gates = nn.Linear(input_size, 2 * hidden_size)

    def coefficients(self, input: Tensor) -> tuple[Tensor, Tensor]:
        z, n = self.gates(input).chunk(2, -1)
        z = torch.sigmoid(z)
        return 1 - z, z * n


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def step_in_numpy(cell: nn.Module, x: Any, h: Any) -> Any:
    """One step of one sequence, from the formulas."""
    own = {name: value.detach().double().numpy() for name, value in cell.named_parameters()}
    if isinstance(cell, Peephole):
        a, b = own["input.weight"] @ x + own["input.bias"], own["state.weight"] @ h + own["state.bias"]
        (x_r, x_z, x_n), (h_r, h_z, h_n) = np.split(a, 3), np.split(b, 3)
        z = _sigmoid(x_z + h_z + own["peephole"] * h)
        return z * h + (1 - z) * np.tanh(x_n + _sigmoid(x_r + h_r) * h_n)
    if isinstance(cell, LiGRU):
        z, n = np.split(own["gates.weight"] @ np.concatenate((x, h)) + own["gates.bias"], 2)
        return _sigmoid(z) * h + (1 - _sigmoid(z)) * np.maximum(n, 0)
    z, n = np.split(own["gates.weight"] @ x + own["gates.bias"], 2)
    return (1 - _sigmoid(z)) * h + _sigmoid(z) * n


def in_numpy(layer: Any, sequence: Tensor, resets: Any = None, states: Any = None) -> tuple[Any, Any]:
    """Outputs and last states of one sequence, layer by layer."""
    rows, final = sequence.detach().double().numpy(), []
    directions = 2 if layer.bidirectional else 1
    for _ in range(layer.num_layers):
        outputs = []
        for direction in range(directions):
            cell = layer.cells[len(final)]
            h = np.zeros(layer.hidden_size) if states is None else states[len(final)]
            found = np.zeros((len(rows), layer.hidden_size))
            for step in range(len(rows))[:: -1 if direction else 1]:
                h = np.zeros_like(h) if resets is not None and resets[step] else h
                found[step] = h = step_in_numpy(cell, rows[step], h)
            outputs.append(found)
            final.append(h)
        rows = np.concatenate(outputs, -1)
    return rows, np.stack(final)


CELLS = [Peephole, LiGRU, MinGRU]
LENGTHS = [4, 13, 0, 7]


def make(cell: Any, layers: int = 2, bidirectional: bool = True, **options: Any) -> Any:
    return anygru.CellLayer(cell, 3, 4, layers, bidirectional=bidirectional, **options).double()


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The path of compiled parts without a compiler; gives the calls of parts."""
    calls: list[int] = []

    def parts(kind: type) -> Any:
        calls.append(1)
        return cell_loops._many

    monkeypatch.setattr(cell_loops, "_compiled", parts)
    monkeypatch.setattr(cell_loops, "_has_compiler", lambda device: True)
    return calls


@pytest.mark.parametrize("cell", CELLS)
def test_every_form_of_batch(cell: Any, eager: list[int]) -> None:
    layer = make(cell)
    sequences = [torch.randn(length, 3, dtype=torch.float64) for length in LENGTHS]
    expected = [in_numpy(layer, each) for each in sequences]
    outputs, h_n = layer(sequences)
    for index, (output, (rows, states)) in enumerate(zip(outputs, expected, strict=True)):
        close(output, torch.from_numpy(rows))
        close(h_n[:, index], torch.from_numpy(states))
    padded = nn.utils.rnn.pad_sequence(sequences)
    found, h = layer(padded.masked_fill(padded == 0, torch.nan), lengths=LENGTHS)  # padding is not used
    close(h, h_n)
    for index, output in enumerate(outputs):
        close(found[: LENGTHS[index], index], output)
        assert not found[LENGTHS[index] :, index].any()
    first = make(cell, batch_first=True)
    first.load_state_dict(layer.state_dict())
    close(first(padded.transpose(0, 1), lengths=torch.tensor(LENGTHS))[0].transpose(0, 1), found)
    packed, h = layer(pack_sequence(sequences[:2], enforce_sorted=False))
    close(nn.utils.rnn.unpack_sequence(packed)[1], outputs[1])
    close(h, h_n[:, :2])
    close(layer(torch.stack([sequences[1]] * 2, 1))[0][:, 1], outputs[1])
    alone, h = layer(sequences[1])
    close(alone, outputs[1])
    close(h, h_n[:, 1])
    assert eager or cell is MinGRU


@pytest.mark.parametrize("cell", CELLS)
def test_resets_states_and_streams(cell: Any, eager: list[int]) -> None:
    layer = make(cell, bidirectional=False)
    x, h_0 = torch.randn(23, 3, dtype=torch.float64), torch.randn(2, 4, dtype=torch.float64)
    resets = torch.arange(23) % 6 == 5
    rows, states = in_numpy(layer, x, resets.numpy(), h_0.numpy())
    output, h_n = layer(x, h_0, resets=resets)
    close(output, torch.from_numpy(rows))
    close(h_n, torch.from_numpy(states))
    output, h_n = layer([x, x[:5]], torch.stack((h_0, h_0), 1), resets=[resets, resets[:5]])
    close(output[0], torch.from_numpy(rows))
    decayed = layer(x, h_0, decay=resets.logical_not().double()[:, None].expand(2, 23, 1))[0]
    close(decayed, torch.from_numpy(rows))
    stream = layer.stream()
    stream.state = h_0
    found = [
        stream.run(x[:9], resets[:9]),
        *(stream.step(x[9 + i], resets[9 + i])[None] for i in range(3)),
        stream.run(x[12:], resets[12:]),
    ]
    close(torch.cat(found), torch.from_numpy(rows))
    close(stream.state, torch.from_numpy(states))
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        close(twin(x)[0], layer(x)[0])


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("ragged", [False, True])
def test_two_derivatives(cell: Any, ragged: bool, eager: list[int]) -> None:
    layer = make(cell, 1)
    x = torch.randn(12, 2, 3, dtype=torch.float64, requires_grad=True)
    h_0 = torch.randn(2, 2, 4, dtype=torch.float64, requires_grad=True)
    given = {"lengths": [12, 5]} if ragged else {}
    weights = [one.detach().requires_grad_() for one in layer.parameters()]
    names = [name for name, _ in layer.named_parameters()]

    def call(x: Tensor, h_0: Tensor, *own: Tensor) -> Any:
        return torch.func.functional_call(layer, dict(zip(names, own, strict=True)), (x, h_0), given)

    assert torch.autograd.gradcheck(call, (x, h_0, *weights), fast_mode=True, nondet_tol=1e-12)
    assert torch.autograd.gradgradcheck(call, (x, h_0, *weights), fast_mode=True, nondet_tol=1e-12)
    output = layer(x, h_0, **given)[0]
    first = torch.autograd.grad(output.sum(), list(layer.parameters()), retain_graph=True)
    all_close(torch.autograd.grad(output.sum(), list(layer.parameters())), first)


@pytest.mark.parametrize("name", ["cells.0.input.bias", "cells.0.peephole"])
def test_a_parameter_changed_before_the_backward_pass(name: str, eager: list[int]) -> None:
    """As in torch: an error only if the backward pass reads it."""
    layer, x = make(Peephole, 1, False), torch.randn(12, 2, 3, dtype=torch.float64)
    expected = torch.autograd.grad(layer(x)[0].square().sum(), list(layer.parameters()))
    losses = [layer(x)[0].square().sum() for _ in range(2)]
    with torch.no_grad():
        layer.get_parameter(name).add_(1.0)
    with pytest.raises(RuntimeError, match="was changed in place, and second derivatives"):
        torch.autograd.grad(losses[0], list(layer.parameters()), create_graph=True)
    if name.endswith("bias"):
        all_close(torch.autograd.grad(losses[1], list(layer.parameters())), expected)
    else:
        with pytest.raises(RuntimeError, match="inplace operation"):
            torch.autograd.grad(losses[1], list(layer.parameters()))


class Changing(nn.Module):
    """A cell with dropout, or with a normalization that changes its buffers."""

    def __init__(self, between: nn.Module) -> None:
        super().__init__()
        self.gates, self.between = nn.Linear(7, 4), between

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        return torch.tanh(self.between(self.gates(torch.cat((x, h), -1))))


def grads_of(found: Tensor, layer: nn.Module) -> list[Tensor]:
    return list(torch.autograd.grad(found.square().sum(), list(layer.parameters()), create_graph=True))


@pytest.mark.parametrize("call", [1, 2])
def test_dropout_in_a_cell(call: int, eager: list[int]) -> None:
    layer, x = make(lambda i, h: Changing(nn.Dropout(0.5)), 1, False), torch.randn(12, 2, 3, dtype=torch.float64)
    plain = copy.deepcopy(layer)
    plain.compile_steps = False
    for _ in range(call):
        results = []
        for each in (layer, plain):
            torch.manual_seed(3)
            found = each(x)[0]
            results.append((found, torch.rand(1), *grads_of(found, each), *grads_of(found, each)))
        all_close(*results)


def test_a_normalization_in_a_cell(eager: list[int]) -> None:
    layer, x = make(lambda i, h: Changing(nn.BatchNorm1d(4)), 1, False), torch.randn(12, 5, 3, dtype=torch.float64)
    plain = copy.deepcopy(layer)
    plain.compile_steps = False
    results = []
    for each in (layer, plain):
        found = each(x)[0]
        each.eval()  # the forward was in training
        results.append((*grads_of(found, each), *grads_of(found, each)))
        assert not any(module.training for module in each.modules())
    for one, other in zip((*results[0], *layer.buffers()), (*results[1], *plain.buffers()), strict=True):
        close(one.double(), other)
    assert eager
    assert int(layer.cells[0].between.num_batches_tracked) == 12


def test_a_random_cell_changes_buffers_once(eager: list[int]) -> None:
    between = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout())
    layer = make(lambda i, h: Changing(between), 1, False)
    layer(torch.randn(12, 5, 3, dtype=torch.float64))
    assert eager
    assert int(between[0].num_batches_tracked) == 12


def test_autocast_in_second_derivatives(eager: list[int]) -> None:
    found: list[torch.dtype] = []

    class Seen(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            found.append(x.dtype)
            return x

    layer = anygru.CellLayer(lambda i, h: Changing(Seen()), 3, 4)
    with torch.autocast("cpu", torch.bfloat16):
        inside = layer(torch.randn(12, 2, 3))[0]
    outside = layer(torch.randn(12, 2, 3))[0]
    grads_of(inside, layer)
    with torch.autocast("cpu", torch.bfloat16):
        grads_of(outside, layer)
    assert eager
    assert found == ([torch.bfloat16] * 12 + [torch.float32] * 12) * 2


class Linear(nn.Module):
    """h' = a * h + b with fixed a and b [T]."""

    def __init__(self, a: Tensor, b: Tensor) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(a), nn.Parameter(b)

    def coefficients(self, input: Tensor) -> tuple[Tensor, Tensor]:
        return tuple(each[:, None, None].expand(-1, input.shape[1], 1) for each in (self.a, self.b))


def scan(a: Tensor, b: Tensor, h_0: float, **given: Any) -> tuple[Any, Tensor, Tensor]:
    layer = anygru.CellLayer(lambda i, h: Linear(a, b), 1, 1)
    state = torch.full((1, 1, 1), h_0, dtype=a.dtype, requires_grad=True)
    return layer, state, layer(torch.zeros(len(a), 1, 1, dtype=a.dtype), state, **given)[0].flatten()


def test_a_scan_is_finite_where_the_loop_is() -> None:
    assert not scan(torch.full((200,), 2.0), torch.zeros(200), 0.0)[2].any()
    a = torch.full((300,), 2.0)
    a[290] = 0  # clears a product of factors that is infinite
    assert not scan(a, torch.zeros(300), 0.0)[2].any()
    resets = torch.arange(300) == 3
    for h_0 in (torch.inf, torch.nan):
        layer, state, found = scan(torch.full((300,), 0.5), torch.ones(300), h_0, resets=resets[:, None])
        close(found[3:], 2 - 0.5 ** torch.arange(297))
        assert not torch.isfinite(found[:3]).any()
        of_state, of_a, of_b = torch.autograd.grad(found[3:].sum(), [state, *layer.parameters()])
        for one in (of_state, of_a[3:], of_b):  # also in a loop, an earlier a gets 0 * infinity
            assert torch.isfinite(one).all()
    found = scan(torch.full((300,), 0.5), torch.ones(300), torch.inf)[
        2
    ]  # 0.5^300 is 0 in float32, which clears nothing
    assert not torch.isfinite(found).any()


def test_derivatives_of_a_scan_with_factors_of_zero() -> None:
    a, b = torch.rand(11, dtype=torch.float64), torch.randn(11, dtype=torch.float64)
    a[[0, 4, 5]] = 0
    h_0 = torch.randn(1, 1, 1, dtype=torch.float64)
    layer = anygru.CellLayer(lambda i, h: Linear(a, b), 1, 1)
    names = ["cells.0.a", "cells.0.b"]

    def call(*given: Tensor) -> Any:
        own = dict(zip(names, given, strict=False))
        return torch.func.functional_call(layer, own, (torch.zeros(11, 1, 1, dtype=torch.float64), given[2]))

    tensors = tuple(one.clone().requires_grad_() for one in (a, b, h_0))
    assert torch.autograd.gradcheck(call, tensors)
    assert torch.autograd.gradgradcheck(call, tensors)


def test_a_gpu_without_triton_runs_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    triton = pytest.importorskip("torch.utils._triton")
    for found in (True, False):
        cell_loops._has_compiler.cache_clear()
        monkeypatch.setattr(triton, "has_triton", lambda found=found: found)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert cell_loops._has_compiler("cuda") is found
        assert found or "torch finds no Triton" in str(caught[0].message)
    cell_loops._has_compiler.cache_clear()


@pytest.mark.slow  # torch compiles two cells
def test_cells_of_torch_and_of_anygru() -> None:
    for kind in (nn.GRUCell, anygru.GRUCell):
        layer, gru = anygru.CellLayer(kind, 3, 4), anygru.GRU(3, 4)
        gru.load_state_dict({f"{name[8:]}_l0": value for name, value in layer.state_dict().items()})
        x = torch.randn(15, 2, 3)
        close(layer(x)[0], gru(x)[0])


def test_mistakes() -> None:
    with pytest.raises(TypeError, match=r"make_cell must return a torch\.nn\.Module, got list"):
        anygru.CellLayer(lambda i, h: [i, h], 3, 4)
    wrong = anygru.CellLayer(lambda i, h: nn.GRUCell(i, h), 3, 4)
    with pytest.raises(ValueError, match=r"input must have I = 3 features, got 5"):
        wrong(torch.randn(4, 2, 5))
    with pytest.raises(ValueError, match=r"h_0 must be \[L\*D, B, H\] = \[1, 2, 4\], got \[1, 3, 4\]"):
        wrong(torch.randn(4, 2, 3), torch.zeros(1, 3, 4))
    with pytest.raises(ValueError, match="a stream needs a layer with one direction"):
        make(LiGRU).stream()

    class Wide(nn.Module):
        def forward(self, x: Tensor, h: Tensor) -> Tensor:
            return torch.cat((h, h), -1)

    with pytest.raises(ValueError, match=r"a cell must return a state \[2, 4\], got \[2, 8\]"):
        anygru.CellLayer(lambda i, h: Wide(), 3, 4)(torch.randn(4, 2, 3))


@pytest.mark.slow
@pytest.mark.needs_torch(2, 13, because="older compilers take other ways")
@pytest.mark.compiles
@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # of torch's compiler, which hides it elsewhere
def test_compiled_cells() -> None:
    layer, x = anygru.CellLayer(Peephole, 3, 4), torch.randn(23, 2, 3)
    plain = anygru.CellLayer(Peephole, 3, 4, compile=False)
    plain.load_state_dict(layer.state_dict())
    for given in ({}, {"lengths": [23, 4]}):
        results = [each(x, **given)[0] for each in (layer, plain)]
        close(*results)
        grads = [
            torch.autograd.grad(found.square().sum(), list(each.parameters()))
            for found, each in zip(results, (layer, plain), strict=True)
        ]
        all_close(*grads, times=5)
