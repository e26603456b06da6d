"""Wrong arguments of native calls are refused, and no call leaves its memory; see `malformed_calls.py`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import anygru
from anygru.backends.cpu_calls import native

PROGRAM = Path(__file__).with_name("malformed_calls.py")
PACKAGE = Path(__file__).parents[2]
SANITIZED_SET = os.environ.get("ANYGRU_SANITIZED_SET", "")
"""Kernels that are built with sanitizers, in addition to the kernels of every processor, such as avx512."""
pytestmark = pytest.mark.skipif(sys.platform != "linux" or native is None, reason="needs Linux and the native module")


def run(calls: int, **environment: str) -> str:
    return run_python(str(PROGRAM), str(calls), **environment)


def run_python(*arguments: str, **environment: str) -> str:
    found = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "2", **environment},
    )
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr[-3000:]
    return found.stdout


def test_calls_with_wrong_arguments_are_refused() -> None:
    words = run(2000).split()
    assert words[:2] == ["2000", "calls:"]
    assert 200 < int(words[2]) < 1800, "some are refused and some are not"


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with anygru and a native module that is built with sanitizers."""
    pytest.importorskip("nanobind")
    for tool in ("cmake", "g++"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool} on this machine")
    build, site = tmp_path_factory.mktemp("build"), tmp_path_factory.mktemp("site")
    where = subprocess.run(
        [sys.executable, "-m", "nanobind", "--cmake_dir"], capture_output=True, text=True, check=True
    )
    options = {
        "ANYGRU_SANITIZE": "ON",
        "CMAKE_BUILD_TYPE": "Debug",
        "CMAKE_CXX_COMPILER": "g++",
        "Python_EXECUTABLE": sys.executable,
        "nanobind_DIR": where.stdout.strip(),
    }
    if SANITIZED_SET:
        rows = (PACKAGE / "csrc/variants_x86.def").read_text().splitlines()
        kept = [row for row in rows if row.startswith((f"ANYGRU_SET({SANITIZED_SET},", "ANYGRU_SET(baseline,"))]
        assert len(kept) == 2, "no such set of kernels"
        options["ANYGRU_SETS"] = str(build / "sets.def")
        (build / "sets.def").write_text("\n".join(kept) + "\n")
    configured = [
        "cmake",
        "-S",
        str(PACKAGE),
        "-B",
        str(build),
        *(f"-D{name}={value}" for name, value in options.items()),
    ]
    for command in (configured, ["cmake", "--build", str(build), "--parallel", "2"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    shutil.copytree(PACKAGE / "src" / "anygru", site / "anygru", ignore=shutil.ignore_patterns("_native*.so"))
    (module,) = build.glob("_native*.so")
    shutil.copy(module, site / "anygru")
    return site


def of_sanitizers(site: Path) -> dict[str, str]:
    """The environment for Python with the sanitized module."""
    libraries = [
        subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libstdc++.so")  # the dynamic linker needs the second when the first starts
    ]
    return {
        "PYTHONPATH": str(site),
        "LD_PRELOAD": " ".join(libraries),
        # Python leaks; a failed allocation is a MemoryError
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


@pytest.mark.slow
def test_sanitizers_find_nothing_in_calls_with_wrong_arguments(sanitized: Path) -> None:
    run(20_000, **of_sanitizers(sanitized))


@pytest.mark.slow
def test_sanitizers_find_nothing_in_wrong_arguments_of_the_dialects(sanitized: Path) -> None:
    """Every recurrent entry of all dialects; torch's own kernels are not instrumented, and must not be reached."""
    program = Path(__file__).parents[4] / "tests" / "test_recurrent_arguments.py"
    if not program.exists():
        pytest.skip("needs the repository")
    run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", str(program), **of_sanitizers(sanitized))


def test_a_batch_of_no_sequences_ends_at_once() -> None:
    input = torch.zeros(1 << 50, 0, 3)
    output, h_n = anygru.functional.gru(input, None, list(anygru.GRU(3, 4).parameters()), backend="cpu")
    assert output.shape == (1 << 50, 0, 4)
    assert h_n.shape == (1, 0, 4)


def test_a_random_state_of_zeros_gives_no_normal_numbers() -> None:
    state, out = torch.zeros(312, dtype=torch.int64), torch.ones(4)
    given = [(one.data_ptr(), one.nbytes) for one in (state, out)]
    with pytest.raises(ValueError, match="a state of zeros gives no normal numbers"):
        native.mersenne(given[0], 312, given[1], 4, "normal32")
    native.mersenne(given[0], 312, given[1], 4, "uniform32")
    assert out.tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"rows": 10**30}, ValueError, "rows does not fit in 64 bits"),
        ({"rows": "3"}, TypeError, "rows must be a whole number, got str"),
        ({"kind": None}, ValueError, "kind is missing"),
        ({"kind": 3}, TypeError, "kind must be a Kind, got int"),
        ({"input": (-8, 0)}, ValueError, "input has a negative address"),
        ({"hidden": (1 << 63) - 1}, ValueError, "hidden is too large to address"),
    ],
    ids=str,
)
def test_refusals_name_the_argument(wrong: dict[str, object], error: type[Exception], words: str) -> None:
    kind = native.Kind(False, True, False, False)
    good: Any = {"itemsize": 4, "rows": 0, "input_size": 3, "hidden": 2, "kind": kind, "adds": False, "threads": 1}
    good |= dict.fromkeys(("gates", "previous", "input"), (0, 0))
    native.gradients(good)
    with pytest.raises(error, match=words):
        native.gradients(good | wrong)
