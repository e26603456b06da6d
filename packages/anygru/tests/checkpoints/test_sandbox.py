"""Files that libraries in C parse are read in a process with limits: the same results, and nothing gets out of it."""

import ctypes
import json
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


def confined(code: str, *arguments: object) -> object:
    """Run code in a process that may open `arguments[0]` only, and return its output, read as JSON."""
    start = "import ctypes, errno, json, mmap, os, resource, socket, sys, termios, fcntl, time\n"
    start += "from anygru.checkpoints import confinement\n"
    start += "libc = ctypes.CDLL(None, use_errno=True)\n"
    start += "other = os.open(os.devnull, os.O_WRONLY)\n"
    start += "if not confinement.confine(sys.argv[1:2], 1 << 28, 5, (1,)):\n    print('null'); sys.exit()\n"
    command = [sys.executable, "-c", start + code, *map(str, arguments)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    if found is None:
        pytest.skip("no filter is written for this processor")
    return found


_EVERY_CALL = """
machine = os.uname().machine
allowed = {getattr(rule, machine) for rule in confinement.allowed_calls((1,)).values()}
libc.syscall.argtypes = (ctypes.c_long, *(ctypes.c_long,) * 6)
passed = []
for base in (0, 0x40000000):
    for number in range(700):
        # Linux 6.14 and newer do not filter uretprobe and uprobe, which end a process that calls them itself.
        if (base or number not in allowed) and (machine, number) not in (("x86_64", 335), ("x86_64", 336)):
            ctypes.set_errno(0)
            if libc.syscall(base + number, -1, -1, -1, -1, -1, -1) != -1 or ctypes.get_errno() != errno.EPERM:
                passed.append(base + number)
print(json.dumps(passed))
"""


def test_every_system_call_that_is_not_listed_is_refused(tmp_path: Path) -> None:
    assert confined(_EVERY_CALL, tmp_path) == []


_TRIES = """
def tried(work):
    try:
        work()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
mine, others, folder = sys.argv[1:]
print(json.dumps([
    tried(lambda: open(mine).read()),
    tried(lambda: open(others).read()),
    tried(lambda: os.listdir(folder)),
    tried(lambda: open("/proc/self/mem", "rb")),
    tried(lambda: open(mine, "a")),
    tried(lambda: open(folder + "/new", "w")),
    tried(lambda: os.write(other, b"x")),
    tried(lambda: os.chmod(mine, 0)),
    tried(lambda: fcntl.ioctl(0, termios.TIOCSTI, b"x")),
    tried(lambda: fcntl.fcntl(0, fcntl.F_SETOWN, 1)),
    tried(lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)),
    tried(lambda: os.kill(os.getppid(), 0)),
    tried(socket.socket),
    tried(os.fork),
]))
"""


def test_one_file_can_be_read_and_nothing_written(tmp_path: Path) -> None:
    mine, others = tmp_path / "mine", tmp_path / "others"
    mine.write_text("mine")
    others.write_text("others")
    found = confined(_TRIES, mine, others, tmp_path)
    assert isinstance(found, list)
    assert found[0] == "done"
    assert set(found[4:]) <= {"EPERM", "EACCES"}
    if not has_landlock():
        pytest.skip("this kernel has no Landlock, so other files can be read")
    assert set(found[1:]) <= {"EPERM", "EACCES"}
    assert (mine.read_text(), others.read_text()) == ("mine", "others")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "others"]


def has_landlock() -> bool:
    return ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint(1)) > 0


@pytest.mark.parametrize(
    ("work", "answer"),
    [
        ("print(os.getsid(0) == os.getpid())", "no answer"),
        ("os.open('/dev/tty', os.O_RDONLY)", "was ended"),
        ("while True: sys.stdout.write('x' * 65536)", "too long an answer"),
        ("print('[' * 100000)", "no answer"),
        ("print('{}')", "no answer"),
        ("print('{\"structure\": true}')", "no answer"),
        ("print('{\"structure\": -1}')", "no answer"),
        ('print(\'{"error": 3, "kind": [7]}\')', "x.h5: 3"),
    ],
)
def test_a_process_that_a_file_has_taken_over_gives_an_error(
    work: str, answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        sandbox, "CODE", f"import os, sys; {work}" if "while" not in work else f"import os, sys\n{work}"
    )
    (tmp_path / "x.h5").write_bytes(b"x")
    with pytest.raises(CheckpointError, match=rf"x\.h5: .*{answer}|{answer}"):
        sandbox.read_contained(str(tmp_path / "x.h5"), "hdf5", None, Budget("x"))


def test_the_process_has_no_terminal() -> None:
    """A pseudo terminal is the session's here; the process of the reader is in another session."""
    code = (
        "import os, pty, subprocess, sys\npid, fd = pty.fork()\nif pid == 0:\n    os.open('/dev/tty', os.O_RDONLY)\n"
        "    from anygru.checkpoints import sandbox\n    sandbox.CODE = 'import os; os.open(\"/dev/tty\", os.O_RDONLY)'\n"
        "    try:\n        sandbox._run('{}', 1, 1, 'x')\n    except Exception as error:\n        os._exit(7)\n    os._exit(1)\n"
        "while True:\n    try:\n        if not os.read(fd, 1024):\n            break\n    except OSError:\n        break\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7


@pytest.mark.parametrize(
    ("work", "status"), [("while True: pass", -9), ("sys.exit(5 * isinstance(take(), MemoryError))", 5)]
)
def test_memory_and_time_have_an_end(work: str, status: int) -> None:
    take = "def take():\n    try:\n        return bytearray(1 << 30)\n    except MemoryError as error:\n        return error\n"
    code = f"import sys\nfrom anygru.checkpoints import confinement\n{take}confinement.confine(('/',), 1 << 28, 1, ())\n{work}"
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


def test_a_file_that_is_mapped_is_read(tmp_path: Path) -> None:
    """From 64 MiB on the reader maps a file, which takes other system calls."""
    with h5py.File(tmp_path / "large.h5", "w") as file:
        file["a"] = np.arange(17 << 20, dtype=np.float32)
    found = load_checkpoint(tmp_path / "large.h5", sandbox=True, limit=1 << 30)
    assert found.stored["a"].values[-1] == np.float32((17 << 20) - 1)


def test_standard_input_is_the_file_of_the_command(tmp_path: Path) -> None:
    """/dev/stdin is another file in the contained process; a pipe is refused before that process starts."""
    command = [sys.executable, "-m", "anygru", "inspect", "/dev/stdin"]
    with open(DATA / "chainer/model.h5", "rb") as file:
        found = subprocess.run(command, stdin=file, capture_output=True, text=True, check=True)
    assert found.stdout.startswith("/dev/stdin: hdf5\n")
    for more in ([], ["--format", "hdf5"]):
        refused = subprocess.run([*command, *more], input=b"x", capture_output=True, check=False)
        assert refused.returncode == 2
        assert refused.stderr.endswith(b"/dev/stdin: cannot be read: it is not a regular file\n")


def test_weights_beside_an_onnx_file_are_read(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load(node(tmp_path / "m.onnx", direction="reverse"))
    place = {"save_as_external_data": True, "location": "weights.data", "size_threshold": 0}
    onnx.save(model, str(tmp_path / "e.onnx"), **place)
    assert (tmp_path / "weights.data").exists()
    assert_same(load_checkpoint(tmp_path / "e.onnx"), load_checkpoint(tmp_path / "e.onnx", sandbox=True))
