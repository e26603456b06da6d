"""Children of a program that has used torch's threads."""

import os
import subprocess
import sys

import pytest

FORKED = """
import ctypes, os, sys, time
import torch
from anygru.dialects import forks

if sys.argv[1] == "old":  # an OpenMP without the function
    ctypes.CDLL = lambda name: object()
torch.set_num_threads(2)
forks.survive()

def compute():
    x = torch.randn(1000, 300, requires_grad=True)
    (x @ torch.randn(300, 300)).tanh().sum().backward()

for _ in range(2):  # the parent's threads are there again
    compute()
    child = os.fork()
    if not child:
        compute()
        os._exit(10 + torch.get_num_threads())
    for _ in range(1000):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.1)
    else:
        os.kill(child, 9)
        sys.exit("the child hangs")
    assert torch.get_num_threads() == 2
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="no fork on this system")
@pytest.mark.parametrize(("openmp", "threads"), [("new", (1, 2)), ("old", (1,))])
def test_a_child_of_a_parent_with_threads_computes(openmp: str, threads: tuple[int, ...]) -> None:
    done = subprocess.run([sys.executable, "-c", FORKED, openmp], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    assert int(done.stdout) - 10 in threads  # one thread where torch's OpenMP is also old
