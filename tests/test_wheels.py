"""The files in wheels, and the behaviour of a fresh environment that installs them."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

import anygru

ROOT = Path(__file__).resolve().parent.parent
PURE = sorted(path.parent for path in ROOT.glob("packages/anygru-*/pyproject.toml"))
"""The packages without compiled code."""
faults = runpy.run_path(str(ROOT / ".ci/wheel_contents.py"))["faults"]


def build(package: Path, folder: Path) -> Path:
    """Build the wheel of a pure package with the hook that pip calls (PEP 517)."""
    call = "import sys, hatchling.build; print(hatchling.build.build_wheel(sys.argv[1]))"
    command = [sys.executable, "-c", call, str(folder)]
    return folder / subprocess.run(command, cwd=package, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("package", PURE, ids=lambda path: path.name)
def test_a_wheel_of_a_pure_package_is_whole(package: Path, tmp_path: Path) -> None:
    wheel = build(package, tmp_path)
    assert faults(wheel) == []
    name = package.name.replace("-", "_")
    with zipfile.ZipFile(wheel) as archive:
        held = {each for each in archive.namelist() if each.startswith(f"{name}/")}
        metadata = HeaderParser().parsestr(archive.read(f"{name}-{anygru.__version__}.dist-info/METADATA").decode())
    tracked = subprocess.run(["git", "ls-files", "src"], cwd=package, capture_output=True, text=True, check=True).stdout
    assert held == {each.removeprefix("src/") for each in tracked.split()}
    assert wheel.name == f"{name}-{anygru.__version__}-py3-none-any.whl"
    assert (metadata["Name"], metadata["Version"]) == (package.name, anygru.__version__)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert "anygru<0.2,>=0.1" in metadata.get_all("Requires-Dist")


@pytest.mark.slow
def test_a_stranger_installs_from_a_folder_of_wheels(tmp_path: Path) -> None:
    """The folder is made here, unless ANYGRU_WHEELS names one. The script fails where 60 seconds are too few for a table."""
    folder = os.environ.get("ANYGRU_WHEELS")
    if folder is None:
        folder = str(tmp_path / "dist")
        packages = [str(ROOT / "packages/anygru"), *map(str, PURE)]
        subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, *packages], check=True)
    assert [fault for wheel in Path(folder).glob("*.whl") for fault in faults(wheel)] == []
    done = subprocess.run([ROOT / ".ci/from_folder", folder, sys.executable], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6.0 mxnet" in done.stdout
    assert "usage: anygru" in done.stdout


CMAKE = """
cmake_minimum_required(VERSION 3.20)
project(kernels LANGUAGES NONE)
include("@/csrc/kernels.cmake")
message(STATUS "sources: ${ANYGRU_KERNEL_SOURCES}")
"""


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake (Debian package cmake)")
def test_wheels_lack_the_kernels_that_only_tests_name(tmp_path: Path) -> None:
    """CMake with the options that pyproject.toml has for a wheel; test_native_module.py asks the module of a wheel."""
    core = ROOT / "packages/anygru"
    override = re.search(r'^if.state = "wheel"$(.*?)^\[', (core / "pyproject.toml").read_text(), re.M | re.S)[1]
    defined = [f"-D{name}={value}" for name, value in re.findall(r'^cmake\.define\.(\w+) = "(\w+)"$', override, re.M)]
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.replace("@", core.as_posix()))

    def sources(build: str, *options: str) -> set[str]:
        command = [
            "cmake",
            "-S",
            tmp_path,
            "-B",
            tmp_path / build,
            f"-DANYGRU_SETS={core}/csrc/variants_x86.def",
            *options,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return {Path(each).stem for each in re.search(r"sources: (.*)", done.stdout)[1].split(";")}

    assert sources("clone") - sources("wheel", *defined) == {"variant_wide", "frozen_wide", "frozen_tiles"}


GOOD = {
    "anygru/_native.abi3.so": "",
    "anygru/py.typed": "",
    "anygru/cli/__init__.py": "",
    "anygru-0.1.0.dist-info/entry_points.txt": "[console_scripts]\nanygru = anygru.cli:main\n",
    **{f"anygru-0.1.0.dist-info/licenses/{name}": "" for name in ("LICENSE", "x/nanobind.txt", "x/robin_map.txt")},
    "anygru-0.1.0.dist-info/sboms/sbom.cdx.json": json.dumps(
        {"bomFormat": "CycloneDX", "components": [{"name": "nanobind"}, {"name": "robin_map"}]}
    ),
}


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({}, None),
        ({"anygru/_native.abi3.so": None}, "no native module"),
        ({"anygru/csrc/call.hpp": ""}, "it has anygru/csrc/call.hpp"),
        ({"tests/test_call.py": ""}, "it has tests/test_call.py"),
        ({"anygru/py.typed": None}, "it lacks anygru/py.typed"),
        ({"anygru/cli/__init__.py": None}, "an entry point names anygru.cli, which it lacks"),
        ({"anygru-0.1.0.dist-info/licenses/x/nanobind.txt": None}, "lacks the licence nanobind.txt"),
        ({"anygru-0.1.0.dist-info/sboms/sbom.cdx.json": None}, "bill of materials names []"),
        ({"anygru/large.bin": "x" * 3_000_001}, "more than 3000000"),
    ],
)
def test_a_wheel_that_must_not_be_published_is_seen(changed, fault, tmp_path) -> None:
    wheel = tmp_path / "anygru-0.1.0-cp312-abi3-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in {**GOOD, **changed}.items():
            if text is not None:
                archive.writestr(name, text)
    found = faults(wheel)
    assert len(found) == (fault is not None)
    assert fault is None or fault in found[0]
