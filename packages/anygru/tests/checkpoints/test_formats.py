"""Each format alone: its module reads, writes and refuses as the library of the format does."""

import os
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path

import h5py
import numpy as np
import onnx
import pytest
import torch
from samples import DATA, ENDINGS, FILES, assert_same, format_of, model

from anygru.checkpoints import format_for, load_checkpoint, recognise, save_checkpoint
from anygru.checkpoints.formats import chainer, hdf5, mxnet, oneflow, paddle
from anygru.checkpoints.stored import StoredTensor
from anygru.errors import CheckpointError
from anygru.facts import torch_private


@pytest.mark.parametrize("file", FILES)
def test_files_are_recognised_by_content(file: str, tmp_path: Path) -> None:
    disguise = tmp_path / "file.bin"
    disguise.symlink_to(DATA / file)
    assert recognise(disguise) == format_of(file)


@pytest.mark.parametrize("format", ENDINGS)
def test_own_files_are_recognised_and_read_back(format: str, tmp_path: Path) -> None:
    net = model()
    path = tmp_path / ("model" + ENDINGS[format])
    save_checkpoint(net, path)
    path.rename(tmp_path / "disguise")
    assert recognise(tmp_path / "disguise") == format
    assert load_checkpoint(tmp_path / "disguise").format == format
    assert format_for(path) == format


SMALLEST = {
    "zip.npz": lambda path: zipfile.ZipFile(path, "w").close(),
    "numpy.npz": np.savez,
    "paddle.pdparams": lambda path: path.write_bytes(pickle.dumps({}, 2)),
    "mxnet.params": lambda path: path.write_bytes(struct.pack("<4Q", 0x112, 0, 0, 0)),
    "zipped.pt": lambda path: torch.save({}, path),
    "older.pt": lambda path: torch.save({}, path, _use_new_zipfile_serialization=False),
    "empty.safetensors": lambda path: path.write_bytes(struct.pack("<Q", 2) + b"{}"),
    "empty.h5": lambda path: h5py.File(path, "w").close(),
    "empty.torch.json": lambda path: path.write_text("{}"),
    "empty.json": lambda path: path.write_text('{"in_shape":[1],"layers":[]}'),
    "empty.onnx": lambda path: onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [])), path),
}


@pytest.mark.parametrize("name", SMALLEST)
def test_the_smallest_legal_file_has_no_tensors(name: str, tmp_path: Path) -> None:
    SMALLEST[name](tmp_path / name)
    assert load_checkpoint(tmp_path / name).tensors == {}


def test_unknown_content_and_endings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"hello, world")
    with pytest.raises(CheckpointError, match="no known format"):
        load_checkpoint(tmp_path / "x")
    with pytest.raises(CheckpointError, match=rf"^{tmp_path}: a folder is .*\): name a file in it$"):
        load_checkpoint(tmp_path)
    with pytest.raises(CheckpointError, match="cannot be read: No such file"):
        load_checkpoint(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match=r"'\.xyz'"):
        save_checkpoint({}, tmp_path / "model.xyz")
    (tmp_path / "texts").mkdir()
    save_checkpoint({}, tmp_path / "texts")
    save_checkpoint({}, tmp_path / "texts")
    (tmp_path / "texts" / "pickled_data").rename(tmp_path / "texts" / "one.txt")
    with pytest.raises(CheckpointError, match="texts: a folder that holds other files"):
        save_checkpoint({}, tmp_path / "texts")
    with pytest.raises(CheckpointError, match="format 'caffe' is unknown"):
        save_checkpoint({}, tmp_path / "model.pt", "caffe")


# -- Paddle -------------------------------------------------------------------------------------------------------


def test_paddle_load_gives_what_paddle_pickled() -> None:
    state = paddle.load(DATA / "paddle/cell.pdparams")
    assert state[paddle.NAME_TABLE]["weight_ih"].startswith("gru_cell_")
    assert isinstance(state["weight_ih"], np.ndarray)
    nested = paddle.load(DATA / "paddle/nested.pdparams")
    name, array = nested["net"]["weight_ih_l0"]
    assert isinstance(name, str)
    assert array.shape == (12, 3)


def test_paddle_bfloat16_comes_as_bfloat16(tmp_path: Path) -> None:
    tensors = load_checkpoint(DATA / "paddle/dtypes.pdparams").tensors
    assert tensors["half"].dtype == torch.bfloat16
    assert tensors["half"].tolist() == [1.0, 1.0, 1.0]
    save_checkpoint(tensors, tmp_path / "x.pdparams")
    assert paddle.load(tmp_path / "x.pdparams")["half"].dtype == np.uint16


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_paddle_slices_are_cut_and_joined(protocol: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paddle, "SLICE_BYTES", 15)
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    paddle.save({"big": array, "small": array[0, :2]}, tmp_path / "x", protocol)
    raw = pickle.loads((tmp_path / "x").read_bytes())
    if protocol < 4:
        assert raw[paddle.SLICE_TABLE]["big"]["slices"] == [f"big@@.{number}" for number in range(4)]
        assert [len(raw[f"big@@.{number}"]) for number in range(4)] == [3, 3, 3, 3]
    else:
        assert paddle.SLICE_TABLE not in raw
    loaded = paddle.load(tmp_path / "x")
    assert set(loaded) == {"big", "small"}
    np.testing.assert_array_equal(loaded["big"], array)


@pytest.mark.parametrize(
    "table",
    [
        5,
        {"big": 5},
        {"big": {"OriginShape": (2,), "slices": ["missing"]}},
        {"big": {"OriginShape": (2,), "slices": ["part", "part"]}},
        {"big": {"OriginShape": (3,), "slices": ["part"]}},
        {"part": {"OriginShape": (2,), "slices": ["part"]}},
        {"big": {"OriginShape": (2,), "slices": []}},
    ],
)
def test_paddle_slices_that_do_not_fit_are_refused(table: object, tmp_path: Path) -> None:
    paddle.save({"part": np.zeros(2), paddle.SLICE_TABLE: table}, tmp_path / "x")
    with pytest.raises(CheckpointError, match="Unpack"):
        paddle.load(tmp_path / "x")


# -- MXNet --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("mxnet") and "sparse" not in file])
def test_mxnet_files_are_written_byte_for_byte(file: str, tmp_path: Path) -> None:
    data = (DATA / file).read_bytes()
    arrays = mxnet.load(DATA / file)
    mxnet.save(tmp_path / "x", arrays)
    assert (tmp_path / "x").read_bytes() == data
    assert mxnet.dumps(mxnet.loads(data)) == data


def _old_array(magic: bytes, axes: bytes, values: bytes) -> bytes:
    return (
        struct.pack("<QQQ", 0x112, 0, 1) + magic + axes + struct.pack("<iii", 1, 0, 0) + values + struct.pack("<Q", 0)
    )


def test_mxnet_reads_the_older_forms_of_arrays() -> None:
    values = np.arange(6, dtype=np.float32)
    wide = _old_array(struct.pack("<I", 0xF993FAC8), struct.pack("<iqq", 2, 2, 3), values.tobytes())
    oldest = _old_array(struct.pack("<I", 2), struct.pack("<II", 2, 3), values.tobytes())
    for data in (wide, oldest):
        (array,) = mxnet.loads(data)
        np.testing.assert_array_equal(array, values.reshape(2, 3))


def test_mxnet_knows_every_dtype(tmp_path: Path) -> None:
    arrays = {dtype: np.ones(3, dtype) for dtype in mxnet.DTYPES if dtype != "bfloat16"}
    mxnet.save(tmp_path / "x", arrays)
    loaded = mxnet.load(tmp_path / "x")
    assert isinstance(loaded, dict)
    assert {name: array.dtype for name, array in loaded.items()} == {name: a.dtype for name, a in arrays.items()}
    half = StoredTensor(np.array([0x3FC0], np.uint16), "bfloat16")
    assert mxnet.loads(mxnet.dumps([half]))[0].tolist() == [1.5]


def test_mxnet_refuses_what_it_has_no_dtype_for(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="no dtype complex64"):
        mxnet.save(tmp_path / "x", [np.zeros(2, np.complex64)])
    assert os.listdir(tmp_path) == []


# -- Chainer ------------------------------------------------------------------------------------------------------


def test_chainer_archive_is_what_numpy_reads(tmp_path: Path) -> None:
    arrays = chainer.load_npz(DATA / "chainer/model.npz")
    with np.load(DATA / "chainer/model.npz", allow_pickle=True) as original:
        assert set(original) == set(arrays)
        for name, array in arrays.items():
            assert array.dtype == original[name].dtype
            np.testing.assert_array_equal(array, original[name])
    for compression in (True, False):
        chainer.save_npz(tmp_path / "x.npz", arrays, compression)
        with np.load(tmp_path / "x.npz", allow_pickle=True) as written:
            assert written["note"][()] is None
            assert written["words"] == "déjà vu"
            np.testing.assert_array_equal(written["rnn/0/w0"], arrays["rnn/0/w0"])


def test_chainer_hdf5_keeps_none_text_and_empty_arrays(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    arrays = {
        "a/b": np.arange(3.0),
        "none": None,
        "text": np.array("déjà vu"),
        "empty": np.zeros((0, 2)),
        "one": np.int64(5),
    }
    hdf5.save(tmp_path / "x.h5", arrays)
    loaded = hdf5.load(tmp_path / "x.h5")
    assert loaded["none"][()] is None
    assert loaded["text"] == "déjà vu"
    assert loaded["empty"].shape == (0, 2)
    assert loaded["one"] == 5
    np.testing.assert_array_equal(loaded["a/b"], [0, 1, 2])


@pytest.mark.parametrize("save", [chainer.save_npz, hdf5.save])
def test_chainer_refuses_python_objects(save, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="Python objects"):
        save(tmp_path / "x", {"a": np.array([{}])})
    assert os.listdir(tmp_path) == []


# -- OneFlow ------------------------------------------------------------------------------------------------------


def test_oneflow_state_marks_parameters_and_keeps_values(tmp_path: Path) -> None:
    state = oneflow.load(DATA / "oneflow/model")
    assert isinstance(state["model"], OrderedDict)
    assert isinstance(state["model"]["0.weight_ih_l0"], oneflow.Parameter)
    assert (state["epoch"], state["words"]) == (3, ["a", "b"])
    oneflow.save(state, tmp_path / "x")
    again = oneflow.load(tmp_path / "x")
    assert isinstance(again["model"]["0.weight_ih_l0"], oneflow.Parameter)
    assert_same(load_checkpoint(DATA / "oneflow/model"), load_checkpoint(tmp_path / "x"))


def test_oneflow_saves_over_an_old_state_without_touching_other_files(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    for value in (1.0, 2.0):
        oneflow.save({"a": oneflow.Tensor(np.full(3, value))}, folder)
        (folder / "notes.txt").write_text("mine")
        assert oneflow.load(folder)["a"].array.tolist() == [value] * 3
    assert (folder / "notes.txt").read_text() == "mine"
    before = sorted(os.listdir(folder))
    with pytest.raises(TypeError):
        oneflow.save({"a": oneflow.Tensor(np.zeros(3)), "b": object()}, folder)
    assert sorted(os.listdir(folder)) == before
    assert oneflow.load(folder)["a"].array.tolist() == [2.0] * 3


def test_oneflow_reads_the_single_file_and_the_oldest_form(tmp_path: Path) -> None:
    from anygru.checkpoints.output.pickling import Global, PickledCall, dump

    tensor = PickledCall(Global("oneflow", "Tensor"), (), {"data": np.arange(3.0), "dtype": None}, new=True)
    with open(tmp_path / "single", "wb") as file:
        dump({"protocol_version": 1, "oneflow": None, "data": {"a": tensor}}, file)
    assert load_checkpoint(tmp_path / "single").tensors["a"].tolist() == [0, 1, 2]
    old = tmp_path / "old" / "layer-weight"
    old.mkdir(parents=True)
    (old / "out").write_bytes(np.arange(2, dtype=np.float32).tobytes())
    (old / "meta").write_text("shape {\n  dim: 2\n}\ndata_type: kFloat\n")
    (tmp_path / "old" / "snapshot_done").touch()
    assert load_checkpoint(tmp_path / "old").tensors["layer-weight"].tolist() == [0, 1]


def test_oneflow_modules_are_made_by_who_knows_their_classes() -> None:
    from anygru.checkpoints.reading.pickle_tree import Pending

    class Record(Pending):
        def build(self, state):
            return state

    state = oneflow.load(DATA / "oneflow/whole_module", {("oneflow.nn.modules.rnn", "GRU"): Record})
    assert state["hidden_size"] == 3
    assert state["_parameters"]["weight_ih_l0"].array.shape == (9, 2)


# -- torch --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zipped", [True, False])
def test_torch_checkpoints_are_read_as_torch_reads_them(zipped: bool, tmp_path: Path) -> None:
    net = torch.nn.Sequential(torch.nn.GRU(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    net[0](torch.randn(2, 1, 3))[0].sum().backward()
    optimizer.step()
    whole = {
        "model": net.state_dict(),
        "optimizer": optimizer.state_dict(),
        "views": [torch.arange(12.0).reshape(3, 4).t(), torch.arange(9.0)[2::3], torch.zeros(0, 3), torch.tensor(5)],
        "tied": net[0].weight_ih_l0,
        "expanded": torch.ones(1).expand(5),
        "size": torch.Size([1, 2]),
        "array": np.arange(3),
        "note": "ok",
        "steps": [1, 2, 3],
    }
    torch.save(whole, tmp_path / "x.pt", _use_new_zipfile_serialization=zipped)
    checkpoint = load_checkpoint(tmp_path / "x.pt")
    tensors = checkpoint.tensors
    for name, tensor in net.state_dict().items():
        assert torch.equal(tensors["model." + name], tensor)
    assert torch.equal(tensors["optimizer.state.0.exp_avg"], optimizer.state_dict()["state"][0]["exp_avg"])
    for number, view in enumerate(whole["views"]):
        assert torch.equal(tensors[f"views.{number}"], view)
    assert torch.equal(tensors["expanded"], torch.ones(5))
    assert tensors["array"].tolist() == [0, 1, 2]
    assert checkpoint.values["note"] == "ok"
    assert checkpoint.values["steps"] == [1, 2, 3]
    assert [gru.path for gru in checkpoint.gru_layers] == ["model.0"]


@pytest.mark.parametrize("zipped", [True, False])
def test_torch_dtypes_come_back(zipped: bool, tmp_path: Path) -> None:
    names = ["bfloat16", "float16", "float64", "int8", "uint8", "int16", "int32", "int64", "bool", "complex64"]
    names += ["float8_e4m3fn"] if zipped else []
    names += ["uint16", "uint32"] if zipped and torch_private.at_least(2, 6) else []  # torch 2.4 cannot save them
    tensors = {name: torch.ones(3).to(getattr(torch, name)) for name in names}
    torch.save(tensors, tmp_path / "x.pt", _use_new_zipfile_serialization=zipped)
    loaded = load_checkpoint(tmp_path / "x.pt").tensors
    for name, tensor in tensors.items():
        assert loaded[name].dtype == tensor.dtype
        assert torch.equal(loaded[name].to(torch.complex64), tensor.to(torch.complex64))
    save_checkpoint(loaded, tmp_path / "y.pt")
    again = torch.load(tmp_path / "y.pt", weights_only=True)
    assert {name: tensor.dtype for name, tensor in again.items()} == {n: t.dtype for n, t in tensors.items()}


def test_safetensors_metadata_is_kept(tmp_path: Path) -> None:
    from safetensors import safe_open
    from safetensors.torch import save_file

    from anygru.checkpoints.writing.convert import convert

    tensors = {
        "a": torch.ones(3, dtype=torch.bfloat16),
        "b": torch.arange(4),
        "c": torch.zeros(0, 2),
        "d": torch.tensor(1.5),
    }
    save_file(tensors, tmp_path / "x.safetensors", {"format": "pt"})
    checkpoint = load_checkpoint(tmp_path / "x.safetensors")
    for name, tensor in tensors.items():
        assert torch.equal(checkpoint.tensors[name], tensor)
    convert(tmp_path / "x.safetensors", tmp_path / "y.safetensors")
    with safe_open(tmp_path / "y.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}
        for name, tensor in tensors.items():
            assert torch.equal(file.get_tensor(name), tensor)
