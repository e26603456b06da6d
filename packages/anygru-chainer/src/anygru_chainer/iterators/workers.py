"""Processes that read the examples of a dataset, and shared memory for the arrays."""

import multiprocessing
import multiprocessing.connection
import pickle
import signal
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from multiprocessing import sharedctypes
from typing import Any, NamedTuple

import numpy
import torch

from ..dataset import Examples
from . import _processes

Task = tuple[int, int]  # place in the batch, index in the dataset


class Packed(NamedTuple):
    """An array in the shared memory."""

    offset: int
    shape: tuple[int, ...]
    dtype: numpy.dtype

    def unpack(self, memory: Any) -> numpy.ndarray:
        """A copy of the array."""
        size = int(numpy.prod(self.shape, dtype=numpy.intp))
        return numpy.frombuffer(memory, self.dtype, size, self.offset).reshape(self.shape).copy()


def measure(example: Any) -> int:
    """The total bytes of the arrays in an example."""
    values = example.values() if type(example) is dict else example if type(example) in (tuple, list) else [example]
    return sum(value.nbytes for value in values if isinstance(value, numpy.ndarray))


def _convert(example: Any, convert: Callable[[Any], Any]) -> Any:
    """The example with its arrays converted: itself, or the items of a tuple, list or dictionary."""
    if type(example) in (tuple, list):
        return type(example)(convert(value) for value in example)
    if type(example) is dict:
        return {key: convert(value) for key, value in example.items()}
    return convert(example)


def pack(example: Any, memory: Any, start: int, stop: int) -> Any:
    """Move the arrays of an example into the shared memory; arrays that do not fit (a warning) are returned unchanged."""
    if not len(memory):
        return example
    offset = start

    def place(value: Any) -> Any:
        nonlocal offset
        if type(value) is not numpy.ndarray or value.dtype.hasobject:
            return value
        if offset + value.nbytes > stop:
            warnings.warn(
                "Shared memory size is too small.\nPlease set shared_mem option for MultiprocessIterator.\n"
                f"Expect shared memory size: {measure(example)} bytes.\nActual shared memory size: {stop - start} bytes.",
                UserWarning,
            )
            return value
        packed = Packed(offset, value.shape, value.dtype)
        numpy.frombuffer(memory, value.dtype, value.size, offset)[...] = value.ravel()
        offset += value.nbytes
        return packed

    return _convert(example, place)


def unpack(example: Any, memory: Any) -> Any:
    """Undo `pack`."""
    return _convert(example, lambda value: value.unpack(memory) if isinstance(value, Packed) else value)


def _serve(conn: multiprocessing.connection.Connection, dataset: Examples, size: int, memory: Any) -> None:
    """The worker: reads examples until it receives None or the parent process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops its workers itself
    torch.set_num_threads(1)  # as torch's own loaders do: there is a worker for each core
    parent = multiprocessing.parent_process()
    watched: list[Any] = [conn] if parent is None else [conn, parent.sentinel]
    while conn in multiprocessing.connection.wait(watched):
        try:
            task = conn.recv()
        except EOFError:
            return
        if task is None:
            return
        place, index = task
        try:
            reply = pickle.dumps((place, pack(dataset[index], memory, place * size, (place + 1) * size), None))
        except Exception as error:
            reply = pickle.dumps((place, None, (_portable(error), "".join(traceback.format_exception(error)))))
        conn.send_bytes(reply)


def _portable(error: Exception) -> Exception:
    """The error, or its text as a RuntimeError if it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")


class _Worker:
    """A worker process and its current task."""

    def __init__(self, dataset: Examples, size: int, memory: Any) -> None:
        context: Any = _processes.context()
        self.conn, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, dataset, size, memory), daemon=True)
        _processes.start(self.process)
        theirs.close()
        self.tasks_done = 0

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.join()
        self.conn.close()


class Workers:
    """A number of worker processes for one dataset.

    Args:
        dataset: the dataset.
        number: the number of processes.
        size: bytes of shared memory for an example.
        places: examples in a batch.
        tasks_per_worker: the number of examples after which a process is replaced; None: never.
    """

    def __init__(
        self, dataset: Examples, number: int, size: int, places: int, tasks_per_worker: int | None = None
    ) -> None:
        self._dataset = dataset
        self._size = size
        self._memory = sharedctypes.RawArray("b", size * places)
        self._tasks_per_worker = tasks_per_worker
        self._workers = [self._start() for _ in range(number)]

    def _start(self) -> _Worker:
        return _Worker(self._dataset, self._size, self._memory)

    pids = property(lambda self: [worker.process.pid for worker in self._workers], doc="The numbers of the processes.")

    def read(self, indices: Iterable[int], is_stopped: Callable[[], bool]) -> list[Any] | None:
        """The examples at some indices; None if `is_stopped()` becomes true.

        Raises:
            RuntimeError: a worker has died. Exceptions of the dataset are raised here.
        """
        tasks = deque(enumerate(indices))
        examples: list[Any] = [None] * len(tasks)
        busy: dict[Any, int] = {}  # connection -> number of the worker
        idle = list(range(len(self._workers)))
        while tasks or busy:
            while tasks and idle:
                number = idle.pop()
                self._hand_over(number, tasks.popleft())
                busy[self._workers[number].conn] = number
            for conn in multiprocessing.connection.wait(list(busy), timeout=0.1):
                number = busy.pop(conn)
                place, example = self._receive(self._workers[number])
                examples[place] = unpack(example, self._memory)
                self._replace_if_worn(number)
                idle.append(number)
            if is_stopped():
                return None
        return examples

    def _hand_over(self, number: int, task: Task) -> None:
        try:
            self._workers[number].conn.send(task)
        except OSError:
            raise self._died(self._workers[number]) from None

    def _receive(self, worker: _Worker) -> Task:
        try:
            place, example, failure = worker.conn.recv()
        except (EOFError, OSError):
            raise self._died(worker) from None
        if failure is not None:
            error, text = failure
            raise error from RuntimeError(f"in a worker process:\n{text}")
        worker.tasks_done += 1
        return place, example

    def _replace_if_worn(self, number: int) -> None:
        if self._tasks_per_worker is not None and self._workers[number].tasks_done >= self._tasks_per_worker:
            self._workers[number].stop()
            self._workers[number] = self._start()

    @staticmethod
    def _died(worker: _Worker) -> RuntimeError:
        worker.process.join(1)
        return RuntimeError(
            f"MultiprocessIterator: worker process {worker.process.pid} died while it read an example "
            f"(exit code {worker.process.exitcode})"
        )

    def stop(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.stop()
