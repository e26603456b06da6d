"""`anygru launch`: torchrun, which reports the rank that failed first and how."""

import argparse
import contextlib
import os
import signal
import socket
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

from ..errors import AnygruError
from ._worker import LAUNCHER, LOGS


class LaunchError(AnygruError, RuntimeError):
    """The processes of a job could not find each other."""


def launch(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    log_dir: str | os.PathLike[str] | None = None,
) -> int:
    """Run a distributed job as torchrun does and return its exit status: 0, or that of the first worker to fail.

    Args:
        arguments: torchrun's command line, such as `["--nproc-per-node", "2", "train.py", "--lr", "0.1"]`.
        environment: variables for the workers beside this process's own.
        log_dir: the folder where each worker writes `workerlog.<local rank>`; the first one's is shown here too. None
            lets all of them write to this process's output.

    A worker that dies takes the job down: the others are ended, and standard error tells the rank, the way it ended
    and, where it was a Python exception, its traceback. With `--max-restarts` all workers start again before that.
    """
    from torch.distributed.run import parse_args

    return run(
        parse_args(list(arguments)),
        environment=environment,
        log_dir=log_dir,
    )


def run(
    options: argparse.Namespace,
    *,
    environment: Mapping[str, str] | None = None,
    log_dir: str | os.PathLike[str] | None = None,
) -> int:
    """`launch` for arguments that torchrun's parser has read."""
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.elastic.rendezvous import RendezvousError
    from torch.distributed.run import run as torchrun

    if _on_one_machine(options):
        options.standalone = True  # a free port, where torchrun's 29500 may be taken by another job
    extra = {"OMP_NUM_THREADS": _threads(options)} | dict(environment or {}) | {LAUNCHER: str(os.getpid())}
    if options.max_restarts:
        # With one store for all attempts, a restarted job would find the dead addresses of the attempt before.
        extra.setdefault("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")
    if log_dir is not None:
        Path(log_dir).mkdir(parents=True, exist_ok=True)
        extra[LOGS] = os.path.abspath(log_dir)
    with _environment(extra), _shown(log_dir), _private_logs(options):
        try:
            torchrun(options)
        except ChildFailedError as error:
            return _report(error)
        except SignalException as error:
            print(f"anygru launch: ended by {error.sigval.name}", file=sys.stderr)
            return 128 + error.sigval.value
        except RendezvousError as error:
            raise LaunchError(f"the machines of the job did not meet at {options.rdzv_endpoint}: {error}") from error
    return 0


def _on_one_machine(options: argparse.Namespace) -> bool:
    """Return whether the job runs on one machine and no rendezvous was given."""
    said = options.rdzv_endpoint or options.master_port or options.rdzv_backend != "static"
    return options.nnodes in ("1", "1:1") and not said


def _threads(options: argparse.Namespace) -> str:
    """Return the threads a worker uses: its share of the cores (torchrun sets 1)."""
    from torch.distributed.run import determine_local_world_size

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    share = max(1, cores // determine_local_world_size(options.nproc_per_node))
    return os.environ.get("OMP_NUM_THREADS", str(share))


@contextlib.contextmanager
def _environment(extra: Mapping[str, str]) -> Iterator[None]:
    """Set variables of this process, which torchrun's workers inherit; restore them afterwards."""
    before = dict(os.environ)
    os.environ.update(extra)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _private_logs(options: argparse.Namespace) -> Iterator[None]:
    """Give torchrun a folder for its error files, unless the user named one; it leaves its own in the temporary folder."""
    if options.log_dir is not None:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="anygru-launch-", ignore_cleanup_errors=True) as options.log_dir:
        yield


@contextlib.contextmanager
def _shown(log_dir: str | os.PathLike[str] | None) -> Iterator[None]:
    """Copy what is added to the first worker's log to standard output."""
    if log_dir is None:
        yield
        return
    log = Path(log_dir) / "workerlog.0"
    log.touch()
    done = threading.Event()
    with open(log, "rb") as file:
        file.seek(0, os.SEEK_END)
        copier = threading.Thread(target=_copy, args=(file, done), daemon=True)
        copier.start()
        try:
            yield
        finally:
            done.set()
            copier.join()


def _copy(file: IO[bytes], done: threading.Event) -> None:
    last = False
    while not last:
        last = done.wait(0.1)
        sys.stdout.write(file.read().decode(errors="replace"))
        sys.stdout.flush()


def _report(error: "ChildFailedError") -> int:
    """Print the first failure on standard error and return its exit status."""
    rank = min(error.failures, key=lambda rank: _order(error.failures[rank]))
    failure = error.failures[rank]
    if failure.exitcode < 0:
        how = f"was killed by signal {-failure.exitcode} ({failure.signal_name()})"
    else:
        how = f"ended with exit status {failure.exitcode}"
    where = f"local rank {failure.local_rank}, process {failure.pid} on {socket.gethostname()}"
    print(f"anygru launch: rank {rank} ({where}) {how}", file=sys.stderr)
    message = failure.error_file_data.get("message", {})
    if isinstance(message, dict) and "extraInfo" in message:
        print(textwrap.indent(message["extraInfo"]["py_callstack"].rstrip(), "  "), file=sys.stderr)
    return failure.exitcode if failure.exitcode > 0 else 128 - failure.exitcode


def _order(failure: "ProcessFailure") -> tuple[int, int]:
    """The cause before its consequences: a killed worker, then the oldest exception, then plain exit statuses.

    The others lose their connection to the one that failed, and may be noticed before it. SIGTERM is how the launcher
    ends them.
    """
    if failure.exitcode < 0:
        return (0 if failure.exitcode != -signal.SIGTERM else 3), failure.timestamp
    written = failure.error_file_data.get("time_ns")
    return (1, written) if written is not None else (2, failure.timestamp)
