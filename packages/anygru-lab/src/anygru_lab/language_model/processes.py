"""Training in several processes of this machine.

The parent process waits. If a worker dies, the parent terminates the others and its error names the rank; if the parent
dies, the workers exit. Ctrl-C and SIGTERM are forwarded, and the workers agree on the step after which they stop.
"""

import contextlib
import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence

import torch
from torch.multiprocessing.spawn import ProcessExitedException

from anygru import parallel
from anygru.errors import AnygruError
from anygru.extend import Failure

from .progress import Display
from .session import Job, StopRequest, run
from .trainer import ConnectionLost, Group

GRACE = 2.0  # seconds that the others have to report, after the first one ended
PERIOD = 0.5  # seconds

Outcome = int | Exception


def run_together(job: Job) -> int:
    """Call `session.run` in `job.options.nproc` processes; return its result or raise its error."""
    size = job.options.nproc
    with _ignored(signal.SIGINT):  # inherited by the workers, until each installs its own handler
        workers = parallel.spawn(_work, (job,), size, join=False, daemon=True)
    try:
        with StopRequest(patient=False) as stop:
            _wait_for(workers, stop)
    except ProcessExitedException as error:
        code = error.exit_code or 0
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit status {code}"
        raise Failure(f"worker {error.error_index} {how}") from None
    finally:
        workers.end()
    return _outcome([workers.result(rank) for rank in range(size) if workers.is_done(rank)])


def _wait_for(workers: parallel.Workers, stop: StopRequest) -> None:
    """Wait until all workers have ended, or one has reported an error and the others had time to."""
    deadline = math.inf
    ranks = range(len(workers.processes))
    while time.monotonic() < deadline and not workers.join(PERIOD):
        done = [workers.result(rank) for rank in ranks if workers.is_done(rank)]
        if deadline == math.inf and any(isinstance(outcome, Exception) for outcome in done):
            deadline = time.monotonic() + GRACE
        for worker in workers.processes:
            if stop.signal and worker.is_alive():
                os.kill(worker.pid, stop.signal)  # repeated: a worker that is still starting has no handler


def _outcome(outcomes: Sequence[Outcome]) -> int:
    """Return the job's result, or raise its first error; later errors may follow from the first."""
    errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    for error in sorted(errors, key=lambda error: isinstance(error, ConnectionLost)):
        raise error
    return next(outcome for outcome in outcomes if isinstance(outcome, int))


@contextlib.contextmanager
def _ignored(number: signal.Signals) -> Iterator[None]:
    old = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, old)


def _work(job: Job) -> Outcome:
    """Run one worker; return the result of `session.run`, or the error that it raised."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if not job.options.threads:
        torch.set_num_threads(max(1, torch.get_num_threads() // job.options.nproc))
    try:
        place = parallel.start("gloo")
        display = job.display() if place.rank == 0 else Display()
        return run(job, job.load_corpus(), Group(place.rank, place.size), display)
    except (AnygruError, Failure, OSError) as error:
        return error


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
