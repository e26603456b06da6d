"""Bounds that SECURITY.md states and that no other file here holds: sizes that follow from attributes, names, places."""

import io
import json
import os
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from samples import write_onnx
from test_budget import loader as loader

import anygru
from anygru.checkpoints import load_checkpoint, save_checkpoint
from anygru.checkpoints.reading.budget import Budget
from anygru.checkpoints.reading.onnx_constants import OPERATORS, rearranged
from anygru.checkpoints.writing.convert import convert
from anygru.cli import main
from anygru.errors import CheckpointError

onnx = pytest.importorskip("onnx")
h5py = pytest.importorskip("h5py")


# -- ONNX operators ---------------------------------------------------------------------------------------------


def onnx_file(folder: Path, nodes: list[object], **arrays: np.ndarray) -> Path:
    """A model with a GRU that takes its first weight, "W", from these nodes."""
    arrays = {"R": np.ones((1, 3, 1), np.float32), **arrays}
    gru = onnx.helper.make_node("GRU", ["x", "W", "R"], ["y", "h"], "g", hidden_size=1)
    stored = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    return write_onnx(folder / "x.onnx", [*nodes, gru], stored, "x", "y")


def a_block_of_a_hundred_million(folder: Path) -> Path:
    node = onnx.helper.make_node("DequantizeLinear", ["q", "s"], ["W"], block_size=10**8, axis=2)
    return onnx_file(folder, [node], q=np.zeros((1, 3, 1), np.int8), s=np.ones((1, 3, 1), np.float32).repeat(2, 2))


def a_scale_that_broadcasts(folder: Path) -> Path:
    node = onnx.helper.make_node("DequantizeLinear", ["q", "s"], ["W"], axis=0)
    return onnx_file(folder, [node], q=np.zeros((60_000, 1), np.int8), s=np.ones((1, 60_000), np.float32))


def five_million_pieces(folder: Path) -> Path:
    node = onnx.helper.make_node("Split", ["q"], ["W"], num_outputs=5_000_000)
    return onnx_file(folder, [node], q=np.zeros(5, np.float32))


def one_value_a_million_times(folder: Path) -> Path:
    nodes = [onnx.helper.make_node("Concat", ["q"] * 64, ["a0"], axis=0)]
    nodes += [onnx.helper.make_node("Concat", [f"a{n}"] * 64, [f"a{n + 1}"], axis=0) for n in range(3)]
    nodes.append(onnx.helper.make_node("Identity", ["a3"], ["W"]))
    return onnx_file(folder, nodes, q=np.zeros(100, np.float32))


def a_million_axes(folder: Path) -> Path:
    node = onnx.helper.make_node("Unsqueeze", ["q", "axes"], ["W"])
    return onnx_file(folder, [node], q=np.zeros(3, np.float32), axes=np.arange(1_000_000))


HOSTILE = [a_block_of_a_hundred_million, a_scale_that_broadcasts, five_million_pieces, one_value_a_million_times]
HOSTILE += [a_million_axes]


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the limit on memory needs Linux")
@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_sizes_come_before_memory(make: Callable[[Path], Path], tmp_path: Path, loader: object) -> None:
    path = make(tmp_path)
    print(json.dumps([str(path), 0]), file=loader.stdin, flush=True)  # type: ignore[attr-defined]
    assert json.loads(loader.stdout.readline()) == "refused"  # type: ignore[attr-defined]
    assert json.loads(loader.stdout.readline()) == "done"  # type: ignore[attr-defined]


A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
Q = np.arange(-12, 12, dtype=np.int8).reshape(2, 3, 4)
NODES = [
    ("Identity", [A], {}),
    ("Unsqueeze", [A, np.array([0, -1])], {}),
    ("Squeeze", [A[None], np.array([0])], {}),
    ("Squeeze", [A[None]], {}),
    ("Concat", [A, A], {"axis": -1}),
    ("Slice", [A, np.array([1]), np.array([100]), np.array([2])], {}),
    ("Slice", [A, np.array([-1, 2]), np.array([-100, 0]), np.array([2, 1]), np.array([-1, -1])], {}),
    ("Slice", [A, np.array([0, 1]), np.array([2, -1])], {}),
    ("Split", [A, np.array([1, 3])], {"axis": 2}),
    ("Split", [A], {"axis": 2, "num_outputs": 2}),
    ("Split", [A], {"axis": 1, "num_outputs": 2}),
    ("Transpose", [A], {}),
    ("Transpose", [A], {"perm": [1, 0, 2]}),
    ("Reshape", [A, np.array([0, -1])], {}),
    ("DequantizeLinear", [Q, np.float32(0.5)], {}),
    ("DequantizeLinear", [Q, np.float32([1, 2, 3]), np.int8([1, 0, -1])], {"axis": 1}),
    ("DequantizeLinear", [Q, np.float32([1, 2])], {"axis": -3}),
    ("DequantizeLinear", [Q, np.arange(12, dtype=np.float32).reshape(2, 3, 2)], {"axis": 2, "block_size": 2}),
    ("Cast", [A], {"to": onnx.TensorProto.DOUBLE}),
    ("Cast", [Q], {"to": onnx.TensorProto.FLOAT16}),
    ("Gather", [A, np.array([[1, -1], [0, 1]])], {"axis": 1}),
    ("Gather", [A, np.array(1)], {}),
    *((name, [A.astype("f4"), np.float32([[2], [3], [4]])], {}) for name in ("Add", "Sub", "Mul", "Div")),
]


@pytest.mark.parametrize(("operator", "inputs", "attributes"), NODES)
def test_operators_compute_what_onnx_says(
    operator: str, inputs: list[np.ndarray], attributes: dict[str, object], tmp_path: Path
) -> None:
    from onnx.reference import ReferenceEvaluator

    names = [f"i{number}" for number in range(len(inputs))]
    outputs = ["o", "p"] if operator == "Split" else ["o"]
    node = onnx.helper.make_node(operator, names, outputs, **attributes)
    expected = ReferenceEvaluator(node).run(
        None, {name: np.asarray(value) for name, value in zip(names, inputs, strict=True)}
    )
    found = rearranged(node, [np.asarray(value) for value in inputs], Budget("x"), "x")
    for name, value in zip(outputs, expected, strict=True):
        np.testing.assert_array_equal(found[name], value)
        assert found[name].dtype == value.dtype
    assert operator in OPERATORS


_ELSEWHERE = [onnx.StringStringEntryProto(key="location", value="a\0b")]
_KINDS = onnx.TensorProto
TENSORS: list[tuple[str, dict[str, object]]] = [
    ("a value of uint8 is not between 0 and 255", {"data_type": _KINDS.UINT8, "dims": [1], "int32_data": [300]}),
    ("a value of uint8 is not between 0 and 255", {"data_type": _KINDS.UINT8, "dims": [1], "int32_data": [-200]}),
    ("the shape is impossible", {"data_type": _KINDS.FLOAT, "dims": [0, 1 << 61]}),  # beyond NumPy's bounds
    ("zero byte", {"data_type": 1, "dims": [1], "data_location": _KINDS.EXTERNAL, "external_data": _ELSEWHERE}),
]


@pytest.mark.parametrize(("words", "facts"), TENSORS)
def test_tensors_that_cannot_be_are_refused(words: str, facts: dict[str, object], tmp_path: Path) -> None:
    path = write_onnx(tmp_path / "x.onnx", [], [onnx.TensorProto(name="t", **facts)])
    with pytest.raises(CheckpointError, match=words):
        load_checkpoint(path)


# -- names ------------------------------------------------------------------------------------------------------


def named(path: Path, names: list[str]) -> Path:
    header = {name: {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for name in names}
    text = json.dumps(header, separators=(",", ":")).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    return path


@pytest.mark.parametrize("name", ["a" + "." * 2_000_000 + "b", ".".join("a" * 5000), "." * 100, "a//b..c"])
def test_names_with_many_dots_are_shown(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = time.process_time()
    assert main(["inspect", str(named(tmp_path / "x.safetensors", [name]))]) == 0
    assert time.process_time() - before < 5
    assert len(capsys.readouterr().out) < 10_000


def test_a_tensor_may_be_called_like_a_branch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(named(tmp_path / "x.safetensors", ["a", "a.b", "c.d", "c"]))]) == 0
    assert capsys.readouterr().out.count("[0]  uint8  0 B") == 4


def test_work_per_name_does_not_grow(tmp_path: Path) -> None:
    """Regular expressions are tried on the names that end like a GRU's only, for any other content of the file."""
    tried = 0

    def see(frame: object, event: str, argument: object) -> None:
        nonlocal tried
        tried += event == "c_call" and getattr(argument, "__name__", "") == "search"

    checkpoint = load_checkpoint(named(tmp_path / "x.safetensors", [f"layer{n}.scale" for n in range(20_000)]))
    assert len(checkpoint.stored) == 20_000
    sys.setprofile(see)
    try:
        assert checkpoint.gru_layers == ()
    finally:
        sys.setprofile(None)
    assert tried == 0


# -- places -----------------------------------------------------------------------------------------------------


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "fifo.pt")
    return tmp_path / "fifo.pt"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_target_that_is_no_regular_file_is_refused(fifo: Path, tmp_path: Path) -> None:
    save_checkpoint(anygru.GRU(3, 4), tmp_path / "x.npz")
    for write in (
        lambda: save_checkpoint(anygru.GRU(3, 4), fifo),
        lambda: convert(tmp_path / "x.npz", fifo),
        lambda: convert(tmp_path / "x.npz", fifo, target_format="oneflow"),
    ):
        with pytest.raises(CheckpointError, match=r"fifo\.pt: cannot be written: it exists "):
            write()
    assert main(["inspect", str(tmp_path / "x.npz"), "--plot", str(fifo)]) == 2
    assert fifo.is_fifo()
    for device in ("/dev/null", "/dev/full"):
        with pytest.raises(CheckpointError, match="not a regular file"):
            convert(tmp_path / "x.npz", device, target_format="torch")
        assert Path(device).is_char_device()


def test_the_ending_of_keras_is_not_chainers(tmp_path: Path) -> None:
    save_checkpoint(anygru.GRU(3, 4), tmp_path / "x.npz")
    for write in (
        lambda: save_checkpoint(anygru.GRU(3, 4), tmp_path / "x.weights.h5"),
        lambda: convert(tmp_path / "x.npz", tmp_path / "x.weights.h5"),
    ):
        with pytest.raises(CheckpointError, match=r"x\.weights\.h5: the ending of Keras's weights"):
            write()


def test_errors_name_the_target_and_not_the_private_folder(tmp_path: Path) -> None:
    save_checkpoint({"a/../b": torch.zeros(2)}, tmp_path / "x.pt")
    with pytest.raises(CheckpointError) as caught:
        convert(tmp_path / "x.pt", tmp_path / "y.npz")
    assert str(tmp_path / "y.npz") in str(caught.value)
    assert ".anygru-" not in str(caught.value)


@pytest.mark.parametrize(
    "options", [{"style": "x"}, {"mapping": {"nothing": "x"}}, {"transpose": ["nothing"]}, {"weights": "int8"}], ids=str
)
def test_refusals_name_the_file(options: dict[str, object], tmp_path: Path) -> None:
    save_checkpoint(anygru.GRU(3, 4), tmp_path / "x.pt")
    with pytest.raises(CheckpointError, match=r"y\.params"):
        convert(tmp_path / "x.pt", tmp_path / "y.params", **options)


def test_endless_input_has_an_end(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Endless:
        buffer = io.BytesIO(bytes(3 << 20))

    monkeypatch.setattr(sys, "stdin", Endless)
    assert main(["inspect", "-", "--limit", "1M"]) == 2
    assert "standard input: more than 1048576 bytes" in capsys.readouterr().err


# -- HDF5 -------------------------------------------------------------------------------------------------------


def test_a_description_that_is_too_long_is_read_in_a_process_only(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w", libver="earliest") as file:
        file["a"] = np.arange(3.0)
        for number in range(6):
            file["a"].attrs[f"n{number}"] = np.zeros(1000)
    with pytest.raises(CheckpointError, match="bytes of description; more than 16384 are read with sandbox=True only"):
        load_checkpoint(tmp_path / "x.h5")
    assert load_checkpoint(tmp_path / "x.h5", sandbox=True).stored["a"].shape == (3,)


@pytest.mark.slow
def test_the_corpus_is_refused_to_the_last_file(tmp_path: Path) -> None:
    import corpus

    refusals = corpus.write(tmp_path)
    assert len(refusals) > 100
    assert [path for path, reason in refusals.items() if reason.startswith("read")] == []
    text = (Path(__file__).parents[4] / "docs" / "refused.md").read_text()
    rows = [line.partition(" | ")[0] for line in corpus.page(refusals).splitlines() if line.startswith("| ")]
    assert [row for row in rows if row not in text] == [], "write docs/refused.md anew, with corpus.py --page"
    assert text.count("\n| ") == len(rows)
