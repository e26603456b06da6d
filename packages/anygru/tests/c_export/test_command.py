"""`anygru export-c` as a user runs it."""

import random
from pathlib import Path

import pytest
import torch
from c_programs import WARNINGS, compiled, tool
from torch import nn

import anygru
from anygru.checkpoints import save_checkpoint
from anygru.cli import main

DATA = Path(__file__).parent.parent / "checkpoints" / "data"


def export(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main(["export-c", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A GRU and a head."""
    path = tmp_path / "my model.safetensors"
    save_checkpoint(nn.ModuleDict({"gru": nn.GRU(3, 8), "head": nn.Linear(8, 2)}), path)
    return path


def test_says_what_it_did(capsys: pytest.CaptureFixture[str], checkpoint: Path, tmp_path: Path) -> None:
    tool("gcc", "gcc")
    sound = ("--rest", "0", "--sample-rate", "48000")
    status, out, error = export(capsys, checkpoint, "--out", tmp_path / "my-gru.h", "--weights", "int8", *sound)
    assert (status, error) == (0, "")
    for words in (
        "GRU gru: torch.nn.GRU(3, 8)",
        "left out: 2 other tensors",
        "my_gru_step",
        "3 inputs, 8 outputs",
        "a state of 32 bytes",
        "from the model over 1000 steps",
    ):
        assert words in out
    text = (tmp_path / "my-gru.h").read_text()
    assert "int8 weights" in text
    assert "Starts a sequence from the state at rest." in text
    assert "MY_GRU_SAMPLE_RATE 48000" in text


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ("mxnet/model.params", []),
        ("chainer/model.npz", ["--gru"]),
        ("paddle/model.pdparams", []),
        ("oneflow/model", []),
    ],
)
def test_any_checkpoint(source: str, options: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tool("gcc", "gcc")
    found = anygru.load_checkpoint(DATA / source).gru_layers
    status, out, error = export(capsys, DATA / source, "--out", tmp_path / "a.h", "--gru", found[0].path)
    assert (status, error) == (0, "")
    assert "from the model over" in out


@pytest.mark.needs_torch(2, 6, because="anygru.onnx.export needs it")
def test_an_onnx_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tool("gcc", "gcc")
    pytest.importorskip("onnxscript")
    anygru.onnx.export(anygru.GRU(3, 5, 2).eval(), (torch.randn(4, 1, 3),), tmp_path / "gru.onnx")
    layers = anygru.load_checkpoint(tmp_path / "gru.onnx").gru_layers
    assert layers
    for found in layers:
        status, out, error = export(capsys, tmp_path / "gru.onnx", "--out", tmp_path / "a.h", "--gru", found.path)
        assert (status, error) == (0, ""), error
        assert "from the model over" in out


@pytest.mark.parametrize("biases", [(2, 12), (12,)], ids=["reset after", "reset before"])
def test_a_keras_model(biases: tuple[int, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tool("gcc", "gcc")
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "model.weights.h5", "w") as file:
        stored = file.create_group("layers/gru/cell/vars")
        for number, shape in enumerate([(3, 12), (4, 12), biases]):
            stored[str(number)] = 0.3 * torch.randn(shape).numpy()
    status, out, error = export(capsys, tmp_path / "model.weights.h5", "--out", tmp_path / "a.h")
    assert (status, error) == (0, ""), error
    assert "keras.layers.GRU(3, 4)" in out
    assert "from the model over" in out


def test_other_dtypes_become_float32(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    save_checkpoint(nn.GRU(2, 3, dtype=torch.float64), tmp_path / "double.safetensors")
    status, out, _ = export(capsys, tmp_path / "double.safetensors", "--out", tmp_path / "a.h", "--no-check")
    assert status == 0
    assert "float64 in the file, and become float32" in out
    assert "not compared with the model" in out


def test_without_a_compiler_the_status_is_a_failure_unless_no_check_is_given(
    capsys: pytest.CaptureFixture[str], checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    status, out, error = export(capsys, checkpoint, "--out", tmp_path / "a.h")
    assert status == 1
    assert "NOT CHECKED: nothing was run" in out
    assert "a.h was not compared with the model, because no C compiler was found" in error
    assert (tmp_path / "a.h").exists()
    status, out, error = export(capsys, checkpoint, "--out", tmp_path / "a.h", "--no-check")
    assert (status, error) == (0, "")
    assert "NOT CHECKED: nothing was run" in out


def test_a_frozen_checkpoint_keeps_its_format(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    save_checkpoint(anygru.GRU(2, 3).freeze("bfloat16"), tmp_path / "frozen.safetensors")
    assert export(capsys, tmp_path / "frozen.safetensors", "--out", tmp_path / "a.h", "--no-check")[0] == 0
    assert "bfloat16 weights" in (tmp_path / "a.h").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--out", "a.h", "--name", "while"], "name must not be a keyword"),
        (["--out", "a.h", "--name", "1st"], "name must be an identifier"),
        (["--out", "a.h", "--name", ""], "name must be an identifier"),
        (["--out", "my model.safetensors"], "--out my model.safetensors: another argument names this file"),
        (["--out", "../same/my model.safetensors"], "another argument names this file"),
        (["--out", ".", "--no-check"], "--out .: it is a folder; name a file"),
        (["--out", "a.h", "--gru", "other"], "no GRU named 'other'; there are: 'gru'"),
        ([], "missing target: --out F.h, --wasm DIR, or both"),
        (["--out", "missing/a.h", "--no-check"], "--out missing/a.h: there is no folder"),
    ],
)
def test_what_cannot_be(
    options: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    checkpoint: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(checkpoint.parent)
    options = [option.replace("same", checkpoint.parent.name) for option in options]
    status, _, error = export(capsys, checkpoint, *options)
    assert status in (1, 2)
    assert words in error
    assert error.count("\n") == 1
    assert list(checkpoint.parent.iterdir()) == [checkpoint]


def test_a_damaged_checkpoint_gives_an_error_or_a_file_that_compiles(
    capsys: pytest.CaptureFixture[str], checkpoint: Path, tmp_path: Path
) -> None:
    compiler = tool("gcc", "gcc")
    good, draw, program, statuses = checkpoint.read_bytes(), random.Random(0), "", set()
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(150):
        data = bytearray(good)
        for _ in range(draw.randint(1, 8)):
            data[draw.randrange(len(data) if draw.random() < 0.7 else 400)] = draw.choice(
                [0, 127, 128, 255, 34, 42, 47]
            )
        (tmp_path / "bad.safetensors").write_bytes(data if draw.random() < 0.8 else data[: draw.randrange(len(data))])
        status, _, _ = export(capsys, tmp_path / "bad.safetensors", "--out", folder / f"m{number}.h", "--no-check")
        statuses.add(status)
        assert (folder / f"m{number}.h").exists() == (status == 0)
        program += f'#include "m{number}.h"\n' * (status == 0)
    assert statuses == {0, 2}
    compiled(folder, program + "int main(void) { return 0; }\n", compiler, "-std=c99", *WARNINGS, "-O0")


def test_a_path_in_a_checkpoint_cannot_leave_its_comment(tmp_path: Path) -> None:
    model = nn.Sequential()
    model.add_module('x*/ #error "?\\\n', anygru.GRU(2, 3))
    exported = anygru.export_c(model, tmp_path / "a.h", check=False)
    assert '#error "?' not in exported.source.text  # the file has a line of its own for names that differ in case
    compiled(tmp_path, '#include "a.h"\nint main(void) { return 0; }\n', tool("gcc", "gcc"), "-std=c99", *WARNINGS)


def test_a_folder_for_a_page(capsys: pytest.CaptureFixture[str], checkpoint: Path, tmp_path: Path) -> None:
    for name in ("clang", "wasm-ld"):
        tool(name, "clang, lld, wasi-libc")
    status, out, error = export(capsys, checkpoint, "--wasm", tmp_path / "site", "--name", "wake")
    if "wasi-libc" in error:
        pytest.skip("needs wasi-libc")
    assert (status, error) == (0, "")
    files = {path.name for path in (tmp_path / "site").iterdir()}
    assert files == {"wake.wasm", "wake.js", "wake.d.ts", "wake-worklet.js", "index.html"}
    assert "python -m http.server" in out
    assert "not compared" not in out


def test_both_files_or_none(
    capsys: pytest.CaptureFixture[str], checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    status, _, error = export(capsys, checkpoint, "--out", tmp_path / "a.h", "--wasm", tmp_path / "site")
    assert status != 0
    assert "apt install clang lld wasi-libc" in error
    assert list(tmp_path.iterdir()) == [checkpoint]
