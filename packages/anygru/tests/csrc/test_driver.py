"""The kernels outside Python: under sanitizers on this CPU, and for Arm in an emulator."""

import os
import platform
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "csrc"
Flags = dict[str, list[str]]


def sets(processor: str) -> tuple[Flags, Flags]:
    """The variants and the kernels of frozen layers by name, with their compiler flags: see csrc/variants_x86.def."""
    rows = re.findall(
        r'^ANYGRU_(FROZEN_)?SET\((\w+),.*"([^"]*)"\)$',
        (SOURCES / f"variants_{processor}.def").read_text(),
        re.MULTILINE,
    )
    frozen = {name: flags.split() for _, name, flags in rows}
    return {name: frozen[name] for only_frozen, name, _ in rows if not only_frozen}, frozen


def build(compiler: str, processor: str, flags: list[str], folder: Path) -> Path:
    """Compiles driver, engine, variants and the kernels of frozen layers; returns the program."""
    flags = [*flags, f'-DANYGRU_SETS="variants_{processor}.def"']
    common = ["-std=c++17", "-ffp-contract=off", "-Wno-psabi", f"-I{SOURCES}", *flags]
    variants, frozen = sets(processor)
    units = [(SOURCES / f"{name}.cpp", []) for name in ("engine", "packing", "dispatch")]
    renamed = ["-Dthread_costs=measured_costs", "-Dcrowded=measured_crowd"]  # see sharing.cpp
    units.append((SOURCES / "threads.cpp", renamed))
    units += [(SOURCES / f"variant_{name}.cpp", own) for name, own in variants.items()]
    units += [(SOURCES / f"frozen_{name}.cpp", own) for name, own in frozen.items()]
    units += [(Path(__file__).with_name(f"{name}.cpp"), []) for name in ("driver", "sharing")]

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


@pytest.mark.parametrize("processor", ["x86", "arm", "other"])
def test_every_instruction_set_has_its_files_and_no_file_is_left_out(processor: str) -> None:
    variants, frozen = sets(processor)
    assert "baseline" in frozen or "neon" in frozen
    for kind, names in (("variant", variants), ("frozen", frozen)):
        assert all((SOURCES / f"{kind}_{name}.cpp").is_file() for name in names)
        known = {name for each in ("x86", "arm", "other") for name in sets(each)[kind == "frozen"]}
        assert known == {path.stem.removeprefix(f"{kind}_") for path in SOURCES.glob(f"{kind}_*.cpp")}
    text = (SOURCES / f"variants_{processor}.def").read_text()
    rows = [line for line in text.splitlines() if line and not line.startswith(("//", "#"))]
    assert len(rows) == len(frozen), "each row is one line that the pattern reads"


def test_threads_share_rows_where_both_ways_take_as_long(tmp_path: Path) -> None:
    """Threads that share units wait for one another at every step."""
    program = tmp_path / "plan"
    sources = [str(Path(__file__).with_name("plan.cpp")), str(SOURCES / "threads.cpp")]
    flags = ["-std=c++17", f"-I{SOURCES}", "-pthread", "-ldl"]
    subprocess.run([compiler_or_skip("g++"), *sources, *flags, "-o", str(program)], check=True)

    def division(*sizes: int, exchange: int = 250, weight: int = 4) -> str:
        numbers = map(str, (*sizes, exchange, weight))
        return subprocess.run([program, *numbers], capture_output=True, text=True, check=True).stdout.strip()

    assert division(32, 64, 128, 2) == "2 x 1"
    assert division(64, 512, 512, 2) == "2 x 1"
    assert division(32, 1024, 1024, 2) == "1 x 2", "large weights are read once"
    assert division(8, 128, 256, 2) == "1 x 2", "one tile of rows cannot be shared"
    assert division(16, 128, 256, 4) == "2 x 2"
    assert division(1, 8, 16, 4) == "1 x 1"
    # Two cores of an AMD Zen 4 hand over a state in 90 or in 310 ns, as the host has placed them.
    for exchange, weight, small, large in (
        (90, 4, "1 x 2", "1 x 2"),
        (310, 4, "1 x 1", "1 x 2"),
        (90, 1, "1 x 1", "1 x 2"),
    ):
        assert division(1, 64, 64, 2, exchange=exchange, weight=weight) == small
        assert division(1, 128, 256, 2, exchange=exchange, weight=weight) == large
    assert division(1, 128, 256, 2, exchange=310, weight=1) == "1 x 1", "int8 reads less in the same time"
    assert division(1, 64, 128, 2, exchange=310) == "1 x 1"
    first, again = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    region, exchange = map(float, first.split())
    assert region > 0
    assert 1 < exchange < 5000, "longer waits are a crowd"
    assert first == again, "kept for a second"


@pytest.mark.slow
def test_under_sanitizers(tmp_path: Path) -> None:
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the variants of this test are those of x86-64")
    flags = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = build(compiler_or_skip("g++"), "x86", flags, tmp_path)
    result = subprocess.run([program], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "wide: ok" in result.stdout or "baseline: ok" in result.stdout


@pytest.mark.slow
def test_threads_that_share_a_call_do_not_race(tmp_path: Path) -> None:
    """With the kernels that every processor has: the threads meet in the same places in all of them."""
    program = build(compiler_or_skip("g++"), "other", ["-O1", "-g", "-fsanitize=thread"], tmp_path)
    result = subprocess.run([program, "sharing"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
def test_tiles_have_the_bits_of_their_formula(tmp_path: Path) -> None:
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("the tiles of this test are those of x86-64")
    program = tmp_path / "tiles"
    flags = ["-std=c++17", "-O1", "-ffp-contract=off", "-mavx2", "-mfma", "-mamx-tile", "-mamx-bf16", "-mamx-int8"]
    source = str(Path(__file__).with_name("tiles.cpp"))
    command = [compiler_or_skip("g++"), *flags, "-Wno-psabi", f"-I{SOURCES}", source, "-o", str(program)]
    subprocess.run(command, check=True)
    result = subprocess.run([program], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "tiles in memory: compared" in result.stdout


@pytest.mark.slow
def test_on_arm_in_an_emulator(tmp_path: Path) -> None:
    emulator = compiler_or_skip("qemu-aarch64")
    program = build(compiler_or_skip("aarch64-linux-gnu-g++"), "arm", ["-O1", "-static"], tmp_path)
    result = subprocess.run([emulator, "-cpu", "max", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "neon: ok" in result.stdout
    assert "frozen neon_dot: ok" in result.stdout
    assert "frozen neon_mmla: ok" in result.stdout
