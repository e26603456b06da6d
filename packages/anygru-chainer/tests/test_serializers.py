"""Files: names, strictness, damage."""

import io
import os
import pathlib
import pickle
import sys
import zipfile

import numpy as np
import pytest

import anygru_chainer as chainer
import anygru_chainer.functions as F
import anygru_chainer.links as L
from anygru.dialects.finder import DialectFinder
from anygru.errors import CheckpointError
from anygru_chainer import optimizers, serializers


class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.rnn = L.NStepGRU(1, 2, 3, 0.0)
            self.out = L.Linear(None, 2)
        self.add_persistent("count", 3)
        self.add_persistent("mean", np.ones(2, "f"))
        self.add_persistent("nothing", None)


@pytest.fixture(params=["npz", "hdf5"])
def form(request):
    if request.param == "hdf5":
        pytest.importorskip("h5py")
    return getattr(serializers, f"save_{request.param}"), getattr(serializers, f"load_{request.param}")


def test_a_model_comes_back(form, tmp_path):
    save, load = form
    path, model, other = str(tmp_path / "model"), Model(), Model()
    model.out(np.ones((1, 3), "f"))
    model.count, model.mean[...] = 7, 2
    save(path, model)
    load(path, other)
    for ours, theirs in zip(model.params(), other.params(), strict=True):
        np.testing.assert_array_equal(ours.array, theirs.array)
    assert (other.count, other.mean.tolist(), other.nothing) == (7, [2, 2], None)
    assert os.listdir(tmp_path) == ["model"]


def test_a_training_goes_on_as_if_it_had_not_stopped(form, tmp_path):
    save, load = form
    x = np.random.RandomState(0).randn(4, 3).astype("f")

    def start():
        model = L.Linear(3, 2, initialW=0.1)
        return model, optimizers.Adam(0.1).setup(model)

    def train(model, optimizer, steps):
        for _ in range(steps):
            optimizer.update(lambda: F.sum(F.tanh(model(x)) ** 2))
        return model.W.array

    whole = train(*start(), 6)
    model, optimizer = start()
    train(model, optimizer, 3)
    save(str(tmp_path / "model"), model)
    save(str(tmp_path / "optimizer"), optimizer)
    model, optimizer = start()
    load(str(tmp_path / "model"), model)
    load(str(tmp_path / "optimizer"), optimizer)
    assert optimizer.t == 3
    np.testing.assert_array_equal(train(model, optimizer, 3), whole)


def test_the_names_in_a_file(tmp_path):
    path = str(tmp_path / "model.npz")
    serializers.save_npz(path, Model())
    with np.load(path, allow_pickle=True) as file:
        assert {"rnn/0/w0", "rnn/0/b5", "out/W", "out/b", "count", "mean", "nothing"} <= set(file.files)
        assert file["out/W"][()] is None


def test_parts_of_a_file(tmp_path):
    path, model = str(tmp_path / "model.npz"), Model()
    serializers.save_npz(path, model)
    rnn = L.NStepGRU(1, 2, 3, 0.0)
    serializers.load_npz(path, rnn, path="rnn/")
    np.testing.assert_array_equal(rnn[0].w4.array, model.rnn[0].w4.array)
    with pytest.raises(KeyError, match="0/"):
        serializers.load_npz(path, rnn)
    serializers.load_npz(path, rnn, strict=False)
    other = Model()
    other.count = 0
    serializers.load_npz(path, other, ignore_names=["count", lambda name: name.startswith("rnn")])
    assert other.count == 0
    assert not np.array_equal(other.rnn[0].w4.array, model.rnn[0].w4.array)


def test_an_array_of_another_shape_is_refused(form, tmp_path):
    save, load = form
    save(str(tmp_path / "file"), L.Linear(3, 2))
    with pytest.raises((ValueError, TypeError), match="broadcast"):
        load(str(tmp_path / "file"), L.Linear(4, 2))


def test_open_files_serve_as_well():
    file, linear = io.BytesIO(), L.Linear(1, 1)
    serializers.save_npz(file, L.Linear(1, 1, initialW=3))
    file.seek(0)
    serializers.load_npz(file, linear)
    assert linear.W.array.item() == 3


class Trap:
    """Would make a file when unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_no_code_of_a_file_is_run(tmp_path):
    path, proof = tmp_path / "trap.npz", tmp_path / "proof"
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "|O", "fortran_order": False, "shape": ()})
    content.write(pickle.dumps(Trap(str(proof))))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("W.npy", content.getvalue())
    with pytest.raises(CheckpointError, match=r"trap.npz"):
        serializers.load_npz(str(path), L.Linear(1, 1))
    assert not proof.exists()


@pytest.mark.parametrize("keep", [0, 1, 100, 0.5, -30])
def test_a_damaged_file_is_named(form, keep, tmp_path):
    save, load = form
    path = tmp_path / "model"
    save(str(path), Model())
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep) if isinstance(keep, float) else keep])
    with pytest.raises(CheckpointError, match="model"):
        load(str(path), Model())


def test_a_missing_file_is_missing(form, tmp_path):
    with pytest.raises(FileNotFoundError):
        form[1](str(tmp_path / "absent"), Model())


def test_hdf5_converts_numbers_and_refuses_text(tmp_path):
    source, target = chainer.Link(), chainer.Link()
    source.add_param("w", initializer=np.array([1.0, 2.0]))
    target.add_param("w", initializer=np.zeros(2, np.int32))
    serializers.save_hdf5(str(tmp_path / "w.h5"), source)
    serializers.load_hdf5(str(tmp_path / "w.h5"), target)
    assert target.w.array.tolist() == [1, 2]
    source.add_persistent("note", "text")
    with pytest.raises(TypeError, match="note: Chainer's HDF5 files hold no text"):
        serializers.save_hdf5(str(tmp_path / "text.h5"), source)


def test_names_are_written_in_order(tmp_path):
    assert list(serializers.npz.serialize(chainer.links.Linear(1, 1))) == ["W", "b"]


def test_a_model_pickled_in_chainer_trains_on(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [DialectFinder(), *sys.meta_path])  # as under `anygru run`
    # Written by Chainer 7.8.1: MomentumSGD(0.1) with WeightDecay(0.5) after its first step, and its model.
    with open(pathlib.Path(__file__).parent / "data" / "optimizer_7.8.1.pkl", "rb") as file:
        optimizer = pickle.load(file)
    model = optimizer.target
    assert (optimizer.t, model.steps, str(model.fc)) == (1, 3, "Linear(in_size=2, out_size=1, nobias=False)")
    np.testing.assert_array_equal(model.fc.W.array, np.full((1, 2), 0.375, "f"))
    optimizer.update(lambda: F.sum(model.fc(np.ones((1, 2), "f"))))
    np.testing.assert_allclose(model.fc.W.array, np.full((1, 2), 0.14375001, "f"), rtol=1e-6)
    np.testing.assert_allclose(model.fc.b.array, [-0.07062501], rtol=1e-6)


def test_a_name_that_the_file_lacks_is_named(tmp_path):
    serializers.save_npz(str(tmp_path / "w.npz"), L.Linear(2, 1, nobias=True))
    with pytest.raises(KeyError, match="b is not a file in the archive"):
        serializers.load_npz(str(tmp_path / "w.npz"), L.Linear(2, 1))


def test_a_path_that_is_no_text_gets_an_ending(tmp_path):
    """As NumPy names it under Chainer 7.8.1 (recorded)."""
    for name in (tmp_path / "a", tmp_path / "b.npz", str(tmp_path / "c")):
        serializers.save_npz(name, L.Linear(1, 1))
    assert sorted(os.listdir(tmp_path)) == ["a.npz", "b.npz", "c"]


def test_an_archive_without_arrays_is_read(tmp_path):
    chainer.serializers.save_npz(tmp_path / "empty.npz", chainer.Chain())
    assert (tmp_path / "empty.npz").stat().st_size == 22  # an end of directory alone
    chainer.serializers.load_npz(tmp_path / "empty.npz", chainer.Chain())
    with pytest.raises(KeyError):
        chainer.serializers.load_npz(tmp_path / "empty.npz", L.Linear(1, 1))
