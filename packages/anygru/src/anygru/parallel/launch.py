"""`anygru launch`: torchrun with the import hook of the dialects, each worker's share of the cores, and an end for every job."""

import argparse
import contextlib
import os
import socket
import sys
import tempfile
import textwrap
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import AnygruError, ArgumentError, ArgumentTypeError
from ._worker import LAUNCHER, LOGS
from .world import TIMEOUT, launch_timeout


class LaunchError(AnygruError, RuntimeError):
    """The processes of a job could not find each other."""


def parser() -> argparse.ArgumentParser:
    """Return torchrun's parser."""
    from torch.distributed.run import get_args_parser

    made = get_args_parser()
    if "PET_MASTER_PORT" not in os.environ:
        made.set_defaults(master_port=None)  # torch 2.10 and older put 29500, as if the user had set it
    return made


def launch(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    log_dir: str | os.PathLike[str] | None = None,
) -> int:
    """Run a distributed job as torchrun does and return its exit status: 0, or the status of this machine's first
    failed worker.

    Args:
        arguments: torchrun's command line, such as `["--nproc-per-node", "2", "train.py", "--lr", "0.1"]`.
        environment: variables for the workers, in addition to this process's own.
        log_dir: the folder where each worker writes `workerlog.<local rank>`; the output of local rank 0 is shown as well.
            None lets all of them write to this process's output.

    When a worker fails, the others are ended, and standard error has its rank, how it ended and, for a Python exception, the
    traceback. With `--max-restarts` all workers start again before that.

    Raises:
        ArgumentError, ArgumentTypeError: an argument, or an option of the command line, does not fit.
        LaunchError: the machines of the job did not meet.
    """
    is_list = isinstance(arguments, Sequence) and not isinstance(arguments, str)
    if not is_list or not all(isinstance(word, str) for word in arguments):
        raise ArgumentTypeError(f"launch: arguments must be a list of words, got {arguments!r:.60}")
    return run(parser().parse_args(list(arguments)), environment=environment, log_dir=log_dir)


def run(
    options: argparse.Namespace,
    *,
    environment: Mapping[str, str] | None = None,
    log_dir: str | os.PathLike[str] | None = None,
) -> int:
    """`launch` for the options that `parser` has read; `timeout` is in seconds, or None."""
    extra = {**(environment or {}), LAUNCHER: str(os.getpid())}
    seconds = getattr(options, "timeout", None)
    if seconds is not None:
        if not 0 < seconds < 1e6:
            raise ArgumentError(f"--timeout must be above 0 seconds, got {seconds}")
        extra[TIMEOUT] = str(seconds)
    if log_dir is not None:
        os.makedirs(log_dir, exist_ok=True)
        extra[LOGS] = os.path.abspath(log_dir)
    with tempfile.TemporaryDirectory(prefix="anygru-launch-") as folder, _restored_environment():
        os.environ.update(extra)
        options.log_dir = options.log_dir or folder  # torch's own temporary folder would stay
        return _watched(*_configuration(options))


def _watched(config: Any, command: Any, words: list[str]) -> int:
    """Run the job with torch's agent and a watch over faults; return the exit status."""
    from torch.distributed import DistError
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.elastic.rendezvous import RendezvousError
    from torch.distributed.launcher.api import elastic_launch

    from .watch import FaultWatch

    watch = config.rdzv_configs["watch"] = FaultWatch(launch_timeout().total_seconds(), config.max_restarts > 0)
    success = False
    try:
        elastic_launch(config, command)(*words)
        success = True
        return 0
    except ChildFailedError as error:
        return 1 if watch.found else _report(*error.get_first_failure())
    except (KeyError, ValueError) as error:  # of a name that is not registered
        raise ArgumentError(f"an option of torchrun does not fit: {error}") from error
    except SignalException as error:
        print(f"anygru launch: ended by {error.sigval.name}", file=sys.stderr)
        return 128 + int(error.sigval)
    except (RendezvousError, DistError) as error:
        if not watch.found:
            raise LaunchError(f"the machines of the job did not meet: {error}") from error
        return 1
    finally:
        watch.stop(success)


def _configuration(options: argparse.Namespace) -> tuple[Any, Any, list[str]]:
    """Return torch's configuration of the job, the command and its arguments, and set the workers' share of the cores."""
    from torch.distributed.run import config_from_args

    from . import rendezvous

    threads = os.environ.setdefault("OMP_NUM_THREADS", "share")  # torch would set 1
    is_given = options.rdzv_endpoint or options.master_port is not None or options.rdzv_backend != "static"
    options.master_port = 29500 if options.master_port is None else options.master_port  # torchrun's default
    if not 0 <= options.master_port < 1 << 16:
        raise ArgumentError(f"--master-port must be from 0 to 65535, got {options.master_port}")
    if not 0 < options.monitor_interval < 1e6:
        raise ArgumentError(f"--monitor-interval must be above 0 seconds, got {options.monitor_interval}")
    try:
        config, command, words = config_from_args(options)
    except (AssertionError, RuntimeError, ValueError) as error:
        raise ArgumentError(f"an option of torchrun does not fit: {error}") from None
    if config.nproc_per_node < 1:
        raise ArgumentError(f"--nproc-per-node must be at least 1, got {config.nproc_per_node}")
    if threads == "share":
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        os.environ["OMP_NUM_THREADS"] = str(max(1, cores // config.nproc_per_node))
    is_alone = options.standalone or (config.max_nodes == 1 and not is_given)
    if is_alone:
        config.run_id = uuid.uuid4().hex
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"  # torch would open a second store for the workers
    config.rdzv_configs["inner"] = None if is_alone else config.rdzv_backend
    config.rdzv_backend = rendezvous.register()
    return config, command, words


@contextlib.contextmanager
def _restored_environment() -> Iterator[None]:
    """Restore the variables of this process, which torchrun's workers inherit, at the end."""
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _report(rank: int, failure: Any) -> int:
    """Print how a worker ended, with the traceback of an exception, and return the exit status for it."""
    how = f"rank {rank} (local rank {failure.local_rank}, process {failure.pid} on {socket.gethostname()})"
    if failure.exitcode < 0:
        how += f" was killed by signal {-failure.exitcode} ({failure.signal_name()})"
    else:
        how += f" ended with exit status {failure.exitcode}"
    message = failure.error_file_data.get("message", {})
    if isinstance(message, dict) and "extraInfo" in message:
        how += "\n" + textwrap.indent(message["extraInfo"]["py_callstack"].rstrip(), "  ")
    print(f"anygru launch: {how}", file=sys.stderr)
    return int(failure.exitcode if failure.exitcode > 0 else 128 - failure.exitcode)
