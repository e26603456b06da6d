"""Weights of Keras's files: read as layers with Keras's results, and written back into a copy of a file."""

import json
import zipfile

import keras
import numpy as np
import pytest
import torch
from helpers import mostly_slow, needs_new_keras

import anygru
from anygru.checkpoints import load_checkpoint, save_checkpoint
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
        both = [run(forward, first), run(backward, first)]
        np.testing.assert_allclose(np.concatenate(both, -1), second, atol=1e-6)
    else:
        np.testing.assert_allclose(run(found.gru(by_size[4, 3]), first), second, atol=1e-6)


# -- options ----------------------------------------------------------------------------------------------------


def one_layer(**options):
    keras.utils.set_random_seed(3)
    made = keras.layers.GRU(4, return_sequences=True, bias_initializer="random_normal", **options)
    return keras.Sequential([keras.layers.Input((None, 5)), made])


@keras.saving.register_keras_serializable("tests")
def doubled(x):
    return 2 * x


@keras.saving.register_keras_serializable("tests")
class OtherGRU(keras.layers.GRU):
    """A layer with the tensors of a GRU."""


ACTIVATIONS = [
    *("elu", "exponential", "gelu", "hard_sigmoid", "hard_silu", "leaky_relu", "linear", "mish", "relu", "relu6"),
    *("selu", "sigmoid", "silu", "softplus", "softsign", "tanh", doubled, keras.layers.LeakyReLU(0.1)),
]
NEW = ("celu", "hard_shrink", "hard_tanh", "log_sigmoid", "soft_shrink", "sparse_plus", "squareplus", "tanh_shrink")
OPTIONS = [{"activation": value} for value in ACTIVATIONS]
OPTIONS += [pytest.param({"activation": value}, marks=needs_new_keras) for value in NEW]
OPTIONS += [{"recurrent_activation": value} for value in ("hard_sigmoid", "tanh", "mish", "linear", doubled)]
OPTIONS += [{"reset_after": False}, {"use_bias": False}, {"go_backwards": True}, {"unroll": True}, {"seed": 3}]
OPTIONS += [{"dropout": 0.5}, {"recurrent_dropout": 0.5}, {"kernel_regularizer": "l2"}, {"bias_constraint": "max_norm"}]


def words(options):
    """The same in every process: a function's text has its address."""
    return " ".join(f"{name}={getattr(value, '__name__', value)}" for name, value in options.items())


@pytest.mark.parametrize("name", ["m.keras", pytest.param("m.h5", marks=pytest.mark.filterwarnings("ignore"))])
@pytest.mark.parametrize("options", OPTIONS, ids=words)
def test_every_option_is_computed_or_refused_by_name(options, name, tmp_path):
    made = one_layer(**options)
    expected = made(INPUT, training=False).detach().numpy()
    if options.get("go_backwards"):
        expected = expected[:, ::-1]  # noted: Keras gives the last step first
    checkpoint = load_checkpoint(save(made, tmp_path / name))
    (found,) = checkpoint.gru_layers
    if found.problem:
        (option,) = options
        with pytest.raises(anygru.CheckpointError, match=f"{option}="):
            checkpoint.gru()
        with pytest.raises(anygru.CheckpointError, match="with approximations allowed the weights alone are written"):
            convert(tmp_path / name, tmp_path / "x.pt")
        return
    np.testing.assert_allclose(run(checkpoint.gru(), INPUT), expected, atol=1e-6)


@pytest.mark.parametrize("merge", ["concat", "sum", "mul", "ave"])
def test_how_directions_are_joined_is_computed_or_refused(merge, tmp_path):
    inner = keras.layers.GRU(4, return_sequences=True)
    made = keras.Sequential([keras.layers.Input((None, 5)), keras.layers.Bidirectional(inner, merge_mode=merge)])
    checkpoint = load_checkpoint(save(made, tmp_path / "m.keras"))
    if merge == "concat":
        np.testing.assert_allclose(run(checkpoint.gru(), INPUT), made(INPUT).detach().numpy(), atol=1e-6)
        return
    with pytest.raises(anygru.CheckpointError, match=f"merge_mode='{merge}'"):
        checkpoint.gru()


def test_two_directions_with_unlike_options_are_refused(tmp_path):
    one = keras.layers.GRU(4, return_sequences=True)
    other = keras.layers.GRU(4, return_sequences=True, go_backwards=True, activation="relu")
    made = keras.Sequential([keras.layers.Input((None, 5)), keras.layers.Bidirectional(one, backward_layer=other)])
    with pytest.raises(anygru.CheckpointError, match="its backward_layer has other options than its layer"):
        load_checkpoint(save(made, tmp_path / "m.keras")).gru()


@pytest.mark.parametrize("name", ["m.keras", pytest.param("m.h5", marks=pytest.mark.filterwarnings("ignore"))])
def test_a_class_of_a_program_is_refused(name, tmp_path):
    made = keras.Sequential([keras.layers.Input((None, 5)), OtherGRU(4)])
    with pytest.raises(anygru.CheckpointError, match="class .*OtherGRU', which may compute anything"):
        load_checkpoint(save(made, tmp_path / name)).gru()


# -- a GRU in another layer --------------------------------------------------------------------------------------

GRU, CELL = keras.layers.GRU, keras.layers.GRUCell


class Holder(keras.layers.Layer):
    """A layer of a program, with layers of Keras in it."""

    def __init__(self, **options):
        super().__init__(**options)
        self.inner = self.make()

    def make(self):
        return [GRU(4, activation="relu", return_sequences=True), GRU(4, go_backwards=True, return_sequences=True)]

    def build(self, shape):
        for layer in self.inner:
            layer.build(shape)
            shape = (*shape[:-1], 4)
        super().build(shape)

    def call(self, x):
        for layer in self.inner:
            x = layer(x)
        return x


@keras.saving.register_keras_serializable("tests")
class Silent(Holder):
    """Its configuration does not list its layers."""

    def get_config(self):
        return {"name": self.name, "trainable": True}


@keras.saving.register_keras_serializable("tests")
class Telling(Holder):
    """Its configuration lists its layers under the attribute's name."""

    def get_config(self):
        return {"name": self.name, "inner": [keras.saving.serialize_keras_object(layer) for layer in self.inner]}


@keras.saving.register_keras_serializable("tests")
class Outer(Silent):
    """A layer of a program in a layer of a program."""

    def make(self):
        return [Telling()]


@keras.saving.register_keras_serializable("tests")
class OtherCell(CELL):
    """A cell with the tensors of a GRU's."""


@keras.saving.register_keras_serializable("tests")
class Both(keras.layers.Bidirectional):
    """A wrapper that is not Keras's."""


@keras.saving.register_keras_serializable("tests")
class Whole(keras.Model):
    """A model of a program."""

    def __init__(self, **options):
        super().__init__(**options)
        self.rnn = GRU(4, activation="relu", return_sequences=True)

    def call(self, x):
        return self.rnn(x)


def whole():
    made = Whole()
    made(INPUT)
    return made


def inside(*layers):
    return keras.Sequential([keras.layers.Input((None, 5)), *layers])


def cells():
    inner = keras.layers.StackedRNNCells([CELL(3, activation="softsign")])
    return keras.layers.StackedRNNCells([CELL(4, activation="relu"), inner])


def loop(cell):
    return keras.layers.RNN(cell, return_sequences=True)


def relu(**options):
    return GRU(4, activation="relu", return_sequences=True, **options)


IN_OTHERS = {
    "a layer that is silent": (lambda: inside(Silent()), {"Silent": 2}),
    "a layer that tells": (lambda: inside(Telling()), {"relu": 1, "tanh": 1}),
    "a layer in a layer": (lambda: inside(Outer()), {"Outer": 2}),
    "a silent layer in a model": (lambda: inside(inside(Silent()), relu()), {"Silent": 2, "relu": 1}),
    "a model of a program": (whole, {"Whole": 1}),
    "a model of a program in a model": (lambda: inside(Whole()), {"Whole": 1}),
    "models in models": (lambda: inside(inside(inside(relu())), relu()), {"relu": 2}),
    "each of a sequence": (lambda: inside(keras.layers.Reshape((2, 3, 5)), keras.layers.TimeDistributed(relu())), {"relu": 1}),
    "a silent layer for each": (
        lambda: inside(keras.layers.Reshape((2, 3, 5)), keras.layers.TimeDistributed(Silent())),
        {"Silent": 2},
    ),
    "another cell": (lambda: inside(loop(OtherCell(4))), {"OtherCell": 1}),
    "another cell in a stack": (lambda: inside(loop([OtherCell(4), CELL(3)])), {"OtherCell": 1, "tanh": 1}),
    "cells in cells": (lambda: inside(loop(cells())), {"relu": 1, "softsign": 1}),
    "cells in both directions": (lambda: inside(keras.layers.Bidirectional(loop(cells()))), {"relu": 2, "softsign": 2}),
    "another wrapper": (lambda: inside(Both(relu())), {"Both": 1}),
}  # fmt: skip


@pytest.mark.parametrize(("make", "expected"), mostly_slow(IN_OTHERS.values(), 5), ids=list(IN_OTHERS))
def test_a_gru_in_something_else_is_computed_or_refused(make, expected, tmp_path):
    checkpoint = load_checkpoint(save(make(), tmp_path / "m.keras"))
    loaded = []
    for found in checkpoint.gru_layers:
        if not found.problem:
            loaded.append(checkpoint.gru(found.path).activation)
            continue
        (word,) = [word for word in expected if word in found.problem]
        with pytest.raises(anygru.CheckpointError, match=f"{word}.*`tensors` has its weights unchanged"):
            checkpoint.gru(found.path)
        loaded.append(word)
    assert {word: loaded.count(word) for word in loaded} == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("make", "expected"), mostly_slow(IN_OTHERS.values(), 5), ids=list(IN_OTHERS))
def test_the_older_files_never_give_a_tanh_for_a_relu(make, expected, tmp_path):
    keras.utils.set_random_seed(5)
    made = make()
    try:
        checkpoint = load_checkpoint(save(made, tmp_path / "m.h5"))
    except NotImplementedError:  # Keras cannot save it so
        pytest.skip("Keras saves no such model in this form")
    truth = {}
    for layer in made._flatten_layers(recursive=True):
        if isinstance(layer, GRU | CELL):
            values = getattr(layer, "cell", layer).recurrent_kernel.value.detach().numpy().tobytes()
            truth[values] = layer.activation.__name__
    assert checkpoint.gru_layers
    for gru in checkpoint.gru_layers:
        values = checkpoint.tensors[gru.sources[0]["weight_hh"][0]]
        assert gru.problem or gru.activation == truth[values.numpy().tobytes()]


def test_the_layer_that_a_class_tells_computes_what_it_computes(tmp_path):
    made = inside(Telling())
    checkpoint = load_checkpoint(save(made, tmp_path / "m.keras"))
    expected = made.layers[0].inner[0](INPUT).detach().numpy()
    found = checkpoint.find("layers/telling/inner/gru")
    np.testing.assert_allclose(run(checkpoint.gru(found.path), INPUT), expected, atol=1e-6)
    assert "its options come from the configuration of the class 'tests>Telling'" in found.notes


@pytest.mark.parametrize("name", ["m.keras", pytest.param("m.h5", marks=pytest.mark.filterwarnings("ignore"))])
def test_a_layer_of_a_program_may_have_the_name_of_another(name, tmp_path):
    made = inside(relu(name="one"), Silent(name="two"))
    made.layers[1].inner[0].name = "one"
    checkpoint = load_checkpoint(save(made, tmp_path / name))
    assert [
        bool(found.problem) for found in checkpoint.gru_layers if "two" in found.path or "silent" in found.path
    ] == [True, True]


def changed(path, target, change):
    """A copy of a .keras file with another configuration and version."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename.endswith(".json"):
                parsed = json.loads(data)
                change(parsed)
                data = json.dumps(parsed).encode()
            new.writestr(info, data)
    return target


def test_an_option_of_a_later_keras_is_refused_by_its_name(tmp_path):
    def change(parsed):
        for layer in parsed.get("config", {}).get("layers", []):
            layer["config"]["peephole"] = False

    odd = changed(save(one_layer(), tmp_path / "m.keras"), tmp_path / "odd.keras", change)
    with pytest.raises(anygru.CheckpointError, match="its option 'peephole' is not known to anygru"):
        load_checkpoint(odd).gru()


def test_the_hard_sigmoid_of_keras_2_is_another_function(tmp_path):
    def change(parsed):
        if "keras_version" in parsed:
            parsed["keras_version"] = "2.15.0"

    good = save(one_layer(recurrent_activation="hard_sigmoid"), tmp_path / "m.keras")
    assert load_checkpoint(good).gru().gate_activation == "hardsigmoid"
    with pytest.raises(anygru.CheckpointError, match=r"hard_sigmoid' of Keras 2, 0\.2 x \+ 0\.5"):
        load_checkpoint(changed(good, tmp_path / "odd.keras", change)).gru()


def test_weights_without_a_configuration_say_so(tmp_path):
    (found,) = load_checkpoint(save(one_layer(activation="mish"), tmp_path / "m.weights.h5")).gru_layers
    assert "no configuration tells its activations" in found.notes[-1]


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
    assert {verdict.by for verdict in report.verdicts} == {"Keras"}
    loaded = model(3)
    if name == "m.keras":
        loaded = keras.saving.load_model(target)
    else:
        loaded.load_weights(target)
    for one, other in zip(loaded.get_weights(), model(1).get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["m.keras", "m.weights.h5", "m.h5"])
def test_no_library_parses_the_file_of_like_here(name, tmp_path, monkeypatch):
    """It is a stranger's file, as the source is."""
    h5py = pytest.importorskip("h5py")
    source, like = save(model(1), tmp_path / f"source-{name}"), save(model(2), tmp_path / f"like-{name}")
    monkeypatch.setattr(h5py, "File", None)
    convert(source, tmp_path / f"target-{name}", like=like, sandbox=True)
    monkeypatch.undo()
    expected, found = load_checkpoint(source), load_checkpoint(tmp_path / f"target-{name}")
    assert list(found.stored) == list(load_checkpoint(like).stored)
    for old, new in zip(expected.gru_layers, found.gru_layers, strict=True):
        for one, other in zip(old.names, new.names, strict=True):
            np.testing.assert_array_equal(found.stored[other].values, expected.stored[one].values)


def test_what_nothing_reads_is_not_unpacked(tmp_path):
    """A member that unfolds to 512 MiB in a file of 0.5 MB."""
    like = save(model(2), tmp_path / "like.keras")
    with (
        zipfile.ZipFile(like, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("assets/x", "w", force_zip64=True) as member,
    ):
        for _ in range(512):
            member.write(bytes(1 << 20))
    with pytest.raises(anygru.CheckpointError, match="bytes of memory would be made"):
        convert(save(model(1), tmp_path / "source.keras"), tmp_path / "target.keras", like=like)
    assert not (tmp_path / "target.keras").exists()


def test_values_in_pieces_are_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    like = save(model(2), tmp_path / "like.weights.h5")
    with h5py.File(like, "r+") as file:
        path = next(name for name in load_checkpoint(like).stored if file[name].ndim == 2)
        values = file[path][...]
        del file[path]
        file.create_dataset(path, data=values, compression=4)
    with pytest.raises(anygru.CheckpointError, match="compressed or in several pieces"):
        convert(save(model(1), tmp_path / "source.weights.h5"), tmp_path / "target.weights.h5", like=like)


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


@pytest.mark.parametrize("options", [{"activation": "mish"}, {"activation": "relu"}, {"go_backwards": True}], ids=words)
def test_weights_never_go_into_a_layer_that_computes_something_else(options, tmp_path):
    like, target = save(one_layer(**options), tmp_path / "like.keras"), tmp_path / "t.keras"
    anygru.save_checkpoint(anygru.GRU(5, 4), tmp_path / "layer.safetensors")
    (name,) = options
    with pytest.raises(anygru.CheckpointError, match=f"layers/gru: (reverse|{name}).*the weights alone are written"):
        convert(tmp_path / "layer.safetensors", target, like=like)
    assert not target.exists()
    report = convert(tmp_path / "layer.safetensors", target, like=like, approximate=True)
    assert "the weights alone are written" in report.approximated[0]
    if options == {"activation": "mish"}:
        assert "the result's formula is not known" in report.verdicts[0].reason


@pytest.mark.parametrize(
    "option",
    [{"style": "x"}, {"transpose": ["a"]}, {"no_transpose": ["a"]}, {"layer_names": True}, {"target_format": "torch"}],
)
def test_a_copy_refuses_what_it_would_ignore(option, tmp_path):
    like = save(one_layer(), tmp_path / "like.keras")
    anygru.save_checkpoint(anygru.GRU(5, 4), tmp_path / "layer.safetensors")
    with pytest.raises(anygru.CheckpointError, match="has no meaning for a copy|is a file of keras, not of torch"):
        convert(tmp_path / "layer.safetensors", tmp_path / "t.keras", like=like, **option)


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


def test_a_layer_of_a_keras_file_as_a_file_in_c(tmp_path, capsys):
    save(model(3), tmp_path / "m.keras")
    for found in load_checkpoint(tmp_path / "m.keras").gru_layers:
        assert main(["export-c", str(tmp_path / "m.keras"), "--gru", found.path, "--out", str(tmp_path / "a.h")]) == 0
        text = (tmp_path / "a.h").read_text()
        assert f"reset {found.reset} the product" in text
        assert ("relu" in text) == (found.activation == "relu")
    capsys.readouterr()


def test_layers_of_rtneural_are_not_run_as_directions(tmp_path):
    gru = torch.nn.GRU(3, 3, num_layers=2)
    save_checkpoint(torch.nn.Sequential(gru), tmp_path / "x.json")
    (verdict,) = convert(tmp_path / "x.json", tmp_path / "y.json").verdicts
    assert verdict.same_bits
