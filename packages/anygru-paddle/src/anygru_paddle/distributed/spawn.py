"""`paddle.distributed.spawn`: run a function in several processes."""

import os
from collections.abc import Callable
from typing import Any

import torch
from torch.multiprocessing.spawn import ProcessException

from anygru import parallel
from anygru.extend import Workers

from .communication.group import destroy_process_group, is_initialized
from .environment import set_paddle_variables

_BACKENDS = ("auto", "gloo", "nccl")


class ReturnQueue:
    """The function's result on one process."""

    def __init__(self, workers: Workers, rank: int) -> None:
        self._workers = workers
        self._rank = rank

    def get(self) -> Any:
        """The value, after `join`."""
        return self._workers.result(self._rank)


class MultiprocessContext:
    """The processes of one `spawn`."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self.processes = workers.processes
        self.return_queues = [ReturnQueue(workers, rank) for rank in range(len(self.processes))]

    def join(self, timeout: float | None = None) -> bool:
        """Wait: True when all are done. Raises an Exception with rank and traceback of the first process to fail."""
        try:
            return self._workers.join(timeout)
        except ProcessException as error:
            raise Exception(str(error)) from error  # the very class that Paddle raises


def spawn(
    func: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = -1,
    join: bool = True,
    daemon: bool = False,
    **options: Any,
) -> MultiprocessContext:
    """Call `func(*args)` in `nprocs` new processes, which `init_parallel_env` connects.

    Args:
        func: a function of a module, called without the rank; `paddle.distributed.get_rank()` gives it.
        args: its arguments.
        nprocs: the number of processes; -1 for one per GPU, or one per core where there is no GPU.
        join: wait for the end; otherwise call `join()` of the result.
        daemon: let them end with this process.
        options: `start_method` ("spawn", "fork", "forkserver"), `gpus` ("0,1"), `backend` ("auto", "gloo", "nccl"),
            `print_config`.

    Raises:
        ValueError: for other options.
        Exception: with rank and traceback, when a process fails; the others are ended.
    """
    known = {"start_method", "gpus", "backend", "print_config"}
    for name in options:
        if name not in known:
            raise ValueError(f"The config option ({name}) of `paddle.distributed.spawn` is not supported.")
    backend = options.get("backend", "auto")
    if backend not in _BACKENDS:
        raise ValueError(
            "paddle.distributed initialize error, backend argument can only be one of 'nccl', 'gloo', 'auto' "
            f"but got {backend}"
        )
    gpus = options.get("gpus")
    devices = [number.strip() for number in gpus.split(",")] if gpus else []
    if nprocs == -1:
        nprocs = len(devices) or torch.cuda.device_count() or os.cpu_count() or 1
    if devices and len(devices) < nprocs:
        raise ValueError(f"spawn: gpus must name {nprocs} devices, one a process, got {gpus!r}")
    environment = {"PADDLE_DISTRI_BACKEND": backend}
    if devices:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(devices)
    workers = parallel.spawn(
        _work,
        (environment, func, tuple(args)),
        nprocs,
        join=False,
        daemon=daemon,
        start_method=options.get("start_method") or "spawn",
    )
    context = MultiprocessContext(workers)
    while join and not context.join():
        pass
    return context


def _work(environment: dict[str, str], func: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    os.environ.update(environment)
    set_paddle_variables()
    result = func(*args)
    if is_initialized():
        destroy_process_group()
    return result
