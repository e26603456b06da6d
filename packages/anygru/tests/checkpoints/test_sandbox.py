"""Files that libraries in C parse are read in a process with limits: the same results, and nothing gets out of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from samples import DATA, FILES, assert_same
from test_options import node

from anygru.checkpoints import load_checkpoint, sandbox
from anygru.checkpoints.reading.budget import Budget
from anygru.checkpoints.reading.content import Content, EntryMark
from anygru.checkpoints.stored import StoredTensor
from anygru.errors import CheckpointError

h5py = pytest.importorskip("h5py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limits are Linux's")


def test_results_are_the_same(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a"] = np.arange(12, dtype=">i4").reshape(3, 4).T
        file["none"] = h5py.Empty("f")
        file["text"] = np.array([b"ab", b"c"])
        file["empty"] = np.zeros((0, 4), np.float16)
        file["again"] = file["a"]
    paths = [tmp_path / "x.h5", node(tmp_path / "m.onnx", direction="reverse"), DATA / "chainer/model.h5"]
    for path in paths:
        expected, found = load_checkpoint(path), load_checkpoint(path, sandbox=True)
        assert_same(expected, found)
        assert list(found.stored) == list(expected.stored)
        assert found.values == expected.values
        assert found.gru_layers == expected.gru_layers


def test_other_formats_need_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", None)
    for name in FILES:
        if not name.endswith(".h5"):
            load_checkpoint(DATA / name, sandbox=True)


def test_errors_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "x.h5").write_bytes((DATA / "chainer/model.h5").read_bytes()[:700])
    (tmp_path / "x.onnx").write_bytes(b"\x08\x07\x12\xff\xff")
    for name in ("x.h5", "x.onnx"):
        messages = []
        for contained in (False, True):
            with pytest.raises(CheckpointError) as caught:
                load_checkpoint(tmp_path / name, sandbox=contained)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
        assert str(tmp_path / name) in messages[0]


_TRIES = """
import ctypes, errno, json, os, socket, sys
from anygru.checkpoints import sandbox
folder = sys.argv[1]
if not sandbox._forbid_calls():
    print("[]"); sys.exit()
def tried(work):
    try:
        work()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
print(json.dumps([
    tried(lambda: socket.socket()),
    tried(lambda: os.execv("/bin/true", ["true"])),
    tried(lambda: os.posix_spawn("/bin/true", ["true"], {})),
    tried(os.fork),
    tried(lambda: open(folder + "/new", "w")),
    tried(lambda: open(folder + "/old", "a")),
    tried(lambda: os.unlink(folder + "/old")),
    tried(lambda: os.rename(folder + "/old", folder + "/other")),
    tried(lambda: os.kill(os.getppid(), 0)),
    tried(lambda: open(folder + "/old").read()),
]))
"""


def test_calls_that_no_reader_needs_are_forbidden(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    done = subprocess.run([sys.executable, "-c", _TRIES, str(tmp_path)], capture_output=True, text=True, check=True)
    if done.stdout.strip() == "[]":
        pytest.skip("this system takes no seccomp filter")
    assert done.stdout.strip() == str(["EPERM"] * 9 + ["done"]).replace("'", '"')
    assert (tmp_path / "old").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize(
    ("work", "status"), [("while True: pass", -9), ("sys.exit(5 * isinstance(take(), MemoryError))", 5)]
)
def test_memory_and_time_have_an_end(work: str, status: int) -> None:
    take = "def take():\n    try:\n        return bytearray(1 << 30)\n    except MemoryError as error:\n        return error\n"
    code = f"import sys\nfrom anygru.checkpoints import sandbox\n{take}sandbox._limit(1 << 28, 1)\n{work}"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == status


def test_an_end_by_force_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(DATA / "chainer/model.h5")
    monkeypatch.setattr(sandbox, "_MEMORY", -(128 << 20) - 34 * os.path.getsize(path) * 2 + 4096)
    with pytest.raises(CheckpointError, match=r"model\.h5: .*(more memory would be made|was ended|within the limits)"):
        sandbox.read_contained(path, "hdf5", None, Budget("x"))
    monkeypatch.setattr(sandbox, "_WAIT", 0)
    with pytest.raises(CheckpointError, match=r"model\.h5: reading it took more than 0 s"):
        sandbox.read_contained(path, "hdf5", None, Budget("x"))


@pytest.mark.parametrize("place", [(0, 1 << 40), (-4, 4), (60, 8), ("0", 4), (0, 8), (True, 4)], ids=str)
def test_an_answer_that_lies_is_refused(place: tuple[object, object], tmp_path: Path) -> None:
    content = Content({"a": StoredTensor.of(np.zeros(1, np.float32))})
    path = tmp_path / "memory"
    with open(path, "w+b", buffering=0) as memory:
        start = sandbox._write(content, memory)
        assert start == 64
    good = bytearray(path.read_bytes())
    assert sandbox._content(memoryview(good), start, "x", Budget("x", 1 << 20)).tree["a"].shape == (1,)

    class Lie:
        def __reduce__(self) -> object:
            return sandbox.SharedArray, (*place, "float32", (1,))

    import pickle

    bad = good[:64] + pickle.dumps(({"a": Lie()}, {}), 4)
    with pytest.raises(CheckpointError, match="x"):
        sandbox._content(memoryview(bytearray(bad)), 64, "x", Budget("x", 1 << 20))


def test_an_answer_that_calls_is_refused() -> None:
    bad = b"\x80\x04cos\nsystem\n(S'true'\ntR."
    with pytest.raises(CheckpointError, match=r"names os\.system"):
        sandbox._content(memoryview(bytearray(bad)), 0, "x", Budget("x", 1 << 20))
    assert sandbox._mark({"formula": {"activation": 3}}).problem
    assert sandbox._mark(7) == EntryMark()
