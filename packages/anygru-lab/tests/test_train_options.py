"""`anygru train`: its texts, its length, and its other outputs."""

import io
import json
import math
import sys

import numpy as np
import pytest
import torch
from test_train import interrupt_after, losses, only_line

from anygru.errors import how_to_install
from anygru_lab.language_model.checkpoint import RunFolder, read_model
from anygru_lab.language_model.corpus import Corpus, Document
from anygru_lab.language_model.generate import build, generate
from anygru_lab.language_model.options import Options
from anygru_lab.language_model.trainer import Group, Trainer

TEXT = bytes(range(32, 127)) * 3
CORPUS = Corpus((Document("a", TEXT[:200]), Document("b", TEXT[7:30])), (Document("c", TEXT[:61]),))


def trainer(**changes):
    options = {"hidden": 6, "embedding": 6, "layers": 2, "batch": 4, "bptt": 7, "dropout": 0.0} | changes
    return Trainer(Options(**options), CORPUS, Group())


def test_accumulated_windows_make_one_gradient():
    """The gradient of two windows is the mean of their gradients."""
    both, one = trainer(accumulate=2, clip=1e9), trainer(clip=1e9)
    both.step(0.0)
    sums = [torch.zeros_like(parameter) for parameter in one.parameters]
    for _ in range(2):
        one.step(0.0)
        for total, parameter in zip(sums, one.parameters, strict=True):
            total += parameter.grad / 2
    for total, parameter in zip(sums, both.parameters, strict=True):
        torch.testing.assert_close(parameter.grad, total)


def test_dropout_between_layers_is_drawn_for_all_lanes_alike():
    """Two halves of the lanes, with the same seed, have the gradient of all lanes together."""
    options = Options(hidden=6, embedding=6, layers=3, batch=4, bptt=7, dropout=0.3, layer_dropout=0.5, clip=1e9)
    whole = Trainer(options, CORPUS, Group())
    whole.step(0.0)
    halves = []
    for rank in range(2):
        half = Trainer(options, CORPUS, _Alone(rank, 2))
        half.step(0.0)
        halves.append([parameter.grad.clone() for parameter in half.parameters])
    plain = Trainer(Options(**{**options.__dict__, "layer_dropout": 0.0}), CORPUS, Group())
    plain.step(0.0)
    for parameter, one, other in zip(whole.parameters, *halves, strict=True):
        torch.testing.assert_close(parameter.grad, one + other)
    assert any(not torch.allclose(a.grad, b.grad) for a, b in zip(whole.parameters, plain.parameters, strict=True))


class _Alone(Group):
    """A rank of a group that keeps its share of the sums for itself."""

    def add_up(self, tensor):
        return tensor


def test_tied_weights_are_one_parameter_and_are_saved_once(train, tmp_path):
    assert train("--steps", 3, "--tie", "--embedding", 8).status == 0
    shape, weights = read_model(tmp_path / "run")
    assert shape.tied
    assert "head.weight" not in weights
    model = build(shape, weights, "run")
    features = torch.randn(2, 8)
    torch.testing.assert_close(model.head(features), features @ weights["embed.weight"].T + weights["head.bias"])
    assert train("--resume", "--steps", 5).status == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tie"], "--tie needs --embedding 8, the --hidden, got 4"),
        (["--layer-dropout", 0.1], "--layer-dropout acts between layers"),
        (["--layer-dropout", 0.1, "--layers", 2, "--layer", "torch"], "--layer-dropout belongs to --layer anygru"),
        (["--steps", 5, "--epochs", 1], "--steps and --epochs both set the length of the run"),
        (["--device", "cuda:99"], "--device cuda:99 cannot be used"),
        (["--device", "meta"], "--device must be cpu or a CUDA device, got meta"),
        (["--device", "toaster"], "--device must be cpu or a CUDA device, got toaster"),
        (["--val-fraction", 0.9], "--val-fraction must be from 1e-06 to 0.5, got 0.9"),
        (["--val-fraction", 0.1, "--val-file", "x"], "--val-file and --val-fraction both choose the held-out text"),
        (["--val-file", "absent.txt"], "there is no file 'absent.txt'"),
        (["--init-from", "absent"], "there is no file 'absent'"),
        (["--init-from", ""], "there is no file ''"),
        (["--backend", "referense"], "; did you mean reference?"),
        (["--export", "model.pt"], "--export writes files that end in .onnx or .safetensors, got 'model.pt'"),
        (["--export", "absent/model.onnx"], "--export absent/model.onnx: there is no folder"),
        (["--export", "model.onnx", "--export-weights", "int8"], "--export-weights is for a frozen file"),
        (["--patience", 0], "--patience must be from 1"),
    ],
)
def test_an_option_that_cannot_be_honoured_is_named(train, tmp_path, arguments, words):
    only_line(train(*(["--steps", 1] if "--epochs" not in arguments else []), *arguments), words)
    assert not list(tmp_path.rglob("*.safetensors"))


def test_a_wrong_number_leaves_no_folder(anygru, text, tmp_path):
    assert anygru("train", text, "--out", tmp_path / "run", "--hidden", 0).status == 2
    assert not (tmp_path / "run").exists()


def test_epochs_are_passes_over_the_text(train, tmp_path):
    assert train("--epochs", 0.2).status == 0
    folder = RunFolder(tmp_path / "run")
    size = int(json.loads((folder.path / "checkpoint.json").read_text())["steps"]) * 3 * 16
    from anygru_lab.language_model import corpus

    found = corpus.load(folder.read().texts)
    symbols = sum(len(document) + 1 for document in found.training)
    assert size == pytest.approx(0.2 * symbols, abs=3 * 16)


def test_a_run_that_gets_no_better_ends_with_patience(train, tmp_path):
    result = train("--steps", 50, "--every", 2, "--lr", 0, "--patience", 3)
    assert result.status == 0
    assert "stopped: no better one in 3 validations" in result.error
    progress = RunFolder(tmp_path / "run").read()
    assert (progress.step, progress.steps, progress.best.step) == (8, 8, 2)
    assert train("--resume", "--steps", 10).status == 0
    assert len(losses(tmp_path / "run")) == 1 + 10


def test_a_run_starts_from_the_weights_of_another(train, tmp_path, finished):
    assert train("--steps", 1, "--lr", 0, "--init-from", finished).status == 0
    _, before = read_model(finished)
    _, after = read_model(tmp_path / "run")
    assert all(torch.equal(before[name], after[name]) for name in before)
    only_line(train("--steps", 1, "--hidden", 9, "--init-from", finished, "--fresh"), "--init-from", "holds a model of")
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(best_file(finished).read_bytes()[:-4] + b"\xff\xff\xff\x7f")  # NaN
    only_line(train("--steps", 1, "--init-from", damaged, "--fresh"), "weights that are not finite")


def test_bfloat16_trains_nearly_as_float32(train, tmp_path, finished):
    assert train("--steps", 6, "--every", 2, "--dtype", "bfloat16").status == 0
    expected, found = losses(finished), losses(tmp_path / "run")
    assert expected != found
    for one, other in zip(expected[1:], found[1:], strict=True):
        assert float(one[1]) == pytest.approx(float(other[1]), rel=1e-2)
    _, weights = read_model(tmp_path / "run")
    assert all(weight.dtype == torch.float32 for weight in weights.values())


def test_text_from_standard_input(anygru, text, tmp_path, monkeypatch, finished):
    from cli.command_line import TINY

    options = [*TINY, "--no-xz", "--out", tmp_path / "run"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.read_bytes())))
    result = anygru("train", "-", *options, "--steps", 6, "--every", 2)
    assert result.status == 0, result
    assert losses(tmp_path / "run") == losses(finished)
    only_line(anygru("train", "--resume", "--steps", 7, "--out", tmp_path / "run"), "pipe the same text in again")
    only_line(anygru("train", "-", *options, "--nproc", 2, "--fresh"), "standard input can be read by one process only")


def test_a_folder_of_texts_may_contain_the_run(anygru, tmp_path, text, monkeypatch):
    from cli.command_line import TINY

    (tmp_path / "one.txt").write_bytes(text.read_bytes())
    options = [tmp_path, *TINY, "--no-xz", "--out", tmp_path / "run", "--steps", 6, "--every", 2]
    with monkeypatch.context() as patch:
        interrupt_after(3, patch)
        assert anygru("train", *options).status == 130
    result = anygru("train", *options)
    assert result.status == 0, result
    assert "going on from step 4 of 6" in result.out


def test_validation_on_a_file_of_its_own(anygru, tmp_path, text):
    from cli.command_line import TINY

    (tmp_path / "val.txt").write_bytes(b"Something else that is held out.\n" * 5)
    options = [*TINY, "--no-xz", "--out", tmp_path / "run"]
    result = anygru("train", text, "--val-file", tmp_path / "val.txt", *options, "--steps", 4, "--every", 2)
    assert result.status == 0, result
    assert "held out: 1 document, 165 bytes" in result.error
    best = RunFolder(tmp_path / "run").read().best
    again = anygru("train", "--evaluate", tmp_path / "run", "--threads", 1)
    assert again.out == f"{best.bits_per_byte:.4f} bits per byte on 165 bytes\n"
    other = anygru("train", "--evaluate", best_file(tmp_path / "run"), "--val-file", text, "--threads", 1)
    bits = float(other.out.split()[0])
    assert math.isfinite(bits)
    assert other.out.endswith(f"on {text.stat().st_size:,} bytes\n")
    only_line(anygru("train", "--resume", "--steps", 9, "--val-file", text, "--out", tmp_path / "run"), "--val-file")
    small = tmp_path / "small.safetensors"
    assert anygru("convert", best_file(tmp_path / "run"), small, "--weights", "int8").status == 0
    frozen = anygru("train", "--evaluate", small, "--val-file", text, "--threads", 1)
    assert float(frozen.out.split()[0]) == pytest.approx(bits, rel=0.005)
    only_line(anygru("train", "--evaluate", small, "--val-file", text, "--layer", "torch"), "--layer torch", "frozen")
    only_line(anygru("train", "--init-from", small, *options), "int8 weights, which cannot be trained")


@pytest.mark.parametrize(
    ("more", "names"),
    [
        (["--hidden", "8", "--steps", "3"], "--hidden, --steps"),
        (["--export", "model.onnx", "--resume"], "--resume, --export"),
        (["--tensorboard", "--no-xz"], "--tensorboard, --no-xz"),
        (["--out", "elsewhere"], "leave out --out"),
        (["--val-file", "a.txt", "--val-fraction", "0.1"], "--val-file and --val-fraction"),
    ],
)
def test_evaluation_refuses_what_it_would_not_use(anygru, tmp_path, more, names):
    only_line(anygru("train", "--evaluate", tmp_path, *more), names)


def best_file(folder):
    return folder / RunFolder(folder).read().best.file.file


def test_tensorboard_files_hold_the_losses(train, tmp_path):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    assert train("--steps", 4, "--every", 2, "--tensorboard").status == 0
    read = events.EventAccumulator(str(tmp_path / "run"))
    read.Reload()
    found = [event.value for event in read.Scalars("bits per byte/training")]
    assert found == pytest.approx([float(row[1]) for row in losses(tmp_path / "run")[1:]], rel=1e-6)


def test_missing_tensorboard_is_named(train, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    only_line(train("--steps", 1, "--tensorboard"), f"needs the package tensorboard: {how_to_install('tensorboard')}")


class FakeWandb:
    """A replacement for the package wandb that keeps each message."""

    def __init__(self):
        self.sent, self.options, self.ended = {}, {}, None

    def init(self, **options):
        self.options = options
        return self

    def log(self, values, step):
        self.sent.setdefault(step, {}).update(values)

    def finish(self, exit_code):
        self.ended = exit_code


def test_weights_and_biases_get_the_losses(train, tmp_path, monkeypatch):
    fake = FakeWandb()
    monkeypatch.setitem(sys.modules, "wandb", fake)
    assert train("--steps", 4, "--every", 2, "--wandb").status == 0
    assert fake.ended == 0
    assert fake.options["config"]["steps"] == 4
    sent = [fake.sent[step]["bits per byte/training"] for step in (1, 2, 3, 4)]
    assert sent == pytest.approx([float(row[1]) for row in losses(tmp_path / "run")[1:]], rel=1e-12)
    assert [step for step, values in fake.sent.items() if "bits per byte/held out" in values] == [2, 4]
    monkeypatch.setitem(sys.modules, "wandb", None)
    only_line(train("--steps", 1, "--wandb", "--fresh"), f"needs the package wandb: {how_to_install('wandb')}")


def test_the_curve_is_drawn_while_the_run_goes_on(train, tmp_path, monkeypatch):
    from anygru_lab.language_model import plot

    drawn = []
    real = plot.draw
    monkeypatch.setattr(plot, "EVERY", 0.0)
    monkeypatch.setattr(plot, "draw", lambda *call: drawn.append(call[3]) or real(*call))
    assert train("--steps", 6, "--every", 2).status == 0
    assert drawn == ["step 2 of 6", "step 4 of 6"]  # the last picture is the report's
    assert (tmp_path / "run/loss.png").read_bytes().startswith(b"\x89PNG")


def test_an_exported_frozen_file_is_small_and_writes_text(anygru, tmp_path, text):
    from cli.command_line import TINY

    file = tmp_path / "small.safetensors"
    options = [*TINY, "--hidden", 32, "--no-xz", "--steps", 1, "--out", tmp_path / "run"]
    result = anygru("train", text, *options, "--export", file, "--export-weights", "int8")
    assert result.status == 0, result
    assert f"exported with int8 weights: {file}" in result.out
    evaluate = ["train", "--val-file", text, "--threads", 1, "--evaluate"]
    bits, frozen_bits = (float(anygru(*evaluate, model).out.split()[0]) for model in (tmp_path / "run", file))
    assert frozen_bits == pytest.approx(bits, abs=0.01)
    again = anygru("train", text, *options, "--fresh", "--init-from", file)
    only_line(again, "holds int8 weights, which cannot be trained")
    model = next((tmp_path / "run").glob("model-*.safetensors"))
    assert file.stat().st_size < model.stat().st_size
    assert "int8 weights" in anygru("inspect", file).out
    arguments = ["--length", 30, "--seed", 1]
    frozen = anygru("sample", tmp_path / "run", *arguments, "--weights", "int8").out
    assert anygru("sample", file, *arguments).out == frozen


def test_an_exported_step_continues_a_text_as_the_model_does(anygru, tmp_path, text):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from cli.command_line import TINY

    file = tmp_path / "step.onnx"
    result = anygru(
        "train", text, *TINY, "--layers", 2, "--no-xz", "--steps", 4, "--export", file, "--out", tmp_path / "run"
    )
    assert result.status == 0, result
    assert f"exported one step (symbols, state -> logits, next_state): {file}" in result.out
    session = onnxruntime.InferenceSession(file)
    shape, weights = read_model(tmp_path / "run")
    expected = b"".join(generate(build(shape, weights, "run"), b"ab", 20, 0, 0))
    state, found = np.zeros((2, 1, 8), np.float32), b""
    for symbol in [256, *b"ab"]:
        logits, state = session.run(None, {"symbols": np.array([symbol]), "state": state})
    while len(found) < 20:
        symbol = int(logits[0].argmax())
        assert symbol != 256  # no document ends here
        found += bytes([symbol])
        logits, state = session.run(None, {"symbols": np.array([symbol]), "state": state})
    assert found == expected
    many, _ = session.run(None, {"symbols": np.array([256, 97, 98]), "state": np.zeros((2, 3, 8), np.float32)})
    assert many.shape == (3, 257)
