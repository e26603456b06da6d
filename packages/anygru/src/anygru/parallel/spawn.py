"""Run a function in several processes of this machine that can connect to each other."""

import contextlib
import multiprocessing.connection
import os
import pickle
import signal
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from torch.multiprocessing.spawn import ProcessContext, ProcessExitedException, ProcessRaisedException, start_processes

from ..errors import ArgumentError, ArgumentTypeError
from .addresses import LOOPBACK, serve_store
from .world import stop

GRACE = 5.0  # seconds between SIGTERM and SIGKILL


class Workers:
    """The processes of one `spawn`.

    Attributes:
        processes: the `multiprocessing.Process` of each rank.
    """

    def __init__(self, context: ProcessContext, folder: "tempfile.TemporaryDirectory[str]", store: object) -> None:
        self.processes: list[Any] = context.processes
        self._error_files: list[str] = context.error_files
        self._running = {process.sentinel: rank for rank, process in enumerate(context.processes)}
        self._results = Path(folder.name)
        self._store = store  # keeps the rendezvous store alive as long as the workers
        self._remove = weakref.finalize(self, _remove_all, folder, tuple(context.error_files))

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the workers: True when all are done, False when `timeout` seconds have passed before.

        If a worker fails, all workers are ended, and the first worker's error is raised with its rank and traceback
        (torch's `ProcessRaisedException`, or `ProcessExitedException` if it was killed).
        """
        ready = multiprocessing.connection.wait(list(self._running), timeout)
        for sentinel in ready:
            rank = self._running.pop(sentinel)
            self.processes[rank].join()
        if any(map(self._failed, range(len(self.processes)))):
            raise self._root_cause(self.end())
        return not self._running

    def is_done(self, rank: int) -> bool:
        """Return whether the function has returned on this rank."""
        return (self._results / str(rank)).exists()

    def result(self, rank: int) -> Any:
        """Return the result of the function on this rank."""
        with open(self._results / str(rank), "rb") as file:
            return pickle.load(file)

    def _failed(self, rank: int) -> bool:
        """Return whether the process ended before its function returned; a later end is not a failure."""
        return self.processes[rank].exitcode not in (None, 0) and not self.is_done(rank)

    def end(self) -> set[int]:
        """Terminate the processes that still run, kill processes that ignore the signal, and return their ranks."""
        ended = {rank for rank, process in enumerate(self.processes) if process.is_alive()}
        for rank in ended:
            self.processes[rank].terminate()
        for process in self.processes:
            process.join(GRACE)
            if process.is_alive():
                process.kill()
                process.join()
        self._running.clear()
        return ended

    def _root_cause(self, ended: set[int]) -> Exception:
        """Return the error of the first process that failed; the others failed because of it."""
        traces = {rank: Path(file) for rank, file in enumerate(self._error_files) if _has_content(file)}
        silent = [
            rank for rank in range(len(self.processes)) if self._failed(rank) and rank not in ended | traces.keys()
        ]
        if silent:
            rank, process = silent[0], self.processes[silent[0]]
            how = f"signal {_name(-process.exitcode)}" if process.exitcode < 0 else f"exit code {process.exitcode}"
            message = f"process {rank} (rank {rank}) terminated with {how}"
            return ProcessExitedException(message, rank, process.pid, process.exitcode)
        rank = min(traces, key=lambda rank: traces[rank].stat().st_mtime_ns)
        text = pickle.loads(traces[rank].read_bytes())
        message = f"\n\n-- Process {rank} (rank {rank}) terminated with the following error:\n{text}"
        return ProcessRaisedException(message, rank, self.processes[rank].pid)


def spawn(
    function: Callable[..., Any],
    args: Sequence[Any] = (),
    nprocs: int = 1,
    *,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Workers:
    """Call `function(*args)` in `nprocs` new processes, with the variables by which they find each other.

    Args:
        function: a function of a module (the new processes import it); it calls `anygru.parallel.start()`, or the
            equivalent of its framework, to connect.
        args: its arguments, the same for all.
        nprocs: how many processes, at least 1.
        join: wait for all of them; otherwise the caller calls `join()` of the result.
        daemon: let the processes end with this one.
        start_method: "spawn", "fork" or "forkserver".

    A process that dies takes the others down within seconds; see `Workers.join`.

    Raises:
        ArgumentError, ArgumentTypeError: `nprocs` is less than 1, or an argument does not fit.
    """
    if not callable(function):
        raise ArgumentTypeError(f"spawn: function must be a function of a module, got {type(function).__name__}")
    if not isinstance(args, Iterable):
        raise ArgumentTypeError(f"spawn: args must be a tuple of the arguments, got {type(args).__name__}")
    if isinstance(nprocs, bool) or not hasattr(nprocs, "__index__"):
        raise ArgumentTypeError(f"spawn: nprocs must be an int, got {type(nprocs).__name__}")
    if start_method not in (known := multiprocessing.get_all_start_methods()):
        raise ArgumentError(f"spawn: start_method must be one of {', '.join(known)}, got {start_method!r}")
    if nprocs < 1:
        raise ArgumentError(f"spawn: nprocs must be at least 1, got {nprocs}")
    # The store lives here and not on rank 0: its port is bound when it is chosen, so no other job can take it.
    store = serve_store()
    folder = tempfile.TemporaryDirectory(prefix="anygru-spawn-")
    context = start_processes(
        _work,
        (function, tuple(args), nprocs, store.port, folder.name),
        nprocs,
        join=False,
        daemon=daemon,
        start_method=start_method,
    )
    workers = Workers(context, folder, store)
    while join and not workers.join():
        pass
    return workers


def _work(rank: int, function: Callable[..., Any], args: tuple[Any, ...], nprocs: int, port: int, results: str) -> None:
    """In the new process: describe the world as torchrun does, run, and keep the result."""
    os.environ.update(
        RANK=str(rank),
        WORLD_SIZE=str(nprocs),
        LOCAL_RANK=str(rank),
        LOCAL_WORLD_SIZE=str(nprocs),
        MASTER_ADDR=LOOPBACK,
        MASTER_PORT=str(port),
        TORCHELASTIC_USE_AGENT_STORE="True",  # rank 0 opens no store, since the parent has one
        TORCHELASTIC_RESTART_COUNT="0",  # which torch 2.4 reads beside it
    )
    result = function(*args)
    file = Path(results) / str(rank)
    with open(file.with_suffix(".new"), "wb") as new:
        pickle.dump(result, new)
    os.replace(new.name, file)
    stop()


def _remove_all(folder: "tempfile.TemporaryDirectory[str]", error_files: tuple[str, ...]) -> None:
    """Remove the results, and the error files that torch leaves in the temporary folder."""
    folder.cleanup()
    for file in error_files:
        with contextlib.suppress(OSError):
            os.unlink(file)


def _name(number: int) -> str:
    return signal.Signals(number).name if number in set(signal.Signals) else str(number)


def _has_content(file: str) -> bool:
    return os.path.isfile(file) and os.path.getsize(file) > 0
