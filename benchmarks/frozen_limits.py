"""Measure the limits of frozen layers on this machine: its multiply-add units, and reading the weights.

    python benchmarks/frozen_limits.py [FOLDER]

Writes `frozen_limits.md` into FOLDER or `results`; on a CPU with AMX also the limits of layers that multiply on it. `units.cpp`
is compiled with `c++` for this CPU (AVX-512 with VNNI). Its loops take turns with the layers in one process and thread, so that
the state of the machine affects both; a share is the median over the turns.
"""

import argparse
import ctypes
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import torch
from run import SIZES
from side_by_side.report import machine

import anygru
from anygru.backends.native_module import native

MANY = tuple(size for size in SIZES if size[1] > 1)
ONE = tuple(size for size in SIZES if size[1] == 1 and size[0] > 1 and size[3] >= 256)
TURNS = 30000
PER_TURN = {"float32": 24 * 32, "int8": 24 * 128}
"""Operations of one turn of a loop in registers."""
PASSES = {"float32": 1, "int8": 2}
"""How often a product is computed: int8 weights meet a row's upper and lower bytes."""
TILE_TURNS = 4000
ON_TILES = {
    "frozen bfloat16": (32, 2),
    "frozen int8": (64, 2),
    "float32, high": (32, 6),
    "module in bfloat16": (32, 1),
}
"""The depth of a tile product, and how often it is computed with other terms or bytes; see docs/kernels.md."""


def compiled(folder: str) -> ctypes.CDLL:
    target = str(Path(folder) / "units.so")
    source = str(Path(__file__).with_name("units.cpp"))
    subprocess.run(["c++", "-O2", "-march=native", "-shared", "-fPIC", source, "-o", target], check=True)
    units = ctypes.CDLL(target)
    for name, kind in (("multiply_adds", ctypes.c_long), ("byte_products", ctypes.c_long)):
        getattr(units, name).argtypes, getattr(units, name).restype = [kind], ctypes.c_double
    if hasattr(units, "tile_products"):
        units.tile_products.argtypes, units.tile_products.restype = [ctypes.c_long], ctypes.c_double
    units.reading.argtypes, units.reading.restype = [ctypes.c_void_p, ctypes.c_long], ctypes.c_double
    return units


def seconds(layer: anygru.FrozenGRU, input: torch.Tensor) -> float:
    start = time.perf_counter()
    layer(input)
    return time.perf_counter() - start


def products(units: ctypes.CDLL, weights: str, cell: tuple[int, int, int, int], total: float = 2.0) -> str:
    """Return a line of the table: operations per second of a layer, and their share of the speed in registers."""
    steps, batch, features, hidden = cell
    layer, input = anygru.GRU(features, hidden).freeze(weights), torch.randn(steps, batch, features)
    operations = 2.0 * steps * batch * 3 * hidden * (features + hidden)
    loop = units.multiply_adds if weights == "float32" else units.byte_products
    layer(input)
    taken, peaks, shares = [], [], []
    end = time.perf_counter() + total
    while time.perf_counter() < end:
        before, own, after = loop(TURNS), seconds(layer, input), loop(TURNS)
        peaks.append(TURNS * PER_TURN[weights] / PASSES[weights] / min(before, after))
        taken.append(own)
        shares.append(operations / own / peaks[-1])
    middle, peak = statistics.median(taken), statistics.median(peaks)
    share = 100 * statistics.median(shares)
    return f"| {weights} | {cell} | {middle * 1e3:.2f} | {operations / middle / 1e9:.0f} | {peak / 1e9:.0f} | {share:.0f} % |"


def on_tiles(units: ctypes.CDLL, kind: str, cell: tuple[int, int, int, int], total: float = 2.0) -> str:
    """Return a line: inference time of a layer on a matrix unit, and the share of its tile products in registers."""
    steps, batch, features, hidden = cell
    layer, input = anygru.GRU(features, hidden).eval(), torch.randn(steps, batch, features)
    if kind == "module in bfloat16":
        layer, input = layer.bfloat16(), input.bfloat16()
    elif kind != "float32, high":
        layer = layer.freeze(kind.removeprefix("frozen "))
    depth, times = ON_TILES[kind]
    count = steps * -(-batch // 16) * 3 * -(-hidden // 16) * (-(-features // depth) + -(-hidden // depth)) * times
    torch.set_float32_matmul_precision("high" if kind == "float32, high" else "highest")
    layer(input)
    taken, alone, shares = [], [], []
    end = time.perf_counter() + total
    while time.perf_counter() < end:
        before, own, after = units.tile_products(TILE_TURNS), seconds(layer, input), units.tile_products(TILE_TURNS)
        alone.append(min(before, after) / (6 * TILE_TURNS))
        taken.append(own)
        shares.append(count * alone[-1] / own)
    torch.set_float32_matmul_precision("highest")
    middle, each, share = (statistics.median(values) for values in (taken, alone, shares))
    return f"| {kind} | {cell} | {middle * 1e3:.2f} | {count:,} | {each * 1e9:.2f} | {100 * share:.0f} % |"


def walks(units: ctypes.CDLL, cell: tuple[int, int, int, int], total: float = 2.0) -> str:
    """Return a line: time of a layer for one sequence, and time to read its recurrent weights at each step."""
    steps, _, features, hidden = cell
    layer, input = anygru.GRU(features, hidden).freeze(), torch.randn(steps, 1, features)
    weights = torch.zeros(3 * hidden * hidden)
    layer(input)
    taken, shares, rates = [], [], []
    end = time.perf_counter() + total
    while time.perf_counter() < end:
        own = seconds(layer, input)
        once = min(units.reading(weights.data_ptr(), weights.nbytes) for _ in range(3)) / 2
        taken.append(own)
        rates.append(weights.nbytes / once)
        shares.append(steps * once / own)
    middle, rate, share = (statistics.median(values) for values in (taken, rates, shares))
    return f"| {cell} | {weights.nbytes >> 10} KiB | {middle * 1e3:.2f} | {rate / 1e9:.1f} | {100 * share:.0f} % |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).with_name("results"))
    where = parser.parse_args().folder
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        units = compiled(folder)
        lines = ["| weights | (T, B, I, H) | ms | GFLOP/s | in registers | share |", "| --- | --- |" + " ---: |" * 4]
        lines += [products(units, weights, cell) for weights in PER_TURN for cell in MANY]
        lines += ["", "| (T, B, I, H), float32 | recurrent weights | ms | reading them, GB/s | share of the time |"]
        lines += ["| --- |" + " ---: |" * 4, *(walks(units, cell) for cell in ONE)]
        if hasattr(units, "tile_products") and not native.why_no_tiles():
            lines += [
                "",
                "| on tiles | (T, B, I, H) | ms | products of tiles | in registers, ns each | share of the time |",
            ]
            lines += [
                "| --- | --- |" + " ---: |" * 4,
                *(on_tiles(units, kind, cell) for kind in ON_TILES for cell in MANY),
            ]
    facts = "\n".join(f"- {key}: {value}" for key, value in machine().items())
    text = f"# Limits of frozen layers, one thread\n\n{facts}\n\n" + "\n".join(lines) + "\n"
    (where / "frozen_limits.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
