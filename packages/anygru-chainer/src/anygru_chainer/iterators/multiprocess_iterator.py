"""The iterator that reads a dataset in several processes, ahead of the training."""

import copy
import multiprocessing
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy

from ..dataset import Examples
from ..serializer import AbstractSerializer
from .serial_iterator import IteratorState, SerialIterator, advance
from .serial_iterator import ShuffleOrderSampler as ShuffleOrderSampler
from .workers import Workers, measure

__all__ = ["MultiprocessIterator"]

_RESPONSE_TIME = 0.1


class MultiprocessIterator(SerialIterator):
    """Batches with examples read by other processes during training; see `SerialIterator`.

    The processes are forked, as in Chainer, unless the program has set another start method.

    Args:
        n_processes: number of processes; None for one per core.
        n_prefetch: number of batches to read ahead.
        shared_mem: bytes of shared memory for the arrays of an example; None to measure the first batch, which is read in
            this process.
        dataset_timeout: seconds after which waiting for a batch gives a `TimeoutWarning`; None for never.
        maxtasksperchild: the number of examples after which a process is replaced.

    A worker that dies ends in a RuntimeError at the next batch. In Chainer 7.8.1 the iterator then waits forever.
    """

    class TimeoutWarning(RuntimeWarning):
        """A batch is late."""

    _interruption_testing = False  # Chainer's own tests set it: the numbers of the processes are printed
    _finalized = False
    _prefetcher: "_Prefetcher | None" = None

    def __init__(
        self,
        dataset: Examples,
        batch_size: int,
        repeat: bool = True,
        shuffle: bool | None = None,
        n_processes: int | None = None,
        n_prefetch: int = 1,
        shared_mem: int | None = None,
        order_sampler: Callable[..., Any] | None = None,
        dataset_timeout: float | None = 30.0,
        maxtasksperchild: int | None = None,
    ) -> None:
        self.n_processes = n_processes or multiprocessing.cpu_count()
        self.n_prefetch = max(n_prefetch, 1)
        self.shared_mem = shared_mem
        self.shuffle = shuffle
        self.dataset_timeout = dataset_timeout
        self._maxtasksperchild = maxtasksperchild
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)

    def __next__(self) -> list[Any]:
        batch, state = self._read_first() if self._prefetcher is None else self._prefetcher.get()
        self._previous_epoch_detail = self.epoch_detail
        self._state = state
        if batch is None:
            raise StopIteration
        return batch

    next = __next__

    def _read_first(self) -> tuple[list[Any] | None, IteratorState]:
        """The first batch; the processes start after it, when the size of an example is known."""
        state, size, batch = self._state, self.shared_mem, None
        next_state = self._next_state()
        if size is None:
            state, indices = next_state(state)
            if indices is not None:
                batch = self._read_here(indices)
                size = max(map(measure, batch))
        workers = Workers(self.dataset, self.n_processes, size or 0, self.batch_size, self._maxtasksperchild)
        if self._interruption_testing:
            print(*workers.pids)
            sys.stdout.flush()
        self._prefetcher = _Prefetcher(next_state, workers, self.n_prefetch, self.dataset_timeout, state)
        return (batch, state) if self.shared_mem is None else self._prefetcher.get()

    def _next_state(self) -> Callable[[IteratorState], tuple[IteratorState, Any]]:
        """`advance` without a reference to the iterator, which would keep it alive in its own thread."""
        arguments = (self.batch_size, self._repeat, self.order_sampler, len(self.dataset))
        return lambda state: advance(state, *arguments)

    def _read_here(self, indices: numpy.ndarray) -> list[Any]:
        """Examples read in a thread of this process, so that a dataset that hangs is noticed."""
        batch: list[Any] = []
        errors: list[Exception] = []

        def read() -> None:
            try:
                batch.extend(self.dataset[index] for index in indices)
            except Exception as error:
                errors.append(error)

        if self.dataset_timeout is None:
            read()
        else:
            thread = threading.Thread(target=read, daemon=True)
            thread.start()
            thread.join(self.dataset_timeout)
            if thread.is_alive():
                warn_late()
            thread.join()
        if errors:
            raise errors[0]
        return batch

    def reset(self) -> None:
        """Go back to the start (NotImplementedError after `finalize`, as in Chainer)."""
        super().reset()
        self._restart()

    def serialize(self, serializer: AbstractSerializer) -> None:
        super().serialize(serializer)
        self._restart()

    def _restart(self) -> None:
        if self._finalized:
            raise NotImplementedError("Reset of finalized MultiProcessIterator is currently not supported.")
        if self._prefetcher is not None:
            self._prefetcher.restart(self._state)

    def finalize(self) -> None:
        """Stop the processes."""
        if self._prefetcher is not None:
            self._prefetcher.stop()
        self._prefetcher = None
        self._finalized = True

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_prefetcher", None)
        return state

    def __copy__(self) -> "MultiprocessIterator":
        other = MultiprocessIterator.__new__(MultiprocessIterator)
        other.__dict__.update(self.__getstate__(), _state=copy.copy(self._state))
        return other


def warn_late() -> None:
    """Warn of a batch that is late."""
    warnings.warn(
        "Stalled dataset is detected: an example takes longer than dataset_timeout to be read.",
        MultiprocessIterator.TimeoutWarning,
        stacklevel=3,
    )


class _Prefetcher:
    """A thread that has batches read ahead.

    Args:
        advance: gives the next state and the indices of its batch (None at the end).
        workers: they read the examples; `stop` also stops them.
        n_prefetch: number of batches that may wait.
        timeout: seconds after which waiting gives a warning; None for never.
        state: where to begin.
    """

    def __init__(
        self,
        advance: Callable[[IteratorState], tuple[IteratorState, Any]],
        workers: Workers,
        n_prefetch: int,
        timeout: float | None,
        state: IteratorState,
    ) -> None:
        self._advance = advance
        self._workers = workers
        self._n_prefetch = n_prefetch
        self._timeout = timeout
        self._changed = threading.Condition()
        self._stopped = False
        self._error: BaseException | None = None
        self._generation = 0
        self._begin(state)
        self._thread = threading.Thread(target=self._run, name="prefetch_loop", daemon=True)
        self._thread.start()

    def _begin(self, state: IteratorState) -> None:
        """Batches read before belong to another generation and are dropped."""
        self._generation += 1
        self._state = state
        self._ready: deque[tuple[list[Any] | None, IteratorState]] = deque()

    def restart(self, state: IteratorState) -> None:
        """Continue from another state."""
        with self._changed:
            self._begin(state)
            self._changed.notify_all()

    def get(self) -> tuple[list[Any] | None, IteratorState]:
        """The next batch (None at the end) and the state after it."""
        start = time.monotonic()
        with self._changed:
            while not self._ready:
                if self._error is not None:
                    raise self._error
                self._changed.wait(_RESPONSE_TIME)
                if self._timeout is not None and time.monotonic() - start > self._timeout:
                    warn_late()
            found = self._ready.popleft()
            self._changed.notify_all()
            return found

    def _run(self) -> None:
        try:
            while not self._stopped:
                with self._changed:
                    generation, state = self._generation, self._state
                state, indices = self._advance(state)
                batch = None if indices is None else self._workers.read(indices, lambda: self._stopped)
                self._put(batch, state, generation)
        except BaseException as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _put(self, batch: list[Any] | None, state: IteratorState, generation: int) -> None:
        with self._changed:
            while len(self._ready) >= self._n_prefetch and generation == self._generation and not self._stopped:
                self._changed.wait()
            if generation == self._generation:
                self._state = state
                self._ready.append((batch, state))
                self._changed.notify_all()

    def stop(self) -> None:
        """Stop the thread and the processes."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not threading.current_thread():
            self._thread.join()
        self._workers.stop()
