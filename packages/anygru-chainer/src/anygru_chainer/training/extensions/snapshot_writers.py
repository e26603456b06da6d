"""How snapshots reach the disk."""

import os
import queue
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from ...iterators import _processes
from ...serializers.npz import save_npz


class Writer:
    """Called with (file name, folder, dictionary of arrays)."""

    def __init__(self) -> None:
        self._cleanup_hooks: list[Callable[[], None]] = []

    def __call__(self, filename: str, outdir: str, target: dict[str, Any]) -> None:
        raise NotImplementedError

    def save(
        self, filename: str, outdir: str, target: dict[str, Any], savefun: Callable[..., None], **kwds: Any
    ) -> None:
        """Write to a temporary file and rename it."""
        path = os.path.join(outdir, filename)
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        # In the folder itself: a rename is all or nothing within one file system only.
        with tempfile.TemporaryDirectory(dir=os.path.dirname(path) or ".") as folder:
            temporary = os.path.join(folder, os.path.basename(path))
            savefun(temporary, target, **kwds)
            os.replace(temporary, path)
        self._post_save()

    def _add_cleanup_hook(self, hook_fun: Callable[[], None]) -> None:
        """Call a function after each snapshot."""
        self._cleanup_hooks.append(hook_fun)

    def _post_save(self) -> None:
        for hook in self._cleanup_hooks:
            hook()

    def finalize(self) -> None:
        """Called after the training: returns when everything is written."""


class SimpleWriter(Writer):
    """Writes at once.

    Args:
        savefun: function (path, dictionary) that writes the file.
        kwds: keywords for it.
    """

    def __init__(self, savefun: Callable[..., None] = save_npz, **kwds: Any) -> None:
        super().__init__()
        self._savefun = savefun
        self._kwds = kwds

    def __call__(self, filename: str, outdir: str, target: dict[str, Any]) -> None:
        self.save(filename, outdir, target, self._savefun, **self._kwds)


class StandardWriter(SimpleWriter):
    """Has a worker (with `start` and `join`) for each snapshot; the next snapshot waits for it. See `SimpleWriter`."""

    _worker: Any = None

    def __call__(self, filename: str, outdir: str, target: dict[str, Any]) -> None:
        self._wait()
        self._worker = self.create_worker(filename, outdir, target, **self._kwds)
        self._worker.start()

    def create_worker(self, filename: str, outdir: str, target: dict[str, Any], **kwds: Any) -> Any:
        """Subclasses make the worker here; it calls `save`."""
        raise NotImplementedError

    def _wait(self) -> None:
        if self._worker is not None:
            self._worker.join()
            self._worker = None

    def finalize(self) -> None:
        self._wait()


class ThreadWriter(StandardWriter):
    """Writes in a thread for each snapshot. Its exceptions go to `threading.excepthook`."""

    def create_worker(self, filename: str, outdir: str, target: dict[str, Any], **kwds: Any) -> threading.Thread:
        arguments = (filename, outdir, _copied(target), self._savefun)
        return threading.Thread(target=self.save, args=arguments, kwargs=kwds)


class ProcessWriter(StandardWriter):
    """Writes in a process for each snapshot."""

    def create_worker(self, filename: str, outdir: str, target: dict[str, Any], **kwds: Any) -> "_Process":
        return _Process(target=self.save, args=(filename, outdir, target, self._savefun), kwargs=kwds)


class QueueWriter(Writer):
    """Puts snapshots into a queue; one consumer writes them, in order.

    Args:
        savefun: function (path, dictionary) that writes a file.
        task: the function that the consumer calls, with (file name, folder, dictionary); a `SimpleWriter` by default.
    """

    _is_running = False

    def __init__(self, savefun: Callable[..., None] = save_npz, task: Callable[..., None] | None = None) -> None:
        super().__init__()
        self._task = self.create_task(savefun) if task is None else task
        self._queue = self.create_queue()
        self._consumer = self.create_consumer(self._queue)
        self._consumer.start()
        self._is_running = True

    def __call__(self, filename: str, outdir: str, target: dict[str, Any]) -> None:
        self._queue.put([self._task, filename, outdir, _copied(target)])

    def create_task(self, savefun: Callable[..., None]) -> Callable[..., None]:
        """Returns the function that the consumer calls."""
        return SimpleWriter(savefun=savefun)

    def create_queue(self) -> Any:
        """Subclasses make the queue here; it has `task_done` and `join`."""
        raise NotImplementedError

    def create_consumer(self, q: Any) -> Any:
        """Subclasses make the worker here; it calls `consume`."""
        raise NotImplementedError

    def consume(self, q: Any) -> None:
        """Do the tasks of a queue, [function, file name, folder, dictionary], until there is a None in it."""
        while (task := q.get()) is not None:
            task[0](*task[1:])
            self._post_save()
            q.task_done()
        q.task_done()

    def finalize(self) -> None:
        if self._is_running:
            self._queue.put(None)
            self._queue.join()
            self._consumer.join()
        self._is_running = False


class ThreadQueueWriter(QueueWriter):
    """Writes in one thread that lasts as long as the training. See `QueueWriter`."""

    def create_queue(self) -> queue.Queue[Any]:
        return queue.Queue()

    def create_consumer(self, q: Any) -> threading.Thread:
        return threading.Thread(target=self.consume, args=(q,), daemon=True)


class ProcessQueueWriter(QueueWriter):
    """Writes in one process that lasts as long as the training. See `QueueWriter`."""

    def create_queue(self) -> Any:
        return _processes.context().JoinableQueue()

    def create_consumer(self, q: Any) -> "_Process":
        return _Process(target=self.consume, args=(q,))


class _Process:
    """A process that starts as `_processes` does it."""

    def __init__(
        self, target: Callable[..., None], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> None:
        context: Any = _processes.context()
        self._process = context.Process(target=target, args=args, kwargs=kwargs or {})

    def start(self) -> None:
        _processes.start(self._process)

    def join(self) -> None:
        self._process.join()


def _copied(target: dict[str, Any]) -> dict[str, Any]:
    """The training goes on and would change the arrays while they are written."""
    return {name: array.copy() for name, array in target.items()}
