"""Frozen layers in files: found, converted there and back, loaded, and refused where damaged."""

from pathlib import Path

import pytest
import torch

import anygru
from anygru.checkpoints.writing.convert import convert
from anygru.cli import main
from anygru.errors import CheckpointError

safetensors = pytest.importorskip("safetensors.torch")


def model() -> torch.nn.ModuleDict:
    parts = {
        "encoder": torch.nn.GRU(5, 9, 2, bidirectional=True),
        "cell": torch.nn.GRUCell(5, 9, bias=False),
        "before": anygru.GRU(5, 9, reset="before"),
        "head": torch.nn.Linear(9, 2),
    }
    return torch.nn.ModuleDict(parts)


@pytest.mark.parametrize("weights", ["bfloat16", "int8"])
def test_a_converted_file_holds_what_freeze_makes(weights: str, tmp_path: Path) -> None:
    plain = model()
    source, small, again = tmp_path / "model.safetensors", tmp_path / "small.safetensors", tmp_path / "small.pt"
    anygru.save_checkpoint(plain, source)
    report = convert(source, small, weights=weights)
    assert report.frozen == {"encoder": weights, "cell": weights, "before": weights}
    assert all(0 < verdict.difference < 0.02 for verdict in report.verdicts)
    frozen = model()
    anygru.freeze(frozen, weights=weights)
    frozen.load_state_dict(safetensors.load_file(small))
    anygru.freeze(plain, weights=weights)
    assert frozen.state_dict().keys() == plain.state_dict().keys()
    for name, tensor in plain.state_dict().items():
        assert torch.equal(frozen.state_dict()[name], tensor), name
    assert all(verdict.same_bits for verdict in convert(small, again).verdicts)
    for path in (small, again):
        checkpoint = anygru.load_checkpoint(path)
        assert {gru.path: gru.frozen for gru in checkpoint.gru_layers} == dict.fromkeys(report.frozen, weights)
        x = torch.randn(3, 2, 5)
        layer = checkpoint.gru("encoder")
        assert isinstance(layer, anygru.FrozenGRU)
        assert torch.equal(layer(x)[0], plain["encoder"](x)[0])
        assert torch.equal(checkpoint.gru("before")(x)[0], plain["before"](x)[0])
        assert torch.equal(checkpoint.gru("cell")(x[0]), plain["cell"](x[0]))


def test_back_to_plain_weights_and_to_other_frameworks(tmp_path: Path) -> None:
    layer = torch.nn.GRU(5, 9)
    frozen = anygru.GRU.around(anygru.weights.Weights.of(layer._flat_weights)).freeze("int8")
    safetensors.save_file(frozen.state_dict(), tmp_path / "small.safetensors")
    convert(tmp_path / "small.safetensors", tmp_path / "wide.pt", weights="float32")
    layer.load_state_dict(torch.load(tmp_path / "wide.pt", weights_only=True))
    x = torch.randn(3, 2, 5)
    torch.testing.assert_close(layer(x)[0], frozen.thaw()(x)[0])
    report = convert(tmp_path / "small.safetensors", tmp_path / "gru.params")
    assert "its int8 weights became float32" in report.notes[0]
    assert all(verdict.same_bits for verdict in report.verdicts)
    with pytest.raises(CheckpointError, match="frozen layers are written to safetensors and torch files, not to mxnet"):
        convert(tmp_path / "wide.pt", tmp_path / "gru.params", weights="int8")


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, small = tmp_path / "model.safetensors", tmp_path / "small.safetensors"
    anygru.save_checkpoint(torch.nn.GRU(5, 9), source)
    assert main(["convert", str(source), str(small), "--weights", "int8"]) == 0
    assert "became anygru.FrozenGRU" in capsys.readouterr().out
    assert main(["inspect", str(small)]) == 0
    printed = capsys.readouterr().out
    assert "anygru.FrozenGRU(5, 9), 1 layer, one direction, reset after the product, int8 weights" in printed


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_scales_that_are_none_are_refused(value: float, tmp_path: Path) -> None:
    state = anygru.GRU(5, 9).freeze("int8").state_dict()
    state["weight_hh_l0_scale"][3] = value
    safetensors.save_file(state, tmp_path / "bad.safetensors")
    with pytest.raises(CheckpointError, match=r"weight_hh_l0_scale: scales must be positive and finite, and one is"):
        anygru.load_checkpoint(tmp_path / "bad.safetensors").gru()
    with pytest.raises(CheckpointError, match="scales must be"):
        convert(tmp_path / "bad.safetensors", tmp_path / "good.pt")
    state["weight_hh_l0_scale"] = torch.ones(5)
    safetensors.save_file(state, tmp_path / "bad.safetensors")
    assert anygru.load_checkpoint(tmp_path / "bad.safetensors").gru_layers == ()
