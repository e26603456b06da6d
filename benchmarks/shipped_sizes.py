"""Measure the bytes that a program or a page ships for one model: anygru's files, RTNeural, onnxruntime-web and ncnn.

python benchmarks/shipped_sizes.py [--rtneural FOLDER] [--onnxruntime-web FOLDER] [--ncnn WHEEL] [--write]

A program is a stripped shared library with one function for a step (gcc or g++, -O2). Its outputs are compared with the model.
RTNeural is a checkout with submodules, which reads its weights from JSON; onnxruntime-web the folder of the npm package; ncnn its
wheel for Python. Needs gcc, clang, lld and wasi-libc.
"""

import argparse
import ctypes
import gzip
import importlib.util
import json
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

import anygru
import anygru.onnx
from anygru.c_export import export_wasm
from anygru.facts.quantization import WeightFormat

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "shipped_sizes.md"
LINKED = ["-O2", "-shared", "-fPIC", "-s", "-ffunction-sections", "-Wl,--gc-sections", "-Wl,-z,noseparate-code"]
OURS = """
#include "net.h"
static net_state state;
void step(const float *input, float *output) { net_step(&state, input, output); }
"""
RTNEURAL = """
#include <RTNeural/RTNeural.h>
#include <fstream>
static RTNeural::ModelT<float, 1, 1, RTNeural::GRULayerT<float, 1, 16>, RTNeural::DenseT<float, 16, 1>> model;
extern "C" __attribute__((visibility("default"))) void load(const char *path) {
    std::ifstream file(path);
    model.parseJson(file);
    model.reset();
}
extern "C" __attribute__((visibility("default"))) void step(const float *input, float *output) { *output = model.forward(input); }
"""
INTRODUCTION = """# What a program or a page ships for one model

By `benchmarks/shipped_sizes.py`. A program is a stripped shared library for x86-64 with one function for a step (gcc COMPILER,
`-O2`); its outputs were compared with the model. RTNeural's includes the reader of its weights, and both use the system's
libraries of C and C++. A page ships the module in WebAssembly, its JavaScript and the weights.
"""
FORMATS: tuple[WeightFormat, ...] = ("float32", "int8")
NOT = "not measured"


class Small(nn.Module):
    """GRU(1, 16) and Linear(1)."""

    def __init__(self) -> None:
        super().__init__()
        self.row = nn.Sequential(anygru.GRU(1, 16, batch_first=True), nn.Linear(16, 1))

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.row[1](self.row[0](x)[0])
        return output


def denoiser() -> nn.Module:
    """The network of RNNoise of examples/denoisers.py, with random weights."""
    spec = importlib.util.spec_from_file_location("denoisers", HERE.parent / "examples" / "denoisers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model: nn.Module = module.RNNoise()
    return model


def check(library: Path, model: nn.Module, inputs: int, tolerance: float, weights: Path | None = None) -> None:
    """Compare a library with the model; `weights`: a file that the library loads first.

    Raises:
        RuntimeError: the outputs differ.
    """
    program, x = ctypes.CDLL(str(library)), torch.randn(1, 50, inputs)
    if weights is not None:
        program.load(str(weights).encode())
    expected = model(x)[0]
    found = torch.zeros_like(expected)
    for frame, output in zip(x[0], found, strict=True):
        program.step(ctypes.c_void_p(frame.data_ptr()), ctypes.c_void_p(output.data_ptr()))
    apart = (found - expected).abs().max().item()
    if not apart <= tolerance:
        raise RuntimeError(f"{library}: {apart:.2g} from the model")


def size(paths: Iterable[Path]) -> str:
    """The bytes of files, and after gzip in brackets."""
    texts = [path.read_bytes() for path in paths]
    return f"{sum(map(len, texts)):,} ({sum(len(gzip.compress(text)) for text in texts):,})"


def programs(model: nn.Module, inputs: int, folder: Path, rtneural: Path | None) -> Iterator[tuple[str, str]]:
    """What a program ships, with its bytes."""
    example = torch.randn(1, 50, inputs)
    for weights, tolerance in zip(FORMATS, (1e-5, 3e-2), strict=True):
        name = folder / f"{weights}.so"
        anygru.export_c(getattr(model, "row", model), folder / "net.h", weights=weights, example=example, check=False)
        (folder / "net.c").write_text(OURS)
        subprocess.run(["gcc", *LINKED, "-o", name, folder / "net.c", "-lm"], check=True)
        check(name, model, inputs, tolerance)
        yield f"anygru's C, {weights}", size([name])
    if not isinstance(model, Small):
        yield "RTNeural", "has no GRU with the reset gate before the product, and none with relu"
        return
    if rtneural is None:
        yield "RTNeural", NOT
        return
    anygru.save_checkpoint(model.row, folder / "net.json")
    (folder / "net.cpp").write_text(RTNEURAL)
    name, modules = folder / "rtneural.so", rtneural / "modules"
    options = ["-std=c++17", "-fvisibility=hidden", "-DRTNEURAL_USE_EIGEN=1", "-DRTNEURAL_DEFAULT_ALIGNMENT=16"]
    includes = [f"-I{each}" for each in (rtneural, modules / "Eigen", modules / "json")]
    subprocess.run(["g++", *LINKED, *options, *includes, "-o", name, folder / "net.cpp"], check=True)
    check(name, model, inputs, 1e-4, folder / "net.json")
    yield "RTNeural on Eigen, with the weights as JSON", size([name, folder / "net.json"])


def pages(model: nn.Module, inputs: int, folder: Path, web: Path | None) -> Iterator[tuple[str, str]]:
    """What a page ships, with its bytes."""
    for weights in FORMATS:
        place = folder / f"page_{weights}"
        export_wasm(
            getattr(model, "row", model), place, name="net", weights=weights, example=torch.randn(1, 50, inputs)
        )
        yield f"anygru's WebAssembly, {weights}", size([place / "net.wasm", place / "net.js"])
    if web is None:
        yield "onnxruntime-web", NOT
        return
    anygru.onnx.export_step(model, folder / "step.onnx", example=torch.randn(1, 8, inputs))
    runtime = [
        web / "dist" / name
        for name in ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
    ]
    version = json.loads((web / "package.json").read_text())["version"]
    yield f"onnxruntime-web {version}, with the model", size([*runtime, folder / "step.onnx"])


def library_of_ncnn(wheel: Path | None) -> tuple[str, str]:
    """The module of the wheel, which has all of ncnn and its binding to Python."""
    if wheel is None:
        return "ncnn", NOT
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.startswith("ncnn/ncnn.") and each.endswith(".so"))
        text = archive.read(name)
    version = wheel.name.split("-")[1]
    return (
        f"ncnn {version}, the whole library in its module for Python, without a model",
        f"{len(text):,} ({len(gzip.compress(text)):,})",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rtneural", type=Path, metavar="FOLDER")
    parser.add_argument("--onnxruntime-web", type=Path, metavar="FOLDER")
    parser.add_argument("--ncnn", type=Path, metavar="WHEEL")
    parser.add_argument("--write", action="store_true", help="store the results")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    lines = []
    for title, model, inputs in (
        ("GRU(1, 16) + Linear(1)", Small(), 1),
        ("RNNoise 0.1", denoiser(), 42),
    ):
        lines += [f"## {title}", "", "| shipped | bytes (after gzip) |", "|---|---:|"]
        with tempfile.TemporaryDirectory() as name:
            found = [("program", *each) for each in programs(model.eval(), inputs, Path(name), args.rtneural)]
            found += [("program", *library_of_ncnn(args.ncnn))]
            found += [("page", *each) for each in pages(model, inputs, Path(name), args.onnxruntime_web)]
        lines += [f"| {kind}: {what} | {bytes} |" for kind, what, bytes in (*found, ("page", "ncnn", NOT))] + [""]
    compiler = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    text = "\n".join([INTRODUCTION.replace("COMPILER", compiler), *lines])
    print(text)
    if args.write:
        RESULTS.write_text(text)


if __name__ == "__main__":
    main()
