"""spawn: processes that know their place, give their results back, and end together."""

import gc
import os
import tempfile
import time

import programs
import pytest
import torch
from helpers import mostly_long
from torch.multiprocessing import ProcessExitedException, ProcessRaisedException

from anygru import parallel
from anygru.errors import ArgumentError


@pytest.mark.long
def test_large_results_do_not_block_and_join_can_wait():
    workers = parallel.spawn(programs.answer, (7,), nprocs=1, join=False)
    while not workers.join(timeout=0.05):
        pass
    assert torch.equal(workers.result(0), torch.full((200_000,), 7.0))


def wait(workers):
    begin = time.monotonic()
    while not workers.join(timeout=1):
        assert time.monotonic() - begin < 600, "still waiting"


@pytest.mark.parametrize("how", mostly_long(["raise", "kill", "exit"]))
def test_a_dying_process_ends_the_others_and_is_named(how):
    words = {
        "raise": r"rank 1.*Traceback.*in fail.*ValueError: the data of rank 1 are bad",
        "kill": "rank 1.*SIGKILL",
        "exit": r"process 1 \(rank 1\) terminated with exit code 7",
    }
    workers = parallel.spawn(programs.fail, (how,), nprocs=2, join=False)
    kind = ProcessRaisedException if how == "raise" else ProcessExitedException
    with pytest.raises(kind, match="(?s)" + words[how]):
        wait(workers)
    assert not any(process.is_alive() for process in workers.processes)


def test_number_of_processes_is_checked():
    with pytest.raises(ArgumentError, match="nprocs must be at least 1, got 0"):
        parallel.spawn(programs.answer, (1,), nprocs=0)


@pytest.mark.long
def test_nothing_is_left_in_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    workers = parallel.spawn(programs.fail, ("raise",), nprocs=2, join=False)
    with pytest.raises(ProcessRaisedException):
        wait(workers)
    del workers
    gc.collect()
    assert os.listdir(tmp_path) == []
