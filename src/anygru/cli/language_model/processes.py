"""Training in several processes on one machine, joined by torch.distributed (Gloo).

The parent only watches. When one of the workers dies, of whatever cause, the others are ended and the parent says
which one it was; when the parent dies, the workers see it and end, too. Ctrl-C and SIGTERM are passed on, and the
workers agree on the step after which they stop.
"""

import contextlib
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import torch.distributed
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from ...errors import AnygruError
from .. import Failure
from .progress import Display
from .session import Job, StopRequest, run
from .trainer import ConnectionLost, Group

HOST = "127.0.0.1"
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"
SILENCE = timedelta(minutes=10)  # a worker that sends nothing for this long is given up
GRACE = 2.0  # seconds that the others have to report, after the first one ended
PERIOD = 0.5  # seconds


def run_together(job: Job) -> int:
    """`session.run` in `job.options.nproc` processes; returns what it returns and raises what it raises."""
    store = TCPStore(HOST, 0, is_master=True, wait_for_workers=False)
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe(duplex=False) for _ in range(job.options.nproc)]
    workers = [
        context.Process(target=_work, args=(rank, job, store.port, sender), daemon=True)
        for rank, (_, sender) in enumerate(pipes)
    ]
    with _ignored(signal.SIGINT):  # inherited by the workers, until each installs its own handler
        for worker in workers:
            worker.start()
    try:
        with StopRequest(patient=False) as stop:
            _wait_for(workers, stop)
        return _outcome([worker.exitcode for worker in workers], [_message(pipe) for pipe, _ in pipes])
    finally:
        for worker in workers:
            if worker.is_alive():
                worker.kill()


def _wait_for(workers: Sequence[BaseProcess], stop: StopRequest) -> None:
    """Wait until all workers have ended, or one has failed and the others had time to report."""
    deadline = math.inf
    while any(worker.is_alive() for worker in workers) and time.monotonic() < deadline:
        wait([worker.sentinel for worker in workers if worker.is_alive()], PERIOD)
        if deadline == math.inf and any(worker.exitcode not in (None, 0) for worker in workers):
            deadline = time.monotonic() + GRACE
        for worker in workers:
            if stop.signal and worker.pid and worker.is_alive():
                os.kill(worker.pid, stop.signal)  # repeated, since a worker that is still starting has no handler yet


def _outcome(exit_codes: Sequence[int | None], messages: Sequence[int | Exception | None]) -> int:
    """Return the job's result, or raise its first error, not one that followed from it."""
    errors = [message for message in messages if isinstance(message, Exception)]
    for rank, (code, message) in enumerate(zip(exit_codes, messages, strict=True)):
        if (
            code is not None and code < 0 and message is None
        ):  # a worker that reported something was not the first to fail
            raise Failure(f"worker {rank} was killed by {signal.Signals(-code).name}")
    for error in sorted(errors, key=lambda error: isinstance(error, ConnectionLost)):
        raise error
    for rank, (code, message) in enumerate(zip(exit_codes, messages, strict=True)):
        if not isinstance(message, int):
            raise Failure(f"worker {rank} ended with exit status {code}")
    return next(message for message in messages if isinstance(message, int))


def _message(pipe: Connection) -> int | Exception | None:
    """Return what the worker sent: the result of `session.run`, an error, or nothing."""
    return pipe.recv() if pipe.poll() else None


@contextlib.contextmanager
def _ignored(number: signal.Signals) -> Iterator[None]:
    old = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, old)


def _work(rank: int, job: Job, port: int, sender: Connection) -> None:
    """Run one worker."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    size = job.options.nproc
    try:
        store = TCPStore(HOST, port, is_master=False)
        os.environ.setdefault("GLOO_SOCKET_IFNAME", LOOPBACK)
        torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=SILENCE)
        result = run(job, job.load_corpus(), Group(rank, size), job.display() if rank == 0 else Display())
    except (AnygruError, Failure, OSError) as error:
        sender.send(error)
        sender.close()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)  # during a normal exit the connection's threads would abort the interpreter
    sender.send(result)
    torch.distributed.destroy_process_group()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
