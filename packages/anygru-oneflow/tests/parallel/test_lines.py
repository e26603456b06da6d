"""Short messages among the processes of one machine: their content, and the errors after a process ends or is silent."""

import socket
import struct

import line_programs as programs
import pytest

from anygru import parallel
from anygru_oneflow.processes.lines import Lines


def test_all_hear_all_until_one_has_ended():
    workers = parallel.spawn(programs.exchange, (1,), nprocs=3)
    for rank in range(3):
        everyone, numbers, *error = workers.result(rank)
        assert everyone == [[], [1], [2, 2]]
        assert numbers == [2, 3]
        assert error == ([] if rank == 1 else ["connection closed by rank 1 of the process group"])


@pytest.mark.slow
def test_processes_of_several_machines_have_no_lines():
    workers = parallel.spawn(programs.exchange, (None, "machine {}"), nprocs=2)
    assert [workers.result(rank) for rank in range(2)] == [[None], [None]]


@pytest.mark.slow
def test_a_process_that_does_not_connect_is_named():
    workers = parallel.spawn(programs.connect, (1,), nprocs=2)
    assert workers.result(0) == "timed out: rank 1 of the process group does not connect"


def test_a_silent_process_is_named():
    line, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with line, other:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 10_000))
        with pytest.raises(RuntimeError, match="timed out: rank 1 of the process group does not answer"):
            Lines([None, line]).exchange([5])
