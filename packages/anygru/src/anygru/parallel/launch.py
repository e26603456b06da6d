"""`anygru launch`: torchrun, which reports the rank that failed first and how."""

import argparse
import contextlib
import os
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from ..errors import AnygruError, ArgumentError, ArgumentTypeError
from ._worker import BEATS, LAUNCHER, LOGS
from .addresses import LOOPBACK, answers, is_this_machine, own_address
from .failures import cause_of, report
from .folders import claimed, held_folder
from .supervision import Place, Supervisor
from .world import TIMEOUT, timeout_said

GRACE = 15.0  # seconds between a signal and the end of a launcher that does not come back


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

    Raises:
        ArgumentError, ArgumentTypeError: an argument, or an option of the command line, does not fit.
    """
    from torch.distributed.run import parse_args

    if isinstance(arguments, str) or not isinstance(arguments, Iterable):
        raise ArgumentTypeError(
            f"launch: arguments must be a list of words, got {type(arguments).__name__} {arguments!r:.60}"
        )
    words = list(arguments)
    if wrong := [word for word in words if not isinstance(word, str)]:
        raise ArgumentTypeError(
            f"launch: arguments must be words, got {type(wrong[0]).__name__} {wrong[0]!r:.60}: use str()"
        )
    return run(parse_args(words), environment=environment, log_dir=log_dir)


def run(
    options: argparse.Namespace,
    *,
    environment: Mapping[str, str] | None = None,
    log_dir: str | os.PathLike[str] | None = None,
) -> int:
    """`launch` for arguments that torchrun's parser has read, and `timeout` in seconds, if there is one."""
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.elastic.rendezvous import RendezvousError
    from torch.distributed.run import run as torchrun

    _check(options)
    extra = {"OMP_NUM_THREADS": _threads(options)} | dict(environment or {}) | {LAUNCHER: str(os.getpid())}
    if getattr(options, "timeout", None) is not None:
        extra[TIMEOUT] = str(options.timeout)
    alone = _on_one_machine(options)
    if alone:
        _meet_here(options)
    else:
        _meet_elsewhere(options)
        if options.max_restarts:
            # With one store for all attempts, a restarted job would find the dead addresses of the attempt before.
            extra.setdefault("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")
    if log_dir is not None:
        Path(log_dir).mkdir(parents=True, exist_ok=True)
        extra[LOGS] = os.path.abspath(log_dir)
    with (
        held_folder("anygru-beats-") as beats,
        _environment(extra | {BEATS: str(beats)}),
        _shown(log_dir),
        _private_logs(options),
        _supervised(options, beats, None if alone else _place(options)) as supervisor,
        _ended_by_signals(supervisor),
        _ended_by_silence(options),
    ):
        try:
            torchrun(options)
        except ChildFailedError as error:
            verdict = supervisor.agree(cause_of(error, supervisor.at_step))
            return report(verdict, None if verdict == supervisor.stopped else error)
        except SignalException as error:
            cause = supervisor.verdict or supervisor.signalled(error.sigval)
            if cause is not None:
                return report(supervisor.agree(cause))
            print(f"anygru launch: ended by {error.sigval.name}", file=sys.stderr)
            return 128 + error.sigval.value
        except RendezvousError as error:
            told = supervisor.wait()
            if told is not None:
                return report(told)
            raise LaunchError(f"the machines of the job did not meet at {options.rdzv_endpoint}: {error}") from error
        return 0 if (elsewhere := supervisor.at_end()) is None else report(elsewhere)


@contextlib.contextmanager
def _supervised(options: argparse.Namespace, beats: Path, place: Place | None) -> Iterator[Supervisor]:
    """The supervisor of this launcher, beside torch's agent."""
    seconds = getattr(options, "timeout", None) or timeout_said().total_seconds()
    supervisor = Supervisor(beats, seconds, place)
    supervisor.start()
    try:
        yield supervisor
    finally:
        supervisor.stop()


def _place(options: argparse.Namespace) -> Place | None:
    """Where the launchers of the job meet; None where torch's stores of this kind do not tell."""
    from torch.distributed.run import parse_min_max_nnodes

    machines = parse_min_max_nnodes(options.nnodes)
    if options.rdzv_backend == "c10d":
        host, port = _meeting_place(options)
        serves = dict(part.split("=", 1) for part in options.rdzv_conf.split(",")).get("is_host") == "1"
        return Place(host or LOOPBACK, int(port or 29400), options.rdzv_id, serves, machines, options.max_restarts > 0)
    if options.rdzv_backend == "static" and machines[0] > 1:
        serves = int(options.node_rank) == 0
        host, port = _meeting_place(options)
        if not host:
            host, port = options.master_addr, str(options.master_port or "")
        return Place(host, int(port or 29500), options.rdzv_id, serves, machines, options.max_restarts > 0)
    return None


def _check(options: argparse.Namespace) -> None:
    """Raise ArgumentError for what torchrun would answer with a traceback."""
    from torch.distributed.run import determine_local_world_size, parse_min_max_nnodes

    try:
        processes = determine_local_world_size(options.nproc_per_node)
    except ValueError as error:
        raise ArgumentError(f"--nproc-per-node must be a number, cpu, gpu or auto: {error}") from None
    if processes < 1:
        raise ArgumentError(f"--nproc-per-node must be at least 1, got {processes}")
    try:
        least, most = parse_min_max_nnodes(options.nnodes)
    except (ValueError, RuntimeError):
        least, most = 0, 0
    if not 0 < least <= most:
        raise ArgumentError(f"--nnodes must be a number of machines or a range such as 1:4, got {options.nnodes!r}")
    if options.max_restarts < 0:
        raise ArgumentError(f"--max-restarts must be at least 0, got {options.max_restarts}")
    timeout = getattr(options, "timeout", None)
    if timeout is not None and not 0 < timeout < 1e6:
        raise ArgumentError(f"--timeout must be above 0 seconds, got {timeout}")


def _meet_here(options: argparse.Namespace) -> None:
    """Let the processes of this machine find each other without a port that another job could take."""
    from . import one_machine

    options.rdzv_backend, options.rdzv_endpoint, options.rdzv_id = one_machine.register(), LOOPBACK, uuid.uuid4().hex


def _meet_elsewhere(options: argparse.Namespace) -> None:
    """Find out whether this machine is the one where the others meet: torchrun asks only what the host name resolves to."""
    if options.master_port is None:
        options.master_port = 29500  # torchrun's default
    host, port = _meeting_place(options)
    if options.rdzv_backend != "c10d" or not host:
        return
    if "is_host" not in options.rdzv_conf:
        # Two launchers of one job on one machine may rehearse two machines: the first one holds the store at this port.
        is_host = f"is_host={int(is_this_machine(host) and claimed(f'anygru-launch-{port or 29400}'))}"
        options.rdzv_conf = ",".join(filter(None, [options.rdzv_conf, is_host]))
    # By its name, which torchrun would take, another machine may not find this one.
    options.local_addr = options.local_addr or own_address(host)


@contextlib.contextmanager
def _ended_by_signals(supervisor: Supervisor) -> Iterator[None]:
    """End this process some time after a signal, even if it is waiting for a machine that does not answer.

    Python's handlers run between two of its own instructions, torchrun may be inside of a call to the store; the system's
    own handler writes to a socket, which a thread reads.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    done = threading.Event()

    def watch() -> None:
        numbers = b""
        while not done.is_set() and not {signal.SIGTERM, signal.SIGINT} & set(numbers):
            numbers = reading.recv(16)
        if not numbers or done.is_set():
            return
        number = signal.Signals(next(number for number in numbers if number in (signal.SIGTERM, signal.SIGINT)))
        supervisor.signalled(number)
        if not done.wait(GRACE) and supervisor.verdict is None:
            print(f"anygru launch: ended by {number.name}, while a machine of the job did not answer", file=sys.stderr)
            sys.stderr.flush()
            os._exit(128 + number)  # the workers see it and end, too

    watcher = threading.Thread(target=watch, daemon=True)
    before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        signal.set_wakeup_fd(before)
        writing.close()
        watcher.join()
        reading.close()


@contextlib.contextmanager
def _ended_by_silence(options: argparse.Namespace) -> Iterator[None]:
    """End this process if the machine where the job meets stops answering before its supervisor is found, or has none.

    Torch may wait for its store for a quarter of an hour.
    """
    host, port = _meeting_place(options)
    if options.rdzv_backend != "c10d" or not port or is_this_machine(host):
        yield
        return
    seconds = getattr(options, "timeout", None) or timeout_said().total_seconds()
    done = threading.Event()

    def watch() -> None:
        answered = None  # nothing is expected before the first answer
        while not done.wait(0.5 if answered is None else min(5.0, seconds)):
            if answers(host, int(port)):
                answered = time.monotonic()
            elif answered is not None and time.monotonic() - answered > seconds + GRACE and not done.is_set():
                print(f"anygru launch: ended, since {host}, where the job meets, does not answer", file=sys.stderr)
                sys.stderr.flush()
                os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _meeting_place(options: argparse.Namespace) -> tuple[str, str]:
    """Return host and port of the rendezvous; an empty port where none is said."""
    host, colon, port = (options.rdzv_endpoint or "").rpartition(":")
    return (host if colon else port).strip("[]"), port if colon and port.isdecimal() else ""


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
    with held_folder("anygru-launch-") as folder:
        options.log_dir = str(folder)
        yield


@contextlib.contextmanager
def _shown(log_dir: str | os.PathLike[str] | None) -> Iterator[None]:
    """Copy additions to the first worker's log to standard output."""
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
