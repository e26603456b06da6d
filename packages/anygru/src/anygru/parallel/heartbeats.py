"""The workers of this machine, as a launcher sees them from outside: by heartbeats in a folder, and by /proc.

`_worker.py` writes the heartbeats.
"""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from ._worker import STEP


@dataclass(frozen=True)
class Worker:
    """A worker of this machine, by its heartbeat."""

    path: Path
    attempt: int
    rank: int
    pid: int

    def is_stopped(self) -> bool | None:
        """Return whether a signal has stopped the process; None where the system does not tell."""
        state = state_of(Path(f"/proc/{self.pid}"))
        return None if state is None else state == "T"

    def at_step(self) -> str:
        """Return " at step N" if the worker has reported one, otherwise nothing."""
        try:
            return f" at step {int(self.path.with_suffix(STEP).read_text())}"
        except (OSError, ValueError):
            return ""

    def age(self) -> float | None:
        """Return the seconds since its last heartbeat."""
        try:
            return time.time() - self.path.stat().st_mtime
        except OSError:
            return None

    def has_ended(self) -> bool:
        """Return whether the process is no more, or waits for the agent to take note of its end."""
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True


def workers_in(folder: Path) -> list[Worker]:
    """Return the workers of the newest attempt."""
    found = []
    for path in folder.glob("*.beat"):
        try:
            found.append(Worker(path, *json.loads(path.read_text())))
        except (OSError, ValueError, TypeError):  # being written
            continue
    last = max((worker.attempt for worker in found), default=0)
    return [worker for worker in found if worker.attempt == last]


def state_of(entry: Path) -> str | None:
    """Return Linux's letter for how a process or thread in /proc is, such as R where it runs; None where it has ended."""
    try:
        return (entry / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None
