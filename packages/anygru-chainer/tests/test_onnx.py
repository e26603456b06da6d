"""Chains as ONNX files, against ONNX Runtime."""

import numpy as np
import pytest
from helpers import mostly_slow

import anygru
import anygru_chainer as chainer
import anygru_chainer.functions as F
import anygru_chainer.links as L
from anygru.cli import main

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")


class Tagger(chainer.Chain):
    """Sequences of words through layers over time, batch normalization and dropout, which do nothing in inference."""

    def __init__(self, rnn):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(10, 4)
            self.rnn = rnn
            self.norm = L.BatchNormalization(6 * rnn.direction)
            self.out = L.Linear(6 * rnn.direction, 3)

    def forward(self, words):
        *states, ys = self.rnn(*[None] * self.rnn.n_cells, [self.embed(each) for each in words])
        return [state[-1] for state in states], F.softmax(self.out(F.dropout(self.norm(F.concat(ys, axis=0)))))


class Steps(chainer.Chain):
    """A cell over the steps of a batch."""

    def __init__(self, cell):
        super().__init__()
        with self.init_scope():
            self.cell = cell
            self.out = L.Linear(5, 2)

    def forward(self, x):
        for t in range(x.shape[1]):
            h = self.cell(x[:, t])
        return self.out(h)


def run(path, *arrays):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip([each.name for each in session.get_inputs()], arrays, strict=True)))


def nodes(path):
    return [node.op_type for node in onnx.load(path).graph.node]


def words():
    return [np.random.RandomState(length).randint(0, 10, length).astype(np.int32) for length in (3, 5, 2)]


@pytest.mark.parametrize(
    ("link", "layers", "grus"),
    mostly_slow(
        [(L.NStepGRU, 2, 2), (L.NStepBiLSTM, 1, 0), (L.NStepBiGRU, 1, 1), (L.NStepLSTM, 2, 0), (L.NStepRNNTanh, 1, 0)],
        2,
    ),
)
def test_layers_over_sequences_compute_the_same(link, layers, grus, tmp_path):
    np.random.seed(0)
    model, path = Tagger(link(layers, 4, 6, 0.5)), str(tmp_path / "model.onnx")
    anygru.onnx.export(model, (words(),), path)
    with chainer.using_config("train", False):
        states, ys = model(words())
    for found, expected in zip(run(path, *words()), [*states, ys], strict=True):
        np.testing.assert_allclose(found, expected.array, atol=2e-6)
    assert nodes(path).count("GRU") == grus


@pytest.mark.parametrize("cell", [L.StatefulGRU, L.LSTM])
def test_cells_compute_the_same_and_keep_their_state(cell, tmp_path):
    np.random.seed(0)
    x, path = np.random.randn(3, 4, 2).astype(np.float32), str(tmp_path / "model.onnx")
    model = Steps(cell(2, 5))
    anygru.onnx.export(model, (chainer.Variable(x),), path)
    assert model.cell.h is None
    (found,) = run(path, x)
    np.testing.assert_allclose(found, model(chainer.Variable(x)).array, atol=2e-6)


def test_a_convolutional_net_computes_the_same(tmp_path):
    np.random.seed(0)
    x, path = np.random.randn(2, 3, 8, 8).astype(np.float32), str(tmp_path / "model.onnx")
    pool = [lambda h: F.max_pooling_2d(h, 2), lambda h: F.average_pooling_2d(h, 2)]
    model = chainer.Sequential(
        L.Convolution2D(3, 4, 3, pad=1), F.relu, *pool, L.Linear(16, 5), F.leaky_relu, L.Linear(5, 2)
    )
    anygru.onnx.export(model, (x,), path)
    np.testing.assert_allclose(run(path, x)[0], model(x).array, atol=2e-6)


class WithArrays(chainer.Chain):
    """Computes with an array in the middle, which no graph shows."""

    def forward(self, x):
        return F.exp(F.tanh(x).array)


class Doubled(chainer.FunctionNode):
    """A function of arrays."""

    def forward(self, inputs):
        return (inputs[0] * 2,)


def test_what_no_graph_shows_is_refused():
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match="computes with arrays outside of functions"):
        anygru.onnx.export(WithArrays(), (x,))
    with pytest.raises(ValueError, match="Pass Variables"):  # x[:, t] is NumPy's
        anygru.onnx.export(Steps(L.LSTM(2, 5)), (np.ones((3, 4, 2), np.float32),))
    with pytest.raises(ValueError, match="have no values yet: /W"):
        anygru.onnx.export(L.Linear(None, 2), (x,))
    with pytest.raises(TypeError, match="Doubled"):
        anygru.onnx.export(chainer.Sequential(lambda x: Doubled().apply((x,))[0]), (x,))


SCRIPT = """
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L


def build():
    return plain(), (np.ones((2, 3), np.float32),)


def plain():
    return chainer.Sequential(L.Linear(None, 4), F.tanh, L.Linear(4, 2))
"""


@pytest.mark.parametrize("ending", mostly_slow(["npz", "h5", "snapshot"]))
def test_convert_makes_an_onnx_file_of_a_script_and_a_checkpoint(ending, tmp_path, capsys):
    np.random.seed(0)
    model, x = chainer.Sequential(L.Linear(3, 4), F.tanh, L.Linear(4, 2)), np.random.randn(2, 3).astype(np.float32)
    source, script, path = str(tmp_path / f"model.{ending}"), tmp_path / "model.py", str(tmp_path / "out.onnx")
    script.write_text(SCRIPT)
    if ending == "h5":
        pytest.importorskip("h5py")
        chainer.serializers.save_hdf5(source, model)
    elif ending == "npz":
        chainer.serializers.save_npz(source, model)
    else:
        arrays = {f"updater/model:main{name}": p.array for name, p in model.namedparams()}
        chainer.serializers.save_npz(source, {**arrays, "updater/iteration": np.array(3)})
    assert main(["convert", source, "--script", f"{script}:build", path]) == 0
    assert "verified: ONNX Runtime" in capsys.readouterr().out
    np.testing.assert_allclose(run(path, x)[0], model(x).array, atol=1e-6)
    assert main(["convert", source, "--script", f"{script}:plain", path, "--input", "5,3"]) == 0
    assert run(path, np.ones((5, 3), np.float32))[0].shape == (5, 2)


def test_convert_names_the_mismatch(tmp_path, capsys):
    source, script, path = str(tmp_path / "model.npz"), tmp_path / "model.py", str(tmp_path / "out.onnx")
    script.write_text(SCRIPT)
    chainer.serializers.save_npz(source, L.Linear(3, 4))
    for arguments, told in (
        ([f"{script}:plain"], "which inputs?"),
        ([f"{script}:nothing"], "has no function 'nothing'"),
        ([str(script)], "must be FILE:NAME"),
        ([f"{script}:build"], "does not fit the Sequential of the script"),
        ([f"{script}:plain", "--input", "a"], "--input must be SHAPE"),
        ([f"{script}:build", "--style", "x"], "--style has no meaning"),
    ):
        assert main(["convert", source, path, "--script", *arguments]) == 2
        assert told in capsys.readouterr().err
