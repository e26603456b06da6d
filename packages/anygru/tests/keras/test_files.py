"""Weights of Keras's files: read as layers that compute what Keras computes, and written back into a copy of a file."""

import json
import zipfile

import keras
import numpy as np
import pytest
import torch

import anygru
from anygru.checkpoints import load_checkpoint
from anygru.checkpoints.writing.convert import convert
from anygru.cli import main

# Keras hands its variables to h5py in the manner of NumPy 1.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
INPUT = np.random.default_rng(0).standard_normal((2, 6, 5)).astype("float32")


def model(seed):
    keras.utils.set_random_seed(seed)
    return keras.Sequential(
        [
            keras.layers.Input((None, 5)),
            keras.layers.GRU(4, return_sequences=True, bias_initializer="random_normal"),
            keras.layers.Bidirectional(
                keras.layers.GRU(3, return_sequences=True, reset_after=False, bias_initializer="random_normal")
            ),
            keras.layers.GRU(6, return_sequences=True, use_bias=False, reset_after=False, activation="relu"),
            keras.layers.Dense(2),
        ]
    )


def save(made, path):
    made.save_weights(path) if path.name.endswith(".weights.h5") else made.save(path)
    return path


@pytest.fixture(params=["m.keras", "m.weights.h5", pytest.param("m.h5", marks=pytest.mark.filterwarnings("ignore"))])
def file(request, tmp_path):
    return save(model(1), tmp_path / request.param)


def run(layer, values):
    return layer(torch.from_numpy(values).transpose(0, 1))[0].transpose(0, 1).detach().numpy()


def test_layers_compute_what_keras_computes(file):
    made = model(1)
    found = load_checkpoint(file)
    first, second = made.layers[0](INPUT).detach().numpy(), made.layers[1](made.layers[0](INPUT)).detach().numpy()
    by_size = {(gru.input_size, gru.hidden_size): gru.path for gru in found.gru_layers}
    np.testing.assert_allclose(run(found.gru(by_size[5, 4]), INPUT), first, atol=1e-6)
    if file.suffix == ".h5" and "weights" not in file.name:
        names = [gru.path for gru in found.gru_layers if gru.hidden_size == 3]  # the older form keeps directions apart
        forward, backward = (found.gru(next(n for n in names if side in n)) for side in ("forward", "backward"))
        both = [run(forward, first), run(backward, first[:, ::-1].copy())[:, ::-1]]
        np.testing.assert_allclose(np.concatenate(both, -1), second, atol=1e-6)
    else:
        np.testing.assert_allclose(run(found.gru(by_size[4, 3]), first), second, atol=1e-6)


def test_a_configuration_tells_what_tensors_leave_open(tmp_path):
    found = load_checkpoint(save(model(1), tmp_path / "m.keras")).find("layers/gru_1")
    assert (found.reset, found.activation, found.bias) == ("before", "relu", False)
    found = load_checkpoint(save(model(1), tmp_path / "m.weights.h5")).find("layers/gru_1")
    assert found.reset == "after"
    assert "leave the formula open" in found.notes[0]


@pytest.mark.parametrize("name", ["m.keras", "m.weights.h5"])
def test_weights_go_into_a_copy_and_keras_loads_it(name, tmp_path):
    source, like = save(model(1), tmp_path / f"source-{name}"), save(model(2), tmp_path / f"like-{name}")
    target = tmp_path / f"target-{name}"
    report = convert(source, target, like=like)
    assert len(report.converted) == 3
    loaded = model(3)
    if name == "m.keras":
        loaded = keras.saving.load_model(target)
    else:
        loaded.load_weights(target)
    for one, other in zip(loaded.get_weights(), model(1).get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_layer_of_torch_goes_into_a_keras_file_and_back(tmp_path):
    layer = anygru.GRU(5, 4)
    anygru.save_checkpoint(layer, tmp_path / "layer.safetensors")
    keras.utils.set_random_seed(1)
    made = keras.Sequential([keras.layers.Input((None, 5)), keras.layers.GRU(4, return_sequences=True)])
    like, target = save(made, tmp_path / "like.keras"), tmp_path / "target.keras"
    assert main(["convert", str(tmp_path / "layer.safetensors"), str(target), "--like", str(like)]) == 0
    np.testing.assert_allclose(keras.saving.load_model(target)(INPUT).detach().numpy(), run(layer, INPUT), atol=1e-6)
    back = load_checkpoint(target).gru()
    for one, other in zip(back.flat_weights, layer.flat_weights, strict=True):
        assert torch.equal(one, other)


def test_what_does_not_fit_is_named(tmp_path):
    like = save(model(1), tmp_path / "like.keras")
    anygru.save_checkpoint(anygru.GRU(5, 7), tmp_path / "layer.safetensors")
    with pytest.raises(
        anygru.CheckpointError, match=r"no partner for '' \(wanted as ''\); it has 'layers/bidirectional'"
    ):
        convert(tmp_path / "layer.safetensors", tmp_path / "t.keras", like=like)
    with pytest.raises(anygru.CheckpointError, match="layers/gru: hidden_size is 4, that of '' is 7"):
        convert(tmp_path / "layer.safetensors", tmp_path / "t.keras", like=like, mapping={"": "layers/gru"})
    with pytest.raises(anygru.CheckpointError, match="write the weights into a copy of one with --like"):
        convert(tmp_path / "layer.safetensors", tmp_path / "t.keras")
    assert not (tmp_path / "t.keras").exists()


@pytest.mark.parametrize(
    ("member", "data", "words"),
    [
        ("config.json", b"{", "config.json: no proper JSON"),
        ("config.json", b"[" * 100_000, "config.json: no proper JSON"),
        ("model.weights.h5", b"nothing", "model.weights.h5: damaged HDF5 file"),
        ("model.weights.h5", None, "no member model.weights.h5"),
    ],
)
def test_damaged_archives_are_refused(member, data, words, tmp_path):
    good, bad = save(model(1), tmp_path / "m.keras"), tmp_path / "bad.keras"
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(bad, "w") as new:
        for info in old.infolist():
            if info.filename != member:
                new.writestr(info, old.read(info))
            elif data is not None:
                new.writestr(info, data)
    with pytest.raises(anygru.CheckpointError, match=words):
        load_checkpoint(bad)


def test_objects_in_a_configuration_are_never_built(tmp_path):
    good, odd = save(model(1), tmp_path / "m.keras"), tmp_path / "odd.keras"
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(odd, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename == "config.json":
                config = json.loads(data)
                config["config"]["layers"] += [
                    {"class_name": "Lambda", "config": {"function": ["x", None, 3]}},
                    7,
                    None,
                ]
                data = json.dumps(config).encode()
            new.writestr(info, data)
    assert len(load_checkpoint(odd).gru_layers) == 3
