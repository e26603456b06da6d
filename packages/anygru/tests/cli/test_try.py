"""`anygru try`: the user's own model, as it is and changed, in processes of their own."""

import re

import pytest
import torch
from helpers import mostly_long

import anygru as package

MODEL = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = torch.nn.GRU(8, 16, batch_first=True)
        self.head = torch.nn.Linear(16, 2)

    def forward(self, x):
        print("a model may print")
        return {"y": self.head(self.gru(x)[0]), "state": self.gru(x)[1]}

def build():
    return Model(), torch.randn(1, 20, 8)

def by_name():
    return Model(), {"x": torch.randn(1, 5, 8)}

def wrong():
    return Model()

def failing():
    raise RuntimeError("no data here")

def without():
    return torch.nn.Linear(3, 3), torch.randn(2, 3)
"""
QUICK = ("--rounds", 1, "--seconds", 0.01)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "my_model.py"
    path.write_text(MODEL)
    return path


def rows(out):
    """The table: variant -> (milliseconds, ratio, difference)."""
    pattern = r"^((?:as it is|accelerated|frozen \w+)) +([\d.]+) +([\d.]+) +([\d.e+-]+)"
    return {name: tuple(map(float, rest)) for name, *rest in re.findall(pattern, out, re.MULTILINE)}


@pytest.mark.parametrize("build", mostly_long(["build", "by_name"], 0))
def test_every_variant_is_measured_and_compared(anygru, model, build):
    result = anygru("try", f"{model}:{build}", *QUICK)
    assert result.status == 0, result.error
    table = rows(result.out)
    assert list(table) == ["as it is", "accelerated", "frozen float32", "frozen bfloat16", "frozen int8"]
    assert table["as it is"][1:] == (1.0, 0.0)
    assert table["accelerated"][2] < 1e-6 < table["frozen bfloat16"][2] < 1e-2
    assert table["frozen int8"][2] < 2e-2
    assert "import anygru" in result.out or "Keep the model as it is" in result.out


@pytest.mark.long
def test_training_has_no_frozen_variants(anygru, model):
    assert list(rows(anygru("try", f"{model}:build", "--train", *QUICK).out)) == ["as it is", "accelerated"]


@pytest.mark.long
def test_a_model_without_grus_stays_as_it_is(anygru, model):
    result = anygru("try", f"{model}:without", *QUICK)
    assert result.status == 0
    assert "Keep the model as it is" in result.out or "Recommended" in result.out
    assert rows(result.out)["accelerated"][2] == 0


@pytest.mark.parametrize(
    ("target", "status", "words"),
    [
        ("my_model.py:nothing", 1, "my_model.py has no callable 'nothing'"),
        pytest.param(
            "my_model.py:wrong",
            1,
            "my_model.py:wrong must return (module, example inputs), got Model",
            marks=pytest.mark.long,
        ),
        pytest.param("my_model.py:failing", 1, "RuntimeError: no data here", marks=pytest.mark.long),
        ("no_file.py:build", 2, "there is no file 'no_file.py'"),
        pytest.param("no_module:build", 1, "No module named 'no_module'", marks=pytest.mark.long),
    ],
)
def test_a_wrong_target_is_one_line(anygru, model, monkeypatch, target, status, words):
    monkeypatch.chdir(model.parent)
    result = anygru("try", target, *QUICK)
    assert result.status == status
    assert words in result.error
    assert result.error.count("\n") == 1


def test_one_target_is_needed(anygru, model):
    assert "give one of TARGET and --onnx" in anygru("try").error
    assert "give one of TARGET and --onnx" in anygru("try", f"{model}:build", "--onnx", "x.onnx").error
    assert "--rounds must be at least 1, got 0" in anygru("try", f"{model}:build", "--rounds", 0).error


@pytest.mark.long
def test_the_picture_is_drawn(anygru, model, tmp_path):
    pytest.importorskip("matplotlib")
    anygru("try", f"{model}:build", "--train", *QUICK, "--plot", tmp_path / "times.png")
    assert (tmp_path / "times.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
@pytest.mark.needs_torch(2, 6, because="anygru.onnx.export needs it")
def test_the_grus_of_an_onnx_model(anygru, tmp_path):
    pytest.importorskip("onnxruntime")
    layer = package.GRU(4, 8, num_layers=2, bidirectional=True).eval()
    package.onnx.export(layer, (torch.randn(7, 1, 4),), tmp_path / "m.onnx")
    result = anygru("try", "--onnx", tmp_path / "m.onnx", *QUICK)
    assert result.status == 0, result.error
    assert rows(result.out)["frozen float32"][2] < 1e-5
    assert len(rows(result.out)) == 5


@pytest.mark.long
def test_a_script_is_run_whole(anygru, tmp_path):
    (tmp_path / "good.py").write_text("print(1)")
    (tmp_path / "bad.py").write_text("raise SystemExit('no data')")
    result = anygru("try", tmp_path / "good.py", "--rounds", 1)
    assert "Keep the script as it is" in result.out or "anygru run --accelerate" in result.out
    assert "ended with status 1: no data" in anygru("try", tmp_path / "bad.py", "--rounds", 1).error
