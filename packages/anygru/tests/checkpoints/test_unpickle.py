"""The restricted unpickler reads the pickles of Python and NumPy, and they read the writer's pickles."""

import io
import pickle
import sys
import time
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
import torch

import anygru
from anygru.checkpoints.output.pickling import Global, PickledCall, dump
from anygru.checkpoints.reading.pickle_tree import Pending
from anygru.checkpoints.reading.unpickle import RestrictedUnpickler
from anygru.errors import CheckpointError

VALUE: dict[Any, Any] = {
    "plain": [None, True, False, 0, -1, 255, 65_535, 1 << 40, -(1 << 90), 1.5, float("inf"), 1 + 2j],
    "text": ["", "x", "déjà vu", "y" * 300],
    "bytes": [b"", b"\x00\xff", b"z" * 300],
    "nested": {"a": OrderedDict([("b", (1, (2, [3])))]), 7: {1, 2}, (1, "k"): frozenset([4])},
    "arrays": [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.arange(200.0),
        np.array(3, dtype=np.int64),
        np.zeros((0, 3), np.float16),
        np.array([True, False]),
        np.array(["ab", "c"]),
        np.array([b"ab", b"c"]),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(4, dtype=">f4"),
    ],
    "scalars": [np.float32(1.5), np.int64(7), np.bool_(True)],
}


def assert_equal(first: Any, second: Any) -> None:
    if isinstance(first, np.ndarray | np.generic):
        assert first.dtype.newbyteorder("=") == second.dtype.newbyteorder("=")
        np.testing.assert_array_equal(first, second)
    elif isinstance(first, dict):
        assert type(first) is type(second)
        assert list(first) == list(second)
        for key in first:
            assert_equal(first[key], second[key])
    elif isinstance(first, list | tuple):
        assert type(first) is type(second)
        for one, other in zip(first, second, strict=True):
            assert_equal(one, other)
    else:
        assert type(first) is type(second)
        assert first == second


@pytest.mark.parametrize("protocol", range(6))
def test_reads_what_python_pickles(protocol: int) -> None:
    assert_equal(VALUE, RestrictedUnpickler(pickle.dumps(VALUE, protocol)).load())


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_python_and_we_read_what_we_write(protocol: int) -> None:
    file = io.BytesIO()
    dump(VALUE, file, protocol)
    assert_equal(VALUE, RestrictedUnpickler(file.getvalue()).load())
    assert_equal(VALUE, pickle.loads(file.getvalue()))


def test_reads_from_a_path_and_an_open_file(tmp_path) -> None:
    (tmp_path / "x").write_bytes(pickle.dumps([1]))
    assert RestrictedUnpickler(tmp_path / "x").load() == [1]
    with open(tmp_path / "x", "rb") as file:
        assert RestrictedUnpickler(file).load() == [1]


def test_reads_several_pickles_in_a_row() -> None:
    reader = RestrictedUnpickler(pickle.dumps([1]) + pickle.dumps("two"))
    assert [reader.load(), reader.load()] == [[1], "two"]
    assert reader.cursor.remaining == 0


def test_text_of_python_2_is_the_bytes_of_arrays() -> None:
    array = np.arange(3, dtype=np.float32) - 0.7
    content = array.tobytes()
    make = PickledCall(
        Global("numpy.core.multiarray", "_reconstruct"),
        (Global("numpy", "ndarray"), (0,), "b"),
        (1, (3,), np.dtype(np.float32), False, "CONTENT"),
    )
    file = io.BytesIO()
    dump(make, file, 2)
    old = file.getvalue().replace(b"X\x07\x00\x00\x00CONTENT", b"U" + bytes([len(content)]) + content)
    np.testing.assert_array_equal(RestrictedUnpickler(old).load(), array)


def test_shared_arrays_stay_shared() -> None:
    array = np.ones(3)
    file = io.BytesIO()
    dump({"a": array, "b": array}, file)
    assert len(file.getvalue()) < 300
    loaded = RestrictedUnpickler(file.getvalue()).load()
    assert loaded["a"] is loaded["b"]


def test_arrays_can_be_written_to() -> None:
    loaded = RestrictedUnpickler(pickle.dumps([np.zeros(3), np.zeros(300)])).load()
    for array in loaded:
        array += 1
        assert array.sum() == array.size


def test_only_the_given_names_are_known() -> None:
    class Point(Pending):
        def build(self, state: Any) -> Any:
            return ("point", state)

    file = io.BytesIO()
    dump([PickledCall(Global("geometry", "Point"), (), {"x": 1}, new=True)] * 2, file)
    with pytest.raises(CheckpointError, match="geometry.Point"):
        RestrictedUnpickler(file.getvalue()).load()
    loaded = RestrictedUnpickler(file.getvalue(), {("geometry", "Point"): Point}).load()
    assert loaded == [("point", {"x": 1})] * 2


def test_a_pickle_of_a_whole_module_names_the_way_out(tmp_path) -> None:
    torch.save(torch.nn.Sequential(torch.nn.GRU(3, 4)), tmp_path / "module.pt")
    with pytest.raises(
        CheckpointError, match=r"names torch\.nn.*Sequential.*torch\.save\(model\.state_dict\(\), path\)"
    ):
        anygru.load_checkpoint(tmp_path / "module.pt")


def test_a_made_object_is_not_called() -> None:
    called = []

    class Callable:
        def __call__(self, *arguments: Any) -> None:
            called.append(arguments)

    data = b"\x80\x02cm\nmake\n)R)R."
    with pytest.raises(CheckpointError, match="calls something other than"):
        RestrictedUnpickler(data, {("m", "make"): Callable}).load()
    assert called == []


def test_an_object_that_never_gets_its_state_is_refused() -> None:
    with pytest.raises(CheckpointError, match="never gets its state"):
        RestrictedUnpickler(b"\x80\x02cm\nmake\n)R.", {("m", "make"): Pending}).load()


def test_errors_name_file_and_byte() -> None:
    with pytest.raises(CheckpointError, match=r"^some file: byte 2: the pickle names os\.system"):
        RestrictedUnpickler(b"\x80\x02cos\nsystem\n.", where="some file").load()


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (object(), TypeError, "object cannot be written"),
        (np.array([None]), ValueError, "array of object"),
        (np.zeros(2, "f4,f4"), ValueError, "cannot be written"),
    ],
)
def test_writer_refuses_what_is_no_data(value: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        dump([value], io.BytesIO())


def test_writer_refuses_cycles_and_other_protocols() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="contains itself"):
        dump(loop, io.BytesIO())
    for protocol in (0, 1, 5, True):
        with pytest.raises(ValueError, match="protocol must be 2, 3 or 4"):
            dump([], io.BytesIO(), protocol)


def _colliding(kind: str) -> bytes:
    """A pickle of many keys with one hash."""
    modulus = sys.hash_info.modulus
    numbers = [place * modulus for place in range(1, 30_001)]
    if kind == "memo":
        return b"\x80\x02N" + b"".join(b"p%d\n" % number for number in numbers) + b"."
    if kind == "set":
        return b"\x80\x04\x8f(" + b"".join(map(_long, numbers)) + b"\x90."
    return b"\x80\x02}(" + b"".join(_long(number) + b"N" for number in numbers) + b"u."


def _long(number: int) -> bytes:
    data = number.to_bytes(10, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


@pytest.mark.parametrize("kind", ["dict", "set", "memo"])
def test_keys_with_one_hash_take_no_quadratic_time(kind: str) -> None:
    start = time.process_time()
    with pytest.raises(CheckpointError, match=r"of memory would be made|remembers a value as"):
        RestrictedUnpickler(_colliding(kind), {}).load()
    assert time.process_time() - start < 3


def test_numbers_and_tuples_are_keys() -> None:
    tree = {-1: 0, 1 << 70: 1, (1, 2): 2, ("a", "b"): 3, 1.5: 4, None: 5}
    tree.update({(number, "x"): number for number in range(1000)})
    assert RestrictedUnpickler(pickle.dumps(tree, 2), {}).load() == tree
