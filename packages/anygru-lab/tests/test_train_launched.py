"""`anygru train` as a process of a launched job: on one machine, and on two hosts."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli.command_line import TINY, start
from parallel.hosts import FIRST, members, two_hosts  # noqa: F401
from test_train import losses

from anygru_lab.language_model.checkpoint import RunFolder

OPTIONS = [*TINY, "--no-xz", "--every", "20"]
KILLED = Path(__file__).with_name("killed_once.py")


def launched(arguments, *options, cwd, program=("-m", "anygru")):
    command = [sys.executable, "-m", "anygru", "launch", *options, *program, "train", *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, env=environment
    )


@pytest.mark.slow
def test_a_launched_training_is_that_of_nproc_and_survives_a_killed_worker(train, text, tmp_path):
    options = ["--steps", 60, "--dropout", 0.3, "--layers", 2]
    jobs = ["--nproc-per-node", 2, "--max-restarts", 2]
    process = launched([text, *OPTIONS, *options, "--out", "run"], *jobs, cwd=tmp_path, program=[KILLED])
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    assert "going on from step 20 of 60" in output
    assert "sample at temperature" in output
    whole = start("train", text, *OPTIONS, *options, "--nproc", 2, "--out", tmp_path / "whole")
    _, error = whole.communicate(timeout=600)
    assert whole.returncode == 0, error
    assert losses(tmp_path / "run") == losses(tmp_path / "whole")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--nproc", 2], "--nproc is for one machine without a launcher"),
        (["--batch", 1], "--batch 1 is less than the 2 processes"),
        (["--resume"], "there is no run to resume in"),
    ],
)
@pytest.mark.slow
def test_what_cannot_be_launched_is_named_once(text, tmp_path, options, words):
    process = launched([text, *OPTIONS, "--steps", 1, "--out", "run", *options], "--nproc-per-node", 2, cwd=tmp_path)
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 2
    assert words in output


def on(host, tmp_path, text, out, *options, steps):
    """`anygru launch` of one process on a host."""
    meeting = ["--nnodes", 2, "--nproc-per-node", 1, "--rdzv-backend", "c10d", "--rdzv-endpoint", f"{FIRST}:29411"]
    train = ["-m", "anygru", "train", text, *OPTIONS, "--steps", steps, "--out", out]
    command = ["ip", "netns", "exec", host, sys.executable, "-m", "anygru", "launch", *meeting, "--rdzv-id", "job"]
    return subprocess.Popen(
        list(map(str, [*command, *options, *train])),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def until_saved(folder, step):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with contextlib.suppress(Exception):
            if RunFolder(folder).read().step >= step:
                return
        time.sleep(0.05)
    raise AssertionError("no checkpoint was saved")


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["worker", "host"])
def test_on_two_hosts_a_kill_costs_nothing(hosts, tmp_path, text, train, killed):
    one, other = hosts[0]
    again = ["--max-restarts", 3, "--timeout", 20]
    first = on(one, tmp_path, text, "run", *again, steps=400)
    second = on(other, tmp_path, text, "none", *again, steps=400)
    until_saved(tmp_path / "run", 20)
    for pid in members(other):
        if killed == "host" or b"\0train\0" in Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"launch")[0]:
            os.kill(pid, signal.SIGKILL)
    if killed == "host":
        second.communicate()
        second = on(other, tmp_path, text, "none", *again, steps=400)
    output, _ = first.communicate(timeout=300)
    assert first.returncode == 0, output
    assert "going on from step" in output
    second.communicate(timeout=120)
    whole = start("train", text, *OPTIONS, "--steps", 400, "--nproc", 2, "--out", tmp_path / "whole")
    _, error = whole.communicate(timeout=200)
    assert whole.returncode == 0, error
    assert losses(tmp_path / "run") == losses(tmp_path / "whole")
    assert not (tmp_path / "none").exists()
