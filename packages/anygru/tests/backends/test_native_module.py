"""Where the native module cannot work, an ImportError gives the reason, and calls fall back to torch."""

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
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


_URL = json.loads(metadata.distribution("anygru").read_text("direct_url.json") or "{}")
EDITABLE = _URL.get("dir_info", {}).get("editable", False)


@pytest.mark.skipif(native is None or EDITABLE, reason="asks the native module of a wheel")
def test_a_wheel_lacks_the_kernels_that_only_tests_name() -> None:
    assert {"wide", "tiles"} & {*native.variants(), *native.frozen_variants()} == set()


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


REFUSED = """
import ctypes, errno, functools, struct
from torch import set_float32_matmul_precision, zeros

# A filter of system calls, as containers have them: arch_prctl(ARCH_REQ_XCOMP_PERM, ...) fails with EPERM.
load, equal, result = 0x20, 0x15, 0x06
program = b"".join(struct.pack("HBBI", *line) for line in (
    (load, 0, 0, 0), (equal, 0, 3, 158), (load, 0, 0, 16), (equal, 0, 1, 0x1023),
    (result, 0, 0, 0x00050000 | errno.EPERM), (result, 0, 0, 0x7FFF0000),
))
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("program", ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
if libc.prctl(22, 2, ctypes.byref(Filter(len(program) // 8, program)), 0, 0) != 0:  # PR_SET_SECCOMP
    raise SystemExit(77)

import anygru
from anygru import _native as native
from anygru.backends import cpu_calls

assert native.isa() != "amx" and "amx" not in native.frozen_variants()
try:
    native.use("amx")
except ValueError as error:
    print(error)
cpu_calls.native = type("Module", (), vars(native) | {"why_no_tiles": functools.partial(native.why_no_tiles, True)})
set_float32_matmul_precision("high")
layer, input = anygru.GRU(3, 4), zeros(5, 2, 3)
print(anygru.explain(layer, input))
layer(input)[0].sum().backward()
print(layer.freeze("bfloat16")(input)[0].shape)
"""


@pytest.mark.skipif(native is None or "avx2" not in native.variants(), reason="needs the kernels of x86-64")
@pytest.mark.skipif(sys.platform != "linux", reason="arch_prctl is a call of Linux")
def test_where_the_system_refuses_the_registers_of_amx_the_next_kernels_compute_and_explain_says_so() -> None:
    done = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, timeout=600)
    if done.returncode == 77:
        pytest.skip("this system lets no process filter its calls")
    assert done.returncode == 0, done.stderr
    assert "must be one of avx" in done.stdout
    assert "got amx" in done.stdout
    words = "the system refuses the registers of AMX (arch_prctl: Operation not permitted)"
    assert f"computes this call, with products of float32, though less exact ones are allowed ({words})" in done.stdout
    assert "torch.Size([5, 2, 4])" in done.stdout
