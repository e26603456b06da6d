"""The rank of this process, the size of its job, and the connection between the processes.

A launcher (`anygru launch`, torchrun, `spawn`) sets the variables RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
MASTER_ADDR and MASTER_PORT of each process. Without a launcher there is a world of one.
"""

import atexit
import gc
import logging
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from ..errors import ArgumentError
from .addresses import LOOPBACK, interface_of, own_address, serve_store

TIMEOUT = "ANYGRU_TIMEOUT"
"""The variable with the seconds that a collective waits, set by `anygru launch --timeout`."""
DEFAULT_TIMEOUT = timedelta(minutes=2)
LONG_TIMEOUT = timedelta(minutes=30)
"""For the dialects: their frameworks let rank 0 validate for a long time while the others wait."""

RESTING = 5.0  # seconds in which the other threads become idle at the end of a process


@dataclass(frozen=True)
class World:
    """The place of this process: `rank` of `size` in the job, `local_rank` of `local_size` on this machine."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1


def launched() -> bool:
    """Return whether a launcher started this process."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def world() -> World:
    """Return the world that the launcher's variables describe, or a world of one; connects nothing.

    Raises:
        ArgumentError: a variable is not a number, or the rank is not in the world.
    """
    if not launched():
        return World()
    rank, size = _number("RANK"), _number("WORLD_SIZE")
    if not 0 <= rank < size:
        raise ArgumentError(f"RANK must be at least 0 and below WORLD_SIZE = {size}, got {rank}")
    return World(rank, size, _number("LOCAL_RANK", rank), _number("LOCAL_WORLD_SIZE", size))


def start(backend: str | None = None, *, alone: bool = False, timeout: timedelta | None = None) -> World:
    """Connect the processes of the job (torch's default process group) and give this one's place.

    Args:
        backend: "gloo", "nccl" or torch's "cpu:gloo,cuda:nccl"; None takes Gloo for the CPU, and NCCL for CUDA if each
            process of the machine has its own GPU, which becomes its current device.
        alone: also make a process group of one where there is no launcher, so that collectives work there.
        timeout: how long a collective waits for the other processes; None: `anygru launch --timeout`, or two minutes.
            It must be longer than any rank makes the other ranks wait, for example in a validation that only one rank
            runs.

    A second call changes nothing. The connection is closed when the process ends.
    """
    place = world()
    if dist.is_initialized() or not (launched() or alone):
        return place
    owns_gpu = torch.cuda.is_available() and place.local_size <= torch.cuda.device_count()
    if owns_gpu:
        torch.cuda.set_device(place.local_rank)
    backend = backend or ("cpu:gloo,cuda:nccl" if owns_gpu else "gloo")
    timeout = timeout or launch_timeout()
    if launched():
        _join(place, backend, timeout)
    else:
        store = dist.HashStore()  # type: ignore[attr-defined]
        dist.init_process_group(backend, store=store, rank=0, world_size=1, timeout=timeout)
    atexit.register(_part)
    return place


def launch_timeout(otherwise: timedelta = DEFAULT_TIMEOUT) -> timedelta:
    """Return how long a collective waits: the seconds of `anygru launch --timeout`, or `otherwise`.

    Raises:
        ArgumentError: the launcher's variable is not a number of seconds.
    """
    text = os.environ.get(TIMEOUT)
    if text is None:
        return otherwise
    try:
        return timedelta(seconds=float(text))
    except (ValueError, OverflowError):
        raise ArgumentError(f"the environment variable {TIMEOUT} must be a number of seconds, got {text!r}") from None


def _join(place: World, backend: str, timeout: timedelta) -> None:
    """Make the process group, on a store of our own where torch's would listen on all addresses without need."""
    host = os.environ.get("MASTER_ADDR", LOOPBACK)
    address = own_address(host)
    # Gloo takes the interface to which the machine's name resolves, if it does, which may be another one.
    interface = interface_of(address)
    if interface is not None:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
    if address not in (LOOPBACK, "::1") or os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        dist.init_process_group(backend, timeout=timeout)
        return
    port = _number("MASTER_PORT")
    store = dist.TCPStore(host, port, is_master=False) if place.rank else serve_store(address, port)  # type: ignore[attr-defined]
    dist.init_process_group(backend, timeout=timeout, store=store, rank=place.rank, world_size=place.size)


def stop() -> None:
    """Close the connection, unless the process is ending by an exception: then its peers may be waiting, or gone."""
    failing = hasattr(sys, "last_type")
    if dist.is_initialized() and not failing:
        # Objects that hold the connection would keep its threads running during interpreter shutdown.
        gc.collect()
        dist.destroy_process_group()


def _part() -> None:
    """Run at exit: close the connection, or, after an exception in a job of several processes, exit at once.

    Its threads would abort an interpreter that is taken down while they run, and closing could wait for peers that are gone.
    Its peers notice the closed connection and fail. The launcher then ends this process, so it ignores SIGTERM to keep its
    own exit status.
    """
    if launched() and world().size > 1:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if launched() and world().size > 1 and hasattr(sys, "last_type") and dist.is_initialized():
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
    stop()
    _let_threads_rest()


def _let_threads_rest() -> None:
    """Wait until the other threads of this process sleep, at most `RESTING` seconds; does nothing where there is no /proc.

    A global tensor or a module that the script still holds keeps the connection, and so Gloo's threads. A thread that
    has just finished a collective releases its tensors, for which it needs the interpreter's lock. While the
    interpreter shuts down, Python up to 3.13 ends such a thread, and with it the process by SIGABRT (pytorch/pytorch,
    pull request 179291).
    """
    latest = time.monotonic() + RESTING
    while time.monotonic() < latest:
        time.sleep(0.002)  # without the lock: a thread that waits for it runs now
        threads = Path("/proc/self/task").glob("[0-9]*")
        if not any(_state_of(thread) == "R" for thread in threads if int(thread.name) != threading.get_native_id()):
            return


def _state_of(thread: Path) -> str | None:
    """Return Linux's letter for the state of a thread in /proc, R where it runs; None where it has ended."""
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def _number(variable: str, default: int | None = None) -> int:
    text = os.environ.get(variable, "" if default is None else str(default))
    try:
        return int(text)
    except ValueError:
        raise ArgumentError(f"the environment variable {variable} must be a whole number, got {text!r}") from None
