"""`paddle.load` of unusual files: one array that is named often, and lists that contain each other."""

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anygru_paddle as paddle
from anygru.errors import CheckpointError


def _written(path: Path, value: Any) -> str:
    path.write_bytes(pickle.dumps(value, protocol=4))
    return str(path)


@pytest.mark.parametrize("form", ["state", "tuples", "list"])
def test_references_to_one_array_share_its_memory(form: str, tmp_path: Path) -> None:
    array = np.arange(1 << 18, dtype="float32")
    names = [f"w{number}" for number in range(2048)]
    states: dict[str, Any] = {
        "state": {**dict.fromkeys(names, array), "StructuredToParameterName@@": {name: name for name in names}},
        "tuples": {"nested": {name: (name, array) for name in names}},
        "list": [array] * len(names),
    }
    loaded = paddle.load(_written(tmp_path / "m.pdparams", states[form]))
    tensors = list(loaded) if form == "list" else list((loaded["nested"] if form == "tuples" else loaded).values())
    assert form == "list" or [tensor.name for tensor in tensors] == names
    assert len({tensor.data_ptr() for tensor in tensors}) == 1
    np.testing.assert_array_equal(tensors[-1].numpy(), array)
    tensors[0].stop_gradient = False
    assert tensors[1].stop_gradient


def test_lists_of_lists_are_read_once(tmp_path: Path) -> None:
    value: Any = [np.ones(3, "float32")]
    for _ in range(12):  # the reader itself refuses more levels
        value = [value, value]
    loaded = paddle.load(_written(tmp_path / "m.pdparams", value))
    assert loaded[0] is loaded[1]
    while isinstance(loaded, list):
        loaded = loaded[0]
    assert loaded.tolist() == [1.0, 1.0, 1.0]


def test_tied_arrays_of_a_saved_state_are_separate(tmp_path: Path) -> None:
    layer = paddle.nn.Linear(2, 3)
    name = str(tmp_path / "m.pdparams")
    paddle.save({"a": layer.weight, "b": layer.weight}, name)
    loaded = paddle.load(name)
    loaded["a"].zero_()
    np.testing.assert_array_equal(loaded["b"].numpy(), layer.weight.numpy())


def test_copies_count_in_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anygru.checkpoints.reading.budget.FREE", 0)
    monkeypatch.setattr("anygru.checkpoints.reading.budget.RATIO", 1.5)
    name = _written(tmp_path / "m.pdparams", {"w": ("w", np.ones(1 << 20, "float32"))})
    with pytest.raises(CheckpointError, match="bytes of memory would be made"):
        paddle.load(name)


@pytest.mark.parametrize(
    ("tensor", "written"),
    [
        (lambda: paddle.arange(2, dtype="float32"), "0400000008051002000000000000803f"),
        (lambda: paddle.ones([2], "bfloat16"), "0400000008161002803f803f"),
        (lambda: paddle.to_tensor([True, False]), "04000000080010020100"),
        (lambda: paddle.to_tensor(3.5), "02000000080500006040"),
        (lambda: paddle.zeros([0, 300]), "070000000805100010ac02"),
    ],
)
def test_a_tensor_in_binary_format(tensor: Any, written: str, tmp_path: Path) -> None:
    """The bytes were recorded from Paddle 2.6.2."""
    name = str(tmp_path / "t")
    paddle.save(tensor(), name, use_binary_format=True)
    assert Path(name).read_bytes().hex() == "00" * 16 + written
    loaded = paddle.load(name)
    assert (loaded.shape, loaded.dtype) == (tensor().shape, tensor().dtype)
    np.testing.assert_array_equal(loaded.astype("float32").numpy(), tensor().astype("float32").numpy())


def test_binary_format_in_memory_and_for_other_objects(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    paddle.save(paddle.ones([2]), buffer, use_binary_format=True)
    buffer.seek(0)
    assert paddle.load(buffer, return_numpy=True).tolist() == [1.0, 1.0]
    with pytest.raises(EOFError):
        paddle.load(buffer)
    with pytest.raises(NotImplementedError, match="expected Tensor, but received <class 'dict'>"):
        paddle.save({"a": paddle.ones([1])}, str(tmp_path / "t"), use_binary_format=True)
    with pytest.raises(TypeError, match="should be bool"):
        paddle.save(paddle.ones([1]), str(tmp_path / "t"), use_binary_format=1)


@pytest.mark.parametrize("stored", [np.array(["x"]), np.array([b"x"]), np.ones(2, np.uint64)])
def test_an_array_that_is_no_tensor_is_refused(stored: np.ndarray, tmp_path: Path) -> None:
    """Anybody can write such a file; Paddle writes none."""
    for value in ({"StructuredToParameterName@@": {}, "a": stored}, [("a", stored)]):
        path = _written(tmp_path / "x.pdparams", value)
        with pytest.raises(CheckpointError, match="x.pdparams: an array of .* return_numpy=True"):
            paddle.load(path)
        paddle.load(path, return_numpy=True)


@pytest.mark.parametrize("name", [np.ones(2), [[]], 7])
def test_a_name_that_is_no_text_is_ignored(name: object, tmp_path: Path) -> None:
    value = {"StructuredToParameterName@@": {"a": name}, "a": np.ones(2)}
    assert isinstance(paddle.load(_written(tmp_path / "x.pdparams", value))["a"].name, str)


def test_an_error_of_a_file_object_names_no_private_file(tmp_path: Path) -> None:
    data = Path(_written(tmp_path / "x", {"a": np.ones(2)})).read_bytes()
    with pytest.raises(CheckpointError, match="^the file object: byte"):
        paddle.load(io.BytesIO(data[:-9]))
