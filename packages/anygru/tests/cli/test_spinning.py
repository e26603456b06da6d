"""The commands that train bound the busy waiting of OpenMP's threads, unless the user has set it."""

import os
import subprocess
import sys

import pytest

from anygru.cli.spinning import SET_BY_USER, bounded

SHOW = "import os; print(os.environ.get('GOMP_SPINCOUNT'), os.environ.get('OMP_WAIT_POLICY'))"


def output(*command, **variables):
    environment = {name: value for name, value in os.environ.items() if name not in SET_BY_USER} | variables
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", SET_BY_USER)
def test_what_the_user_sets_stays(name):
    given = {name: "7", "PATH": "/"}
    assert bounded(given) == given


def test_a_program_under_run_has_the_bound(tmp_path):
    (tmp_path / "program.py").write_text(SHOW)
    run = ("-m", "anygru", "run", tmp_path / "program.py")
    assert output(*run) == "10000 None\n"
    assert output(*run, OMP_WAIT_POLICY="active") == "None active\n"
    assert output(tmp_path / "program.py") == "None None\n"
