"""The page that tells what the tests did with each torch."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def versions() -> ModuleType:
    spec = importlib.util.spec_from_file_location("versions", ROOT / "docs/versions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TESTS = """
import pytest
def test_passes(): pass
@pytest.mark.parametrize("case", range(3))
def test_skips(case): pytest.skip("no such | kernel")
"""
WHOLE_FILE = "import pytest; pytest.importorskip('no_such_package')"


def report(folder: Path, torch: str, files: dict[str, str]) -> Path:
    """What pytest reports of some files."""
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    found = folder / f"{torch}.xml"
    options = [f"--junitxml={found}", "-o", f"junit_suite_name=torch {torch}, NumPy 2.2.6, Python 3.11"]
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", folder, *options, folder]
    subprocess.run(command, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, capture_output=True)
    return found


def test_reasons_are_counted(versions: ModuleType, tmp_path: Path) -> None:
    new = report(tmp_path, "2.10.0", {"some": TESTS})
    old = report(tmp_path, "2.4.1", {"some": TESTS, "file": WHOLE_FILE})
    lines = versions.page([versions.read(new), versions.read(old)]).splitlines()
    assert lines[-7:] == [
        "| --- | ---: | ---: |",
        "| NumPy | 2.2.6 | 2.2.6 |",
        "| Python | 3.11 | 3.11 |",
        "| **passed** | **1** | **1** |",
        "| **skipped** | **4** | **3** |",
        "| could not import 'no_such_package': No module named 'no_such_package' | 1 | 0 |",
        "| no such \\| kernel | 3 | 3 |",
    ]
    assert lines[-8] == "| torch | 2.4.1 | 2.10.0 |"


def test_a_run_that_fails_makes_no_page(versions: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"2\.4\.1\.xml: 1 tests failed"):
        versions.read(report(tmp_path, "2.4.1", {"some": TESTS + "def test_fails(): assert 0"}))


def test_the_versions_of_this_environment(versions: ModuleType) -> None:
    assert re.fullmatch(r"torch [\d.]+, NumPy [\d.]+, Python 3\.\d+", versions.here())
