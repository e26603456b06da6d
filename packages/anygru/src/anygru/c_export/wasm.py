"""`export_wasm`: a model as a WebAssembly module, an ES module around it, and a page that runs it on audio."""

import functools
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..checkpoints.formats import checked_path
from ..checkpoints.output.atomic import open_for_replace
from ..errors import AnygruError, ArgumentError, how_to_install
from ..facts.quantization import WeightFormat
from .checking import NODE, CheckError, CheckResult
from .exporting import ACCEPTED, compared, in_words
from .files import Source

PAGES = {"model.js": "{}.js", "model.d.ts": "{}.d.ts", "worklet.js": "{}-worklet.js", "index.html": "index.html"}
"""Files of the folder `web` and their names next to the module; they contain hyphens, which a model's name cannot have."""
UNCHECKED = f"was not compared with the model, because {NODE} was not found: install {NODE}, and export again"
HEADERS = "/usr/include/wasm32-wasi"
LIBRARY = "/usr/lib/wasm32-wasi"
"""Where Debian's wasi-libc is; of it the file needs <string.h>, <math.h> and the functions of <math.h>."""


class ToolMissingError(AnygruError, RuntimeError):
    """A program or a library that makes WebAssembly is not installed; the message names the package."""


class Pages(NamedTuple):
    """The result of `export_wasm`."""

    folder: str
    files: tuple[str, ...]
    bytes: int
    """Of the WebAssembly module."""
    verdict: CheckResult | None
    """The comparison of the module, run in node, with the model; None if there was none."""

    def __str__(self) -> str:
        return (
            f"wrote {', '.join(self.files)} to {self.folder}: a module of {self.bytes:,} bytes\n"
            f"  {in_words(self.verdict)}\n"
            f"  to see the page: python -m http.server --directory {shlex.quote(self.folder)}"
        )


def export_wasm(
    model: nn.Module,
    folder: str | os.PathLike[str],
    *,
    weights: WeightFormat | None = None,
    name: str = "model",
    check: bool | None = None,
    example: Tensor | None = None,
    time_axis: int | None = None,
    rest: Tensor | float | None = None,
    sample_rate: int | None = None,
) -> Pages:
    """Write a model as WebAssembly (with SIMD) that pages, workers and node can run, and a demo page.

    The folder gets `<name>.wasm`, an ES module `<name>.js` with its types, and `index.html` with an AudioWorklet that runs the
    model on the microphone or on a generated signal. It works from any static server; each file is replaced whole.

    Args:
        model, weights, name, example, time_axis, rest: as of `export_c`.
        sample_rate: as of `export_c`; the page runs the model at this rate.
        folder: made if it is missing.
        check: compare the file in C with the model, as `export_c` does, and the module as well, which node runs; None does
            so where a compiler and node are installed.

    Raises:
        ArgumentError, ArgumentTypeError: as `export_c`.
        CheckError: the file in C or the module computes different numbers than the model; no file is written.
        ToolMissingError: clang, its linker or wasi-libc is not installed, and neither is the extra `wasm`.

    Warns:
        UserWarning: the module was not compared with its model, because node was not found.

    Example:
        >>> pages = export_wasm(model, "site", name="amplifier")  # doctest: +SKIP
    """
    folder = checked_path(folder, "folder")
    tools, node = find_tools(), shutil.which(NODE)
    if check and node is None:
        raise ArgumentError(f"check=True of a page needs {NODE}, which runs its module: install {NODE}")
    exported, verify = compared(model, name, weights, check, example, time_axis, rest, sample_rate)
    module = compile_wasm(exported.source, tools)
    files = {f"{name}.wasm": module}
    for stored, written in PAGES.items():
        text = resources.files(__package__).joinpath("web").joinpath(stored).read_text(encoding="utf-8")
        files[written.format(name)] = text.replace("NAME", name).encode()
    verdict = None
    if check is not False and node is not None:
        verdict = verify(execute=functools.partial(_run_in_node, node, name, files, exported.source.outputs), by=NODE)
    os.makedirs(folder, exist_ok=True)
    for file_name, data in files.items():
        with open_for_replace(Path(folder) / file_name) as file:
            file.write(data)
    if check is None and verdict is None:
        warnings.warn(f"{folder} {UNCHECKED}; {ACCEPTED}", stacklevel=2)
    return Pages(folder, tuple(files), len(module), verdict)


class Tools(NamedTuple):
    """A compiler with a linker and a C library for WebAssembly."""

    command: tuple[str, ...]
    compiling: tuple[str, ...] = ()
    """Options that only it needs."""
    linking: tuple[str, ...] = ()


def find_tools() -> Tools:
    """clang, if all its parts are installed, or the Zig of the package ziglang, which is clang with all of them.

    Raises:
        ToolMissingError: see `export_wasm`.
    """
    clang, missing = shutil.which("clang"), ""
    if clang is None:
        missing = "clang; on Debian: apt install clang lld wasi-libc"
    elif shutil.which("wasm-ld") is None and not list(Path(clang).resolve().parent.glob("wasm-ld*")):
        missing = "clang's linker wasm-ld; on Debian: apt install lld"
    elif not Path(HEADERS).is_dir():
        missing = f"the C library in {HEADERS}; on Debian: apt install wasi-libc"
    else:
        linking = ("-nostdlib", "-Wl,--no-entry", "-Wl,--stack-first", f"-L{LIBRARY}", "-lc", "-lm")
        return Tools((clang,), ("-isystem", HEADERS), linking)
    if importlib.util.find_spec("ziglang") is None:
        raise ToolMissingError(f"WebAssembly needs {missing}; everywhere: {how_to_install('wasm')}")
    # Zig refuses --stack-first, which it always does itself. A reactor has no `main`.
    return Tools((sys.executable, "-m", "ziglang", "cc"), (), ("-mexec-model=reactor",))


def compile_wasm(source: Source, tools: Tools) -> bytes:
    """The WebAssembly module of a file.

    Raises:
        CheckError: the file does not compile.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.h").write_text(source.text)
        program, built, module = (Path(folder) / name for name in ("module.c", "module.o", "module.wasm"))
        program.write_text(_program(source))
        command = [*tools.command, "--target=wasm32-wasi"]
        warned = _call([*command, *OPTIONS, *tools.compiling, "-c", "-o", str(built), str(program)])
        frames = sum(map(int, re.findall(r"stack frame size (?:of )?\(?(\d+)", warned)))
        # The stack is below the constants, so that a step which needs more than it has stops and does not write over them.
        stack = f"-Wl,-z,stack-size={-(-(frames + _STACK) // 16) * 16}"
        link = ["-Wl,--export=__heap_base", "-Wl,--strip-all", *tools.linking, stack]
        _call([*command, "-o", str(module), str(built), *link])
        return module.read_bytes()


OPTIONS = ("-O3", "-msimd128", "-mbulk-memory", "-Wframe-larger-than=0", "-fno-vectorize", "-fno-slp-vectorize")
"""The warning gives the size of each function's frame. Without the last two options, clang 14 gives wrong numbers for strided
convolutions in WebAssembly with `-msimd128`: it makes vectors of scalar loops and statements, and takes numbers from wrong
places. gcc with AddressSanitizer and UBSan, clang for x86-64, and WebAssembly without simd128 give torch's numbers for the same
C. The arithmetic has vectors of its own."""
_STACK = 64 << 10
"""Bytes of the stack for functions of <math.h>, in addition to the model's functions."""


def _call(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CheckError(f"the file in C does not compile: {command[0]}: {done.stderr.strip()[:500]}")
    return done.stderr


_SCRIPT = """\
import { readFileSync, writeFileSync } from "fs";
import { load } from "./NAME.js";

const bytes = readFileSync("input");
const model = await load(readFileSync("NAME.wasm"));
const output = model.run(new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4));
writeFileSync("output", Buffer.from(output.buffer, output.byteOffset, output.byteLength));
"""


def _run_in_node(node: str, name: str, files: Mapping[str, bytes], outputs: int, input: Tensor) -> Tensor:
    """The outputs [T, O] that the module gives in node for input [T, I]."""
    with tempfile.TemporaryDirectory() as folder:
        written = {**files, "package.json": b'{"type": "module"}', "run.mjs": _SCRIPT.replace("NAME", name).encode()}
        for file_name, data in {**written, "input": input.contiguous().numpy().tobytes()}.items():
            (Path(folder) / file_name).write_bytes(data)
        done = subprocess.run([node, "run.mjs"], cwd=folder, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            raise CheckError(f"the module of WebAssembly does not run in node: {done.stderr.strip()[-500:]}")
        found = bytearray((Path(folder) / "output").read_bytes())
        return torch.frombuffer(found, dtype=torch.float32).reshape(len(input), outputs).clone()


def _program(source: Source) -> str:
    text = _PROGRAM if source.steps else _PROGRAM.replace("output);", "output, scratch_memory);")
    places = {"steps": str(int(source.steps)), "scratch": "0" if source.steps else "@@_SCRATCH(steps)"}
    for place, word in places.items():
        text = text.replace(f"<{place}>", word)
    return text.replace("@@", source.name.upper()).replace("@", source.name)


_PROGRAM = """\
#include "model.h"
#define EXPORT(name) __attribute__((export_name(name)))

static @_state state;

EXPORT("inputs") size_t inputs(void) { return @@_INPUTS; }
EXPORT("outputs") size_t outputs(void) { return @@_OUTPUTS; }
EXPORT("has_steps") int has_steps(void) { return <steps>; }
EXPORT("scratch") size_t scratch(size_t steps) { (void)steps; return <scratch>; }
#ifdef @@_SAMPLE_RATE
EXPORT("sample_rate") size_t sample_rate(void) { return @@_SAMPLE_RATE; }
#endif
EXPORT("reset") void reset(void) { @_reset(&state); }
EXPORT("run") void run(const float *input, const unsigned char *resets, size_t steps, float *output, float *scratch_memory) {
    (void)scratch_memory;
    @_run(&state, input, resets, steps, output);
}
"""
