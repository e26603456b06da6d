"""Files that others made are opened in one place, `reading/source.py`: no FIFO, no device, no file without an end.

Commands reach it through `checkpoints.gate.Gate`.
"""

import ast
import os
from collections import Counter
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
METHODS = {"open", "read_text", "read_bytes", "tofile"}
HERE = "the one place"
BYTES = "bytes of open_bytes, or the file that the contained reader was given"
PIECES = "pieces of the operating system (/proc, /dev), or the package's own files"
OWN = "files that this program, or a process that it started, has just made"
DATA = (
    "data sets of the user, which Chainer, MXNet and Paddle read in the same way; SECURITY.md promises nothing for them"
)
PROGRAMS = "programs, which SECURITY.md tells to trust before they are loaded"
KNOWN = {
    HERE: """
        anygru/checkpoints/reading/source.py _opened os.open
        anygru/checkpoints/reading/source.py open_bytes mmap.mmap
        anygru/checkpoints/reading/source.py usable mmap.mmap
    """,
    BYTES: """
        anygru/checkpoints/formats/hdf5.py read_file h5py.File
        anygru/checkpoints/reading/archive.py Archive.__init__ zipfile.ZipFile
        anygru/checkpoints/reading/archive.py Archive.read .open
    """,
    PIECES: """
        anygru/checkpoints/confinement.py _limit_resources open
        anygru/checkpoints/confinement.py _allow_places os.open
        anygru/cli/__init__.py _first_sentence open
        anygru/cli/__init__.py _open_closed_streams open
        anygru/cli/__init__.py _report os.open
        anygru/dialects/names.py names .read_text
        anygru/dialects/suite.py DialectSuite.test_its_files_keep_their_floors .read_text
        anygru/dialects/suite.py nodes_of .read_text
        anygru/errors.py how_to_install .read_text
        anygru/parallel/addresses.py interface_of open
        anygru/parallel/watch.py workers .read_text
        anygru/parallel/watch.py workers .read_text
        anygru/parallel/watch.py workers .read_text
        anygru/parallel/world.py _state_of .read_text
        anygru_oneflow/processes/lines.py _machine .read_text
    """,
    OWN: """
        anygru/c_export/checking.py run .read_bytes
        anygru/c_export/wasm.py export_wasm .read_text
        anygru/c_export/wasm.py compile_wasm .read_bytes
        anygru/c_export/wasm.py _run_in_node .read_bytes
        anygru/checkpoints/formats/chainer.py save_npz zipfile.ZipFile
        anygru/checkpoints/formats/chainer.py save_npz .open
        anygru/checkpoints/formats/hdf5.py save h5py.File
        anygru/checkpoints/output/atomic.py open_for_replace os.open
        anygru/checkpoints/output/atomic.py replacing open
        anygru/checkpoints/output/atomic.py _CountedFile io.FileIO
        anygru/checkpoints/output/atomic.py sync_folder os.open
        anygru/checkpoints/sandbox.py serve open
        anygru/checkpoints/writing/filling.py _write open
        anygru/checkpoints/writing/filling.py _write zipfile.ZipFile
        anygru/cli/graphs.py _exported.opened torch.export.load
        anygru/cli/terminal.py given open
        anygru/cli/trial.py Trial.__init__ os.open
        anygru/cli/trial.py Trial._measure_in_script torch.load
        anygru/cli/trial.py Trial._measure_in_script torch.load
        anygru/cli/trying.py _try_script open
        anygru/cli/variants.py _measure .open
        anygru/cli/variants.py _measure .open
        anygru/cli/variants.py _measure torch.load
        anygru/parallel/_worker.py _write_to os.open
        anygru/parallel/_worker.py _show_and_keep open
        anygru/parallel/spawn.py Workers.result open
        anygru/parallel/spawn.py Workers.result pickle.load
        anygru/parallel/spawn.py Workers._root_cause .read_bytes
        anygru/parallel/spawn.py _work open
        anygru_chainer/serializers.py save_npz open
        anygru_chainer/serializers.py load_npz open
        anygru_lab/language_model/checkpoint.py RunFolder.read_or_fall_back .read_bytes
        anygru_lab/language_model/checkpoint.py RunFolder._set_index_aside .read_bytes
        anygru_mxnet/profiler.py dump open
        anygru_paddle/framework/io.py _save_to open
        anygru_paddle/framework/io.py _load_from open
    """,
    DATA: """
        anygru_chainer/datasets/combined.py TextDataset.__init__ open
        anygru_chainer/datasets/stored.py _stored numpy.load
        anygru_chainer/datasets/stored.py _read_mnist gzip.open
        anygru_chainer/datasets/stored.py _read_mnist gzip.open
        anygru_chainer/datasets/stored.py _PlainUnpickler pickle.Unpickler
        anygru_chainer/datasets/stored.py _read_cifar tarfile.open
        anygru_chainer/datasets/stored.py _words open
        anygru_chainer/datasets/stored.py get_ptb_words_vocabulary.create open
        anygru_chainer/datasets/stored.py get_ptb_words_vocabulary.load open
        anygru_chainer/datasets/stored.py PickleDataset.__init__ pickle.load
        anygru_chainer/datasets/stored.py PickleDataset.get_example pickle.load
        anygru_chainer/datasets/stored.py _Reader._open open
        anygru_chainer/datasets/stored.py open_pickle_dataset_writer open
        anygru_mxnet/contrib/text/embedding.py _TokenEmbedding._load_embedding open
        anygru_mxnet/gluon/contrib/data/text.py _WikiText.__init__ open
        anygru_mxnet/gluon/data/vision/datasets.py _Pictures._bytes gzip.open
        anygru_mxnet/gluon/data/vision/datasets.py _Pictures._bytes open
        anygru_mxnet/gluon/utils.py check_sha1 open
        anygru_mxnet/io.py _read_rows numpy.loadtxt
        anygru_paddle/dataset/common.py md5file open
        anygru_paddle/dataset/imdb.py tokenize tarfile.open
        anygru_paddle/dataset/imikolov.py _sentences tarfile.open
        anygru_paddle/dataset/mnist.py reader_creator.reader gzip.open
        anygru_paddle/dataset/mnist.py reader_creator.reader gzip.open
        anygru_paddle/dataset/uci_housing.py load_data numpy.fromfile
    """,
    PROGRAMS: """
        anygru/dialects/callers.py _text open
        anygru_paddle/jit/translated_layer.py write zipfile.ZipFile
        anygru_paddle/jit/translated_layer.py read zipfile.ZipFile
        anygru_paddle/jit/translated_layer.py read torch.export.load
        anygru_paddle/jit/translated_layer.py _is_own zipfile.is_zipfile
        anygru_paddle/jit/translated_layer.py _is_own zipfile.ZipFile
    """,
}
"""Every other call in the packages that opens something, by the reason: file, function, call."""


def opened(text: str) -> list[str]:
    """The functions that open files and that a source names, and the methods, each after the function that it is in."""
    tree, full, found = ast.parse(text), {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            full |= {alias.asname: module + alias.name for alias in node.names if alias.asname}
            full |= {alias.name: module + alias.name for alias in node.names if module and not alias.asname}

    def visit(node: ast.AST, place: str) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            place = f"{place}.{node.name}".lstrip(".")
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            first, dot, rest = ast.unparse(node).partition(".")
            name = full.get(first, first) + dot + rest
            if name in OPENING:
                found.append(f"{place} {name}")
            elif isinstance(node, ast.Attribute) and node.attr in METHODS:
                found.append(f"{place} .{node.attr}")
        for inner in ast.iter_child_nodes(node):
            visit(inner, place)

    visit(tree, "")
    return found


def test_each_call_that_opens_a_file_has_a_reason() -> None:
    found: Counter[str] = Counter()
    for path in PACKAGES.glob("*/src/**/*.py"):
        file = "/".join(path.relative_to(PACKAGES).parts[2:])
        found.update(f"{file} {call}" for call in opened(path.read_text(encoding="utf-8")))
    known = Counter(line.strip() for lines in KNOWN.values() for line in lines.strip().splitlines())
    assert found - known == Counter(), "a call without a reason"
    assert known - found == Counter(), "a reason without its call"


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("def f(path):\n with h5py.File(path) as file: read_regular(path)", "f h5py.File"),
        ("class A:\n def f(self): return Path(self.path).read_bytes()", "A.f .read_bytes"),
        ("from zipfile import ZipFile as Z\nx = [Z]", " zipfile.ZipFile"),
        ("import numpy as n\nreader = n.load", " numpy.load"),
        ("with (open if plain else other)(path): pass", " open"),
        ("Path(x).open()", " .open"),
    ],
)
def test_an_opened_file_would_be_seen(text: str, call: str) -> None:
    assert opened(text) == [call]


def test_commands_and_writers_ask_the_gate() -> None:
    package = Path(anygru.__file__).parent
    below = {"open_bytes", "read_regular", "recognise", "run_contained", "read_contained", "FREE", "RATIO"}
    for path in (*(package / "cli").glob("*.py"), *(package / "checkpoints/writing").glob("*.py")):
        names = {node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)}
        assert not names & (below - ({"recognise"} if path.name == "convert.py" else set())), path


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
