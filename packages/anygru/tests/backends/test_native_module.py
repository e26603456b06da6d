"""Where the native module cannot work, an ImportError says why, and calls fall back to torch."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import anygru
from anygru.backends import native_module
from anygru.backends.cpu_calls import native

SUB_INTERPRETER = """
import importlib, sys
import torch, anygru
try:
    interpreters = importlib.import_module("_interpreters")
except ImportError:
    interpreters = importlib.import_module("_xxsubinterpreters")
layer, input = anygru.GRU(3, 4), torch.randn(5, 2, 3)
expected, _ = layer(input)
# Torch and NumPy cannot be imported there once more, so the parts of anygru that need them are left out.
program = '''
import importlib.util, sys, types
package = types.ModuleType("anygru.backends")
package.__path__ = [%r]
sys.modules["anygru.backends"] = package
try:
    import anygru.backends.native_module
except ImportError as error:
    print(error)
'''
interpreters.run_string(interpreters.create(), program % anygru.backends.__path__[0])
sys.stdout.flush()
assert torch.equal(layer(input)[0], expected)
print("the main one still computes")
"""


@pytest.mark.skipif(native is None, reason="needs the native module")
def test_a_sub_interpreter_gets_an_error_and_the_main_one_keeps_its_types() -> None:
    done = subprocess.run([sys.executable, "-c", SUB_INTERPRETER], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "this is a sub-interpreter, and it works in the main interpreter of a process only" in done.stdout
    assert "the main one still computes" in done.stdout


def test_a_build_for_another_python_is_named(tmp_path: Path) -> None:
    error = ModuleNotFoundError("No module named 'anygru._native'")
    assert native_module._reason(error, tmp_path) == "No module named 'anygru._native'"
    (tmp_path / "_native.cpython-36m-x86_64-linux-gnu.so").touch()
    (tmp_path / "_native.pyi").touch()
    found = native_module._reason(error, tmp_path)
    assert found == "it was built for another Python: _native.cpython-36m-x86_64-linux-gnu.so"
    assert native_module._reason(ImportError("undefined symbol"), tmp_path) == "undefined symbol"


def test_the_first_call_names_a_build_for_another_python(tmp_path: Path) -> None:
    source = Path(anygru.__file__).parent
    shutil.copytree(source, tmp_path / "anygru", ignore=shutil.ignore_patterns("_native*.so", "_native*.pyd"))
    (tmp_path / "anygru/_native.cpython-36m-x86_64-linux-gnu.so").touch()
    program = "import anygru, torch; print(anygru.__file__, anygru.GRU(3, 4)(torch.randn(2, 1, 3))[0].shape)"
    # Without site no editable installation comes before the copy.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path / 'anygru/__init__.py'} torch.Size([2, 1, 4])\n"
    assert done.stderr.count("it was built for another Python: _native.cpython-36m-x86_64-linux-gnu.so") == 1
