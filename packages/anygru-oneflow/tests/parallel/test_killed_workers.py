"""A training on global tensors under `anygru launch`, one of whose processes is killed from outside: the job ends, and soon."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import os, pathlib, sys

import oneflow as flow

everyone = flow.placement.all("cpu")
gru = flow.nn.GRU(3, 4).to_global(everyone, flow.sbp.broadcast)
optimizer = flow.optim.SGD(gru.parameters(), lr=0.1)
x = flow.ones(5, 2, 3).to_global(everyone, flow.sbp.split(1))
step = 0
while True:
    optimizer.zero_grad()
    gru(x)[0].sum().backward()
    optimizer.step()
    step += 1
    if step == 3:
        path = pathlib.Path(sys.argv[1]) / str(flow.env.get_rank())
        path.with_suffix(".new").write_text(str(os.getpid()))
        path.with_suffix(".new").rename(path)
"""
BEGIN, END = 240, 60
"""Seconds until all processes train, on a machine with other work, and from the kill to the end of the job."""


@pytest.mark.slow
@pytest.mark.parametrize(("processes", "victim"), [(2, 0), (2, 1), (4, 2)])
def test_a_killed_process_ends_the_job(processes: int, victim: int, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "anygru", "launch", f"--nproc-per-node={processes}", "program.py", str(tmp_path)]
    with (tmp_path / "error").open("w") as error, subprocess.Popen(command, cwd=tmp_path, stderr=error) as job:
        try:
            pids = wait_for([tmp_path / str(rank) for rank in range(processes)], job)
            os.kill(pids[victim], signal.SIGKILL)
            status = job.wait(timeout=END)
        finally:
            job.terminate()  # no effect on a job that has ended; the launcher ends its workers
    assert status == 128 + signal.SIGKILL
    report = (tmp_path / "error").read_text()
    assert re.search(rf"rank {victim} \(.*process {pids[victim]} .*\) was killed by signal 9", report)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids), "a worker outlives the job"


def wait_for(files: list[Path], job: subprocess.Popen[bytes]) -> list[int]:
    """The numbers in the files, once all are there."""
    end = time.monotonic() + BEGIN
    while not all(file.exists() for file in files):
        assert job.poll() is None, "the job ended before all processes trained"
        assert time.monotonic() < end, "the processes do not train"
        time.sleep(0.1)
    return [int(file.read_text()) for file in files]
