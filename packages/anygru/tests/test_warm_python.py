"""A process that `warm_python` gives ends, prints, warns and dies as one of real Python does."""

import os
import signal
import subprocess
import sys
import time

import pytest

REAL = sys.executable
PROGRAMS = {
    "code": ("-c", "import sys; print(sys.argv, __name__, sys.path[0] == '', sys.stdin.read())", "one"),
    "module": ("-m", "calendar", "--type", "text", "2000", "2"),
    "no such module": ("-m", "no_such_module"),
    "exception": ("-c", "raise ValueError('here')"),
    "text as status": ("-c", "import sys; sys.exit('over')"),
    "status": ("-c", "import os; os._exit(7)"),
    "status of exit": ("-c", "import atexit; atexit.register(print, 'at exit'); raise SystemExit(3)"),
    "signal": ("-c", "import os; os.kill(os.getpid(), 11)"),
    "warning": ("-W", "error", "-c", "import warnings; warnings.warn('here')"),
    "another option": ("-E", "-c", "import sys; print(sys.flags.ignore_environment)"),
    "variables and folder": ("-c", "import os; print(os.environ['GIVEN'], os.getcwd())"),
}


@pytest.mark.parametrize("arguments", PROGRAMS.values(), ids=PROGRAMS)
def test_it_ends_as_python_does(arguments, warm_python, tmp_path):
    found = []
    for python in (warm_python, REAL):
        done = subprocess.run(
            [python, *arguments],
            input="given",
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"GIVEN": "value"},
        )
        found.append((done.returncode, done.stdout, done.stderr.splitlines()[-1:]))
    assert found[0] == found[1]


def test_a_script_sees_torch_and_its_own_folder(warm_python, tmp_path):
    (tmp_path / "beside.py").write_text("answer = 42")
    (tmp_path / "script.py").write_text("import sys, beside\nprint(__file__, beside.answer, 'torch' in sys.modules)")
    command = [warm_python, str(tmp_path / "script.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert printed == [str(tmp_path / "script.py"), "42", str(hasattr(os, "pidfd_open"))]


def test_other_variables_for_the_start_are_heeded(warm_python):
    code = "import sys; print(sys.flags.optimize, 'torch' in sys.modules)"
    environment = os.environ | {"PYTHONOPTIMIZE": "2"}
    done = subprocess.run([warm_python, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "2 False\n"


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
def test_who_kills_the_command_kills_the_program(warm_python):
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    with subprocess.Popen([warm_python, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        program = int(process.stdout.readline())
        assert program != process.pid
        process.send_signal(signal.SIGKILL)
    until = time.monotonic() + 60
    while is_running(program) and time.monotonic() < until:
        time.sleep(0.02)
    assert not is_running(program)
