"""Commands over hostile files: each in a process with limits; an act that no promise allows is a complaint.

    python packages/anygru/tests/checkpoints/commands.py --minutes 10   # random options over mutated files

Each finding is left in a folder, with the command line and the complaints in a text file.
"""

import argparse
import hashlib
import json
import os
import random
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import fuzzing
import numpy as np
import torch
from samples import DATA, FILES

import anygru
from anygru.checkpoints import NAMES, save_checkpoint
from anygru.checkpoints.reading.budget import FREE, RATIO

MEMORY, SECONDS = 512 << 20, 20
"""Bytes beyond the budget of the files, for libraries, and processor time of a command."""
STATUSES = (0, 1, 2)
"""See docs/reference.md."""
OLD = b"the old file"

LINES = (
    "inspect {file}",
    "inspect {file} --no-sandbox",
    "inspect {file} --limit 1M",
    "inspect {file} --format {format}",
    "convert {file} {out}.pt",
    "convert {file} {out}.npz --approximate",
    "convert {file} {out}.h5 --from {format}",
    "convert {file} {out}.params --layer-names",
    "convert {file} {out}.pdparams --transpose *",
    "convert {file} {out}.safetensors --provenance",
    "convert {file} {out}.safetensors --weights int8",
    "convert {file} {out}",
    "convert {file} {out}.pt --model {optimized}",
    "convert {optimizer} {out}.pt --model {file}",
    "convert {good} {out}.weights.h5 --like {file}",
    "convert {good} {out}.npz --map {file}",
    "convert {file} {out}.onnx --script {script}:build",
    "convert {symbol} {out}.onnx --params {file} --input data=1,2",
    "export-c {file} --out {out}.h --no-check",
    "try --onnx {file} --rounds 1 --seconds 0.01",
    "scan {file}",
    "scan --json {folder}",
    "sample {file} --length 1",
)
GRAPH = "convert {file} {out}.pt2 --params {good} --input data=1,2"
"""For files named like graphs."""


def is_slow(line: str) -> bool:
    """Whether a line takes seconds."""
    return any(word in line for word in ("--script", "--params", "sample", "try"))


_SERVER = """
import contextlib, io, json, os, resource, signal, sys, tempfile, time, traceback
import anygru, torch, rich.console
from anygru import cli
from anygru.checkpoints import NAMES, format_module
for name in NAMES: format_module(name)
for name in ("inspect", "convert", "export_c", "scan", "graphs", "scripted"): __import__(f"anygru.cli.{name}")
torch.set_num_threads(1)
sys.path.append(TESTS)
import forked
for name in forked.LIBRARIES: __import__(name)
os.environ["KERAS_BACKEND"] = "torch"
try: __import__("keras")
except ImportError: pass
sys.modules.pop("keras", None)  # a command that needs it imports it, which is quick now; others do not run it

with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):  # imports what is imported late
    anygru.save_checkpoint(torch.nn.GRU(1, 1), folder + "/a.pt")
    for ending in ("npz", "h5", "params", "pdparams", "safetensors"):
        cli.main(["convert", folder + "/a.pt", folder + "/b." + ending])
    cli.main(["inspect", folder + "/a.pt"])
    cli.main(["export-c", folder + "/a.pt", "--out", folder + "/a.h", "--no-check"])

def run(line, folder, memory, seconds, first):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    forked.install()
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "out.txt"), (2, "err.txt")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    try:
        exec(first, {})
        status = cli.main(line)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
        status = 99
    try:
        sys.stdout.flush(), sys.stderr.flush()
    finally:
        os._exit(status or 0)

for text in sys.stdin:
    *order, clock = json.loads(text)
    child = os.fork()
    if child == 0:
        os.setsid()
        run(*order)
    end, late = time.monotonic() + clock, False
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done: break
        if time.monotonic() > end:
            late = True
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.005)
    used = usage.ru_utime + usage.ru_stime
    print(json.dumps([os.waitstatus_to_exitcode(status), late, used, usage.ru_maxrss << 10]), flush=True)
"""


class Commands:
    """A process that has imported the package, and forks for each command."""

    def __init__(self) -> None:
        server = _SERVER.replace("TESTS", repr(str(Path(__file__).parent)))
        command = [sys.executable, "-B", "-W", "ignore", "-c", server]  # a script of a line leaves no compiled file
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._folder = Path(tempfile.mkdtemp(prefix="anygru-commands-"))
        self.good, self.error = self._folder / "good", ""
        self.target: Path | None = None
        self.good.mkdir()
        _write_good(self.good)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        shutil.rmtree(self._folder, ignore_errors=True)

    def complaints(self, line: str, file: Path, format: str = "torch", first: str = "") -> list[str]:
        """Run a command line over a file, after the code `first`, and list its acts that no promise allows."""
        work = self._folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        (work / "out").mkdir(parents=True)
        places = {"file": file, "folder": file.parent, "out": work / "out" / "x", "format": format}
        places |= {path.stem.partition("-")[0]: path for path in self.good.iterdir()}
        words = [word.format(**places) for word in line.split()]
        target = next((Path(word) for word in words if word.startswith(str(places["out"]))), None)
        self.target = target if target is not None and target.suffix else None
        if self.target is not None:
            self.target.write_bytes(OLD)
        before = [_state(folder) for folder in (file.parent, self.good, work / "out")]
        size = sum(path.stat().st_size for path in file.parent.rglob("*") if path.is_file() and not path.is_symlink())
        memory = 2 * (FREE + RATIO * min(size, 16 << 20)) + MEMORY
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        seconds = SECONDS + size // 1_000_000 + (120 if "symbol" in line or "--script" in line else 0)
        print(
            json.dumps([words, str(work), memory, seconds, first, 20 * seconds]), file=self._process.stdin, flush=True
        )
        status, late, used, peak = json.loads(self._process.stdout.readline())
        after = [_state(folder) for folder in (file.parent, self.good, work / "out")]
        self.error = error = (work / "err.txt").read_text(errors="replace")
        found = [f"status {status}"] * (status not in STATUSES) + ["no end"] * late
        found += [f"{used:.0f} s of processor time"] * (used > seconds)
        found += [f"{peak >> 20} MiB"] * (peak > memory + (768 << 20))
        found += [f"said {error[-400:]!r}"] * ("Traceback" in error or (status in (1, 2) and not _is_one_line(error)))
        found += ["out of memory"] * ("not enough memory" in error)
        found += ["a file that was given is changed"] * (before[:2] != after[:2])
        if status and before[2] != after[2]:
            found.append(f"left {sorted(after[2].items() ^ before[2].items())[:3]} after an error")
        left = [name for name in after[2] if name.startswith((".", "anygru-"))]
        return found + [f"left {left}"] * bool(left)


def _is_one_line(error: str) -> bool:
    return error.startswith("anygru ") and error.count("\n") == 1 and error.replace("\n", "").isprintable()


def _state(folder: Path) -> dict[str, object]:
    """Each file of a folder, with the facts that a change of the file would change."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        content = b""
        if stat.S_ISREG(info.st_mode) and info.st_size <= 16 << 20:
            content = hashlib.sha256(path.read_bytes()).digest()
        found[str(path.relative_to(folder))] = (info.st_mode, info.st_size, info.st_mtime_ns, content)
    return found


def _write_good(folder: Path) -> None:
    """The files of the lines that are not hostile."""
    save_checkpoint(torch.nn.GRU(2, 3), folder / "good.safetensors")
    (folder / "optimizer.pdopt").write_bytes(fuzzing._optimizer(folder)[0])
    fuzzing._optimizer_model(folder / "optimized.pdparams")
    nodes = [{"op": "null", "name": name, "inputs": []} for name in ("data", "w")]
    nodes.append({"op": "broadcast_add", "name": "a", "inputs": [[0, 0, 0], [1, 0, 0]]})
    graph = {"nodes": nodes, "arg_nodes": [0, 1], "heads": [[2, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}
    (folder / "symbol-symbol.json").write_text(json.dumps(graph))
    save_checkpoint({"arg:w": torch.ones(1)}, folder / "values-0000.params")
    for name, ending in (("keras", "keras"), ("hdf5", "h5"), ("onnx", "onnx")):
        with tempfile.TemporaryDirectory() as place:
            (folder / f"{name}.{ending}").write_bytes(fuzzing.SEEDS[name](Path(place))[0])
    (folder / "script.py").write_text(
        "import torch\ndef build():\n    return torch.nn.GRU(2, 3), torch.ones(4, 1, 2)\n"
    )


# -- files ------------------------------------------------------------------------------------------------------


def _deep(opening: str, text: str = "") -> bytes:
    return (opening * 100_000 + text).encode()


def _one(name: str, data: bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    return make


def _link(name: str, target: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).symlink_to(target)
        return folder / name

    return make


def _fifo(folder: Path) -> Path:
    os.mkfifo(folder / "x.pt")
    return folder / "x.pt"


def _cut(source: str, share: float) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        data = (DATA / source).read_bytes()
        (folder / Path(source).name).write_bytes(data[: int(len(data) * share)])
        return folder / Path(source).name

    return make


def _nan(ending: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        layer = anygru.GRU(2, 3)
        with torch.no_grad():
            layer.weight_hh_l0.fill_(float("nan"))
        save_checkpoint(layer, folder / f"x{ending}")
        return folder / f"x{ending}"

    return make


def _aliases(folder: Path) -> Path:
    tensor = torch.ones(1 << 18)
    torch.save({f"a{number}": tensor for number in range(2000)}, folder / "x.pt")
    return folder / "x.pt"


def _many_tiny_arrays(folder: Path) -> Path:
    np.savez(folder / "x.npz", **{str(number): np.float32(0) for number in range(2000)})
    return folder / "x.npz"


FILES_OF_HERE: dict[str, Callable[[Path], Path]] = {
    "empty": _one("x.pt", b""),
    "zeros": _one("x.params", bytes(1 << 20)),
    "deep JSON": _one("x.json", _deep("[")),
    "deep header of safetensors": _one("x.safetensors", (100_000).to_bytes(8, "little") + _deep("[")),
    "huge header of safetensors": _one("x.safetensors", (1 << 62).to_bytes(8, "little") + b"{}"),
    "deep pickle": _one("x.pdparams", b"\x80\x04" + b"(" * 200_000),
    "deep source": _one("x.py", b"import torch\nGRU = " + _deep("(")),
    "dots": _one("x.py", b"import torch\nprint 'GRU'\nx = " + b"a." * 100_000),
    "notebook": _one("x.ipynb", b'{"cells": ' + _deep("[", '"GRU"')),
    "FIFO": _fifo,
    "endless link": _link("x.npz", "/proc/self/pagemap"),
    "device link": _link("x.onnx", "/dev/zero"),
    "link in a circle": _link("x.h5", "x.h5"),
    "memory of the process": _link("x.keras", "/proc/self/mem"),
    "aliases": _aliases,
    "many tiny arrays": _many_tiny_arrays,
    **{f"NaN{ending}": _nan(ending) for ending in (".pt", ".npz", ".safetensors", ".pdparams", ".params", ".h5")},
    **{
        f"{name} cut at {share}": _cut(name, share)
        for name in FILES
        if "/" in name and "." in name
        for share in (0.3, 0.9)
    },
}


def graphs() -> dict[str, Callable[[Path], Path]]:
    """Files named like graphs of MXNet."""
    null = [{"op": "null", "name": name, "inputs": []} for name in ("data", "w")]

    def graph(*nodes: object, heads: object = ((2, 0, 0),)) -> Callable[[Path], Path]:
        tree = {"nodes": [*null, *nodes], "arg_nodes": [0, 1], "heads": heads}
        return _one("x-symbol.json", json.dumps(tree).encode())

    ones = {"op": "_ones", "name": "z", "attrs": {"shape": "(40000, 40000)"}, "inputs": []}
    return {
        "deep": _one("x-symbol.json", _deep("[")),
        "empty": _one("x-symbol.json", b""),
        "pickle": _one("x-symbol.json", b"\x80\x04cos\nsystem\n."),
        "memory": graph(ones),
        "unknown": graph({"op": "exec", "name": "z", "inputs": []}),
        "loop": graph({"op": "relu", "name": "z", "inputs": [[2, 0, 0]]}),
        "head beyond": graph(ones, heads=[[7, 0, 0]]),
        "wrong types": graph({"op": 3, "name": [], "attrs": 7, "inputs": "x"}),
        "negative": graph({"op": "_zeros", "name": "z", "attrs": {"shape": "(-1, 1 << 60)"}, "inputs": []}),
    }


# -- random command lines ---------------------------------------------------------------------------------------


def random_lines(seed: int, folder: Path) -> Iterator[tuple[str, Path, str]]:
    """Yield lines with random further options, mutated files for them, and the names of formats."""
    draw = random.Random(seed)
    mutators = {name: fuzzing.Fuzzer(name, folder, seed) for name in fuzzing.SEEDS if name not in ("native", "session")}
    options = [
        "--no-sandbox", "--limit 1M", "--limit 0", "--bidirectional gru", "--approximate", "--provenance", "--all",
    ]  # fmt: skip
    options += ["--verbose", "--map {file}", "--like {file}", "--style x", "--transpose *", "--layer-names", "--json"]
    options += [
        "--weights int8", "--from {format}", "--to {format}", "--gru x", "--name x", "--input data=1,2",
        "--plot x.png",
    ]  # fmt: skip
    quick = [line for line in LINES if not is_slow(line)]
    endings = {"paddle": ".pdparams", "mxnet": ".params", "chainer": ".npz", "hdf5": ".h5", "onnx": ".onnx"}
    endings |= {"notebook": ".ipynb", "source": ".py", "mapping": ".json"}
    while True:
        format = draw.choice(list(mutators))
        symbol = format == "symbol"
        file = folder / f"x{'-symbol.json' if symbol else endings.get(format, '.' + format.partition('-')[0])}"
        file.write_bytes(mutators[format]._mutated())
        rare = draw.random() < 0.02
        line = draw.choice(LINES if rare else quick) if not (rare and symbol) else GRAPH
        more = draw.sample(options, draw.choice((0, 0, 1, 1, 2, 3)))
        yield " ".join([line, *more]), file, draw.choice(NAMES)
        file.unlink()


def main() -> int:
    """Run random lines for a while; the exit status is 1 if something was found."""
    parser = argparse.ArgumentParser(description="Fuzz the commands.", allow_abbrev=False)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"), help="the folder for findings")
    args = parser.parse_args()
    print(f"fuzzing commands, seed {args.seed}", flush=True)
    end, done, found = time.monotonic() + 60 * args.minutes, 0, 0
    commands = Commands()
    with tempfile.TemporaryDirectory() as folder:
        for line, file, format in random_lines(args.seed, Path(folder)):
            complaints = commands.complaints(line, file, format)
            if complaints:
                found += 1
                place = args.out / f"command-{args.seed}-{done}"
                place.mkdir(parents=True)
                shutil.copy(file, place)
                (place / "finding.txt").write_text(f"{line}\nformat {format}\n" + "\n".join(complaints))
                print(f"{shlex.quote(str(place))}: {line}: {complaints}", flush=True)
            done += 1
            if time.monotonic() > end:
                break
    commands.close()
    print(f"{done} command lines, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
