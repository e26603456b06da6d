"""`CellLayer`: cells of other formulas against float64 NumPy, in every form of batch, twice differentiable, compiled."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from helpers import close
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence

import anygru
from anygru.operator import cell_loops


class Peephole(nn.Module):
    """A GRU whose update gate also sees the state unit by unit."""

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
    for one, other in zip(torch.autograd.grad(output.sum(), list(layer.parameters())), first, strict=True):
        close(one, other)


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
        for one, other in zip(*grads, strict=True):
            close(one, other, times=5)
