"""Small files that ask for much memory or time: each is refused, or read, within the promised limits.

All of them are loaded by one process that may take 256 MiB beyond what its modules take: 64 MiB of the budget, what the
interpreter's allocator wastes, and copies that live for a moment.
"""

import json
import os
import pickle
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from test_hostile import archive, ndarrays, npy, oneflow, written

from anygru.checkpoints import load_checkpoint, save_checkpoint
from anygru.checkpoints.reading import budget
from anygru.errors import ArgumentError, ArgumentTypeError, CheckpointError

h5py = pytest.importorskip("h5py")

#: name -> function that writes the file below a folder and returns its path; each file is refused.
REFUSED: dict[str, Callable[[Path], Path]] = {}


def refused(make: Callable[[Path], Path]) -> Callable[[Path], Path]:
    REFUSED[make.__name__] = make
    return make


def deflated_pickle(folder: Path, content: bytes) -> Path:
    """A file of torch with a compressed pickle, so that a few kilobytes hold millions of opcodes."""
    with zipfile.ZipFile(folder / "x.pt", "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("x/data.pkl", b"\x80\x04" + content)
        target.writestr("x/version", b"3")
    return folder / "x.pt"


# -- pickles ---------------------------------------------------------------------------------------------


@refused
def a_list_copied_again_and_again(folder: Path) -> Path:
    call = b"h\x01h\x00\x85R"  # list(the list)
    start = b"(" + b"N" * 100_000 + b"l\x940cbuiltins\nlist\n\x940("
    return deflated_pickle(folder, start + call * 20_000 + b"l.")


@refused
def a_text_encoded_again_and_again(folder: Path) -> Path:
    text = b"X" + struct.pack("<I", 1 << 20) + b"a" * (1 << 20) + b"\x940"
    return deflated_pickle(folder, text + b"c_codecs\nencode\n\x940(" + b"h\x01h\x00\x85R" * 5000 + b"l.")


@refused
def bytes_by_reference(folder: Path) -> Path:
    data = b"B" + struct.pack("<I", 1 << 20) + bytes(1 << 20) + b"\x940"
    copies = b"h\x01h\x00\x85R" * 5000
    return deflated_pickle(folder, data + b"cbuiltins\nbytes\n\x940(" + copies + b"l.")


@refused
def leaves_by_reference(folder: Path) -> Path:
    """Ten dicts; each refers a hundred times to the next dict."""
    content = b"N\x940"
    for level in range(10):
        entries = b"".join(b"K%ch%c" % (key, level) for key in range(1, 100))
        content += b"}(" + entries + b"u\x94" + (b"0" if level < 9 else b"")
    return deflated_pickle(folder, content + b".")


@refused
def a_long_name_for_every_leaf(folder: Path) -> Path:
    key = b"X" + struct.pack("<I", 200_000) + b"k" * 200_000
    leaves = b"".join(b"M" + struct.pack("<H", number) + b"N" for number in range(2000))
    path = deflated_pickle(folder, b"}" + key + b"}(" + leaves + b"us.")
    return path


@refused
def laughs_in_the_metadata(folder: Path) -> Path:
    laughs = b")\x94" + b"".join(b"0h%ch%c\x86\x94" % (n, n) for n in range(60))
    mark = b"X\x0e\x00\x00\x00anygru.formula}X\x05\x00\x00\x00reseth\x3cs"
    metadata = b"}X\x09\x00\x00\x00_metadata}X\x00\x00\x00\x00}" + mark + b"sss"
    return deflated_pickle(folder, laughs + b"0ccollections\nOrderedDict\n)R" + metadata + b"b.")


@refused
def laughs_in_an_error(folder: Path) -> Path:
    laughs = b")\x94" + b"".join(b"0h%ch%c\x86\x94" % (n, n) for n in range(60))
    return written(folder, "x.pdparams", b"\x80\x04" + laughs + b"h\x3c\x93.")


@refused
def laughs_for_a_device(folder: Path) -> Path:
    laughs = b")\x94" + b"".join(b"0h%ch%c\x86\x94" % (n, n) for n in range(60))
    return deflated_pickle(folder, laughs + b"0ctorch\ndevice\nX\x03\x00\x00\x00cpuh\x3c\x86R.")


@refused
def laughs_for_a_protocol(folder: Path) -> Path:
    laughs = b")\x94" + b"".join(b"0h%ch%c\x86\x94" % (n, n) for n in range(60))
    (folder / "state").mkdir()
    content = b"}X\x10\x00\x00\x00protocol_versionh\x3csX\x04\x00\x00\x00dataNs."
    written(folder / "state", "pickled_data", b"\x80\x04" + laughs + b"0" + content)
    return folder / "state"


@refused
def texts_without_letters_in_a_pickle(folder: Path) -> Path:
    good = pickle.dumps({"a": np.array([b"x"] * 5)}, 2).replace(b"numpy._core", b"numpy.core")
    data = good.replace(b"X\x02\x00\x00\x00S1", b"X\x02\x00\x00\x00S0").replace(b"K\x01K\x00tb", b"K\x00K\x00tb")
    data = (
        data.replace(b"xxxxx", b"")
        .replace(b"X\x05\x00\x00\x00", b"X\x00\x00\x00\x00")
        .replace(b"K\x05\x85", b"M\xa0\x0f\x85")
    )
    assert data != good
    return written(folder, "x.pdparams", data)


# -- archives --------------------------------------------------------------------------------------------


@refused
def a_long_header_of_an_array(folder: Path) -> Path:
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"1, " * 5_000_000 + b"), }\n"
    data = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(header)) + header + bytes(4)
    return archive(folder, [("a.npy", data)])


@refused
def a_dtype_that_only_some_machines_have(folder: Path) -> Path:
    np.savez(folder / "x.npz", a=np.zeros(3, np.longdouble))
    return folder / "x.npz"


@refused
def a_member_that_unfolds_to_more_than_announced(folder: Path) -> Path:
    path = archive(folder, [("a.npy", npy(f"({300 << 20},)", "|u1", bytes(300 << 20)))])
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\x01\x02") + 24  # the size in the directory
    data[place : place + 4] = struct.pack("<I", 1000)
    return written(folder, "y.npz", bytes(data))


# -- HDF5 ------------------------------------------------------------------------------------------------


@refused
def groups_by_hard_links(folder: Path) -> Path:
    with h5py.File(folder / "x.h5", "w") as file:
        below = file.create_group("g0")
        below["a"] = np.ones(3)
        for number in range(1, 28):
            group = file.create_group(f"g{number}")
            group["a"], group["b"] = below, below
            below = group
    return folder / "x.h5"


@refused
def a_chunk_that_unfolds_to_more_than_announced(folder: Path) -> Path:
    with h5py.File(folder / "x.h5", "w") as file:
        array = file.create_dataset("a", (1000,), "u1", chunks=(1000,), compression="gzip")
        array.id.write_direct_chunk((0,), zlib.compress(bytes(400 << 20), 1))
    return folder / "x.h5"


@refused
def many_chunks_that_are_not_there(folder: Path) -> Path:
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("a", (60_000_000,), "u1", chunks=(1,))
    return folder / "x.h5"


def _heap(folder: Path, place: int, length: int) -> Path:
    """Two texts in a heap, its second object (number, count, length) with another number and length."""
    with h5py.File(folder / "x.h5", "w") as file:
        file.attrs["model_config"], file.attrs["keras_version"] = "a" * 16, "b" * 16
    data = bytearray((folder / "x.h5").read_bytes())
    second = data.index(b"GCOL") + 16 + 16 + 16
    data[second : second + 16] = struct.pack("<HHIQ", place, 1, 0, length)
    (folder / "x.h5").write_bytes(data)
    return folder / "x.h5"


# -- OneFlow ---------------------------------------------------------------------------------------------


@refused
def a_fifo_for_values(folder: Path) -> Path:
    def change(tensor: Path) -> None:
        (tensor / "out").unlink()
        os.mkfifo(tensor / "out")

    return oneflow(folder, change)


@refused
def a_fifo(folder: Path) -> Path:
    os.mkfifo(folder / "x.pt")
    return folder / "x.pt"


@refused
def a_link_for_an_index(folder: Path) -> Path:
    state = oneflow(folder, lambda tensor: None)
    (state / "pickled_data").rename(folder / "elsewhere")
    (state / "pickled_data").symlink_to(folder / "elsewhere")
    return state


# -- torch before 1.6 ------------------------------------------------------------------------------------


@refused
def strides_of_zero_many_times(folder: Path) -> Path:
    one = torch.zeros(1)
    names = {f"n{number}": one.expand(100_000) for number in range(2000)}
    torch.save(names, folder / "x.pt", _use_new_zipfile_serialization=False)
    return folder / "x.pt"


@refused
def storages_named_by_integers(folder: Path) -> Path:
    torch.save({"a": torch.arange(6.0)}, folder / "x.pt", _use_new_zipfile_serialization=False)
    data = (folder / "x.pt").read_bytes()
    tail = data.rindex(b"]q")
    return written(folder, "y.pt", data[:tail] + b"]q\x00K\x01a." + data[data.rindex(struct.pack("<q", 6)) :])


# -- safetensors and MXNet -------------------------------------------------------------------------------


@refused
def a_header_of_lists(folder: Path) -> Path:
    text = b'{"__metadata__":[' + b"[]," * 20_000_000 + b"[]]}"
    path = written(folder, "x.safetensors", struct.pack("<Q", len(text)) + text)
    return path


@refused
def an_offset_of_many_digits(folder: Path) -> Path:
    header = json.dumps(
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [int("9" * 4000), int("9" * 4001)]}}
    ).encode()
    return written(folder, "x.safetensors", struct.pack("<Q", len(header)) + header + bytes(4))


@refused
def rows_without_an_axis(folder: Path) -> Path:
    head = struct.pack("<Iiiqq", 0xF993FAC9, 1, 2, 1, 1) + struct.pack("<i", 2) + struct.pack("<qq", 1, 1)
    data = head + struct.pack("<iii", 1, 0, 0) + struct.pack("<ii", 6, 0) + bytes(4) + bytes(8)
    return written(folder, "x.params", ndarrays(data))


# -- Keras ------------------------------------------------------------------------------------------------


def keras_archive(folder: Path, layer: dict[str, object]) -> Path:
    """A model of one layer with the weights of a GRU."""
    with h5py.File(folder / "weights.h5", "w") as file:
        for number, shape in enumerate(((1, 3), (1, 3), (2, 3))):
            file[f"layers/gru/cell/vars/{number}"] = np.ones(shape, np.float32)
    with zipfile.ZipFile(folder / "x.keras", "w") as target:
        target.writestr("metadata.json", "{}")
        target.writestr("config.json", json.dumps({"class_name": "Sequential", "config": {"layers": [layer]}}))
        target.write(folder / "weights.h5", "model.weights.h5")
    return folder / "x.keras"


MANY = [{"class_name": "GRU", "config": {}}] * 10_000


REFUSED |= {
    "a_million_empty_lists": lambda folder: deflated_pickle(folder, b"(" + b"]" * 10_000_000 + b"l."),
    "a_memo_of_one_value": lambda folder: deflated_pickle(folder, b"N" + b"\x94" * 10_000_000 + b"."),
    "lists_in_lists": lambda folder: deflated_pickle(folder, b"]" * 1_000_000 + b"a" * 999_999 + b"."),
    "an_integer_that_cannot_be_shown": lambda folder: written(
        folder, "x.pdparams", b"\x80\x02\x8b" + struct.pack("<i", 3000) + b"\x7f" * 3000 + b"."
    ),
    "texts_without_letters": lambda folder: archive(folder, [("a.npy", npy("(4000,)", "|S0"))]),
    "texts_without_letters_in_unicode": lambda folder: archive(folder, [("a.npy", npy("(1000000000000,)", "<U0"))]),
    "texts_of_one_letter": lambda folder: archive(
        folder, [("a.npy", npy("(2000000,)", "<U4", b"\x00\x01\x00\x00" * 8_000_000))]
    ),
    "an_invalid_letter": lambda folder: archive(folder, [("a.npy", npy("(1,)", "<U1", b"\xff\xff\xff\x7f"))]),
    "lists_of_no_texts": lambda folder: archive(folder, [("a.npy", npy("(1000000000, 0)", "<U1"))]),
    "a_dtype_of_many_digits": lambda folder: archive(folder, [("a.npy", npy("(1,)", "<f" + "9" * 5000, bytes(4)))]),
    "a_heap_with_free_space_of_no_bytes": lambda folder: _heap(folder, 0, 0),
    "a_heap_with_an_object_of_all_bytes": lambda folder: _heap(folder, 2, (1 << 64) - 16),
    "a_shape_that_is_hard_to_read": lambda folder: oneflow(
        folder, lambda tensor: (tensor / "meta").write_text("shape {" + "  dim: 1" * 60 + "\n!")
    ),
    "arrays_that_were_never_filled": lambda folder: written(
        folder, "x.params", ndarrays(count=2_000_000) + bytes(8_000_000)
    ),
    "many_layers_in_a_class_of_a_long_name": lambda folder: keras_archive(
        folder, {"class_name": "A" * 1_000_000, "config": {"layers": MANY}}
    ),
    "many_layers_below_a_long_key": lambda folder: keras_archive(
        folder, {"class_name": "Mine", "config": {"A" * 1_000_000: MANY}}
    ),
}


#: Loads each file named on standard input in a child, which starts with the modules that its parent has imported.
_LOADER = """
import json, os, resource, signal, sys
import torch, numpy, h5py, anygru
from anygru.checkpoints import load_checkpoint, format_module, NAMES
from anygru.errors import CheckpointError
for name in NAMES:
    format_module(name)

def load(path, allowed):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20) + allowed,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    signal.alarm(300)
    try:
        checkpoint = load_checkpoint(path)
        checkpoint.gru_layers, checkpoint.values
    except CheckpointError as error:
        return "refused" if path in str(error) else str(error)
    except BaseException as error:
        return repr(error)[:300]
    return "read"

for line in sys.stdin:
    if os.fork() == 0:
        print(json.dumps(load(*json.loads(line))), flush=True)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.wait()[1])
    print(json.dumps(f"ended with {status}" if status else "done"), flush=True)
"""


@pytest.fixture(scope="module")
def loader() -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _LOADER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


SECONDS = ("a_million_empty_lists", "arrays_that_were_never_filled", "a_memo_of_one_value")
"""Reading takes seconds before the refusal."""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the limit on memory needs Linux")
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SECONDS)) for name in REFUSED])
def test_hostile_file_is_refused_in_little_memory_and_time(
    name: str, tmp_path: Path, loader: subprocess.Popen[str]
) -> None:
    path = REFUSED[name](tmp_path)
    allowed = 32 * path.stat().st_size if path.is_file() else 0
    assert loader.stdin is not None
    assert loader.stdout is not None
    print(json.dumps([str(path), allowed]), file=loader.stdin, flush=True)
    assert json.loads(loader.stdout.readline()) == "refused"
    assert json.loads(loader.stdout.readline()) == "done"


PIECES = {"nothing": b"N", "numbers": b"K\x01", "lists": b"]", "one array": b"h\x00"}


def many_values(folder: Path, piece: bytes, count: int) -> Path:
    array = pickle.dumps(np.zeros(1, np.float32), 4)[2:-1]
    (folder / "x.pdparams").write_bytes(b"\x80\x04}\x8c\x01a" + array + b"q\x00s\x8c\x01x](" + piece * count + b"es.")
    return folder / "x.pdparams"


def test_values_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MOST_VALUES", 1000)
    load_checkpoint(many_values(tmp_path, b"N", 500))
    path = many_values(tmp_path, b"N", 2000)
    with pytest.raises(CheckpointError, match="more than 1000 values would be made"):
        load_checkpoint(path)
    assert len(load_checkpoint(path, limit=2 << 20).values["x"]) == 2000


@pytest.mark.slow
@pytest.mark.parametrize("piece", PIECES)
def test_sixteen_million_values_take_no_ten_seconds(piece: str, tmp_path: Path) -> None:
    path = many_values(tmp_path, PIECES[piece], 16_000_000)
    start = time.process_time()
    with pytest.raises(CheckpointError, match="would be made"):
        load_checkpoint(path)
    assert time.process_time() - start < 10


# -- values that the default budget accepts ---------------------------------------------------------------


def test_wrappers_in_wrappers_take_no_time(tmp_path: Path) -> None:
    layer: dict[str, object] = {"class_name": "GRU", "config": {"name": "gru"}}
    for _ in range(60):
        layer = {"class_name": "Bidirectional", "config": {"name": "b", "layer": layer}}
    (found,) = load_checkpoint(keras_archive(tmp_path, layer)).gru_layers
    assert "the configuration has no layer at this place" in found.problem


def test_a_limit_of_the_callers_own(tmp_path: Path) -> None:
    save_checkpoint({"a": torch.zeros(1000)}, tmp_path / "x.npz")
    with pytest.raises(CheckpointError, match="more than 2000 bytes of memory would be made"):
        load_checkpoint(tmp_path / "x.npz", limit=2000)
    assert load_checkpoint(tmp_path / "x.npz", limit=20_000).stored["a"].shape == (1000,)
    np.savez_compressed(tmp_path / "y.npz", a=np.zeros(70 << 20, np.uint8))
    with pytest.raises(CheckpointError, match="limit="):
        load_checkpoint(tmp_path / "y.npz")
    assert load_checkpoint(tmp_path / "y.npz", limit=200 << 20).stored["a"].nbytes == 70 << 20
    with pytest.raises(ArgumentTypeError, match="limit must be a number"):
        load_checkpoint(tmp_path / "x.npz", limit="1 GB")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="limit must be at least 0"):
        load_checkpoint(tmp_path / "x.npz", limit=-1)


def test_usual_values_fit_into_the_default(tmp_path: Path) -> None:
    """A vocabulary, the values with the least bytes a value that checkpoints really have, and tied weights."""
    words = {f"word{number}": number for number in range(400_000)}
    tied = torch.zeros(1000, 1000)
    torch.save({"words": words, "embedding": tied, "output": tied, "list": list(range(400_000))}, tmp_path / "x.pt")
    checkpoint = load_checkpoint(tmp_path / "x.pt")
    assert len(checkpoint.values) == 400_001
    assert checkpoint.stored["embedding"].nbytes == 4_000_000


def test_one_stored_tensor_by_many_names_is_read_once(tmp_path: Path) -> None:
    tensor = torch.arange(1000.0)
    save_checkpoint({"a": tensor}, tmp_path / "state", "oneflow")
    from anygru.checkpoints.formats import oneflow as files

    shared = files.Tensor(tensor.numpy())
    files.save({f"n{number}": shared for number in range(50)}, tmp_path / "state")
    arrays = [leaf.array for leaf in files.load(tmp_path / "state").values()]
    assert all(array is arrays[0] for array in arrays)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"] = np.arange(5.0)
        file["b"] = file["a"]
    stored = load_checkpoint(tmp_path / "x.h5").stored
    assert stored["a"].values is stored["b"].values


def looks_of(work: Callable[[], object]) -> int:
    """The number of looks at a type; unlike seconds, it does not vary."""
    count = 0

    def see(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "c_call" and argument is isinstance

    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_work_grows_with_the_size(tmp_path: Path) -> None:
    """A tensor at the end of a long list, a hundred levels down, is found by looking at each value once."""
    looks = []
    for levels in (0, 80):
        content: object = [0] * 2_000 + [np.zeros(3, np.float32)]
        for _ in range(levels):
            content = [content]
        (tmp_path / "x.pdparams").write_bytes(pickle.dumps({"a": content}, 2).replace(b"numpy._core", b"numpy.core"))
        assert len(load_checkpoint(tmp_path / "x.pdparams").stored) == 1  # and all is imported
        looks.append(looks_of(lambda: load_checkpoint(tmp_path / "x.pdparams").stored))
    assert looks[0] > 2_000
    assert looks[1] < 1.5 * looks[0]


def test_a_list_in_a_heap_is_no_text(tmp_path: Path) -> None:
    """The library's reading of a kind that is not known crashes."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.attrs["model_config"] = "a" * 16
    data = (tmp_path / "x.h5").read_bytes()
    assert (
        data.count(b"\x19\x01\x01\0\x10\0\0\0") == 1
    )  # values of any length: texts (1), in UTF-8, 16 bytes for the place
    (tmp_path / "x.h5").write_bytes(data.replace(b"\x19\x01\x01\0\x10\0\0\0", b"\x19\x05\x01\0\x10\0\0\0"))
    with pytest.raises(CheckpointError, match="model_config is not text"):
        load_checkpoint(tmp_path / "x.h5")


def test_texts_of_any_length_are_read_from_heaps(tmp_path: Path) -> None:
    config = json.dumps({"class_name": "Sequential", "config": {"layers": []}, "more": ["x" * 3000] * 100})
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for number in range(300):
            file.attrs[f"other{number}"] = "y" * number
        file.attrs["model_config"], file.attrs["keras_version"] = config, "2.12.0"
        for number in range(0, 300, 2):
            del file.attrs[f"other{number}"]
        file["a"] = np.ones(3)
    assert list(load_checkpoint(tmp_path / "x.h5").stored) == ["a"]


def test_chunks_of_hdf5_are_read_as_the_library_reads_them(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((13, 7, 5))
    whole = np.arange(1000, dtype=">i4").reshape(100, 10)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("edge", data=values, chunks=(4, 3, 5), compression="gzip", shuffle=True)
        file.create_dataset("sums", data=whole, chunks=(30, 10), compression=1, shuffle=True, fletcher32=True)
        file.create_dataset("odd", data=np.arange(255, dtype=np.uint8), chunks=(255,), fletcher32=True)
        file.create_dataset("text", data=np.array([b"ab", b"c"]), chunks=(1,))
        file.create_dataset("none", shape=(0, 4), maxshape=(None, 4), dtype="f4", chunks=(2, 4))
    checkpoint = load_checkpoint(tmp_path / "x.h5")
    assert np.array_equal(checkpoint.stored["edge"].values, values)
    assert np.array_equal(checkpoint.stored["sums"].values, whole)
    assert np.array_equal(checkpoint.stored["odd"].values, np.arange(255))
    assert checkpoint.values["text"] == [b"ab", b"c"]
    assert checkpoint.stored["none"].shape == (0, 4)
    data = bytearray((tmp_path / "x.h5").read_bytes())
    place = data.index(bytes(range(100)))
    data[place] ^= 1
    (tmp_path / "y.h5").write_bytes(bytes(data))
    with pytest.raises(CheckpointError, match="the checksum does not fit"):
        load_checkpoint(tmp_path / "y.h5")
