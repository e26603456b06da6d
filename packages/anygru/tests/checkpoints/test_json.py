"""RTNeural's, AIDA-X's and GuitarML's JSON: read and written, and computed by a reader of these files that shares no code."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import anygru
from anygru.c_export import Residual
from anygru.c_export.checking import find_compiler
from anygru.c_export.stacks import module_of
from anygru.checkpoints import load_checkpoint, save_checkpoint, stack
from anygru.checkpoints.writing.convert import convert
from anygru.cli import main
from anygru.errors import CheckpointError

FUNCTIONS = {
    "": lambda x: x,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "elu": lambda x: np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1),
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(),
}


def rtneural(path: Path, x: np.ndarray) -> np.ndarray:
    """The outputs [T, O] of a file for inputs [T, I], as `model_loader.h`, `gru.tpp` and AIDA-X's `applyModel` compute them."""
    model = json.loads(path.read_text())
    gains = [10 ** (model.get(f"{side}_gain", 0) / 20) for side in ("in", "out")]
    states: dict[int, np.ndarray] = {}
    outputs = []
    for one in x * gains[0]:
        value = one
        for number, layer in enumerate(model["layers"]):
            weights = [np.array(each, np.float64) for each in layer["weights"]]
            if layer["type"] == "gru":
                h = states.get(number, np.zeros(len(weights[1])))
                of_input, of_state = value @ weights[0] + weights[2][0], h @ weights[1] + weights[2][1]
                (z, r, c), (uz, ur, uc) = np.split(of_input, 3), np.split(of_state, 3)
                z, r = FUNCTIONS["sigmoid"](z + uz), FUNCTIONS["sigmoid"](r + ur)
                value = states[number] = (1 - z) * np.tanh(c + r * uc) + z * h
                continue
            if weights:
                value = value @ weights[0] + (weights[1] if len(weights) > 1 else 0)
            value = FUNCTIONS[layer["activation"]](value)
        outputs.append((value + one[: model.get("in_skip", 0)].sum()) * gains[1])
    return np.array(outputs)


def amplifier() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(2, 3), nn.Tanh(), anygru.GRU(3, 4, 2), nn.Linear(4, 3, bias=False), nn.ELU(), nn.Linear(3, 1)
    )


def outputs(model: nn.Module, x: np.ndarray) -> np.ndarray:
    for module in model:
        if type(module) is nn.Sequential:
            x = outputs(module, x)
            continue
        found = module(torch.from_numpy(x).float()[:, None])
        x = (found[0] if isinstance(found, tuple) else found)[:, 0].detach().numpy()
    return x


def sound(features: int, steps: int = 20) -> np.ndarray:
    return np.random.default_rng(features).standard_normal((steps, features))


def guitarml(path: Path, skip: int = 1) -> tuple[Path, nn.ModuleDict]:
    """A file of GuitarML's trainer, as CoreAudioML's networks.py writes it."""
    net = nn.ModuleDict({"rec": nn.GRU(1, 5), "lin": nn.Linear(5, 1)})
    data = {"model": "SimpleRNN", "input_size": 1, "skip": skip, "output_size": 1, "unit_type": "GRU", "num_layers": 1}
    state = {name: tensor.tolist() for name, tensor in net.state_dict().items()}
    path.write_text(json.dumps({"model_data": {**data, "hidden_size": 5, "bias_fl": True}, "state_dict": state}))
    return path, net


def test_a_sequence_of_modules_is_written_with_its_activations(tmp_path: Path) -> None:
    model, x = amplifier(), sound(2)
    for name in ("x.json", "x.aidax"):
        save_checkpoint(model, tmp_path / name)
        np.testing.assert_allclose(rtneural(tmp_path / name, x), outputs(model, x), atol=1e-6)
    layers = json.loads((tmp_path / "x.json").read_text())["layers"]
    assert [layer["type"] for layer in layers] == ["dense", "activation", "gru", "gru", "dense", "activation", "dense"]
    assert [layer["shape"][-1] for layer in layers] == [3, 3, 4, 4, 3, 3, 1]


def test_a_stack_of_grus_and_the_order_come_back(tmp_path: Path) -> None:
    model, x = amplifier(), sound(2)
    save_checkpoint(model, tmp_path / "x.json")
    assert load_checkpoint(tmp_path / "x.json").find("2").num_layers == 2
    convert(tmp_path / "x.json", tmp_path / "x.safetensors", mapping={"2": "amp.z", "5": "amp.a"})
    convert(tmp_path / "x.safetensors", tmp_path / "again.json")
    np.testing.assert_allclose(rtneural(tmp_path / "again.json", x), outputs(model, x), atol=1e-6)
    read = load_checkpoint(tmp_path / "again.json")
    assert torch.equal(read.gru("amp.z").weight_hh_l1, model[2].weight_hh_l1)
    assert torch.equal(read.tensors["amp.a.weight"], model[5].weight)
    report = convert(tmp_path / "x.json", tmp_path / "x.pt")
    assert "keeps neither the order of the layers" in report.notes[-1]
    model.load_state_dict(torch.load(tmp_path / "x.pt", weights_only=True))


def test_the_order_of_a_checkpoint_is_named_by_the_user(tmp_path: Path) -> None:
    net = nn.ModuleDict({"out": nn.Linear(4, 1), "rec": nn.GRU(1, 4), "mid": nn.Linear(4, 4)})
    torch.save(net.state_dict(), tmp_path / "x.pt")
    with pytest.raises(CheckpointError, match=r"does not hold the order of its layers.*--layers out,rec,mid"):
        convert(tmp_path / "x.pt", tmp_path / "x.json")
    with pytest.raises(CheckpointError, match="layers: 'sine' is no GRU and no linear layer of the file"):
        convert(tmp_path / "x.pt", tmp_path / "x.json", layers=["rec", "sine", "mid", "out"])
    with pytest.raises(CheckpointError, match="'mid' is not among its layers: gru 'rec', dense 'out'"):
        convert(tmp_path / "x.pt", tmp_path / "x.json", layers=["rec", "out"])
    with pytest.raises(CheckpointError, match="'mid' takes 4 inputs, and 'out' before it gives 1"):
        convert(tmp_path / "x.pt", tmp_path / "x.json", layers=["out", "mid", "rec"])
    order = "rec,mid,sigmoid,out,+input"
    assert main(["convert", str(tmp_path / "x.pt"), str(tmp_path / "x.json"), "--layers", order]) == 0
    x = sound(1)
    wanted = outputs(nn.Sequential(net["rec"], net["mid"], nn.Sigmoid(), net["out"]), x)
    np.testing.assert_allclose(rtneural(tmp_path / "x.json", x), wanted + x, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (nn.Sequential(nn.GRU(1, 2, bidirectional=True)), "rtneural has no GRU bidirectional layer"),
        (nn.Sequential(nn.GRUCell(1, 2)), "0: RTNeural's form is written from GRUs, Linear, .* got GRUCell"),
        (nn.Sequential(nn.GRU(1, 2), nn.ELU(0.5)), "1: RTNeural's form is written from .* got ELU"),
        (nn.Sequential(anygru.GRU(1, 2, reset="before")), "no GRU layer with the reset before the product"),
        (nn.Sequential(nn.GRU(1, 2).double()), r"float64 tensors would be read as float32"),
        (nn.ModuleDict({"a": nn.GRU(1, 2), "b": nn.Linear(2, 1)}), "does not hold the order of its layers"),
        (nn.Sequential(nn.Conv1d(1, 1, 1)), "got Conv1d"),
    ],
)
def test_models_that_rtneural_lacks_are_refused_by_name(model: nn.Module, words: str, tmp_path: Path) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.float())
    with pytest.raises(CheckpointError, match=words):
        save_checkpoint(model, tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []


def test_guitarml_becomes_a_file_of_aida_x_and_back(tmp_path: Path) -> None:
    path, net = guitarml(tmp_path / "amp.json")
    x = sound(1)
    wanted = outputs(nn.Sequential(net["rec"], net["lin"]), x) + x
    convert(path, tmp_path / "amp.aidax")
    np.testing.assert_allclose(rtneural(tmp_path / "amp.aidax", x), wanted, atol=1e-6)
    convert(tmp_path / "amp.aidax", tmp_path / "back.torch.json")
    assert json.loads((tmp_path / "back.torch.json").read_text()) == json.loads(path.read_text())
    save_checkpoint(Residual(net["rec"], net["lin"]), tmp_path / "own.json")
    convert(tmp_path / "own.json", tmp_path / "own.torch.json", mapping={"0": "rec", "1": "lin"})
    assert json.loads((tmp_path / "own.torch.json").read_text()) == json.loads(path.read_text())
    save_checkpoint(nn.Sequential(nn.GRU(1, 2), nn.Linear(2, 1), nn.Tanh()), tmp_path / "tanh.json")
    with pytest.raises(CheckpointError, match="GuitarML's model has no activations"):
        convert(tmp_path / "tanh.json", tmp_path / "x.torch.json", mapping={"0": "rec", "1": "lin"})


def test_whatever_a_file_of_aida_x_holds_is_kept(tmp_path: Path) -> None:
    save_checkpoint(nn.Sequential(nn.GRU(1, 3), nn.Linear(3, 1)), tmp_path / "x.json")
    file = json.loads((tmp_path / "x.json").read_text())
    more = {"in_gain": -3.5, "out_gain": 2, "metadata": {"samplerate": "48000"}, "input_batch": [0.1, 0.2]}
    (tmp_path / "x.json").write_text(json.dumps({**file, **more}))
    convert(tmp_path / "x.json", tmp_path / "x.safetensors")
    convert(tmp_path / "x.safetensors", tmp_path / "y.json")
    assert json.loads((tmp_path / "y.json").read_text()) == {**file, **more}


@pytest.mark.parametrize(
    "options",
    [{}, {"in_skip": 1}, {"in_skip": 1, "in_gain": -3.5, "out_gain": 2.0}, {"in_skip": 1, "wide": True}],
    ids=str,
)
def test_the_whole_model_of_a_file_is_computed(options: dict[str, float], tmp_path: Path) -> None:
    width = 2 if options.pop("wide", False) else 1
    model = nn.Sequential(nn.Linear(width, 3), nn.Sigmoid(), nn.GRU(3, 4, 2), nn.Linear(4, 1))
    save_checkpoint(model, tmp_path / "x.json")
    (tmp_path / "x.json").write_text(json.dumps({**json.loads((tmp_path / "x.json").read_text()), **options}))
    x, checkpoint = sound(width), load_checkpoint(tmp_path / "x.json")
    module = module_of(checkpoint, stack.model_of(checkpoint.content.metadata, "x") or {})
    found = outputs(module if type(module) is nn.Sequential else nn.Sequential(module), x)
    np.testing.assert_allclose(found, rtneural(tmp_path / "x.json", x)[:, :1], atol=1e-6)


@pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
def test_export_c_writes_the_whole_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = guitarml(tmp_path / "amp.json")
    assert main(["export-c", str(path), "--out", str(tmp_path / "amp.h")]) == 0
    printed = capsys.readouterr().out
    assert "one after another: gru 'rec', dense 'lin', in_skip 1" in printed
    assert "1 inputs, 1 outputs" in printed
    assert main(["export-c", str(path), "--out", str(tmp_path / "gru.h"), "--gru", "rec", "--no-check"]) == 0
    assert "1 inputs, 5 outputs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"in_skip": 2}, "in_skip must be 0 or 1"),
        ({"in_gain": "loud"}, "in_gain must be a number"),
        ({"type": "lstm"}, "the layer '0' is a lstm"),
        ({"activation": "mish"}, "the activation 'mish' is not known to RTNeural"),
    ],
)
def test_layers_that_are_not_covered_are_refused_by_name(
    options: dict[str, object], words: str, tmp_path: Path
) -> None:
    save_checkpoint(nn.Sequential(nn.Linear(1, 2), nn.GRU(2, 3), nn.Linear(3, 1)), tmp_path / "x.json")
    file = json.loads((tmp_path / "x.json").read_text())
    layer = {**file["layers"][0], **{key: options.pop(key) for key in ("type", "activation") if key in options}}
    (tmp_path / "x.json").write_text(json.dumps({**file, "layers": [layer, *file["layers"][1:]], **options}))
    checkpoint = load_checkpoint(tmp_path / "x.json")
    with pytest.raises(CheckpointError, match=words):
        module_of(checkpoint, stack.model_of(checkpoint.content.metadata, "x") or {})


def test_a_gru_computes_tanh_as_rtneural_does_with_any_activation_in_the_file(tmp_path: Path) -> None:
    save_checkpoint(nn.Sequential(nn.GRU(1, 2)), tmp_path / "x.json")
    (tmp_path / "x.json").write_text((tmp_path / "x.json").read_text().replace('"tanh"', '"relu"'))
    (gru,) = load_checkpoint(tmp_path / "x.json").gru_layers
    assert gru.activation == "tanh"
    assert gru.notes == ("its activation is 'relu' in the file; RTNeural computes tanh",)


def test_numbers_that_float32_lacks_stay_float64(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"weight_ih_l0": [[0.1],[2],[3]], "weight_hh_l0": [[1],[2],[3]], "seen": 7}')
    read = load_checkpoint(tmp_path / "x.json")
    assert {name: tensor.dtype for name, tensor in read.stored.items()} == {
        "weight_ih_l0": "float64",
        "weight_hh_l0": "float64",
        "seen": "int64",
    }
    assert read.find().hidden_size == 1
    convert(tmp_path / "x.json", tmp_path / "y.torch.json")
    assert json.loads((tmp_path / "y.torch.json").read_text()) == json.loads((tmp_path / "x.json").read_text())


def test_values_that_json_lacks_are_refused(tmp_path: Path) -> None:
    for tensor, words in (
        (torch.tensor([float("nan")]), "JSON has no NaN and no infinity"),
        (torch.tensor([1], dtype=torch.int32), "are read as float32 or float64, not as int32"),
        (torch.tensor([0.5], dtype=torch.float64), "float64 tensors would be read as float32"),
    ):
        with pytest.raises(CheckpointError, match=words):
            save_checkpoint({"a": tensor}, tmp_path / "x.torch.json")


@pytest.mark.parametrize("count", [0, 1])
def test_a_model_without_weights_is_refused(count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layer = {"type": "activation", "activation": "tanh", "shape": [None, None, 1], "weights": []}
    (tmp_path / "x.json").write_text(json.dumps({"in_shape": [None, None, 1], "layers": [layer] * count}))
    assert main(["export-c", str(tmp_path / "x.json"), "--out", str(tmp_path / "x.h"), "--no-check"]) == 2
    assert "its first layer must be" in capsys.readouterr().err


@pytest.mark.parametrize("shape", [(), (6,), None])
def test_tensors_with_guitarmls_names_and_other_shapes_are_a_plain_state_dict(
    shape: tuple[int, ...] | None, tmp_path: Path
) -> None:
    tensors = {"rec.weight_hh_l0": torch.zeros(6, 2), "lin.weight": torch.zeros(1, 2)}
    if shape is not None:
        tensors["rec.weight_ih_l0"] = torch.zeros(shape)
    torch.save(tensors, tmp_path / "x.pt")
    convert(tmp_path / "x.pt", tmp_path / "y.torch.json")
    assert json.loads((tmp_path / "y.torch.json").read_text()) == {
        name: each.tolist() for name, each in tensors.items()
    }
