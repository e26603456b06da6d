"""The promises of SECURITY.md, over all commands and the loading and saving functions of all dialects.

A test `test_p3_...` belongs to the sentence with [P3]; each identifier has a test, and each test an identifier.
"""

import importlib
import io
import json
import os
import pickle
import re
import signal
import stat
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import anygru
from anygru.checkpoints import load_checkpoint, save_checkpoint
from anygru.cli import main
from anygru.errors import AnygruError, CheckpointError

pytest.importorskip("h5py")
pytest.importorskip("onnx")
pytest.importorskip("anygru_paddle")
pytest.importorskip("anygru_oneflow")
pytest.importorskip("anygru_mxnet")
pytest.importorskip("anygru_chainer")
if sys.platform != "linux":
    pytest.skip("the limits, FIFOs and owners need Linux", allow_module_level=True)

import test_hostile
from commands import LINES, OLD, Commands, is_slow
from samples import DATA

from anygru_mxnet.base import MXNetError

ROOT = Path(__file__).parents[4]


class Refused(Exception):
    """A command ended with status 1 or 2."""


def command(*words: str) -> Callable[[Path], None]:
    """A command with a file; it writes into the folder of the file."""

    def run(file: Path) -> None:
        places = {"file": file, "out": file.parent / "written", "good": file.parent / "good.pt"}
        status = main([word.format(**places) for word in words])
        assert status in (0, 1, 2)
        if status:
            raise Refused(status)

    return run


def dialect(package: str, function: str) -> Callable[..., Any]:
    def call(file: Path, *more: Any) -> Any:
        found: Any = importlib.import_module(f"anygru_{package}")
        for part in function.split("."):
            found = getattr(found, part)
        return found(str(file), *more)

    return call


def load_states(file: Path) -> None:
    import anygru_mxnet as mx

    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    mx.gluon.Trainer(net.collect_params(), "adam").load_states(str(file))


def load_into(function: str) -> Callable[[Path], Any]:
    def call(file: Path) -> Any:
        import anygru_chainer as chainer

        return getattr(chainer.serializers, function)(str(file), chainer.links.Linear(2, 3))

    return call


DOORS: dict[str, Callable[[Path], Any]] = {
    "load_checkpoint": lambda file: load_checkpoint(file).tensors,
    "contained": lambda file: load_checkpoint(file, sandbox=True).tensors,
    "inspect": command("inspect", "{file}"),
    "convert": command("convert", "{file}", "{out}.pt"),
    "like": command("convert", "{good}", "{out}.weights.h5", "--like", "{file}"),
    "map": command("convert", "{good}", "{out}.npz", "--map", "{file}"),
    "model": command("convert", "{file}", "{out}.pt", "--model", "{file}"),
    "export-c": command("export-c", "{file}", "--out", "{out}.h", "--no-check"),
    "paddle.load": dialect("paddle", "load"),
    "oneflow.load": dialect("oneflow", "load"),
    "mx.nd.load": dialect("mxnet", "nd.load"),
    "mx.sym.load": dialect("mxnet", "sym.load"),
    "load_states": load_states,
    "load_npz": load_into("load_npz"),
    "load_hdf5": load_into("load_hdf5"),
}
"""The functions that read a file of unknown origin."""
ERRORS = (AnygruError, MXNetError, Refused, KeyError, ValueError, TypeError, OSError)
"""Of what is damaged, does not fit the model, or is not there; the last four are the dialects' for a file that is whole."""
WRITERS: dict[str, Callable[[Path], Any]] = {
    "save_checkpoint": lambda path: save_checkpoint({"a": torch.ones(2)}, path, "torch"),
    "convert": lambda path: command("convert", str(path.parents[1] / "good.pt"), str(path), "--to", "torch")(path),
    "export_c": lambda path: anygru.export_c(anygru.GRU(2, 3), path, check=False, name="x"),
    "paddle.save": lambda path: importlib.import_module("anygru_paddle").save({"a": 1}, str(path)),
    "oneflow.save": lambda path: importlib.import_module("anygru_oneflow").save({}, str(path)),
    "mx.nd.save": lambda path: dialect("mxnet", "nd.save")(path, importlib.import_module("anygru_mxnet").nd.ones(2)),
    "save_npz": lambda path: _saved_by_chainer(path),
}
"""The functions that write a file."""


def _saved_by_chainer(path: Path) -> None:
    import anygru_chainer as chainer

    chainer.serializers.save_npz(str(path), chainer.links.Linear(2, 3))


@pytest.fixture(autouse=True)
def good(tmp_path: Path) -> None:
    save_checkpoint(torch.nn.GRU(2, 3), tmp_path / "good.pt")


def refused(door: str, file: Path) -> bool:
    try:
        DOORS[door](file)
    except ERRORS:
        return True
    return False


class Evil:
    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> object:
        return os.mkdir, (str(self.canary),)


def programs(folder: Path) -> list[Path]:
    """Files that make a folder `canary` if anything in them runs."""
    evil = Evil(folder / "canary")
    for protocol in (0, 2, 4):
        (folder / f"p{protocol}.pdparams").write_bytes(pickle.dumps({"a": evil}, protocol))
    (folder / "p.states").write_bytes(pickle.dumps(evil, 2))
    np.savez(folder / "p.npz", a=np.array([evil], object))
    torch.save({"a": evil}, folder / "p.pt")
    (folder / "state").mkdir()
    (folder / "state/pickled_data").write_bytes(pickle.dumps({"a": evil}, 2))
    (folder / "p.json").write_text(json.dumps({"nodes": f"__import__('os').mkdir({str(evil.canary)!r})"}))
    source = folder / "p.py"
    source.write_text(f"import os, torch\nos.mkdir({str(evil.canary)!r})\ntorch.nn.GRU(1, 2)\n")
    return [*folder.glob("p*.*"), folder / "state"]


@pytest.mark.parametrize("door", [*DOORS, "scan"])
def test_p1_no_code_of_a_file_runs(door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DOORS, "scan", command("scan", "{file}"))
    for file in programs(tmp_path):
        refused(door, file)
        assert not (tmp_path / "canary").exists(), file


OUTSIDE = [name for name in test_hostile.HOSTILE if re.search("link|way_out|external|virtual|absolute", name)]


@pytest.mark.parametrize("name", OUTSIDE)
def test_p2_no_other_file_is_read(name: str, tmp_path: Path) -> None:
    file = test_hostile.HOSTILE[name](tmp_path)
    slow = ("inspect", "like", "export-c")  # the reader of "contained"
    for door in (door for door in DOORS if door not in slow):
        assert refused(door, file), door


@pytest.mark.skipif(os.geteuid() != 0, reason="a link of another user needs root")
@pytest.mark.parametrize("writer", WRITERS)
def test_p3_no_planted_link_is_followed(writer: str, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    (tmp_path / "mine").write_text("mine")
    (shared / "x").symlink_to(tmp_path / "mine")
    os.lchown(shared / "x", 1234, 1234)
    with pytest.raises(ERRORS):
        WRITERS[writer](shared / "x")
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize("writer", WRITERS)
def test_p4_no_device_is_replaced(writer: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out/x")
    with pytest.raises(ERRORS):
        WRITERS[writer](tmp_path / "out/x")
    assert stat.S_ISFIFO((tmp_path / "out/x").stat().st_mode)


LIMITED = """
import resource, sys, time, torch, anygru
sys.path[:0] = [{tests!r}]
import test_promises as t
from pathlib import Path
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
for door in t.DOORS:  # import what they need
    t.refused(door, Path({empty!r}))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {memory},) * 2)
for door in t.DOORS:
    start = time.process_time()
    try:
        t.refused(door, Path({file!r}))
    except MemoryError:
        print(door, "takes too much memory")
    if time.process_time() - start > 10:
        print(door, "takes too much time")
"""


def limited(file: Path, memory: int) -> str:
    """Read a file through every door in a process that may take so many more bytes; what it complains about."""
    (file.parent / "empty").write_bytes(b"")
    code = LIMITED.format(
        tests=str(Path(__file__).parent), empty=str(file.parent / "empty"), memory=memory, file=str(file)
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return "".join(line for line in done.stdout.splitlines(True) if "takes too much" in line)


def aliases(folder: Path) -> Path:
    nested: Any = ("name", np.ones(1 << 18, np.float32))
    for _ in range(11):
        nested = [nested, nested]
    (folder / "a.pdparams").write_bytes(pickle.dumps({"x": nested}, 4))
    return folder / "a.pdparams"


def test_p5_memory_is_bounded(tmp_path: Path) -> None:
    file = aliases(tmp_path)
    assert limited(file, 2 * ((64 << 20) + 32 * file.stat().st_size) + (256 << 20)) == ""


@pytest.mark.slow
def test_p6_time_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "x.pdparams").write_bytes(b"\x80\x04(" + b"]" * 500_000 + b"l.")
    assert limited(tmp_path / "x.pdparams", 4 << 30) == ""


def stopped(*_: object) -> None:
    pytest.fail("it waits")


@pytest.mark.parametrize("door", DOORS)
def test_p7_nothing_waits_for_a_fifo_or_a_device(door: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.pt")
    (tmp_path / "y.npz").symlink_to("/dev/zero")
    (tmp_path / "z.params").symlink_to("/proc/self/pagemap")  # a regular file without an end
    before = signal.signal(signal.SIGALRM, stopped)
    try:
        for name in ("x.pt", "y.npz", "z.params"):
            signal.alarm(30)
            assert refused(door, tmp_path / name)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


WRITING = (
    *(f"convert {{good}} {{out}}{ending}" for ending in (".pt", ".npz", ".h5", ".params", ".pdparams", "")),
    "convert {good} {out}.safetensors --provenance",
    "convert {good} {out}.safetensors --weights int8",
    "convert {optimizer} {out}.pt --model {optimized}",
    "convert {keras} {out}.keras --like {keras}",
    "convert {symbol} {out}.pt2 --params {values} --input data=1,2",
    "convert {symbol} {out}.onnx --params {values} --input data=1,2",
    "convert {good} {out}.onnx --script {script}:build",
    "export-c {good} --out {out}.h --no-check",
    "inspect {good} --plot {out}.png",
)
"""Lines that write a file, each in another way."""
MODELS = tuple(line for line in WRITING if "{symbol}" in line or "{script}" in line)


def quick_first(lines: Iterable[str], *more: object) -> list[Any]:
    """Each line with each further value; with the first value only if it is quick, otherwise in the slow tests."""
    return [
        pytest.param(line, each, marks=[pytest.mark.slow] * (line in MODELS and place > 0), id=f"{line}-{place}")
        for line in lines
        for place, each in enumerate(more)
    ]


HUGE = {
    "memory": [{"op": "_ones", "name": "z", "attrs": {"shape": "(40000, 40000)"}, "inputs": []}],
    "products": [
        {"op": "_ones", "name": "y", "attrs": {"shape": "(2000, 2000)"}, "inputs": []},
        *({"op": "dot", "name": f"d{n}", "attrs": {}, "inputs": [[2 + n, 0, 0]] * 2} for n in range(9)),
    ],
    "windows": [
        {"op": "_ones", "name": "y", "attrs": {"shape": "(1, 1, 1000, 1000)"}, "inputs": []},
        {"op": "Pooling", "name": "z", "attrs": {"kernel": "(500, 500)", "pool_type": "avg"}, "inputs": [[2, 0, 0]]},
    ],
}
"""Nodes of graphs that are short and ask for much; each begins with the place 2."""


ENDINGS = ("pt2", "pt2 --no-sandbox", "onnx", "onnx --no-sandbox")


@pytest.mark.parametrize(
    "ending", [pytest.param(each, marks=[pytest.mark.slow] * (place > 0)) for place, each in enumerate(ENDINGS)]
)
@pytest.mark.parametrize("name", HUGE)
def test_p8_a_graph_is_counted_before_it_runs(name: str, ending: str, tmp_path: Path, commands: Commands) -> None:
    nodes = [{"op": "null", "name": name, "inputs": []} for name in ("data", "w")] + HUGE[name]
    nodes.append({"op": "broadcast_add", "name": "a", "inputs": [[0, 0, 0], [1, 0, 0]]})
    nodes.append({"op": "broadcast_add", "name": "b", "inputs": [[len(nodes) - 2, 0, 0], [len(nodes) - 1, 0, 0]]})
    file = tmp_path / "x-symbol.json"
    file.write_text(json.dumps({"nodes": nodes, "arg_nodes": [0, 1], "heads": [[len(nodes) - 1, 0, 0]]}))
    line = f"convert {{file}} {{out}}.{ending} --params {{values}} --input data=1,1"
    more = "" if name == "memory" else " --limit 1G --seconds 1"
    assert commands.complaints(line + more, file) == []
    assert ("more than --limit" if name == "memory" else "more than --seconds") in commands.error


READING = [line for line in LINES if "{file}" in line and ".h5" not in line and "--no-sandbox" not in line]
NO_LIBRARY = """
import os, h5py, anygru.checkpoints.formats.onnx as reader
mine, File, library = os.getpid(), h5py.File, reader._onnx
def opened(name, mode="r", *arguments, **options):
    assert os.getpid() != mine or mode != "r", "HDF5 reads in the process of the command"
    return File(name, mode, *arguments, **options)
def used():
    assert os.getpid() != mine, "protobuf reads in the process of the command"
    return library()
h5py.File, reader._onnx = opened, used
"""


@pytest.mark.parametrize("kind", ["hdf5", "keras", "onnx"])
@pytest.mark.parametrize("line", [pytest.param(line, marks=[pytest.mark.slow] * is_slow(line)) for line in READING])
def test_p9_no_library_in_c_opens_the_file(line: str, kind: str, commands: Commands) -> None:
    (file,) = (path for path in commands.good.iterdir() if path.stem == kind)
    assert commands.complaints(line, file, kind, first=NO_LIBRARY) == []


DAMAGED = ("paddle/model.pdparams", "mxnet/model.params", "chainer/model.npz", "chainer/model.h5")


@pytest.mark.parametrize("name", DAMAGED)
def test_p10_every_length_is_compared_with_the_bytes_there(name: str, tmp_path: Path) -> None:
    data = (DATA / name).read_bytes()
    file = tmp_path / Path(name).name
    for length in (len(data) - 1, len(data) - 40, len(data) // 2):
        file.write_bytes(data[:length])
        for door in DOORS:
            if door not in ("contained", "inspect", "like"):  # slow, and the same readers
                assert refused(door, file), (door, length)


@pytest.mark.parametrize("name", DAMAGED)
def test_p11_an_error_is_ours_and_names_the_file(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = (DATA / name).read_bytes()
    file = tmp_path / Path(name).name
    file.write_bytes(data[: len(data) // 2])
    for door in ("load_checkpoint", *(door for door in DOORS if "load_" in door or ".load" in door)):
        with pytest.raises((CheckpointError, MXNetError), match=re.escape(str(file))):
            DOORS[door](file)
    for door in ("inspect", "convert", "export-c"):
        assert refused(door, file)
        (line,) = capsys.readouterr().err.splitlines()
        assert str(file) in line


RAISING = "def f(*a, **k): raise {}\n"
FAILURES = {
    "a failed verification": RAISING.format("CheckpointError('x differs')")
    + "import anygru.checkpoints.verify as v, anygru.cli.verified as m\nfrom anygru.errors import CheckpointError\n"
    "v.verify = m.compare = f",
    "a full disk": RAISING.format("OSError(28, 'No space left on device')") + "import os\nos.fsync = f",
    "a full folder": RAISING.format("OSError(28, 'No space left on device')") + "import os\nos.replace = os.rename = f",
    "a kill": "import os\nos.replace = os.rename = lambda *a, **k: os.kill(os.getpid(), 9)",
}


@pytest.mark.parametrize(("line", "failure"), quick_first(WRITING, *FAILURES))
def test_p12_a_failure_leaves_the_old_file(line: str, failure: str, commands: Commands) -> None:
    if failure == "a failed verification" and (not line.startswith("convert") or "--model" in line):
        pytest.skip("nothing is verified")
    found = commands.complaints(line, commands.good / "good.safetensors", first=FAILURES[failure])
    if failure == "a kill":
        found = [each for each in found if not each.startswith(("status -9", "left ['.", "left [('."))]
    assert found == []
    assert commands.error or failure == "a kill"
    target = commands.target
    assert target is None or target.read_bytes() == OLD


WRONG = """
import torch, anygru.cli.scripted as one, anygru.cli.graphs as two
run, results = one.in_onnx_runtime, two.as_tuple
wrong = lambda found: tuple(each + {} for each in found)
one.in_onnx_runtime = two.in_onnx_runtime = lambda *a, **k: lambda inputs: wrong(run(*a, **k)(inputs))
two.as_tuple = lambda found: wrong(results(found))
"""


@pytest.mark.parametrize(("line", "wrong"), quick_first(MODELS, "1.0", "float('nan')"))
def test_p13_models_are_compared_with_a_bound(line: str, wrong: str, commands: Commands) -> None:
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    assert commands.complaints(line, commands.good / "good.safetensors", first=WRONG.format(wrong)) == []
    assert "apart, and at most" in commands.error


@pytest.mark.parametrize(
    ("line", "number"),
    quick_first([line for line in WRITING if line.startswith("convert")], int(signal.SIGTERM), int(signal.SIGHUP)),
)
def test_p14_a_signal_leaves_no_temporary_file(line: str, number: int, commands: Commands) -> None:
    first = f"import os\nos.replace = os.rename = lambda *a, **k: os.kill(os.getpid(), {number})"
    found = commands.complaints(line, commands.good / "good.safetensors", first=first)
    assert found == [f"status {128 + number}"]


def test_p15_an_unknown_option_is_refused_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for formula in ({"activation": "mish"}, {"gate_activation": "mish"}, {"later": "1"}):
        header: dict[str, object] = {"__metadata__": {"anygru.formula": json.dumps({"": formula})}}
        for begin, name in ((0, "weight_ih_l0"), (12, "weight_hh_l0")):
            header[name] = {"dtype": "F32", "shape": [3, 1], "data_offsets": [begin, begin + 12]}
        text = json.dumps(header).encode()
        (tmp_path / "x.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(24))
        with pytest.raises(CheckpointError, match=next(iter(formula))):
            load_checkpoint(tmp_path / "x.safetensors").gru()
        targets = ("pt", "npz", "params", "pdparams", "safetensors")
        lines = [f"convert {{file}} {{out}}.{ending}" for ending in targets]
        for line in (*lines, "convert {file} {out}", "export-c {file} --out {out}.h --no-check"):
            with pytest.raises(Refused):
                command(*line.split())(tmp_path / "x.safetensors")
            assert next(iter(formula)) in capsys.readouterr().err


def test_every_promise_has_a_test_and_every_test_a_promise() -> None:
    promised = re.findall(r"\[P(\d+)\]", (ROOT / "SECURITY.md").read_text())
    tested = [match[1] for name in globals() if (match := re.match(r"test_p(\d+)_", name))]
    assert sorted(promised, key=int) == sorted(tested, key=int) == [str(number) for number in range(1, len(tested) + 1)]


def test_the_tests_see_a_library_in_the_command(commands: Commands) -> None:
    for name in ("hdf5.h5", "onnx.onnx"):
        assert commands.complaints("inspect {file} --no-sandbox", commands.good / name, first=NO_LIBRARY) != []


def test_the_tests_see_code_that_runs(tmp_path: Path) -> None:
    for file in programs(tmp_path):
        if file.suffix == ".pdparams":
            with open(file, "rb") as opened:
                pickle.load(opened)
            (tmp_path / "canary").rmdir()
    with zipfile.ZipFile(tmp_path / "p.npz") as archive:
        np.lib.format.read_array(io.BytesIO(archive.read("a.npy")), allow_pickle=True)
    assert (tmp_path / "canary").is_dir()
