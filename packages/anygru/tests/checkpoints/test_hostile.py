"""Damaged and hostile files: always a CheckpointError that names the file, soon, and without much memory."""

import contextlib
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from samples import DATA, ENDINGS, write_onnx

import anygru
from anygru.checkpoints import NAMES, format_module, load_checkpoint, save_checkpoint
from anygru.errors import CheckpointError

h5py = pytest.importorskip("h5py")

TWO_GIGABYTES = 1 << 31

#: name -> function that writes the file below a folder and returns its path.
HOSTILE: dict[str, Callable[[Path], Path]] = {}


def hostile(make: Callable[[Path], Path]) -> Callable[[Path], Path]:
    HOSTILE[make.__name__] = make
    return make


def written(folder: Path, name: str, data: bytes) -> Path:
    (folder / name).write_bytes(data)
    return folder / name


# -- pickles ---------------------------------------------------------------------------------------------


def raw_pickles() -> dict[str, bytes]:
    """Pickles that no checkpoint contains, by their attempts."""
    doubling = b"\x80\x04)\x94" + b"".join(b"h%ch%c\x86\x94" % (n, n) for n in range(60))
    return {
        "calls a program": b"cos\nsystem\n(S'true'\ntR.",
        "evaluates": b"\x80\x04cbuiltins\neval\n(X\x04\x00\x00\x001+1 }tR.",
        "imports": b"\x80\x04cbuiltins\n__import__\n(X\x02\x00\x00\x00ostR.",
        "gets an attribute": b"\x80\x04cbuiltins\ngetattr\n.",
        "makes an instance": b"(ios\nsystem\n.",
        "uses an extension": b"\x80\x02\x82\x01.",
        "refers outside": b"\x80\x04X\x01\x00\x00\x00aQ.",
        "contains itself": b"\x80\x04]\x94h\x00a.",
        "contains itself in a dict": b"\x80\x04}\x94X\x01\x00\x00\x00ah\x00s.",
        "announces a gigabyte of bytes": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 30) + b"x.",
        "announces exabytes": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 62) + b"x.",
        "announces a long text": b"\x80\x04X" + struct.pack("<I", 1 << 30) + b"x.",
        "announces a long integer": b"\x80\x02\x8b" + struct.pack("<i", 1 << 30) + b"x.",
        "announces a negative length": b"\x80\x02\x8b" + struct.pack("<i", -5) + b"x.",
        "announces a long frame": b"\x80\x04\x95" + struct.pack("<Q", 1 << 40) + b"N.",
        "recalls a missing value": b"\x80\x04j\xff\xff\xff\x7f.",
        "doubles tuples": doubling + b".",
        "hashes doubled tuples": b"\x80\x04}" + doubling[2:] + b"Ns.",
        "nests a thousand lists": b"\x80\x04" + b"]" * 1000 + b"a" * 999 + b".",
        "takes memory by bytearray": b"\x80\x04cbuiltins\nbytearray\nJ\x00\x00\x00\x40\x85R.",
        "takes memory by an array": b"\x80\x04cnumpy\nndarray\nJ\x00\x00\x00\x40\x85\x85R.",
        "counts with many digits": b"I" + b"9" * 60_000 + b"\n.",
        "has no end of a line": b"I" + b"9" * 100_000,
        "has no end": b"\x80\x04N",
        "leaves two values": b"\x80\x04NN.",
        "takes from nothing": b"\x80\x040.",
        "closes a group that is not open": b"\x80\x04t.",
        "sets a state of a list": b"\x80\x04]}b.",
        "has a future protocol": b"\x80\x09N.",
        "has an unknown opcode": b"\x80\x04\xff.",
        "has a list as a key": b"\x80\x04}]Ns.",
        "has bad text": b"\x80\x04\x8c\x01\xff.",
    }


def array_pickles() -> dict[str, bytes]:
    """Pickles of arrays with parts that do not fit, made from a good pickle."""
    good = pickle.dumps({"a": np.arange(6, dtype=np.float32)}, 2).replace(b"numpy._core", b"numpy.core")
    assert b"K\x06\x85" in good
    changes = {
        "shape beyond the data": (b"K\x06\x85", b"J\x00\x00\x00\x40\x85"),
        "negative shape": (b"K\x06\x85", b"J\xff\xff\xff\xff\x85"),
        "shape of objects": (b"X\x02\x00\x00\x00f4", b"X\x02\x00\x00\x00O8"),
        "unknown dtype": (b"X\x02\x00\x00\x00f4", b"X\x02\x00\x00\x00q9"),
        "record dtype": (b"X\x02\x00\x00\x00f4", b"X\x05\x00\x00\x00f4,f4"),
    }
    pickles = {}
    for name, (old, new) in changes.items():
        assert old in good, name
        pickles[name] = good.replace(old, new)
    return pickles


PICKLES = raw_pickles() | array_pickles()


@pytest.mark.parametrize("name", PICKLES)
def test_hostile_pickle_is_refused(name: str, tmp_path: Path) -> None:
    refused(written(tmp_path, "x.pdparams", PICKLES[name]), "paddle")


# -- archives --------------------------------------------------------------------------------------------


def npy(shape: str, descr: str = "<f4", data: bytes = b"") -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def archive(
    folder: Path, members: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED, name: str = "x.npz"
) -> Path:
    with zipfile.ZipFile(folder / name, "w", method) as target:
        for member, data in members:
            target.writestr(member, data)
    return folder / name


GOOD = npy("(2,)", data=bytes(8))


@hostile
def zip_with_a_name_twice(folder: Path) -> Path:
    with pytest.warns(UserWarning, match="Duplicate name"):
        return archive(folder, [("a.npy", GOOD), ("a.npy", GOOD)])


@hostile
def zip_that_overlaps(folder: Path) -> Path:
    data = bytearray(archive(folder, [("a.npy", GOOD), ("b.npy", GOOD)], zipfile.ZIP_STORED).read_bytes())
    second = data.rindex(b"PK\x01\x02")
    data[second + 42 : second + 46] = struct.pack("<I", 0)
    return written(folder, "y.npz", bytes(data))


@hostile
def zip_that_is_encrypted(folder: Path) -> Path:
    data = bytearray(archive(folder, [("a.npy", GOOD)]).read_bytes())
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    return written(folder, "y.npz", bytes(data))


@hostile
def array_of_objects(folder: Path) -> Path:
    np.savez(folder / "x.npz", a=np.array([{}, None], dtype=object))
    return folder / "x.npz"


# -- HDF5 ------------------------------------------------------------------------------------------------


def hdf5(folder: Path, fill: Callable[[h5py.File], object]) -> Path:
    with h5py.File(folder / "x.h5", "w") as file:
        fill(file)
    return folder / "x.h5"


@hostile
def hdf5_external_link(folder: Path) -> Path:
    hdf5(folder, lambda file: file.create_dataset("a", data=[1.0])).rename(folder / "other.h5")
    return hdf5(folder, lambda file: file.__setitem__("b", h5py.ExternalLink(str(folder / "other.h5"), "a")))


@hostile
def hdf5_group_in_itself(folder: Path) -> Path:
    def fill(file: h5py.File) -> None:
        group = file.create_group("a")
        group["b"] = group

    return hdf5(folder, fill)


@hostile
def hdf5_external_storage(folder: Path) -> Path:
    written(folder, "secret", bytes(80))
    return hdf5(folder, lambda file: file.create_dataset("a", (10,), "f8", external=[(str(folder / "secret"), 0, 80)]))


@hostile
def hdf5_virtual_dataset(folder: Path) -> Path:
    def fill(file: h5py.File) -> None:
        layout = h5py.VirtualLayout((10,), "f8")
        layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "a", (10,))
        file.create_virtual_dataset("a", layout)

    return hdf5(folder, fill)


def hdf5_with_two_gigabytes(folder: Path) -> Path:
    """A file of 2 GB with 4 KB on the disk."""

    def fill(file: h5py.File) -> None:
        options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        options.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        options.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space = h5py.h5s.create_simple((TWO_GIGABYTES // 4,))
        h5py.h5d.create(file.id, b"a", h5py.h5t.IEEE_F32LE, space, options)

    return hdf5(folder, fill)


@hostile
def hdf5_two_gigabytes_cut(folder: Path) -> Path:
    path = hdf5_with_two_gigabytes(folder)
    os.truncate(path, 4096)
    return path


# -- ONNX ------------------------------------------------------------------------------------------------

ROW = TWO_GIGABYTES // 48  # of float32 in a W of 12 rows


def onnx_model(folder: Path, dims: tuple[int, ...], raw: bytes | None = None, **external: object) -> Path:
    """A GRU of hidden size 4 with a W of these dimensions, in the file or in another file of the folder."""
    from onnx import TensorProto, helper, numpy_helper

    weight = TensorProto(name="W", data_type=TensorProto.FLOAT, dims=dims)
    if raw is not None:
        weight.raw_data = raw
    else:
        weight.data_location = TensorProto.EXTERNAL
        for key, value in external.items():
            weight.external_data.add(key=key, value=str(value))
    node = helper.make_node("GRU", ["x", "W", "R"], ["y"], name="g", hidden_size=4)
    state = numpy_helper.from_array(np.zeros((1, 12, 4), np.float32), "R")
    return write_onnx(folder / "x.onnx", [node], [weight, state])


ONNX: dict[str, dict[str, object]] = {
    "a length that is not there": {"dims": (1, 12, ROW), "location": "small", "length": TWO_GIGABYTES},
    "a shape that is not there": {"dims": (1, 12, ROW), "location": "small"},
    "an offset behind the end": {"dims": (1, 12, 3), "location": "small", "offset": TWO_GIGABYTES, "length": 144},
    "a negative offset": {"dims": (1, 12, 3), "location": "small", "offset": -144, "length": 144},
    "a shape in the file": {"dims": (1, 12, ROW), "raw": bytes(16)},
    "a shape that overflows": {"dims": (1, 1 << 33, 1 << 33), "raw": bytes(16)},
}


@pytest.mark.parametrize("name", ONNX)
def test_onnx_that_lies_about_two_gigabytes_is_refused(name: str, tmp_path: Path) -> None:
    written(tmp_path, "small", bytes(144))
    refused(onnx_model(tmp_path, **ONNX[name]))


@hostile
def onnx_one_value_two_thousand_times(folder: Path) -> Path:
    from onnx import helper, numpy_helper

    nodes = [
        helper.make_node("Concat", ["w"] * 2000, ["W"], name="c", axis=2),
        helper.make_node("GRU", ["x", "W", "R"], ["y"], name="g", hidden_size=4),
    ]
    arrays = {"w": np.zeros((1, 12, 1 << 14), np.float32), "R": np.zeros((1, 12, 4), np.float32)}
    stored = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    return write_onnx(folder / "x.onnx", nodes, stored)


def memory_in_use() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the memory in use is read as Linux tells it")
def test_two_gigabytes_that_are_there_take_no_memory_to_look_at(tmp_path: Path) -> None:
    """Sparse files: 2 GB long, with a few KB on the disk."""
    with (tmp_path / "big").open("wb") as file:
        file.truncate(TWO_GIGABYTES)
    before = memory_in_use()
    for path in (
        onnx_model(tmp_path, (1, 12, ROW), location="big", length=ROW * 48),
        hdf5_with_two_gigabytes(tmp_path),
    ):
        checkpoint = load_checkpoint(path)
        assert sum(stored.nbytes for stored in checkpoint.stored.values()) > TWO_GIGABYTES - 100
    assert memory_in_use() - before < 64 << 20


# -- OneFlow ---------------------------------------------------------------------------------------------


def oneflow(folder: Path, change: Callable[[Path], object]) -> Path:
    save_checkpoint({"a": torch.ones(3)}, folder / "state", "oneflow")
    change(next((folder / "state").glob("tensor_*")))
    return folder / "state"


@hostile
def oneflow_way_out(folder: Path) -> Path:
    def change(tensor: Path) -> None:
        pickled = tensor.parent / "pickled_data"
        name = tensor.name.encode()
        evil = b"../" + name
        pickled.write_bytes(
            pickled.read_bytes().replace(struct.pack("<I", len(name)) + name, struct.pack("<I", len(evil)) + evil)
        )

    return oneflow(folder, change)


@hostile
def oneflow_link(folder: Path) -> Path:
    def change(tensor: Path) -> None:
        (tensor / "out").rename(folder / "elsewhere")
        (tensor / "out").symlink_to(folder / "elsewhere")

    return oneflow(folder, change)


@hostile
def oneflow_with_a_false_shape(folder: Path) -> Path:
    text = "shape {\n  dim: 1000000000\n}\ndata_type: kFloat\n"
    return oneflow(folder, lambda tensor: (tensor / "meta").write_text(text))


@hostile
def oneflow_of_a_later_protocol(folder: Path) -> Path:
    (folder / "state").mkdir()
    written(folder / "state", "pickled_data", pickle.dumps({"protocol_version": 2, "data": {}}))
    return folder / "state"


@hostile
def folder_of_nothing(folder: Path) -> Path:
    (folder / "state").mkdir()
    return folder / "state"


# -- torch -----------------------------------------------------------------------------------------------


def torch_file(folder: Path, change: Callable[[bytes], bytes] = lambda data: data, **more: bytes) -> Path:
    """A file of torch.save with its pickle changed and members added."""
    buffer = io.BytesIO()
    torch.save({"a": torch.arange(6.0).reshape(2, 3)}, buffer)
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(folder / "x.pt", "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, change(data) if name.endswith("data.pkl") else data)
        for name, data in more.items():
            target.writestr(name.replace("__", "/"), data)
    return folder / "x.pt"


def changed(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        assert old in data
        return data.replace(old, new)

    return change


@hostile
def torch_strides_that_unfold(folder: Path) -> Path:
    size = changed(b"K\x02K\x03\x86", b"J\x00\x00\x00\x40K\x03\x86")
    stride = changed(b"K\x03K\x01\x86", b"K\x00K\x01\x86")
    return torch_file(folder, lambda data: stride(size(data)))


@hostile
def torch_whole_module(folder: Path) -> Path:
    torch.save(torch.nn.Linear(2, 3), folder / "x.pt")
    return folder / "x.pt"


@hostile
def torch_old_storage_of_another_size(folder: Path) -> Path:
    torch.save({"a": torch.arange(6.0)}, folder / "x.pt", _use_new_zipfile_serialization=False)
    data = (folder / "x.pt").read_bytes()
    place = data.rindex(struct.pack("<q", 6))
    return written(folder, "y.pt", data[:place] + struct.pack("<q", 1 << 40) + data[place + 8 :])


# -- safetensors -----------------------------------------------------------------------------------------


def safetensors(folder: Path, header: object, data: bytes = bytes(8)) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return written(folder, "x.safetensors", struct.pack("<Q", len(text)) + text + data)


def entry(begin: int = 0, end: int = 8, shape: object = (2,), dtype: object = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


SAFETENSORS = {
    "a false shape": {"a": entry(shape=[1 << 30])},
    "a negative shape": {"a": entry(shape=[-2])},
    "a shape that wraps around": {"a": entry(shape=[1 << 33, 1 << 31])},
    "an overlap": {"a": entry(), "b": entry(4, 8, [1])},
    "a gap": {"a": entry(4, 8, [1])},
    "an end beyond the file": {"a": entry(0, 1 << 40, [1 << 38])},
    "an end before the beginning": {"a": entry(8, 0)},
    "bytes that belong to nothing": {"a": entry(0, 4, [1])},
    "an unknown dtype": {"a": entry(dtype="F99")},
    "a dtype that is not text": {"a": entry(dtype=["F32"])},
    "an entry too much": {"a": entry() | {"more": 1}},
    "an entry that is none": {"a": 5},
    "metadata of numbers": {"__metadata__": {"a": 1}, "a": entry()},
    "no object": b"[1, 2]",
    "a name twice": b'{"a": %b, "a": %b}'
    % (json.dumps(entry(0, 4, [1])).encode(), json.dumps(entry(4, 8, [1])).encode()),
    "nested without end": b'{"a":' + b"[" * 50_000,
    "a number without end": b'{"a":' + b"9" * 10_000 + b"}",
    "no text": b"{\xff\xfe}",
}


@pytest.mark.parametrize("name", SAFETENSORS)
def test_hostile_safetensors_is_refused(name: str, tmp_path: Path) -> None:
    refused(safetensors(tmp_path, SAFETENSORS[name]), "safetensors")


# -- MXNet -----------------------------------------------------------------------------------------------


def ndarrays(*arrays: bytes, count: int | None = None, names: bytes = struct.pack("<Q", 0)) -> bytes:
    return struct.pack("<QQQ", 0x112, 0, len(arrays) if count is None else count) + b"".join(arrays) + names


def ndarray(shape: tuple[int, ...] = (2,), dtype: int = 0, data: bytes = bytes(8), magic: int = 0xF993FAC9) -> bytes:
    return struct.pack(f"<Iii{len(shape)}q", magic, 0, len(shape), *shape) + struct.pack("<iii", 1, 0, dtype) + data


def sparse(shape: tuple[int, ...], rows: list[int]) -> bytes:
    """Rows of one float each."""
    head = struct.pack("<Iiiqq", 0xF993FAC9, 1, 2, len(rows), 1) + struct.pack("<i", 2) + struct.pack("<qq", *shape)
    middle = struct.pack("<iii", 1, 0, 0) + struct.pack("<iiq", 6, 1, len(rows))
    return head + middle + bytes(4 * len(rows)) + struct.pack(f"<{len(rows)}q", *rows)


def named(*names: bytes) -> bytes:
    return struct.pack("<Q", len(names)) + b"".join(struct.pack("<Q", len(name)) + name for name in names)


MXNET = {
    "many arrays": ndarrays(count=1 << 60),
    "a false shape": ndarrays(ndarray((1 << 30,))),
    "a shape that wraps around": ndarrays(ndarray((1 << 33, 1 << 31))),
    "a negative shape": ndarrays(ndarray((-1,))),
    "many axes": ndarrays(struct.pack("<Iii", 0xF993FAC9, 0, 1 << 30)),
    "negative axes": ndarrays(struct.pack("<Iii", 0xF993FAC9, 0, -7)),
    "an unknown dtype": ndarrays(ndarray(dtype=99)),
    "an unknown storage": ndarrays(struct.pack("<Ii", 0xF993FAC9, 9)),
    "sparse rows of a huge array": ndarrays(sparse((1 << 40, 1), [0])),
    "a sparse row outside": ndarrays(sparse((4, 1), [4])),
    "a negative sparse row": ndarrays(sparse((4, 1), [-1])),
    "too few names": ndarrays(ndarray(), ndarray(), names=named(b"a")),
    "many names": ndarrays(ndarray(), names=struct.pack("<Q", 1 << 60)),
    "a name twice": ndarrays(ndarray(), ndarray(), names=named(b"a", b"a")),
    "a long name": ndarrays(ndarray(), names=struct.pack("<QQ", 1, 1 << 40)),
    "a name that is not text": ndarrays(ndarray(), names=named(b"\xff")),
    "more than it says": ndarrays(ndarray()) + b"more",
}


HOSTILE |= {
    "zip_bomb": lambda folder: archive(folder, [("a.npy", npy(f"({80 << 20},)", "|u1", bytes(80 << 20)))]),
    "zip_with_many_bombs": lambda folder: archive(
        folder, [(f"{n}.npy", npy(f"({10 << 20},)", "|u1", bytes(10 << 20))) for n in range(8)]
    ),
    "zip_with_a_way_out": lambda folder: archive(folder, [("../../a.npy", GOOD)]),
    "zip_with_an_absolute_name": lambda folder: archive(folder, [("/etc/a.npy", GOOD)]),
    "zip_with_another_compression": lambda folder: archive(folder, [("a.npy", GOOD)], zipfile.ZIP_BZIP2),
    "zip_with_a_program": lambda folder: archive(folder, [("a.npy", GOOD), ("evil.py", b"print(1)")]),
    "array_with_a_false_shape": lambda folder: archive(folder, [("a.npy", npy("(1000000000,)", data=bytes(8)))]),
    "array_with_a_program_for_a_header": lambda folder: archive(
        folder, [("a.npy", npy("(__import__('os').getpid(),)", data=bytes(8)))]
    ),
    "hdf5_soft_link": lambda folder: hdf5(folder, lambda file: file.__setitem__("b", h5py.SoftLink("/b"))),
    "hdf5_nothing_behind_a_shape": lambda folder: hdf5(folder, lambda file: file.create_dataset("a", (1 << 30,), "f4")),
    "hdf5_chunks_of_nothing": lambda folder: hdf5(
        folder, lambda file: file.create_dataset("a", (1 << 30,), "f4", chunks=(1 << 26,), compression="gzip")
    ),
    "hdf5_record": lambda folder: hdf5(folder, lambda file: file.create_dataset("a", data=np.zeros(2, [("x", "f4")]))),
    "hdf5_text_of_any_length": lambda folder: hdf5(
        folder, lambda file: file.create_dataset("a", data=["x"], dtype=h5py.string_dtype())
    ),
    "hdf5_named_type": lambda folder: hdf5(folder, lambda file: file.__setitem__("a", np.dtype("f8"))),
    "hdf5_two_gigabytes_in_chunks_that_are_not_there": lambda folder: hdf5(
        folder, lambda file: file.create_dataset("a", (TWO_GIGABYTES // 4,), "f4", chunks=(1 << 20,))
    ),
    "oneflow_without_values": lambda folder: oneflow(folder, lambda tensor: (tensor / "out").unlink()),
    "oneflow_with_a_long_description": lambda folder: oneflow(
        folder, lambda tensor: (tensor / "meta").write_text("dim: 1 " * 100_000)
    ),
    "oneflow_whole_module": lambda folder: DATA / "oneflow" / "whole_module",
    "torch_size_beyond_the_storage": lambda folder: torch_file(
        folder, changed(b"K\x02K\x03\x86", b"J\x00\x00\x00\x40K\x03\x86")
    ),
    "torch_strides_beyond_the_storage": lambda folder: torch_file(
        folder, changed(b"K\x03K\x01\x86", b"J\x00\x00\x00\x10K\x01\x86")
    ),
    "torch_storage_of_another_size": lambda folder: torch_file(folder, changed(b"K\x06tq", b"J\x00\x00\x00\x40tq")),
    "torch_storage_that_is_missing": lambda folder: torch_file(
        folder, changed(b"X\x01\x00\x00\x000", b"X\x01\x00\x00\x009")
    ),
    "torch_program": lambda folder: torch_file(folder, archive__code__evil=b"print(1)", x=b""),
    "safetensors_with_a_long_header": lambda folder: written(
        folder, "x.safetensors", struct.pack("<Q", 1 << 26) + b"{}"
    ),
}


@pytest.mark.parametrize("name", MXNET)
def test_hostile_ndarray_file_is_refused(name: str, tmp_path: Path) -> None:
    refused(written(tmp_path, "x.params", MXNET[name]), "mxnet")


# -- JSON -------------------------------------------------------------------------------------------------


def rtneural(folder: Path, weights: str = "[[[1]],[0]]", more: str = "", shape: str = "[1]") -> Path:
    """A file of RTNeural with a linear layer, and members before its layers."""
    layer = f'{{"type":"dense","activation":"","shape":{shape},"weights":{weights}}}'
    return written(folder, "x.json", f'{{{more}"in_shape":[1],"layers":[{layer}]}}'.encode())


HOSTILE |= {
    "json_cut": lambda folder: written(folder, "x.json", b'{"a": [1, 2'),
    "json_nested_deeply": lambda folder: written(
        folder, "x.json", b'{"a": ' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}"
    ),
    "json_objects_in_objects": lambda folder: written(folder, "x.json", b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "json_forty_axes": lambda folder: written(folder, "x.json", b'{"a": ' + b"[" * 40 + b"1" + b"]" * 40 + b"}"),
    "json_not_a_number": lambda folder: written(folder, "x.json", b'{"a": [1.0, NaN]}'),
    "json_infinity": lambda folder: written(folder, "x.json", b'{"a": [-Infinity]}'),
    "json_number_beyond_64_bits": lambda folder: written(folder, "x.json", b'{"a": [1e999]}'),
    "json_integer_of_a_million_digits": lambda folder: written(folder, "x.json", b'{"a": [' + b"9" * 1_000_000 + b"]}"),
    "json_integer_of_four_thousand_digits": lambda folder: written(folder, "x.json", b'{"a": ' + b"9" * 4000 + b"}"),
    "json_name_twice": lambda folder: written(folder, "x.json", b'{"a": [1], "a": [2]}'),
    "json_lists_of_unequal_lengths": lambda folder: written(folder, "x.json", b'{"a": [[1, 2], [3]]}'),
    "json_number_beside_a_list": lambda folder: written(folder, "x.json", b'{"a": [1, [2]]}'),
    "json_text_for_a_number": lambda folder: written(folder, "x.json", b'{"a": [1, "2"]}'),
    "json_true_for_a_number": lambda folder: written(folder, "x.json", b'{"a": [true]}'),
    "json_null_for_a_number": lambda folder: written(folder, "x.json", b'{"a": [null]}'),
    "json_five_million_lists": lambda folder: written(folder, "x.json", b'{"a": [' + b"[]," * 5_000_000 + b"[]]}"),
    "json_layers_after_the_head": lambda folder: rtneural(folder, more=f'"a":"{"x" * 5000}",'),
    "rtneural_layers_that_are_no_list": lambda folder: written(folder, "x.json", b'{"in_shape":[1],"layers":{}}'),
    "rtneural_without_a_shape": lambda folder: rtneural(folder, shape="null"),
    "rtneural_negative_shape": lambda folder: rtneural(folder, shape="[null,-1]"),
    "rtneural_shape_of_two_billion": lambda folder: rtneural(folder, shape="[null,2147483648]"),
    "rtneural_weights_of_another_shape": lambda folder: rtneural(folder, "[[[1, 2]],[0]]"),
    "rtneural_gru_with_one_bias": lambda folder: written(
        folder,
        "x.json",
        b'{"in_shape":[1],"layers":[{"type":"gru","shape":[1],"weights":[[[1,1,1]],[[1,1,1]],[0,0,0]]}]}',
    ),
    "rtneural_layer_without_a_type": lambda folder: written(
        folder, "x.json", b'{"in_shape":[1],"layers":[{"shape":[1]}]}'
    ),
    "rtneural_option_that_is_not_finite": lambda folder: rtneural(folder, more='"in_gain":1e999,'),
    "rtneural_two_layers_of_one_name": lambda folder: written(
        folder,
        "x.json",
        b'{"in_shape":[1],"layers":[' + b",".join([b'{"type":"x","name":"a","shape":[1]}'] * 2) + b"]}",
    ),
}


# -- all of them -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def soon() -> Iterator[None]:
    """Some fifty times as long as it takes here; a file that is not refused at once takes minutes or all memory."""
    for name in NAMES:
        format_module(name)  # imports take longer than the refusal
    begin = time.process_time()
    yield
    assert time.process_time() - begin < 5


def refused(path: Path, format: str | None = None) -> None:
    """Loading gives a CheckpointError that names the file, within seconds."""
    with soon(), pytest.raises(CheckpointError) as error:
        load_checkpoint(path, format)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_is_refused(name: str, tmp_path: Path) -> None:
    path = HOSTILE[name](tmp_path)
    with soon(), pytest.raises(CheckpointError) as error:
        load_checkpoint(path)
    assert str(path).rsplit(".", 1)[0] in str(error.value)


_LOAD_ALL = """
import resource, sys
import torch, numpy, h5py, anygru
from anygru.checkpoints import load_checkpoint, format_module, NAMES
from anygru.errors import CheckpointError
for name in NAMES:
    format_module(name)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20),) * 2)
for path in sys.stdin.read().splitlines():
    try:
        load_checkpoint(path)
    except CheckpointError:
        continue
    except BaseException as error:
        print(path, repr(error))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the limit on memory needs Linux")
def test_hostile_files_take_less_than_200_megabytes(tmp_path: Path) -> None:
    paths = []
    for number, make in enumerate(HOSTILE.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        paths.append(make(folder))
    for number, data in enumerate((*PICKLES.values(), *MXNET.values())):
        paths.append(written(tmp_path, f"{number}.bin", data))
    for name, header in SAFETENSORS.items():
        (tmp_path / name).mkdir()
        paths.append(safetensors(tmp_path / name, header))
    done = subprocess.run(
        [sys.executable, "-c", _LOAD_ALL], input="\n".join(map(str, paths)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def small_file(format: str, folder: Path) -> Path:
    net = torch.nn.Module()
    net.gru = anygru.GRU(1, 1)
    path = folder / ("model" + ENDINGS[format])
    save_checkpoint(net, path)
    return path / "pickled_data" if format == "oneflow" else path


def outcome(path: Path, data: bytes) -> bool:
    """Whether a damaged file loads (damage in numbers cannot be seen); any error except a CheckpointError fails the test."""
    path.write_bytes(data)
    target = path.parent if path.name == "pickled_data" else path
    try:
        checkpoint = load_checkpoint(target)
        for gru in checkpoint.gru_layers:
            checkpoint.gru(gru.path)
    except CheckpointError as error:
        if str(path.parent) not in str(error):
            raise AssertionError("the error does not name the file") from error
        return False
    return True


def check_cuts(path: Path, most: int) -> None:
    data = path.read_bytes()
    for end in (*range(0, len(data) - 1, max(1, len(data) // most)), len(data) - 1):
        assert not outcome(path, data[:end]), f"cut at byte {end} of {len(data)}"


def check_flips(path: Path, most: int, bits: list[int]) -> None:
    data = path.read_bytes()
    places = [place for place in range(len(data)) if path.suffix != ".h5" or data[place]]
    refusals = 0
    for place in places[:: max(1, len(places) // most)]:
        for bit in bits:
            damaged = bytearray(data)
            damaged[place] ^= 1 << (place + bit) % 8
            refusals += not outcome(path, bytes(damaged))
    assert refusals > 10


@pytest.mark.parametrize("format", ENDINGS)
def test_cut_file_is_refused(format: str, tmp_path: Path) -> None:
    check_cuts(small_file(format, tmp_path), 300)


@pytest.mark.parametrize("format", ENDINGS)
def test_file_with_a_flipped_bit_is_refused_or_read(format: str, tmp_path: Path) -> None:
    check_flips(small_file(format, tmp_path), 150, [3])


@pytest.mark.slow
@pytest.mark.parametrize("format", ENDINGS)
def test_file_cut_at_every_byte_is_refused(format: str, tmp_path: Path) -> None:
    check_cuts(small_file(format, tmp_path), 1 << 30 if format != "hdf5" else 4000)


@pytest.mark.slow
@pytest.mark.parametrize("format", ENDINGS)
def test_file_with_every_byte_flipped_is_refused_or_read(format: str, tmp_path: Path) -> None:
    check_flips(small_file(format, tmp_path), 1 << 30, [0, 3, 6])


def test_flipped_values_are_seen_where_the_format_has_checksums(tmp_path: Path) -> None:
    for ending in (".npz", ".pt"):
        path = tmp_path / ("x" + ending)
        save_checkpoint({"a": torch.full((64,), 1.0 / 3.0)}, path)
        if ending == ".npz":
            np.savez(path, a=np.full(64, 1 / 3, np.float32))
        data = bytearray(path.read_bytes())
        data[data.index(struct.pack("<f", 1 / 3)) + 40] ^= 4
        path.write_bytes(data)
        refused(path)
