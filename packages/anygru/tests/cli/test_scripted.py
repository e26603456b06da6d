"""`anygru convert --script`: the user's code, its errors, and example inputs by their shapes."""

import pytest
import torch

SCRIPT = """
import sys
import torch

def build():
    return torch.nn.GRU(2, 3)

def embedded():
    return torch.nn.Sequential(torch.nn.Embedding(5, 2), torch.nn.GRU(2, 3))

def needs(size):
    pass

def ends():
    sys.exit(3)

def raises():
    settings = {}
    return settings["size"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    torch.save(torch.nn.GRU(2, 3).state_dict(), "model.pt")
    torch.save(torch.nn.Sequential(torch.nn.Embedding(5, 2), torch.nn.GRU(2, 3)).state_dict(), "embedded.pt")
    (tmp_path / "model.py").write_text(SCRIPT)
    (tmp_path / "broken.py").write_text("x = 1\ndef build(:\n")
    return tmp_path


@pytest.mark.parametrize(
    ("source", "name", "shape"), [("model", "build", "4,1,2"), ("embedded", "embedded", "4,1:int64")]
)
def test_an_input_by_its_shape(anygru, folder, source, name, shape):
    pytest.importorskip("onnxruntime")
    result = anygru("convert", f"{source}.pt", "x.onnx", "--script", f"model.py:{name}", "--input", shape)
    assert (result.status, result.error) == (0, "")
    assert "verified: ONNX Runtime and the model" in result.out


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("model.py:build", "4,1,5", "the model cannot be run on inputs of the shapes [4, 1, 5]: "),
        ("model.py:build", "4,1,2:int64", "the model cannot be run"),
        ("model.py:build", "4,-1,2", "--input must be SHAPE or SHAPE:DTYPE"),
        ("model.py:build", "4,1,2:object", "--input must be SHAPE or SHAPE:DTYPE"),
        ("model.py:needs", "1", "--script model.py:needs: TypeError: needs() missing 1"),
        ("model.py:ends", "1", "model.py:15: SystemExit: 3"),
        ("model.py:raises", "1", "model.py:19: KeyError: 'size'"),
        ("broken.py:build", "1", "broken.py:2: SyntaxError: invalid syntax"),
    ],
)
def test_an_error_of_the_script_is_one_line(anygru, folder, name, shape, words):
    result = anygru("convert", "model.pt", "x.onnx", "--script", name, f"--input={shape}")
    assert (result.status, result.error.count("\n")) == (2, 1)
    assert words in result.error
    assert not (folder / "x.onnx").exists()


@pytest.mark.parametrize("option", [["--limit", "5M"], ["--seconds", "3"], ["--params", "x"], ["--map", ""]])
def test_options_that_a_checkpoint_cannot_honour(anygru, folder, option):
    assert anygru("convert", "model.pt", "x.npz", *option).status == 2
    assert not (folder / "x.npz").exists()
