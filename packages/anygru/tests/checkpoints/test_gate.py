"""Files that others made are opened in one place, `reading.source.open_regular`: no FIFO, no device, no link's surprise."""

import ast
from pathlib import Path

import pytest

import anygru

CORE = Path(anygru.__file__).parent
ROOMS = ("checkpoints", "cli", "c_export", "onnx", "patching", "layers")
OPENING = {
    "open", "os.open", "io.open", "h5py.File", "zipfile.ZipFile", "tarfile.open", "gzip.open", "mmap.mmap", "np.load",
    "numpy.load", "np.fromfile", "torch.load", "pickle.load", "shutil.copyfile", "shutil.copy", "onnx.load",
}  # fmt: skip
METHODS = {"read_text", "read_bytes"}
KNOWN = {
    "c_export/checking.py": "what the program that was just compiled has written",
    "c_export/wasm.py": "the package's own pages, and what compiler and node have written",
    "checkpoints/confinement.py": "/proc/self, and the file's place without its content",
    "checkpoints/formats/chainer.py": "a new file that it writes",
    "checkpoints/formats/hdf5.py": "the file that the contained reader was given, and a new file",
    "checkpoints/output/atomic.py": "a folder to flush, and a new file",
    "checkpoints/reading/archive.py": "bytes that open_bytes gave",
    "checkpoints/reading/source.py": "the one place",
    "checkpoints/sandbox.py": "memory that it shares with the process that started it",
    "checkpoints/writing/filling.py": "a new file",
    "cli/__init__.py": "an installed command's own source, and /dev/null",
    "cli/terminal.py": "a new copy of standard input",
    "cli/trial.py": "files of its own temporary folder, and /dev/null",
    "cli/trying.py": "a file of its own temporary folder",
    "cli/variants.py": "a file of its own temporary folder",
}
"""Files in which something else is opened, and what that is."""


def opened(text: str) -> list[str]:
    """The functions that a source calls and that open files."""
    calls = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return [
        ast.unparse(call)
        for call in calls
        if ast.unparse(call) in OPENING or (isinstance(call, ast.Attribute) and call.attr in METHODS)
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_nothing_is_opened_beside_the_gate(room: str) -> None:
    found = {
        path.relative_to(CORE).as_posix(): opened(path.read_text())
        for path in sorted((CORE / room).rglob("*.py"))
        if opened(path.read_text())
    }
    known = {name for name in KNOWN if name.startswith(room + "/")}
    assert set(found) == known, found


def test_an_opened_file_would_be_seen() -> None:
    assert opened("import h5py\nwith h5py.File(path) as file: Path(path).read_bytes(); open_regular(path)") == [
        "h5py.File",
        "Path(path).read_bytes",
    ]
