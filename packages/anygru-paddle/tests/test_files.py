"""`paddle.load` of unusual files: one array that is named often, and lists that contain each other."""

from __future__ import annotations

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
