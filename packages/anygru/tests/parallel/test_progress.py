"""The step that a worker has reported is in its launcher's verdict."""

import os
import subprocess
import sys

import pytest

from anygru import parallel
from anygru.errors import ArgumentTypeError

JOB = """
import os, signal, sys
from anygru import parallel
for step in range(813):
    parallel.report_step(step)
if sys.argv[1] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "child":  # which is no worker, though it has the worker's variables
    import subprocess
    subprocess.run([sys.executable, "-c", "from anygru import parallel; parallel.report_step(5)"], check=True)
sys.exit(7)
"""


@pytest.mark.usefixtures("warm_python")
@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "words", "status"),
    [
        ("kill", "was killed by signal 9 (SIGKILL) at step 812", 137),
        ("child", "ended with exit status 7 at step 812", 7),
    ],
)
def test_a_verdict_names_the_step(how, words, status, tmp_path):
    (tmp_path / "job.py").write_text(JOB)
    command = [sys.executable, "-m", "anygru", "launch", "--nproc-per-node", "1", str(tmp_path / "job.py"), how]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=240, check=False, env=environment)
    assert done.stderr.splitlines()[-1].endswith(words)
    assert done.returncode == status


def test_without_a_launcher_nothing_is_told():
    parallel.report_step(3)
    with pytest.raises(ArgumentTypeError, match="step must be a whole number, got float"):
        parallel.report_step(1.0)
