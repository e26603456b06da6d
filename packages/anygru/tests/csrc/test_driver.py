"""The kernels outside Python: under sanitizers on this CPU, and for Arm in an emulator."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "csrc"
X86_VARIANTS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma"],
    "wide": ["-mavx2", "-mfma"],
    "avx512": ["-mavx512f", "-mavx512vl", "-mavx512dq", "-mavx512bw", "-mfma"],
}
X86_FROZEN = {
    **X86_VARIANTS,
    "avx_vnni": ["-mavx2", "-mfma", "-mavxvnni"],
    "avx512_vnni": [*X86_VARIANTS["avx512"], "-mavx512vnni"],
}
ARM_FROZEN = {"neon": [], "neon_dot": ["-march=armv8.2-a+dotprod"]}


def build(
    compiler: str, variants: dict[str, list[str]], frozen: dict[str, list[str]], flags: list[str], folder: Path
) -> Path:
    """Compiles driver, engine, variants and the kernels of frozen layers; returns the program."""
    common = ["-std=c++17", "-ffp-contract=off", "-Wno-psabi", f"-I{SOURCES}", *flags]
    units = [(SOURCES / f"{name}.cpp", []) for name in ("engine", "packing", "threads", "dispatch")]
    units += [(SOURCES / f"variant_{name}.cpp", own) for name, own in variants.items()]
    units += [(SOURCES / f"frozen_{name}.cpp", own) for name, own in frozen.items()]
    units.append((Path(__file__).with_name("driver.cpp"), []))

    def compile_one(unit: tuple[Path, list[str]]) -> str:
        source, own = unit
        target = str(folder / f"{source.stem}.o")
        subprocess.run([compiler, *common, *own, "-c", str(source), "-o", target], check=True)
        return target

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, units))
    program = folder / "driver"
    subprocess.run([compiler, *flags, *objects, "-o", str(program), "-pthread", "-ldl"], check=True)
    return program


def compiler_or_skip(name: str) -> str:
    found = shutil.which(name)
    if not found:
        pytest.skip(f"no {name} on this machine")
    return found


@pytest.mark.slow
def test_under_sanitizers(tmp_path: Path) -> None:
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the variants of this test are those of x86-64")
    flags = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = build(compiler_or_skip("g++"), X86_VARIANTS, X86_FROZEN, flags, tmp_path)
    result = subprocess.run([program], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "wide: ok" in result.stdout or "baseline: ok" in result.stdout


@pytest.mark.slow
def test_on_arm_in_an_emulator(tmp_path: Path) -> None:
    emulator = compiler_or_skip("qemu-aarch64")
    program = build(compiler_or_skip("aarch64-linux-gnu-g++"), {"neon": []}, ARM_FROZEN, ["-O1", "-static"], tmp_path)
    result = subprocess.run([emulator, program], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "neon: ok" in result.stdout
    assert "frozen neon_dot: ok" in result.stdout
