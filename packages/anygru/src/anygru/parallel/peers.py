"""Which process of a job does not answer, in words, after the connection broke.

Torch says that a connection was closed or that time ran out, seldom whose. So each process opens a socket on which nobody
ever reads, and tells the others where it is: the operating system answers there as long as process and machine are alive.
"""

import os
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch.distributed as dist

from .addresses import LOOPBACK, PATIENCE, listening_at, own_address

MOMENT = 0.5  # seconds in which a process that is ending closes its connections
ENDING = 5.0  # seconds in which it ends after that
_SIGNS = ("gloo", "nccl", "connection closed", "connection reset", "timed out", "timeout", "tcpstore", "recv")


@dataclass(frozen=True)
class _Peer:
    rank: int
    machine: str
    address: str
    port: int
    process: int

    def __str__(self) -> str:
        return f"rank {self.rank} on {self.machine} ({self.address})"

    def fault(self) -> str | None:
        """Return the peer's fault in words; None if it answers."""
        try:
            socket.create_connection((self.address, self.port), timeout=PATIENCE).close()
        except ConnectionRefusedError:
            return f"{self} has ended"
        except OSError:
            return f"{self} does not answer"
        return None

    def is_ending(self) -> bool:
        """Whether it is a process of this machine whose end its parent has not seen, though it answers no more."""
        if self.machine != socket.gethostname() or self.fault() != f"{self} has ended":
            return False
        try:
            os.kill(self.process, 0)
        except OSError:
            return False
        return True


_peers: list[_Peer] = []
_listening: socket.socket | None = None
_EXPLAINED = "_anygru_silent_peers"  # the attribute of an error that keeps what was found


def introduce(rank: int, size: int) -> None:
    """Tell the other processes where to look for this one; all of them must call it together, with a process group."""
    global _listening
    address = own_address(os.environ.get("MASTER_ADDR", LOOPBACK))
    _listening = listening_at(address)
    everyone: list[_Peer | None] = [None] * size
    own = _Peer(rank, socket.gethostname(), address, _listening.getsockname()[1], os.getpid())
    dist.all_gather_object(everyone, own)
    _peers[:] = [peer for peer in everyone if peer is not None and peer.rank != rank]


def silent() -> list[str]:
    """Return a sentence for each process of the job that has ended or does not answer; takes a few seconds at most.

    A process that ends closes its connections one after the other, this one perhaps last: if all answer, they are asked again.
    """
    faults = _faults()
    if _peers and not faults:
        time.sleep(MOMENT)
        faults = _faults()
    return faults


def let_end() -> None:
    """Wait until the launcher has the exit status of each process that is ending, which is the cause; at most `ENDING`."""
    latest = time.monotonic() + ENDING
    while time.monotonic() < latest and any(peer.is_ending() for peer in _peers):
        time.sleep(0.05)


def _faults() -> list[str]:
    if not _peers:
        return []
    with ThreadPoolExecutor(min(32, len(_peers))) as pool:
        return [fault for fault in pool.map(_Peer.fault, _peers) if fault]


def explain(error: BaseException) -> str:
    """Name the silent processes if the error may come from them; "" otherwise. Asks once for each error."""
    known = vars(error)
    if _EXPLAINED not in known:
        known[_EXPLAINED] = _explain(error)
    return str(known[_EXPLAINED])


def _explain(error: BaseException) -> str:
    words = str(error).lower()
    broken = isinstance(error, (dist.DistError, OSError)) or (
        isinstance(error, RuntimeError) and any(sign in words for sign in _SIGNS)
    )
    faults = silent() if broken else []
    return "" if not faults else "; ".join(faults[:5]) + (f"; and {len(faults) - 5} more" if len(faults) > 5 else "")


def install_hook() -> None:
    """Let the interpreter end its report of an uncaught error with the processes that are silent, if any are."""
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: object) -> None:
        before(kind, error, trace)  # type: ignore[arg-type]
        told = explain(error)
        if told:
            print(f"anygru: {told}", file=sys.stderr)

    sys.excepthook = hook
