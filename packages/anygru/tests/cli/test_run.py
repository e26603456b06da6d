"""`anygru run`: the command line itself. The tests of the dialects' runner cover the scripts' environment."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from helpers import needs_dialects

from anygru.cli import main

ANYGRU = [sys.executable, "-m", "anygru"]


def run(*arguments, python=(), **options):
    return subprocess.run(
        [sys.executable, *python, "-m", "anygru", "run", *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        **options,
    )


@pytest.fixture
def program(tmp_path):
    def write(code, name="program.py"):
        (tmp_path / name).write_text(textwrap.dedent(code))
        return str(tmp_path / name)

    return write


def test_everything_after_the_script_is_its_own(program, tmp_path):
    script = program("import sys; print(sys.argv[1:], sys.path[0], __name__); sys.exit(3)")
    arguments = ["-m", "x", "--accelerate", "--help", "--", "--lr=0.1"]
    done = run(script, *arguments)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout == f"{arguments} {tmp_path} __main__\n"


def test_a_module_runs_as_with_python_m(program, tmp_path):
    program("import sys; print(sys.argv[1:], __name__, __spec__.name); raise SystemExit('stopped')", "job.py")
    done = run("-m", "job", "--accelerate", "-m", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "['--accelerate', '-m'] __main__ job\n", "stopped\n")


def test_flags_of_the_interpreter_are_passed_on(program):
    script = program("import sys, warnings; print(sys.flags.optimize, warnings.filters[0][0])")
    assert run(script, python=("-O", "-W", "error")).stdout == "1 error\n"


def test_the_script_is_the_process_that_was_started(program):
    """A signal sent to `anygru run` reaches the script; by its exit one sees plain Python."""
    script = program(
        """
        import signal, sys, time
        signal.signal(signal.SIGUSR1, lambda *_: sys.exit(5))
        print("ready", flush=True)
        while True:  # a signal that comes right before a sleep is seen after it
            time.sleep(0.1)
        """
    )
    for number, status in ((signal.SIGUSR1, 5), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, -signal.SIGINT)):
        with subprocess.Popen(
            [*ANYGRU, "run", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(
                signal.SIGINT, signal.default_int_handler
            ),  # ignored by jobs in the background
        ) as process:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(number)
            _, errors = process.communicate(timeout=600)
        assert process.returncode == status
        assert ("KeyboardInterrupt" in errors) == (number == signal.SIGINT)
        assert "anygru" not in errors


def test_accelerate_is_handed_to_every_process(program):
    script = program(
        "import os, subprocess, sys\n"
        "print(os.environ['ANYGRU_ACCELERATE'], flush=True)\n"
        "subprocess.run([sys.executable, '-c', 'import os; print(os.environ[\"ANYGRU_ACCELERATE\"])'])\n"
    )
    assert run("--accelerate", script).stdout == "1\n1\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give a script, or -m and a module"),
        (["-m"], "-m needs the name of a module"),
        (["--no-such-option"], "--no-such-option"),
    ],
)
def test_bad_use(arguments, words, capsys):
    assert main(["run", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["-E", "-I"])
def test_a_python_that_ignores_pythonpath_is_refused(flag, program):
    done = run(program("print(1)"), python=(flag,))
    assert done.returncode == 2
    assert "start Python without -E, -I and -S" in done.stderr


def test_a_missing_script_ends_as_under_python(tmp_path):
    done = run(os.fspath(tmp_path / "none.py"))
    assert done.returncode == 2
    assert "can't open file" in done.stderr


@needs_dialects("paddle")
def test_a_file_called_anygru_beside_the_script_is_not_taken_for_the_package(program, tmp_path):
    program("raise SystemExit('the file beside the script')", "anygru.py")
    script = program("import paddle, anygru; print(paddle.ones([2]).sum().item(), anygru.GRU.__name__)")
    done = run(script, cwd="/", env=os.environ | {"ANYGRU_NUMPY_NOTE": "0"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "2.0 GRU\n", "")
