"""`anygru try`: the user's own model, unchanged and changed, in separate processes."""

import json
import re
import sys

import pytest
import torch
from helpers import mostly_slow

import anygru as package
from anygru.cli import trial, variants, watching

MODEL = """
import os
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

class Masked(Model):
    def forward(self, x):
        y = super().forward(x)["y"]
        return y.where(x[..., :2] > 0, -torch.inf), y * torch.nan

def masked():
    return Masked(), torch.randn(1, 20, 8)

def by_name():
    return Model(), {"x": torch.randn(1, 5, 8)}

def wrong():
    return Model()

def of_a_class():
    return torch.nn.GRU, torch.ones(1, 2, 3)

def of_other_width():
    return torch.nn.GRU(8, 16), [torch.ones(1, 2, 3)]

class Tired(Model):
    calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls > 5:
            os._exit(9) if self.training else int("tired")
        return super().forward(x)

def tired():
    return Tired(), torch.randn(1, 20, 8)

def failing():
    raise RuntimeError("no data here")

def without():
    return torch.nn.Linear(3, 3), torch.randn(2, 3)
"""
FAILING = MODEL.splitlines().index('    raise RuntimeError("no data here")') + 1
pytestmark = pytest.mark.usefixtures("warm_python")
QUICK = ("--rounds", 1, "--seconds", 0.01)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "my_model.py"
    path.write_text(MODEL)
    return path


def rows(out):
    """The table: variant -> (milliseconds, ratio, difference)."""
    pattern = r"^((?:as it is|accelerated|frozen \w+)) +([\d.]+) +([\d.]+)(?: \([\d.]+ to [\d.]+\))? +([\d.e+-]+)"
    return {name: tuple(map(float, rest)) for name, *rest in re.findall(pattern, out, re.MULTILINE)}


@pytest.mark.parametrize("build", mostly_slow(["build", "by_name"]))
def test_every_variant_is_measured_and_compared(anygru, model, build):
    result = anygru("try", f"{model}:{build}", *QUICK)
    assert result.status == 0, result.error
    table = rows(result.out)
    assert list(table) == list(variants.VARIANTS)
    assert table["as it is"][1:] == (1.0, 0.0)
    assert table["accelerated"][2] < 1e-6 < table["frozen bfloat16"][2] < 1e-2
    assert table["frozen int8"][2] < 2e-2
    assert "import anygru" in result.out or "Keep the model as it is" in result.out


def test_training_has_no_frozen_variants_and_infinite_outputs_are_compared(anygru, model):
    out = anygru("try", f"{model}:masked", "--train", *QUICK).out
    table = rows(out)
    assert list(table) == ["as it is", "accelerated"]
    assert table["accelerated"][2] < 1e-6
    assert "other numbers at each call" not in out


def test_a_model_without_grus_stays_as_it_is(anygru, model):
    result = anygru("try", f"{model}:without", *QUICK)
    assert result.status == 0
    assert "Keep the model as it is" in result.out
    assert "nothing can be accelerated: it has no GRU" in result.out
    assert "Recommended" not in result.out


@pytest.mark.parametrize(
    ("target", "status", "words"),
    [
        ("my_model.py:nothing", 2, "my_model.py has no function 'nothing'"),
        ("my_model.py:wrong", 2, "my_model.py:wrong must return (module, example inputs), got Model"),
        ("my_model.py:of_a_class", 2, "got (the class GRU, Tensor[1, 2, 3])"),
        ("my_model.py:of_other_width", 2, "(called with (list))"),
        ("my_model.py:tired", 2, "invalid literal for int() with base 10: 'tired' (called with (Tensor[1, 20, 8]))"),
        ("my_model.py:", 2, "TARGET must be FILE.py:NAME, MODULE:NAME or SCRIPT.py, got 'my_model.py:'"),
        ("my_model.py:failing", 2, f"my_model.py:{FAILING}: RuntimeError: no data here"),
        ("damaged.py:build", 2, "damaged.py:2: SyntaxError: "),
        ("no_file.py:build", 2, "there is no file 'no_file.py'"),
        ("no_module:build", 2, "measured: ModuleNotFoundError: No module named 'no_module'"),
    ],
)
def test_a_wrong_target_is_one_line(anygru, model, monkeypatch, target, status, words):
    monkeypatch.chdir(model.parent)
    (model.parent / "damaged.py").write_text("import torch\ndef build(:\n")
    result = anygru("try", target, *QUICK)
    assert result.status == status
    assert words in result.error
    assert result.error.count("\n") == 1


def test_a_model_that_ends_its_process_is_a_failure(anygru, model):
    result = anygru("try", f"{model}:tired", "--train", *QUICK)
    assert (result.status, result.error.count("\n")) == (1, 1)
    assert "its process ended with status 9" in result.error


def made(name, *turns, difference=0.0):
    found = variants.Variant(name, "", {}, difference=difference, greatest=1.0)
    found.times, found.turns = [*turns], [*turns]
    return found


@pytest.mark.parametrize(
    ("others", "name"),
    [
        ([made("accelerated", 0.9, 1.2, 0.5)], None),  # slower in one turn
        ([made("accelerated", 0.5, 0.5, 0.5), made("frozen float32", 0.4, 0.6, 0.4)], "accelerated"),  # they overlap
        ([made("accelerated", 0.5, 0.5, 0.5), made("frozen int8", 0.1, 0.1, 0.1)], "frozen int8"),
        ([made("accelerated", 0.5, 0.5, 0.5), made("frozen int8", 0.1, 0.1, 0.1, difference=0.1)], "accelerated"),
    ],
)
def test_a_variant_is_recommended_only_outside_the_spread(others, name):
    best = variants.recommended([made("as it is", 1.0, 1.0, 1.0), *others])
    assert (best and best.name) == name


def test_a_ratio_has_its_spread():
    assert str(variants.spread([2.0, 3.0, 4.0], [1.0, 1.0, 2.0])) == "3.00 (2.00 to 3.00)"


def test_one_target_is_needed(anygru, model):
    assert "give one of TARGET and --onnx" in anygru("try").error
    assert "give one of TARGET and --onnx" in anygru("try", f"{model}:build", "--onnx", "x.onnx").error
    assert "--rounds must be at least 1, got 0" in anygru("try", f"{model}:build", "--rounds", 0).error


def test_the_picture_is_drawn(anygru, model, tmp_path):
    pytest.importorskip("matplotlib")
    anygru("try", f"{model}:build", "--train", *QUICK, "--plot", tmp_path / "times.png")
    assert (tmp_path / "times.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(sys.platform == "win32", reason="no contained reader")
def test_no_library_parses_an_onnx_model_in_the_process_that_measures(tmp_path, monkeypatch):
    onnx = pytest.importorskip("onnx")
    weights = {"W": (1, 6, 3), "R": (1, 6, 2)}
    stored = [onnx.numpy_helper.from_array(torch.ones(shape).numpy(), name) for name, shape in weights.items()]
    node = onnx.helper.make_node("GRU", ["x", "W", "R"], ["y"], "g", hidden_size=2)
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in "xy")
    graph = onnx.helper.make_graph([node], "g", [x], [y], stored)
    (tmp_path / "m.onnx").write_bytes(onnx.helper.make_model(graph).SerializeToString())
    monkeypatch.setattr("anygru.checkpoints.formats.onnx.read", None)
    assert trial.load_onnx(str(tmp_path / "m.onnx"))[0].sizes == [3]


@pytest.mark.needs_torch(2, 6, because="anygru.onnx.export needs it")
def test_the_grus_of_an_onnx_model(anygru, tmp_path):
    pytest.importorskip("onnxruntime")
    layer = package.GRU(4, 8, num_layers=2, bidirectional=True).eval()
    package.onnx.export(layer, (torch.randn(7, 1, 4),), tmp_path / "m.onnx")
    result = anygru("try", "--onnx", tmp_path / "m.onnx", *QUICK)
    assert result.status == 0, result.error
    assert rows(result.out)["frozen float32"][2] < 1e-5
    assert len(rows(result.out)) == len(variants.VARIANTS)


SCRIPTS = {
    "layer": """
import torch
gru = torch.nn.GRU(8, 16)
with torch.no_grad():
    for steps in (5, 9, 9):
        gru(torch.randn(steps, 2, 8))
""",
    "class": """
import sys
import torch

class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(9, 8)
        self.gru = torch.nn.GRU(8, 16, batch_first=True)
        self.shift = lambda x: x + 1  # cannot be pickled

    def forward(self, words, *, lengths):
        packed = torch.nn.utils.rnn.pack_padded_sequence(self.table(words), lengths, batch_first=True)
        return self.shift(self.gru(packed)[1])

if __name__ == "__main__":
    tagger = Tagger().eval()
    tagger(torch.randint(9, (2, 6)), lengths=[6, int(sys.argv[1])])
    tagger(torch.randint(9, (2, 6)), lengths=[6, 2])
    sys.exit(0)
""",
    "training": """
import torch
model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.GRU(8, 16))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.randn(7, 2, 3))[0].square().mean().backward()
    optimizer.step()
""",
    "a thread, and another folder": """
import os, threading
import torch
os.chdir("/")
gru = torch.nn.GRU(3, 4)
thread = threading.Thread(target=gru, args=(torch.randn(5, 2, 3),))
thread.start()
thread.join()
torch.nn.GRUCell(3, 4)(torch.randn(2, 3))
""",
    "compiled": """
import torch
model = torch.compile(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.GRU(3, 4)), backend="aot_eager")
model(torch.randn(5, 2, 3))
model(torch.randn(5, 2, 3))
""",
    "two models and no GRU": """
import torch
encoder, decoder = torch.nn.GRU(3, 4), torch.nn.GRUCell(4, 4)
torch.nn.LSTM(3, 4)(torch.randn(2, 1, 3))
decoder(encoder(torch.randn(5, 2, 3))[1][0])
decoder(torch.randn(2, 4))
""",
    "frozen": """
import torch, anygru
model = torch.nn.Sequential(torch.nn.LazyLinear(3), torch.nn.GRU(3, 4))
with torch.no_grad():
    model(torch.randn(5, 2, 3))
    changed
    model(torch.randn(5, 2, 3).to(model[0].weight.dtype))
""",
    "nothing": "import torch\ntorch.nn.LSTM(2, 3)(torch.randn(4, 1, 2))",
    "failing": "import torch\ntorch.nn.GRU(2, 3)(torch.randn(4, 1, 2))\nraise ValueError('no data')",
    "wrong status": "import sys, torch\nsys.exit('no data')",
}


@pytest.fixture
def watched(tmp_path, monkeypatch):
    """Watch one of the scripts in this process: the report of each model."""

    def call(name, *arguments):
        script = tmp_path / "script.py"
        script.write_text(SCRIPTS[name])
        monkeypatch.setattr("sys.path", ["", *sys.path])
        monkeypatch.setattr("sys.argv", ["watching", str(tmp_path), str(script), *arguments])
        before = torch.nn.Module.__call__, torch.autograd.backward
        try:
            watching.main()
        finally:
            assert (torch.nn.Module.__call__, torch.autograd.backward) == before
        return json.loads((tmp_path / watching.REPORT).read_text())["models"]

    return call


def example(file):
    return torch.load(file, weights_only=False)


def test_a_script_that_calls_a_layer_is_watched(watched):
    (model,) = watched("layer")
    assert (model["name"], model["line"], model["calls"], model["training"]) == ("GRU", "script.py:6", 3, "")
    (x,), options = example(model["inference"])
    assert x.shape in ((9, 2, 8), (5, 2, 8))
    assert options == {}
    assert torch.load(model["state"], weights_only=True)["weight_hh_l0"].shape == (48, 16)


def test_the_outermost_module_of_a_script_is_watched_with_its_keywords(watched):
    (model,) = watched("class", "5")
    assert (model["name"], model["calls"], model["training"]) == ("Tagger", 2, "")
    (words,), options = example(model["inference"])
    assert (words.shape, words.dtype) == ((2, 6), torch.int64)
    assert options == {"lengths": [6, 5]}


@pytest.mark.parametrize("change", ["anygru.freeze(model, 'int8')", "model.double()", "model[1] = torch.nn.GRU(3, 5)"])
def test_a_model_that_its_script_changes_has_a_plain_reason(watched, change, monkeypatch):
    monkeypatch.setitem(SCRIPTS, "changed", SCRIPTS["frozen"].replace("changed", change))
    (model,) = watched("changed")
    assert (model["training"], model["inference"]) == ("", "")
    assert "the script changes its " in model["why_not"]
    assert "anygru try FILE.py:NAME" in model["why_not"]


def test_a_lazy_model_is_watched(watched, monkeypatch):
    monkeypatch.setitem(SCRIPTS, "lazy", SCRIPTS["frozen"].replace("changed", "pass"))
    (model,) = watched("lazy")
    assert model["inference"]
    assert model["why_not"] == ""


def test_a_script_that_trains_is_watched_in_training_and_its_values_are_the_last_ones(watched):
    (model,) = watched("training")
    assert model["training"] == model["inference"] != ""
    torch.manual_seed(0)
    first = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.GRU(8, 16)).state_dict()
    assert not torch.equal(torch.load(model["state"], weights_only=True)["1.weight_hh_l0"], first["1.weight_hh_l0"])


@pytest.mark.compiles
def test_a_compiled_model_is_watched_and_its_tracing_is_no_training(watched):
    (model,) = watched("compiled")
    assert (model["line"], model["calls"], model["training"]) == ("script.py:4", 2, "")


def test_calls_of_threads_are_watched_and_the_script_may_change_the_folder(watched, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert [model["line"] for model in watched("a thread, and another folder")] == ["script.py", "script.py:9"]


def test_several_models_are_watched_and_those_without_a_gru_are_not(watched):
    assert [model["name"] for model in watched("two models and no GRU")] == ["GRU", "GRUCell"]
    assert watched("nothing") == []


def test_a_slice_is_kept_without_the_tensor_that_it_belongs_to():
    whole = torch.arange(1000.0)
    (copy,) = watching.copied((whole[10:12],))
    assert copy.tolist() == [10.0, 11.0]
    assert copy.untyped_storage().nbytes() == 8


@pytest.mark.parametrize("name", ["failing", "wrong status"])
def test_a_script_that_fails_is_one_line(anygru, tmp_path, name):
    (tmp_path / "script.py").write_text(SCRIPTS[name])
    result = anygru("try", tmp_path / "script.py", *QUICK)
    assert result.status == 1
    assert result.error.startswith("anygru try: error: the script as it is ended with status 1:")
    assert "no data" in result.error
    assert name != "failing" or re.search(r"script\.py:\d+: \w*Error: ", result.error)
    assert result.error.count("\n") == 1


@pytest.mark.parametrize("root", mostly_slow(["mxnet", "paddle"]))
def test_a_script_of_another_framework_is_told_how_it_runs(anygru, tmp_path, root):
    (tmp_path / "script.py").write_text(f"import {root}.nn")
    error = anygru("try", tmp_path / "script.py", *QUICK).error
    assert error.endswith(
        f"No module named '{root}'; a script for {root} runs with `anygru run`, and is not measured\n"
    )


def test_a_script_without_grus_stays_as_it_is(anygru, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPTS["nothing"])
    out = anygru("try", tmp_path / "script.py", *QUICK).out
    assert out == "Keep the script as it is: script.py calls no module with a torch.nn.GRU or GRUCell.\n"


@pytest.mark.parametrize("name", mostly_slow(["layer", "class"]))
def test_the_model_of_a_script_is_measured_in_every_variant(anygru, tmp_path, name):
    pytest.importorskip("matplotlib")
    (tmp_path / "script.py").write_text(SCRIPTS[name])
    result = anygru("try", tmp_path / "script.py", *QUICK, "--arguments", "4", "--plot", tmp_path / "times.png")
    assert result.status == 0, result.error
    table = rows(result.out)
    assert list(table) == list(variants.VARIANTS)
    assert max(table["accelerated"][2], table["frozen float32"][2]) < 1e-6 < table["frozen bfloat16"][2] < 1e-2
    assert "The whole script" in result.out
    assert "Recommended: frozen" not in result.out  # only the time of the whole script decides
    assert (tmp_path / "times.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_script_that_trains_has_both_tables(anygru, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPTS["training"])
    out = anygru("try", tmp_path / "script.py", *QUICK).out
    training, inference = out.split("Sequential (script.py:7, 3 calls), ")[1:]
    assert training.startswith("training steps\n")
    assert list(rows(training)) == ["as it is", "accelerated"]
    assert inference.startswith("inference\n")
    assert len(rows(inference)) == len(variants.VARIANTS)


def test_arguments_are_those_of_a_script(anygru, model):
    assert "--arguments needs a script as TARGET" in anygru("try", f"{model}:build", "--arguments", "4").error


def test_a_model_that_is_a_layer_is_frozen_in_a_place_of_its_own(anygru):
    layer = torch.nn.GRU(4, 8).eval()
    frozen, _ = trial.prepare(layer, "frozen int8", False)
    ours = package.GRU(4, 8)
    ours.load_state_dict(layer.state_dict())
    x = torch.randn(5, 2, 4)
    assert torch.equal(frozen(x)[0], ours.freeze("int8")(x)[0])
    with pytest.raises(trial.TargetError, match="nothing can be frozen: it has no GRU"):
        trial.prepare(torch.nn.Linear(2, 2), "frozen int8", False)
