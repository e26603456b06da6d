"""The original frameworks and anygru compute the same from shared files."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from samples import DATA, ENDINGS

import anygru
from anygru.checkpoints import load_checkpoint, save_checkpoint
from anygru.checkpoints.writing.convert import convert

CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def _expected(framework: str) -> dict[str, np.ndarray]:
    with np.load(DATA / framework / "expected.npz") as data:
        return dict(data)


def _run(layer: torch.nn.Module, x: np.ndarray, h: np.ndarray | None, *, batch_first: bool = False):
    inputs = torch.from_numpy(x.swapaxes(0, 1).copy() if batch_first else x)
    with torch.no_grad():
        y, hy = layer(inputs, None if h is None else torch.from_numpy(h))
    return (y.numpy().swapaxes(0, 1) if batch_first else y.numpy()), hy.numpy()


@pytest.mark.parametrize(
    ("file", "path", "key", "batch_first"),
    [
        ("paddle/model.pdparams", "gru", "model", True),
        ("paddle/model_protocol2.pdparams", "gru", "model", True),
        ("mxnet/model.params", "1", "model", True),
        ("mxnet/names.params", "model_gru0", "model", True),
        ("mxnet/exported-0003.params", "arg:model_gru0", "model", True),
        ("mxnet/plain.params", "", "plain", False),
        ("mxnet/fused.params", "arg:fused", "fused", False),
        ("oneflow/model", "model.0", "model", False),
    ],
)
def test_layer_computes_what_its_framework_computed(file: str, path: str, key: str, batch_first: bool) -> None:
    expected = _expected(file.split("/")[0])
    layer = load_checkpoint(DATA / file).gru(path)
    assert isinstance(layer, anygru.GRU)
    y, hy = _run(layer, expected[f"{key}/x"], expected[f"{key}/h"], batch_first=batch_first)
    np.testing.assert_allclose(y, expected[f"{key}/y"], **CLOSE)
    np.testing.assert_allclose(hy, expected[f"{key}/hy"], **CLOSE)


def test_nested_paddle_file_computes_what_paddle_computed() -> None:
    expected = _expected("paddle")
    layer = load_checkpoint(DATA / "paddle/nested.pdparams").gru("net")
    y, hy = _run(layer, expected["model/x"], expected["model/h"], batch_first=True)
    np.testing.assert_allclose(y, expected["nested/y"], **CLOSE)
    np.testing.assert_allclose(hy, expected["nested/hy"], **CLOSE)


@pytest.mark.parametrize("file", ["chainer/model.npz", "chainer/stored.npz"])
@pytest.mark.parametrize("name", ["rnn", "both"])
def test_nstep_gru_computes_what_chainer_computed(file: str, name: str) -> None:
    expected = _expected("chainer")
    y, hy = _run(load_checkpoint(DATA / file).gru(name), expected["x"], expected[f"{name}/h"])
    np.testing.assert_allclose(y, expected[f"{name}/y"], **CLOSE)
    np.testing.assert_allclose(hy, expected[f"{name}/hy"], **CLOSE)


def test_chainers_two_square_links_are_what_the_caller_says() -> None:
    expected = _expected("chainer")
    open_question = load_checkpoint(DATA / "chainer/square.npz")
    assert not open_question.gru_layers[0].bidirectional
    assert "two directions" in open_question.gru_layers[0].notes[0]
    layer = load_checkpoint(DATA / "chainer/square.npz", bidirectional=[""]).gru()
    y, hy = _run(layer, expected["square/x"], None)
    np.testing.assert_allclose(y, expected["square/y"], **CLOSE)
    np.testing.assert_allclose(hy, expected["square/hy"], **CLOSE)


@pytest.mark.parametrize(
    ("file", "path", "key", "reset"),
    [
        ("paddle/cell.pdparams", "", "cell", "after"),
        ("paddle/basic.pdparams", "0", "basic", "before"),
        ("mxnet/cell.params", "", "cell", "after"),
        ("chainer/model.npz", "cell", "cell", "before"),
        ("chainer/model.h5", "cell", "cell", "before"),
        ("oneflow/cell", "", "cell", "after"),
    ],
)
def test_cell_computes_what_its_framework_computed(file: str, path: str, key: str, reset: str) -> None:
    expected = _expected(file.split("/")[0])
    layer = load_checkpoint(DATA / file).gru(path)
    assert isinstance(layer, anygru.GRUCell)
    assert layer.reset == reset
    with torch.no_grad():
        y = layer(torch.from_numpy(expected["cell/x"]), torch.from_numpy(expected["cell/h"]))
    np.testing.assert_allclose(y.numpy(), expected[f"{key}/y"], **CLOSE)


def test_snapshot_holds_what_the_model_held() -> None:
    stored = load_checkpoint(DATA / "chainer/snapshot.npz").stored["updater/model:main/rnn/0/w0"]
    np.testing.assert_array_equal(stored.values, _expected("chainer")["snapshot/w0"])


def test_sparse_arrays_are_made_dense() -> None:
    expected = _expected("mxnet")
    tensors = load_checkpoint(DATA / "mxnet/sparse.nd").tensors
    np.testing.assert_array_equal(tensors["rows"].numpy(), expected["sparse/rows"])
    np.testing.assert_array_equal(tensors["matrix"].numpy(), expected["sparse/matrix"])


def test_lstm_is_no_gru() -> None:
    assert load_checkpoint(DATA / "mxnet/lstm.params").gru_layers == ()


# -- the other way: files that anygru wrote, in the frameworks' own layers -----------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("format", ["paddle", "mxnet", "chainer", "hdf5", "oneflow"])
@pytest.mark.parametrize("kind", ["1x1", "2x1", "1x2", "2x2", "cell", "stateful"])
def test_framework_computes_the_same_from_our_file(format: str, kind: str, tmp_path: Path) -> None:
    framework = "chainer" if format == "hdf5" else format
    variable = f"ANYGRU_{framework.upper()}_PYTHON"
    interpreter = os.environ.get(variable)
    if not interpreter:
        pytest.skip(f"{variable} names no interpreter that has {framework}")
    if kind == "stateful" and framework != "chainer":
        pytest.skip(f"{framework} has no cell with the reset before the product")
    net = torch.nn.Module()
    x, h = torch.randn(5, 2, 3), torch.randn(2, 4)
    if kind in ("cell", "stateful"):
        net.part = anygru.GRUCell(3, 4, reset="before" if kind == "stateful" else "after")
        x = x[0]
    else:
        layers, directions = (int(digit) for digit in kind.split("x"))
        net.part = anygru.GRU(3, 4, layers, bidirectional=directions == 2)
        h = torch.randn(layers * directions, 2, 4)
    save_checkpoint(net, tmp_path / "model.pt")
    target = tmp_path / ("model" + ENDINGS[format])
    convert(tmp_path / "model.pt", target)
    np.savez(tmp_path / "input.npz", x=x.numpy(), h=h.numpy())
    prefix = "part/" if framework == "chainer" else "part."
    arguments = [target, prefix, kind, tmp_path / "input.npz", tmp_path / "output.npz"]
    subprocess.run([interpreter, DATA / framework / "read_back.py", *map(str, arguments)], check=True)
    with torch.no_grad():
        result = net.part(x, h)
    y, hy = result if isinstance(result, tuple) else (result, result)
    with np.load(tmp_path / "output.npz") as output:
        np.testing.assert_allclose(output["y"], y.numpy(), **CLOSE)
        np.testing.assert_allclose(output["hy"], hy.numpy(), **CLOSE)


def test_torch_itself_reads_our_files(tmp_path: Path) -> None:
    net = torch.nn.Module()
    net.gru = torch.nn.GRU(3, 4, 2, bidirectional=True)
    for source in ("a.npz", "a.params", "a.pdparams", "a.safetensors"):
        save_checkpoint(net, tmp_path / source)
        convert(tmp_path / source, tmp_path / "back.pt")
        twin = torch.nn.GRU(3, 4, 2, bidirectional=True)
        state = torch.load(tmp_path / "back.pt", weights_only=True)
        twin.load_state_dict({name.removeprefix("gru."): tensor for name, tensor in state.items()})
        x = torch.randn(3, 2, 3)
        assert torch.equal(twin(x)[0], net.gru(x)[0])


def test_safetensors_itself_reads_our_file(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    net = torch.nn.Linear(3, 4)
    save_checkpoint(net, tmp_path / "a.safetensors")
    state = load_file(tmp_path / "a.safetensors")
    assert torch.equal(state["weight"], net.weight)
    assert torch.equal(state["bias"], net.bias)
