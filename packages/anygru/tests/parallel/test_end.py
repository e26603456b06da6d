"""The end of a process that has a connection."""

import subprocess
import sys

PROGRAM = """
import time, torch, torch.distributed as dist
from anygru import parallel

def busy(done):
    end = time.monotonic() + 1
    while time.monotonic() < end:
        pass

parallel.start(alone=True)
held = dist.group.WORLD  # as a global tensor holds it, so that its threads outlive the connection
work = dist.all_reduce(torch.ones(3), async_op=True)
work.get_future().then(busy)  # Gloo's thread is not done when this one is
print("done", flush=True)
"""


def test_a_thread_that_is_still_busy_does_not_end_the_process_by_a_signal():
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.returncode) == ("done\n", 0), ended.stderr
