"""spawn: processes have their ranks, return their results, and end together."""

import gc
import os
import tempfile
import time

import programs
import pytest
import torch
from helpers import mostly_slow
from torch.multiprocessing import ProcessExitedException, ProcessRaisedException

from anygru import parallel
from anygru.errors import ArgumentError, ArgumentTypeError


def test_large_results_do_not_block_and_join_can_wait():
    workers = parallel.spawn(programs.answer, (7,), nprocs=1, join=False)
    while not workers.join(timeout=0.05):
        pass
    assert torch.equal(workers.result(0), torch.full((200_000,), 7.0))


def wait(workers):
    begin = time.monotonic()
    while not workers.join(timeout=1):
        assert time.monotonic() - begin < 600, "still waiting"


@pytest.mark.parametrize("how", mostly_slow(["raise", "kill", "exit"]))
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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"nprocs": 0}, "nprocs must be at least 1, got 0"),
        ({"nprocs": "2"}, "nprocs must be an int, got str"),
        ({"args": 7}, "args must be a tuple of the arguments, got int"),
        ({"function": 3}, "function must be a function of a module, got int"),
        ({"start_method": "thread"}, "start_method must be one of .*spawn.*, got 'thread'"),
    ],
)
def test_arguments_are_checked(arguments, words):
    with pytest.raises((ArgumentError, ArgumentTypeError), match=words):
        parallel.spawn(**{"function": programs.answer, **arguments})


@pytest.mark.parametrize(("arguments", "got"), [(3, "3"), ("x.py", "'x.py'"), (["x.py", 3], r"\['x.py', 3\]")])
def test_a_command_line_is_a_list_of_words(arguments, got):
    with pytest.raises(ArgumentTypeError, match=f"launch: arguments must be a list of words, got {got}"):
        parallel.launch(arguments)


def test_nothing_is_left_in_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    workers = parallel.spawn(programs.fail, ("raise",), nprocs=2, join=False)
    with pytest.raises(ProcessRaisedException):
        wait(workers)
    del workers
    gc.collect()
    assert os.listdir(tmp_path) == []
