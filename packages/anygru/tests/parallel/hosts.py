"""Two network namespaces with a wire between them, as two hosts of a job."""

import contextlib
import os
import signal
import subprocess

import pytest

FIRST = "10.77.3.1"
"""The address of the first host; the second has the next one."""


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture(name="hosts")
def two_hosts():
    """The names of both hosts, and of both ends of the wire."""
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
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def members(name):
    shown = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout
    return [int(pid) for pid in shown.split()]
