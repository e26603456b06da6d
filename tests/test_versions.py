"""The page with the test results for each version of torch."""

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


def report(folder: Path, torch: str, files: dict[str, str], installed: str = "anygru clone, core 0a") -> Path:
    """A report of pytest for some files."""
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    found = folder / f"{torch}.xml"
    suite = f"torch {torch}, NumPy 2.2.6, Python 3.11, {installed}"
    options = [f"--junitxml={found}", "-o", f"junit_suite_name={suite}"]
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", folder, *options, folder]
    subprocess.run(command, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, capture_output=True)
    return found


def test_reasons_are_counted(versions: ModuleType, tmp_path: Path) -> None:
    new = report(tmp_path, "2.10.0", {"some": TESTS})
    old = report(tmp_path, "2.4.1", {"some": TESTS, "file": WHOLE_FILE})
    (tmp_path / "test_file.py").unlink()
    wheel = report(tmp_path, "2.4.0", {"some": TESTS}, "anygru wheel, core 0a")
    text = versions.page([versions.read(wheel), versions.read(new), versions.read(old)])
    assert "begins with 0a)" in text
    assert text.splitlines()[-9:] == [
        "| torch | 2.4.1 | 2.10.0 | 2.4.0 |",
        "| --- | ---: | ---: | ---: |",
        "| NumPy | 2.2.6 | 2.2.6 | 2.2.6 |",
        "| Python | 3.11 | 3.11 | 3.11 |",
        "| anygru | clone | clone | wheel |",
        "| **passed** | **1** | **1** | **1** |",
        "| **skipped** | **4** | **3** | **3** |",
        "| could not import 'no_such_package': No module named 'no_such_package' | 1 | 0 | 0 |",
        "| no such \\| kernel | 3 | 3 | 3 |",
    ]


def test_runs_of_two_states_make_no_page(versions: ModuleType, tmp_path: Path) -> None:
    reports = [report(tmp_path, f"2.{number}", {"some": TESTS}, f"anygru clone, core {number}a") for number in (6, 8)]
    with pytest.raises(ValueError, match="several states of the core: 6a, 8a"):
        versions.page([versions.read(each) for each in reports])


def test_a_run_that_fails_makes_no_page(versions: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"2\.4\.1\.xml: 1 tests failed"):
        versions.read(report(tmp_path, "2.4.1", {"some": TESTS + "def test_fails(): assert 0"}))


def test_the_versions_of_this_environment(versions: ModuleType) -> None:
    expected = r"torch [\d.]+, NumPy [\d.]+, Python 3\.\d+, anygru (clone|wheel), core 0a"
    assert re.fullmatch(expected, versions.here("0a"))


def test_the_state_of_the_core_is_what_git_has(versions: ModuleType) -> None:
    assert re.fullmatch(r"[0-9a-f]{12,}", versions.core())


def test_the_table_of_limits_has_the_versions_that_run() -> None:
    """Of torch: the lowest of the core, the versions of the CI job, and of `constraints.txt`."""
    table = re.findall(r"^\| (2\.[\d., ]+) \|", (ROOT / "docs/install.md").read_text(), re.MULTILINE)
    run = re.findall(r"torch: \"([\d.]+)\"", (ROOT / ".github/workflows/tests.yml").read_text())
    run += re.findall(r"^torch==([\d.]+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    run += re.findall(r'"torch>=([\d.]+)"', (ROOT / "packages/anygru/pyproject.toml").read_text())
    assert sorted(", ".join(table).split(", ")) == sorted({".".join(each.split(".")[:2]) for each in run})
