"""Files that others made are opened in one place, `reading/source.py`: no FIFO, no device, no file without an end.

Commands reach it through `checkpoints.gate.Gate`.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

import anygru
from anygru.checkpoints.gate import Gate
from anygru.checkpoints.reading.budget import Budget
from anygru.checkpoints.reading.source import MAP_FROM, open_bytes, read_regular, size_of
from anygru.cli import main
from anygru.errors import CheckpointError

PACKAGES = Path(__file__).parents[3]
OPENING = {
    "open", "os.open", "io.open", "io.FileIO", "h5py.File", "zipfile.ZipFile", "zipfile.is_zipfile", "tarfile.open",
    "gzip.open", "bz2.open", "lzma.open", "mmap.mmap", "np.load", "numpy.load", "np.fromfile", "numpy.fromfile",
    "np.memmap", "numpy.memmap", "np.loadtxt", "numpy.loadtxt", "torch.load", "torch.jit.load", "torch.export.load",
    "pickle.load", "pickle.Unpickler", "shelve.open", "sqlite3.connect", "shutil.copyfile", "shutil.copy", "onnx.load",
    "onnx.load_model", "safe_open", "safetensors.torch.load_file", "PIL.Image.open", "Image.open", "wave.open",
}  # fmt: skip
METHODS = {"read_text", "read_bytes", "tofile"}
PIECES = "pieces of the operating system (/proc, /dev), or the package's own files"
OWN = "files that this program, or a process that it started, has just made"
DATA = (
    "data sets of the user, which Chainer, MXNet and Paddle read in the same way; SECURITY.md promises nothing for them"
)
PROGRAMS = "programs, which SECURITY.md tells to trust before they are loaded"
KNOWN = {
    "anygru/c_export/checking.py": OWN,
    "anygru/c_export/wasm.py": OWN,
    "anygru/checkpoints/confinement.py": PIECES,
    "anygru/checkpoints/formats/chainer.py": OWN,
    "anygru/checkpoints/formats/hdf5.py": "bytes, or the file that the contained reader was given",
    "anygru/checkpoints/output/atomic.py": OWN,
    "anygru/checkpoints/reading/archive.py": "bytes of open_bytes",
    "anygru/checkpoints/reading/source.py": "the one place",
    "anygru/checkpoints/sandbox.py": "memory that it shares with the process that started it",
    "anygru/checkpoints/writing/filling.py": OWN,
    "anygru/cli/__init__.py": PIECES,
    "anygru/cli/graphs.py": OWN,
    "anygru/cli/terminal.py": OWN,
    "anygru/cli/trial.py": OWN,
    "anygru/cli/trying.py": OWN,
    "anygru/cli/variants.py": OWN,
    "anygru/dialects/callers.py": "sources of the program that runs",
    "anygru/dialects/names.py": PIECES,
    "anygru/dialects/suite.py": PIECES,
    "anygru/errors.py": PIECES,
    "anygru/parallel/_worker.py": OWN,
    "anygru/parallel/addresses.py": PIECES,
    "anygru/parallel/spawn.py": OWN,
    "anygru/parallel/watch.py": PIECES,
    "anygru/parallel/world.py": PIECES,
    "anygru_chainer/datasets/combined.py": DATA,
    "anygru_chainer/datasets/stored.py": DATA,
    "anygru_chainer/serializers.py": OWN,
    "anygru_lab/language_model/checkpoint.py": OWN,
    "anygru_mxnet/contrib/text/embedding.py": DATA,
    "anygru_mxnet/gluon/contrib/data/text.py": DATA,
    "anygru_mxnet/gluon/data/vision/datasets.py": DATA,
    "anygru_mxnet/gluon/utils.py": DATA,
    "anygru_mxnet/io.py": DATA,
    "anygru_mxnet/profiler.py": OWN,
    "anygru_oneflow/processes/lines.py": PIECES,
    "anygru_paddle/dataset/common.py": DATA,
    "anygru_paddle/dataset/imdb.py": DATA,
    "anygru_paddle/dataset/imikolov.py": DATA,
    "anygru_paddle/dataset/mnist.py": DATA,
    "anygru_paddle/dataset/uci_housing.py": DATA,
    "anygru_paddle/framework/io.py": OWN,
    "anygru_paddle/jit/translated_layer.py": PROGRAMS,
}
"""Files of the packages in which something else is opened, and what that is."""


def opened(text: str) -> list[str]:
    """The functions that open files, and that a source calls or passes to a call."""
    tree = ast.parse(text)
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    passed = [each for node in ast.walk(tree) if isinstance(node, ast.IfExp) for each in (node.body, node.orelse)]
    return [
        name
        for node in (*called, *passed)
        if (name := ast.unparse(node)) in OPENING or (isinstance(node, ast.Attribute) and node.attr in METHODS)
    ]


def test_nothing_is_opened_beside_the_gate() -> None:
    found = {}
    for path in PACKAGES.glob("*/src/**/*.py"):
        if calls := opened(path.read_text(encoding="utf-8")):
            found["/".join(path.relative_to(PACKAGES).parts[2:])] = calls
    assert set(found) == set(KNOWN), {name: found.get(name) for name in set(found) ^ set(KNOWN)}


def test_an_opened_file_would_be_seen() -> None:
    assert opened("import h5py\nwith h5py.File(path) as file: Path(path).read_bytes(); read_regular(path)") == [
        "h5py.File",
        "Path(path).read_bytes",
    ]
    assert opened("with (gzip.open if zipped else open)(path) as file: pass") == ["gzip.open", "open"]


def test_commands_ask_the_gate() -> None:
    for path in (Path(anygru.__file__).parent / "cli").glob("*.py"):
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        assert not names & {"load_checkpoint", "open_bytes"}, path


@pytest.mark.skipif(not os.path.exists("/proc/self/pagemap"), reason="a file of Linux without an end")
def test_a_file_without_an_end_is_read_to_its_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").symlink_to("/proc/self/pagemap")
    assert read_regular(tmp_path / "x.json") == b""
    assert size_of(tmp_path / "x.json") == 0
    with pytest.raises(CheckpointError, match="cannot be read as a mapping"):
        Gate(tmp_path / "x.json").texts()


def test_a_file_that_changes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, size = tmp_path / "x.pt", MAP_FROM + 10
    path.write_bytes(b"")
    os.truncate(path, size)
    real = Budget.add_file
    for later in (size + 4096, size - 4096, 0):

        def changed(budget: Budget, size: int, later: int = later) -> None:
            real(budget, size)
            os.truncate(path, later)

        os.truncate(path, size)
        monkeypatch.setattr(Budget, "add_file", changed)
        if later > size:
            assert len(open_bytes(path, Budget(path))) == size
        else:
            with pytest.raises(CheckpointError, match="x.pt"):
                open_bytes(path, Budget(path))


def test_a_mapping_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("{" + ", ".join(f'"{number}": "x"' for number in range(10_000)) + "}")
    assert len(Gate(path).texts()) == 10_000
    with pytest.raises(CheckpointError, match="1000000 bytes of memory"):
        Gate(path, limit=1_000_000).texts()
    for bad in ("[", '{"a": 1}', '{"": "x"}', '{"a": "b", "a": "c"}', '{"a": ' + "9" * 5000 + "}"):
        path.write_text(bad)
        with pytest.raises(CheckpointError, match="mapping"):
            Gate(path).texts()


@pytest.mark.skipif(os.name != "posix", reason="FIFOs")
def test_scan_names_what_it_does_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "x.py")
    (tmp_path / "y.py").symlink_to("y.py")
    assert main(["scan", "--json", str(tmp_path)]) == 0
    assert capsys.readouterr().err.count("not read: ") == 2
    assert main(["scan", str(tmp_path / "x.py")]) == 0
    assert "not a regular file" in capsys.readouterr().out
