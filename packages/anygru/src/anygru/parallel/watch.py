"""End a job on faults that torch's agent does not see: a stopped worker, and a launcher or a machine that is gone.

A stopped worker does not react to the agent's SIGTERM, so the agent waits for 30 seconds and then reports another rank. When a
machine is lost, the workers of the others wait for the timeout of their process group, half an hour by default, and the agent
may wait for its store without a bound. So a thread looks at the state of the workers in /proc, and each launcher has one
connection to the launcher of machine 0, which the kernel keeps alive.
"""

import contextlib
import math
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

from .addresses import listening_at

GRACE = 10.0  # seconds in which torch's agent reacts to the end of its workers
MOMENT = 2.0  # seconds in which this machine's own failure is reported before the loss of another machine


class FaultWatch:
    """The watch of one launcher over its workers and the other launchers, in a thread for each. It prints its findings.

    Args:
        timeout: seconds after which a stopped worker or a machine that does not answer is lost.
        restarts: whether the job may start again after a loss.

    Attributes:
        found: whether it has found a fault in the present attempt.
    """

    def __init__(self, timeout: float, restarts: bool) -> None:
        self.found = False
        self._timeout, self._restarts = timeout, restarts
        self._links: list[socket.socket] = []
        self._over = threading.Event()
        threading.Thread(target=self._watch_workers, daemon=True).start()

    def begin(self, address: str, port: int = 0) -> int:
        """Begin an attempt: connect to a port of `address`, or listen there at a free one, and return it."""
        self._end_after(0)
        self.found = False
        links: list[socket.socket] = []
        self._links = links
        if port:
            self._keep(socket.create_connection((address, port), timeout=self._timeout), links)
        else:
            links.append(listening_at(address))
            threading.Thread(target=self._accept, args=(links,), daemon=True).start()
        return port or int(links[0].getsockname()[1])

    def leave(self) -> None:
        """End an attempt, and this process if no other attempt begins in time."""
        self._disconnect(goodbye=True)
        self._end_after(self._timeout + GRACE)

    def stop(self, success: bool) -> None:
        """End the watch. The other launchers end if this one ends without success."""
        self._over.set()
        self._end_after(0)
        self._disconnect(goodbye=success)

    def _disconnect(self, goodbye: bool) -> None:
        links, self._links = self._links, []
        for link in links:
            if goodbye:
                with contextlib.suppress(OSError):
                    link.setblocking(False)
                    link.send(b"0")
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits

    def _watch_workers(self) -> None:
        """Kill a worker that is stopped for `timeout` seconds, or that the agent has asked to end while it is stopped."""
        since: dict[int, float] = {}
        while not self._over.wait(0.5):
            stopped = [worker for worker in workers() if worker.state == "T"]
            since = {worker.pid: since.get(worker.pid, time.monotonic()) for worker in stopped}
            for rank, pid, _, has_sigterm in stopped:
                if has_sigterm or time.monotonic() - since[pid] > self._timeout:
                    self._report(
                        f"rank {rank} (process {pid} on {socket.gethostname()}) was stopped and did not answer"
                    )
                    _kill(pid)

    def _accept(self, links: list[socket.socket]) -> None:
        with contextlib.suppress(OSError):  # the end of the attempt
            while True:
                self._keep(links[0].accept()[0], links)

    def _keep(self, link: socket.socket, links: list[socket.socket]) -> None:
        """Let the kernel ask for the other machine, and break the connection after `timeout` seconds without an answer."""
        link.settimeout(None)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        period = max(1, int(self._timeout / 10))
        options = {"KEEPIDLE": period, "KEEPINTVL": period, "KEEPCNT": max(1, int(self._timeout / period) - 1)}
        for name, value in (options | {"USER_TIMEOUT": int(self._timeout * 1000)}).items():
            if hasattr(socket, f"TCP_{name}"):
                link.setsockopt(socket.IPPROTO_TCP, getattr(socket, f"TCP_{name}"), value)
        links.append(link)
        threading.Thread(target=self._wait_on, args=(link, links), daemon=True).start()

    def _wait_on(self, link: socket.socket, links: list[socket.socket]) -> None:
        how = "has ended"
        address = link.getpeername()[0]
        try:
            if link.recv(1):
                return  # it has done its work, or begins another attempt
        except ConnectionResetError:
            pass
        except OSError:
            how = "does not answer"
        time.sleep(MOMENT)
        if links is not self._links or self._over.is_set():
            return
        self._end_after(GRACE + self._timeout * self._restarts)
        self._report(f"the launcher on {address} {how}")
        for worker in workers():
            _kill(worker.pid)

    def _report(self, words: str) -> None:
        self.found = True
        print(f"anygru launch: {words}", file=sys.stderr, flush=True)

    @staticmethod
    def _end_after(seconds: float) -> None:
        """Let SIGALRM end this process, 0 for never: the main thread may wait in torch's store, where no exception reaches it."""
        if hasattr(signal, "alarm"):
            signal.alarm(math.ceil(seconds))


class Worker(NamedTuple):
    """A worker of this launcher, from /proc. `state` is Linux's letter, T for stopped."""

    rank: str
    pid: int
    state: str
    has_sigterm: bool


def workers() -> list[Worker]:
    """Return the workers of this process; none where the system has no /proc."""
    found = []
    for pid in (int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()):
        with contextlib.suppress(OSError):
            entries = Path(f"/proc/{pid}/environ").read_text(errors="replace").split("\0")
            environment = dict(entry.partition("=")[::2] for entry in entries)
            status = dict(line.partition(":\t")[::2] for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            if "TORCHELASTIC_RUN_ID" in environment:
                pending = int(status["ShdPnd"], 16) >> (signal.SIGTERM - 1) & 1
                found.append(Worker(environment["RANK"], pid, status["State"][0], bool(pending)))
    return found


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
