"""Two launchers of one job on two hosts (network namespaces): after a fault both end in time, or the job starts again."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from parallel.hosts import FIRST, ip, members, two_hosts  # noqa: F401

TIMEOUT = 8
JOB = """
import itertools, pathlib, os, sys, time
import torch, torch.distributed as dist
folder = pathlib.Path(sys.argv[1])
dist.init_process_group("gloo")  # its own timeout is half an hour
rank = dist.get_rank()
(folder / f"rank{rank}.new").write_text(str(os.getpid()))
os.replace(folder / f"rank{rank}.new", folder / f"rank{rank}")
for step in itertools.count():
    count = torch.tensor(float((folder / "end").exists()))
    dist.all_reduce(count)
    if count == 2:
        break
    time.sleep(0.1)
dist.destroy_process_group()
"""


def parent(pid):
    return int(fields(pid)[1])


def fields(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()


def is_running(pid):
    """Whether a process is at work. It may have been killed a moment ago, and its end not been waited for."""
    time.sleep(1)
    try:
        return fields(pid)[0] != "Z"
    except OSError:
        return False


def cut(names, ends, worker):
    ip("-n", names[1], "link", "set", ends[1], "down")


KILLED = r"anygru launch: rank \d .* was killed by signal 9"
LOST = r"anygru launch: the launcher on 10\.77\.3\.\d "
FAULTS = {
    "killed worker": (lambda names, ends, worker: os.kill(worker, signal.SIGKILL), [KILLED]),
    "stopped worker": (
        lambda names, ends, worker: os.kill(worker, signal.SIGSTOP),
        [r"was stopped and did not answer"],
    ),
    "killed launcher": (
        lambda names, ends, worker: os.kill(parent(worker), signal.SIGKILL),
        [LOST + "has ended|rank 0"],
    ),
    "ended launcher": (lambda names, ends, worker: os.kill(parent(worker), signal.SIGTERM), ["ended by SIGTERM"]),
    "cut wire": (cut, [LOST + "does not answer"]),
}


def start_job(names, folder, *options, endpoint=f"{FIRST}:29400"):
    """The launchers on both hosts, and the process ids of the workers, by rank."""
    (folder / "job.py").write_text(JOB)
    meeting = ["--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint, "--rdzv-id", "job"]
    command = [sys.executable, "-m", "anygru", "launch", "--nproc-per-node", "1", *meeting, *options]
    launchers = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, *command, "--timeout", str(TIMEOUT), str(folder / "job.py"), str(folder)],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        for name in names
    ]
    return launchers, wait_for_workers(folder, {})


def wait_for_workers(folder, before):
    """The process ids of the workers, by rank, as soon as all of them are new."""
    begin = time.monotonic()
    while time.monotonic() - begin < 120:
        with contextlib.suppress(OSError):
            found = {rank: int((folder / f"rank{rank}").read_text()) for rank in range(2)}
            if not set(found.values()) & set(before.values()):
                return found
        time.sleep(0.2)
    raise AssertionError("the workers did not start")


@pytest.mark.slow
@pytest.mark.parametrize("restarts", ["0", "2"])
@pytest.mark.parametrize("fault", FAULTS)
def test_every_launcher_ends_or_the_job_starts_again(fault, restarts, hosts, tmp_path):
    names, ends = hosts
    launchers, workers = start_job(names, tmp_path, "--max-restarts", restarts)
    worker = next(pid for pid in workers.values() if pid in members(names[1]))
    apply, words = FAULTS[fault]
    apply(names, ends, worker)
    begin = time.monotonic()
    goes_on = restarts != "0" and "worker" in fault
    if goes_on:
        wait_for_workers(tmp_path, workers)
        (tmp_path / "end").touch()
    ended = [(launcher.communicate(timeout=120)[1], launcher.returncode) for launcher in launchers]
    seconds = time.monotonic() - begin
    print(f"{fault}, restarts {restarts}: {seconds:.1f} s")
    if goes_on:
        assert [status for _, status in ended] == [0, 0], ended
        return
    assert seconds < TIMEOUT * (1 if restarts == "0" else 2) + 15 + 5, ended  # and some seconds for a machine at work
    assert all(status != 0 for _, status in ended), ended
    assert any(re.search(word, errors) for word in words for errors, _ in ended), ended
    assert not any(map(is_running, workers.values()))


@pytest.mark.slow
def test_hosts_meet_by_addresses_of_ipv6(hosts, tmp_path):
    names, _ = hosts
    launchers, _ = start_job(names, tmp_path, endpoint="[fd00:77::1]:29400")
    (tmp_path / "end").touch()
    for launcher in launchers:
        errors = launcher.communicate(timeout=120)[1]
        assert launcher.returncode == 0, errors
