"""Two launchers of one job on two hosts (network namespaces): whatever fails, both end by one verdict, and in time."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

TIMEOUT = 8
JOB = """
import itertools, os, sys, time
from anygru import parallel
import torch, torch.distributed as dist
world = parallel.start()
open(os.path.join(sys.argv[1], f"rank{world.rank}"), "w").write(str(os.getpid()))
for step in itertools.count():
    parallel.report_step(step)
    if world.rank == 1 and os.path.exists(os.path.join(sys.argv[1], "end")):
        sys.exit(0)
    dist.all_reduce(torch.zeros(1))
    time.sleep(0.1)
"""


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def hosts():
    """Two network namespaces with a wire between them."""
    names = [f"anygru-faults-{os.getpid()}-{end}" for end in "ab"]
    ends = [f"agf{os.getpid() % 100000}{end}" for end in "ab"]
    try:
        for name in names:
            ip("netns", "add", name)
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for number, (name, end) in enumerate(zip(names, ends, strict=True), 1):
            ip("link", "set", end, "netns", name)
            ip("-n", name, "addr", "add", f"10.77.3.{number}/24", "dev", end)
            ip("-n", name, "addr", "add", f"fd00:77::{number}/64", "dev", end, "nodad")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", end, "up")
    except (OSError, subprocess.CalledProcessError):
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        pytest.skip("needs the right to make network namespaces")
    yield names, ends
    for name in names:
        for pid in members(name):
            os.kill(pid, signal.SIGKILL)
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def members(name):
    shown = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout
    return [int(pid) for pid in shown.split()]


def parent(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def cut(names, ends, worker):
    ip("-n", names[1], "link", "set", ends[1], "down")


FAULTS = {
    "killed worker": (
        lambda names, ends, worker: os.kill(worker, signal.SIGKILL),
        137,
        r"was killed by signal 9 .* at step \d+$",
    ),
    "stopped worker": (
        lambda names, ends, worker: os.kill(worker, signal.SIGSTOP),
        1,
        r"rank \d .* stopped answering at step \d+$",
    ),
    "killed launcher": (
        lambda names, ends, worker: os.kill(parent(worker), signal.SIGKILL),
        1,
        r"the launcher on .* has ended",
    ),
    "ended launcher": (
        lambda names, ends, worker: os.kill(parent(worker), signal.SIGTERM),
        143,
        r"the launcher on .* was ended by SIGTERM$",
    ),
    "worker that ends first": (None, 1, r"rank 0 .* ended with exit status 1|rank 1 on .* has ended"),
    "cut wire": (cut, 1, r"the launcher (on|at) .* does not answer"),
    "cut wire, restarts": (cut, 1, r"the launcher (on|at) .* does not answer"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_one_verdict(fault, hosts, tmp_path):
    names, ends = hosts
    (tmp_path / "job.py").write_text(JOB)
    restarts = ["--max-restarts", "2"] if "restarts" in fault else []
    meeting = ["--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", "10.77.3.1:29400", "--rdzv-id", "job"]
    command = [sys.executable, "-m", "anygru", "launch", "--nproc-per-node", "1", *meeting, *restarts]
    launchers = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, *command, "--timeout", str(TIMEOUT), str(tmp_path / "job.py"), str(tmp_path)],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        for name in names
    ]
    begin = time.monotonic()
    while not all((tmp_path / f"rank{rank}").exists() and (tmp_path / f"rank{rank}").read_text() for rank in range(2)):
        assert time.monotonic() - begin < 120
        time.sleep(0.2)
    time.sleep(4)  # the supervisors find each other in the first seconds
    workers = [int((tmp_path / f"rank{rank}").read_text()) for rank in range(2)]
    worker = next(pid for pid in workers if pid in members(names[1]))
    apply, status, words = FAULTS[fault]
    if apply is None:
        (tmp_path / "end").touch()
    else:
        apply(names, ends, worker)
    begin = time.monotonic()
    ended = [(launcher.communicate(timeout=120)[1], launcher.returncode) for launcher in launchers]
    assert time.monotonic() - begin < TIMEOUT + 15 + 5  # and some seconds for a machine at work
    survivors = ended[:1] if fault == "killed launcher" else ended
    for errors, found in survivors:
        last = errors.splitlines()[-1]
        assert last.startswith("anygru launch: the job failed: ")
        assert re.search(words, last)
        assert found == status
    if "cut" not in fault:
        assert len({errors.splitlines()[-1] for errors, _ in survivors}) == 1


@pytest.mark.slow
def test_launchers_of_different_sizes_end_at_once(hosts, tmp_path):
    names, _ = hosts
    (tmp_path / "job.py").write_text(JOB)
    meeting = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "[fd00:77::1]:29400", "--rdzv-id", "job"]
    launchers = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, sys.executable, "-m", "anygru", "launch", "--nnodes", nodes, *meeting]
            + [str(tmp_path / "job.py"), str(tmp_path)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, nodes in zip(names, ("2", "3"), strict=True)
    ]
    for launcher in launchers:
        errors = launcher.communicate(timeout=120)[1]
        assert launcher.returncode == 1
        assert re.search("was started with --nnodes 3, the one where the job meets with 2$", errors.strip())
