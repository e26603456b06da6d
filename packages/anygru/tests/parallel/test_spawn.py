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
from anygru.parallel.folders import held_folder


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


def test_folders_of_killed_processes_go_and_those_in_use_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, new, elsewhere = (tmp_path / name for name in ("anygru-left", "anygru-new", "other-left"))
    for folder in (left, new, elsewhere):
        folder.mkdir()
    (tmp_path / "anygru-0-29400.lock").touch()
    with held_folder("anygru-") as held:
        for old in (left, held, elsewhere, tmp_path / "anygru-0-29400.lock"):
            os.utime(old, (0, 0))
        with held_folder("anygru-") as second:
            assert set(tmp_path.iterdir()) == {held, second, new, elsewhere, tmp_path / "anygru-0-29400.lock"}
    assert set(tmp_path.iterdir()) == {new, elsewhere, tmp_path / "anygru-0-29400.lock"}
