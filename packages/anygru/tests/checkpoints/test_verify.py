"""A conversion is verified by the frameworks' documentation and results, never by the tables that converted it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from samples import DATA, ENDINGS, model, write_onnx

import anygru
from anygru.checkpoints import NAMES, format_module, load_checkpoint, save_checkpoint
from anygru.checkpoints.documented import find_gates, places
from anygru.checkpoints.equations import Equations, run, step
from anygru.checkpoints.layout import CheckpointLayout
from anygru.checkpoints.stored import StoredTensor
from anygru.checkpoints.translation import core_weights, framework_tensors
from anygru.checkpoints.writing.convert import convert
from anygru.errors import CheckpointError
from anygru.facts.formula import ACTIVATIONS

LAYOUTS = [
    pytest.param(name, number, id=f"{name}-{number}")
    for name in NAMES
    for number, _ in enumerate((*format_module(name).LAYOUT, *getattr(format_module(name), "MARKED_LAYOUT", ())))
]


@pytest.mark.parametrize("ending", ["onnx", "h5"])
def test_the_tensors_and_not_the_format_say_which_framework_defines_a_gru(ending: str, tmp_path: Path) -> None:
    """Initializers of an ONNX file can have torch's names."""
    state = {name: value.detach().numpy() for name, value in torch.nn.GRU(3, 4).state_dict().items()}
    if ending == "onnx":
        onnx = pytest.importorskip("onnx")
        stored = [onnx.numpy_helper.from_array(value, name) for name, value in state.items()]
        node = onnx.helper.make_node("Identity", ["weight_ih_l0"], ["y"])
        write_onnx(tmp_path / "x.onnx", [node], stored, outputs="y")
    else:
        with pytest.importorskip("h5py").File(tmp_path / "x.h5", "w") as file:
            file.update(state)
    (verdict,) = convert(tmp_path / f"x.{ending}", tmp_path / "y.npz").verdicts
    assert verdict.same_bits
    assert "torch.nn.GRU" in verdict.by


@pytest.mark.parametrize(("format", "number"), LAYOUTS)
def test_every_layout_has_a_second_description_that_computes_what_torch_does(
    format: str, number: int, tmp_path: Path
) -> None:
    module = format_module(format)
    layout: CheckpointLayout = (*module.LAYOUT, *getattr(module, "MARKED_LAYOUT", ()))[number]
    for sides in layout.sides[-1:] if not layout.cell else (1,):
        layers = 1 if layout.columns or layout.cell else 2
        options = {"reset": layout.reset, "dtype": torch.float64}
        if layout.cell:
            layer = anygru.GRUCell(3, 4, **options)
        else:
            layer = anygru.GRU(3, 4, layers, bidirectional=sides == 2, **options)
        torch.manual_seed(number)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.normal_()
        save_checkpoint(layer, tmp_path / "x.pt")
        checkpoint = load_checkpoint(tmp_path / "x.pt")
        (gru,) = checkpoint.gru_layers
        tensors = framework_tensors(core_weights(gru, checkpoint.stored), gru, layout, "net")
        parts = find_gates(tensors, "net", layers, sides, layout.cell)
        assert parts is not None
        equations = Equations(layout.reset, "sigmoid", "tanh")
        x, h = torch.randn(5, 2, 3, dtype=torch.float64), torch.randn(layers * sides, 2, 4, dtype=torch.float64)
        with torch.no_grad():
            if layout.cell:
                np.testing.assert_allclose(
                    step(parts[0], equations, x[0].numpy(), h[0].numpy()), layer(x[0], h[0]), atol=1e-12
                )
                continue
            for ours, expected in zip(run(parts, sides, equations, x.numpy(), h.numpy()), layer(x, h), strict=True):
                np.testing.assert_allclose(ours, expected, atol=1e-12)
        assert places(tensors, "net", layers, sides, layout.cell)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_descriptions_know_every_activation(activation: str, tmp_path: Path) -> None:
    layer = anygru.GRU(3, 4, activation=activation, gate_activation="hardsigmoid", dtype=torch.float64)
    save_checkpoint(layer, tmp_path / "x.pt")
    (verdict,) = convert(tmp_path / "x.pt", tmp_path / "y.safetensors").verdicts
    assert verdict.same_bits
    checkpoint = load_checkpoint(tmp_path / "x.pt")
    parts = find_gates(checkpoint.stored, "", 1, 1, cell=False)
    x = torch.randn(5, 2, 3, dtype=torch.float64)
    y, _ = run(parts, 1, Equations("after", "hardsigmoid", activation), x.numpy(), np.zeros((1, 2, 4)))
    np.testing.assert_allclose(y, layer(x)[0].detach(), atol=1e-9)


def gates_swapped(layout: CheckpointLayout) -> CheckpointLayout:
    return replace(layout, order="zrn") if len(layout.weight_ih) == 1 else _turned(layout)


def _turned(layout: CheckpointLayout) -> CheckpointLayout:
    first, second, third = layout.weight_ih
    return replace(layout, weight_ih=(second, first, third))


def biases_swapped(layout: CheckpointLayout) -> CheckpointLayout:
    return replace(layout, bias_ih=layout.bias_hh, bias_hh=layout.bias_ih)


@pytest.mark.parametrize("mistake", [gates_swapped, biases_swapped])
@pytest.mark.parametrize("format", ["mxnet", "chainer", "paddle", "oneflow"])
def test_a_wrong_table_does_not_verify_itself(
    format: str,
    mistake: Callable[[CheckpointLayout], CheckpointLayout],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Written by a wrong table and read back by the same one, results agree."""
    save_checkpoint(model(), tmp_path / "x.safetensors")
    module = format_module(format)
    wrong = tuple(mistake(layout) if not layout.cell else layout for layout in module.LAYOUT)
    monkeypatch.setattr(module, "LAYOUT", wrong)
    with pytest.raises(CheckpointError, match="gru: its results differ from the source's"):
        convert(tmp_path / "x.safetensors", tmp_path / ("y" + ENDINGS[format]))


def test_a_wrong_operation_on_rows_does_not_verify_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anygru.facts.gates.negate_update", lambda values: values)
    with pytest.raises(CheckpointError, match="results differ from the source's"):
        convert(DATA / "chainer/stored.npz", tmp_path / "x.pt")


def test_what_nothing_describes_is_called_not_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anygru.checkpoints.documented._LAYERS", ())
    save_checkpoint(model(), tmp_path / "x.pt")
    first, second = convert(tmp_path / "x.pt", tmp_path / "y.npz").verdicts
    assert "no second description fits the tensors of gru in the source" in first.reason
    assert not first.same_bits
    assert second.same_bits


def test_torch_itself_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = torch.nn.Module()
    net.gru = torch.nn.GRU(3, 4, 2, bidirectional=True)
    torch.save(net.state_dict(), tmp_path / "x.pt")
    (verdict,) = convert(tmp_path / "x.pt", tmp_path / "x.npz").verdicts
    assert (verdict.by, verdict.same_bits) == ("torch.nn.GRU", True)
    forward = torch.nn.GRU.forward

    def wrong(self: torch.nn.GRU, *args: object) -> object:
        y, h = forward(self, *args)
        return y + 1, h

    monkeypatch.setattr(torch.nn.GRU, "forward", wrong)
    with pytest.raises(CheckpointError, match=r"torch\.nn\.GRU computes results that differ from the documented ones"):
        convert(tmp_path / "x.pt", tmp_path / "x.npz")


def test_onnx_runtime_is_asked(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    from test_options import node

    path = node(tmp_path / "m.onnx", direction="bidirectional", linear_before_reset=1)
    (verdict,) = convert(path, tmp_path / "x.pt").verdicts
    assert "ONNX Runtime and torch.nn.GRU" in verdict.by


def test_it_says_where_each_gate_went(tmp_path: Path) -> None:
    report = convert(DATA / "chainer/stored.npz", tmp_path / "x.pt")
    gru = next(gru for gru in load_checkpoint(DATA / "chainer/stored.npz").gru_layers if gru.reset == "before")
    h, path, target = gru.hidden_size, gru.path, gru.path.replace("/", ".")
    moves = report.moves[target]
    blend = "the other part of the blend"
    assert f"input update: {path}/W_z/W, {blend} -> {target}.weight_ih, rows {h} to {2 * h - 1}" in moves
    assert f"state candidate: {path}/U/W -> {target}.weight_hh, rows {2 * h} to {3 * h - 1}" in moves


def test_two_biases_that_become_one_are_told(tmp_path: Path) -> None:
    net = torch.nn.Module()
    net.cell = anygru.GRUCell(3, 4, reset="before")
    save_checkpoint(net, tmp_path / "x.pt")
    report = convert(tmp_path / "x.pt", tmp_path / "x.pdparams")
    moves = report.moves["cell"]
    assert "state bias reset: cell.bias_hh, rows 0 to 3 -> added to the other bias" in moves
    assert "state candidate: cell.weight_hh, rows 8 to 11 -> cell._candidate_weight, rows 3 to 6, transposed" in moves


def test_places_of_a_tensor_of_one_number() -> None:
    tensors = {name: StoredTensor.of(np.ones(shape, np.float32)) for name, shape in (("w0", (1, 1)),)}
    assert places(tensors, "", 1, 1, cell=True) is None
