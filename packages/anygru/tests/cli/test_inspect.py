"""`anygru inspect` as a user runs it."""

import hashlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import anygru
from anygru.checkpoints import load_checkpoint, save_checkpoint
from anygru.cli import main
from anygru.errors import how_to_install

DATA = Path(__file__).parent.parent / "checkpoints" / "data"


def inspect(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main(["inspect", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize(
    ("file", "lines"),
    [
        (
            "paddle/model.pdparams",
            ["gru: paddle.nn.GRU(3, 4), 2 layers, bidirectional", "weight  [5 x 3]  float32  60 B"],
        ),
        ("mxnet/exported-0003.params", ["arg:model_gru0: mxnet.gluon.rnn.GRU", "bidirectional"]),
        ("chainer/model.npz", ["cell: chainer.links.GRU(3, 4), reset before the product", "words = 'déjà vu'"]),
        ("oneflow/model", ["model.0: oneflow.nn.GRU(3, 4)", "epoch = 3", "words = ['a', 'b']"]),
        ("mxnet/lstm.params", ["no GRU found"]),
        ("chainer/square.npz", ["note: the shapes fit two layers and two directions: read as two layers"]),
    ],
)
def test_shows_tensors_values_and_gru_layers(file: str, lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, error = inspect(capsys, DATA / file)
    assert (status, error) == (0, "")
    for line in lines:
        assert line in out


def test_counts_parameters_and_bytes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    net = torch.nn.Module()
    net.gru = anygru.GRU(3, 4, 2, bidirectional=True)
    save_checkpoint(net, tmp_path / "x.pt")
    count = sum(parameter.numel() for parameter in net.parameters())
    _, out, _ = inspect(capsys, tmp_path / "x.pt")
    assert f"16 tensors, {count:,} numbers, 2.2 KiB" in out
    assert f"{count:,} parameters" in out


def test_names_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    save_checkpoint({"a\x1b[31m[bold]b": torch.ones(1)}, tmp_path / "x.safetensors")
    _, out, _ = inspect(capsys, tmp_path / "x.safetensors")
    assert "a\\x1b[31m[bold]b" in out
    assert "\x1b" not in out


def test_draws_a_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    import matplotlib.image

    status, out, _ = inspect(capsys, DATA / "mxnet/plain.params", "--plot", tmp_path / "weights.png")
    assert status == 0
    assert "weights.png" in out
    picture = matplotlib.image.imread(tmp_path / "weights.png")
    assert min(picture.shape[:2]) > 300
    assert np.ptp(picture) > 0.5
    assert main(["inspect", str(DATA / "chainer/model.npz"), "--plot", str(tmp_path / "weights.xyz")]) == 2
    assert "xyz" in capsys.readouterr().err
    assert not (tmp_path / "weights.xyz").exists()


def test_numbers_without_a_histogram_are_drawn_in_one_bin(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    values = {"same": [3e38] * 9, "far": [-3e38, 3e38], "tiny": [1e-45, 3e-45] * 9, "none": [float("nan")] * 2}
    save_checkpoint({name: torch.tensor(value) for name, value in values.items()}, tmp_path / "x.safetensors")
    status, _, error = inspect(capsys, tmp_path / "x.safetensors", "--plot", tmp_path / "x.png")
    assert (status, error) == (0, "")


def test_without_matplotlib_the_command_that_installs_it_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["inspect", str(DATA / "mxnet/plain.params"), "--plot", str(tmp_path / "weights.png")]) == 2
    assert capsys.readouterr().err.endswith(f": error: --plot needs the package matplotlib: {how_to_install('lab')}\n")


@pytest.mark.parametrize(("package", "extra", "format"), [("h5py", "hdf5", "hdf5"), ("onnx", "onnx", "onnx")])
def test_without_the_library_of_a_format_the_command_that_installs_it_is_said(
    package: str, extra: str, format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=re.escape(how_to_install(extra))):
        load_checkpoint(tmp_path / "file", format)


def test_nothing_to_draw_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    save_checkpoint({"a": torch.tensor(1.0)}, tmp_path / "x.pt")
    assert main(["inspect", str(tmp_path / "x.pt"), "--plot", str(tmp_path / "x.png")]) == 2
    assert "so no tensor can be drawn" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, b"", b"hello", b"\x80\x04cos\nsystem\n."])
def test_bad_files_give_one_line_and_status_2(
    content: bytes | None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "x"
    if content is not None:
        path.write_bytes(content)
    status, out, error = inspect(capsys, path)
    assert (status, out) == (2, "")
    assert error.startswith("anygru inspect: error: ")
    assert str(path) in error
    assert error.count("\n") == 1


def test_format_can_be_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, _, error = inspect(capsys, DATA / "paddle/cell.pdparams", "--format", "mxnet")
    assert status == 2
    assert "magic number" in error


@pytest.mark.parametrize("link", ["secret", "/proc/self/pagemap"])
def test_provenance_follows_no_link_of_a_folder(link: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_checkpoint(torch.nn.GRU(3, 4), tmp_path / "state", "oneflow")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "state/notes").symlink_to(tmp_path / link)
    assert main(["convert", str(tmp_path / "state"), str(tmp_path / "a.safetensors"), "--provenance"]) == 2
    assert "notes: a link" in capsys.readouterr().err
    assert not (tmp_path / "a.safetensors").exists()


def test_provenance_covers_the_files_beside_a_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    values = onnx.numpy_helper.from_array(np.arange(64, dtype=np.float32), "values")
    y = onnx.helper.make_tensor_value_info("y", 1, None)
    node = onnx.helper.make_node("Identity", ["values"], ["y"])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [], [y], [values]))
    place = {"save_as_external_data": True, "location": "m.data", "size_threshold": 0}
    onnx.save(model, str(tmp_path / "m.onnx"), **place)
    found = []
    for change, more in ((b"", []), (b"", ["--no-sandbox"]), (b"x", [])):
        with open(tmp_path / "m.data", "ab") as file:
            file.write(change)  # which no tensor covers
        target = str(tmp_path / "x.safetensors")
        assert main(["convert", str(tmp_path / "m.onnx"), target, "--provenance", *more]) == 0
        assert main(["inspect", target]) == 0
        found.append(re.findall(r"sha256 of the source: (\w{64})", capsys.readouterr().out))
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_provenance_is_shown_and_checked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "x.safetensors"
    source = str(DATA / "mxnet/model.params")
    assert main(["convert", source, str(target), "--provenance", "--layer-names"]) == 0
    assert main(["inspect", str(target)]) == 0
    out = capsys.readouterr().out
    assert "from model.params (mxnet)" in out
    assert f"sha256 of the source: {hashlib.sha256(Path(source).read_bytes()).hexdigest()}" in out
    assert 'options: {"layer_names": true}' in out
    assert "its tensors are those that were written" in out
    data = bytearray(target.read_bytes())
    data[-1] ^= 1
    target.write_bytes(bytes(data))
    assert main(["inspect", str(target)]) == 0
    assert "ITS TENSORS ARE OTHERS" in capsys.readouterr().out
    assert main(["convert", str(target), str(tmp_path / "y.safetensors")]) == 0
    assert main(["convert", source, str(tmp_path / "y.npz"), "--provenance"]) == 2
    captured = capsys.readouterr()
    assert "files of chainer hold no metadata" in captured.err
    assert main(["inspect", str(tmp_path / "y.safetensors")]) == 0
    assert "made by anygru" not in capsys.readouterr().out
