"""Short messages among the processes of one machine, over Unix sockets.

A collective of Gloo takes the same CPU time however short the message is, because three threads hand it on. Here a process
writes to the others and reads from them itself, in a small share of that time (`benchmarks/global_tensors.py`).
"""

import os
import secrets
import socket
import struct
import weakref
from array import array
from collections.abc import Sequence
from pathlib import Path

import torch.distributed as dist

from anygru.extend import torch_private

MOST = 8  # processes; with more, a collective needs fewer messages than all pairs
_ROOM = 4096  # bytes, more than any message
_PEER = struct.Struct("3i")  # process, user, group of a socket's peer, as Linux returns them


class Lines:
    """Open sockets to the other processes of a group, by rank in the group; None for this process."""

    def __init__(self, sockets: list[socket.socket | None]) -> None:
        self._sockets = sockets

    def exchange(self, own: Sequence[int]) -> list[list[int]]:
        """Exchange up to a few hundred numbers; return the numbers of each process by rank. All processes must call it.

        Raises:
            RuntimeError: another process has ended, or sends nothing within the group's timeout.
        """
        message = array("q", [len(own), *own]).tobytes()  # never empty, as the end of a connection is
        for rank, line in enumerate(self._sockets):
            if line is not None:
                try:
                    line.send(message)
                except OSError as error:
                    raise _closed(rank) from error
        return [list(own) if line is None else _heard(line, rank) for rank, line in enumerate(self._sockets)]


def _heard(line: socket.socket, rank: int) -> list[int]:
    try:
        message = line.recv(_ROOM)
    except BlockingIOError as error:
        raise RuntimeError(f"timed out: rank {rank} of the process group does not answer") from error
    except OSError as error:
        raise _closed(rank) from error
    if not message:
        raise _closed(rank)
    return array("q", message).tolist()[1:]


def _closed(rank: int) -> RuntimeError:
    return RuntimeError(f"connection closed by rank {rank} of the process group")


_known: "weakref.WeakKeyDictionary[dist.ProcessGroup, Lines | None]" = weakref.WeakKeyDictionary()


def lines_of(group: dist.ProcessGroup) -> Lines | None:
    """The lines of a group; None where its processes are many, or on several machines. The first call is a collective."""
    if group not in _known:
        _known[group] = _connect(group)
    return _known[group]


def _machine() -> str | None:
    """An identifier of the processes that can connect over Unix sockets; None where the system has no such sockets."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text() + os.readlink("/proc/self/ns/net")
    except OSError:
        return None


def _connect(group: dist.ProcessGroup) -> Lines | None:
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    machine, name = _machine(), b"\0anygru-" + secrets.token_bytes(16)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        if machine is not None:
            door.bind(name)
            door.listen(MOST)
        told: list[tuple[str | None, bytes]] = [(None, b"")] * size
        dist.all_gather_object(told, (machine, name), group=group)
        if size > MOST or {each for each, _ in told} != {machine} or machine is None:
            return None
        sockets: list[socket.socket | None] = [None] * size
        for other in range(rank):
            line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            line.connect(told[other][1])
            line.send(bytes([rank]))
            sockets[other] = line
        _limit(door, group)
        while None in sockets[rank + 1 :]:
            try:
                line, _ = door.accept()
            except BlockingIOError as error:
                missing = sockets.index(None, rank + 1)
                raise RuntimeError(f"timed out: rank {missing} of the process group does not connect") from error
            _limit(line, group)
            if _PEER.unpack(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))[1] == os.getuid():
                sockets[line.recv(1)[0]] = line
    for each in filter(None, sockets):
        _limit(each, group)
    return Lines(sockets)


def _limit(line: socket.socket, group: dist.ProcessGroup) -> None:
    """Wait no longer than the group does. Not `settimeout`, which polls before each message."""
    seconds = max(int(torch_private.timeout_of(group)), 1)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", seconds, 0))
