"""Threads on cores that other programs use."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("anygru._native", reason="anygru was installed without its native kernels")
PROGRAM = """
import os, time, torch, anygru
from anygru.backends.cpu_calls import native
if native.thread_pool() != "openmp":
    raise SystemExit("no OpenMP")
torch.set_num_threads(2)
gru, input, cores = anygru.GRU(64, 128), torch.randn(100, 16, 64), os.sched_getaffinity(0)

def tasks():
    return {int(name) for name in os.listdir("/proc/self/task")}

def move(to):
    for task in tasks():
        os.sched_setaffinity(task, to)

torch.set_grad_enabled(False)
torch.rand(1 << 22).exp_()
alone = tasks()  # torch's team is among them
move({min(cores)})  # each thread of the team takes the core from the other
end = time.monotonic() + 5
while tasks() <= alone and time.monotonic() < end:
    gru(input)
print("sleepers" if len(tasks()) > len(alone) else "none")
move(cores)
end = time.monotonic() + 10
while tasks() > alone and time.monotonic() < end:
    time.sleep(0.05)
print("stay" if tasks() > alone else "gone")
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs the scheduler of Linux")
@pytest.mark.parametrize("policy", [None, "passive"])
def test_openmps_threads_sleep_at_once_in_a_crowd(policy: str | None) -> None:
    """A sleeping team is added until the crowd is gone: threads of GCC's library sleep where they are more than the cores."""
    chosen = {"OMP_WAIT_POLICY": policy} if policy else {}
    names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    environment = {name: value for name, value in os.environ.items() if name not in names} | chosen
    output = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    if "no OpenMP" in output.stderr:
        pytest.skip("torch of this installation has no OpenMP")
    assert output.stdout.split() == ["none" if policy else "sleepers", "gone"], output.stderr
