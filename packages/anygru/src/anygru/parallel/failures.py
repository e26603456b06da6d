"""Why the workers of this machine failed, from what torch's agent knows: the failure that came before the others, in words."""

import signal
import socket
import sys
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING

from .supervision import Cause, say

if TYPE_CHECKING:
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

# Torch's words for a connection that another process has broken, or that nobody answered on.
_BROKEN = (
    "connection closed by peer",
    "connection reset by peer",
    "timed out waiting",
    "socket timeout",
    "broken pipe",
)


def cause_of(error: "ChildFailedError", at_step: Callable[[int], str]) -> Cause:
    """Why the workers of this machine failed: the one failure that came before the others."""
    rank, failure = _first(error)
    order, at = _order(failure)
    follows = failure.error_file_data.get("follows")
    if order == 4 and follows:  # the process that it names is the cause
        return Cause(order, at, str(follows), 1)
    return Cause(order, at, _told(rank, failure) + at_step(rank), _status(failure))


def _first(error: "ChildFailedError") -> "tuple[int, ProcessFailure]":
    rank = min(error.failures, key=lambda rank: _order(error.failures[rank]))
    return rank, error.failures[rank]


def _told(rank: int, failure: "ProcessFailure") -> str:
    where = f"local rank {failure.local_rank}, process {failure.pid} on {socket.gethostname()}"
    if failure.exitcode < 0:
        return f"rank {rank} ({where}) was killed by signal {-failure.exitcode} ({failure.signal_name()})"
    return f"rank {rank} ({where}) ended with exit status {failure.exitcode}"


def _status(failure: "ProcessFailure") -> int:
    return failure.exitcode if failure.exitcode > 0 else 128 - failure.exitcode


def report(verdict: Cause, error: "ChildFailedError | None" = None) -> int:
    """Print the first failure of this machine with its traceback, then the verdict; return the verdict's exit status."""
    if error is not None:
        rank, failure = _first(error)
        print(f"anygru launch: {_told(rank, failure)}", file=sys.stderr)
        message = failure.error_file_data.get("message", {})
        if isinstance(message, dict) and "extraInfo" in message:
            print(textwrap.indent(message["extraInfo"]["py_callstack"].rstrip(), "  "), file=sys.stderr)
    say(verdict)
    return verdict.status


def _order(failure: "ProcessFailure") -> tuple[int, float]:
    """The cause before its consequences: a killed worker, then the oldest exception, then plain exit statuses.

    The others lose their connection to the failed worker, and may be noticed before it; their errors tell whose end they
    follow from, or are torch's words for a broken connection. SIGTERM is how the launcher ends them.
    """
    if failure.exitcode < 0:
        return (0 if failure.exitcode != -signal.SIGTERM else 5), failure.timestamp
    written = failure.error_file_data.get("time_ns")
    if written is None:
        return 2, failure.timestamp
    words = str(failure.error_file_data.get("message", "")).lower()
    follows = failure.error_file_data.get("follows") or any(sign in words for sign in _BROKEN)
    return (4 if follows else 1), written / 1e9
