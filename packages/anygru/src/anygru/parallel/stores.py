"""The stores by which the processes of a job find each other, on addresses that only they can reach where that is possible."""

import socket
from typing import Any

import torch.distributed as dist

from ..facts import torch_private
from .addresses import LOOPBACK


def local_store() -> "dist.TCPStore":  # type: ignore[name-defined]
    """Return a store for processes of this machine: it listens on the loopback interface alone, on a free port.

    A `TCPStore` that is given a port listens on all addresses of the machine.
    """
    with socket.socket() as listening:
        listening.bind((LOOPBACK, 0))
        return _serve(listening)


def store_of_rank_0(host: str, port: int, rank: int) -> "dist.TCPStore":  # type: ignore[name-defined]
    """Return the store that rank 0 serves to the processes of this machine.

    Args:
        host, port: MASTER_ADDR, a loopback address, and MASTER_PORT.
        rank: of this process.
    """
    if rank > 0:
        return dist.TCPStore(host, port, is_master=False)  # type: ignore[attr-defined]
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((LOOPBACK, port))
        return _serve(listening)


def _serve(listening: socket.socket) -> "dist.TCPStore":  # type: ignore[name-defined]
    listening.listen()
    port = listening.getsockname()[1]
    # The libuv store of torch 2.4 to 2.6, its default, takes no socket that listens already.
    older: dict[str, Any] = {} if torch_private.at_least(2, 7) else {"use_libuv": False}
    return dist.TCPStore(  # type: ignore[attr-defined]
        LOOPBACK, port, is_master=True, wait_for_workers=False, master_listen_fd=listening.detach(), **older
    )
