"""Snapshots of a training, and the writers that store them."""

import os
import queue
import tempfile
import threading
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ... import serializers
from ...configuration import is_debug
from ...iterators import _processes
from ...serializers import save_npz
from ..extension import Extension

if TYPE_CHECKING:
    from ..trainer import Trainer

__all__ = ["snapshot", "snapshot_object"]


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
        # In the target folder, because a rename is atomic only within one file system.
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
        """Do the tasks of a queue, [function, file name, folder, dictionary], until it contains None."""
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
    """A process with the start method of `_processes`."""

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
    """Copies, because training continues and would change the arrays during the write."""
    return {name: array.copy() for name, array in target.items()}


def snapshot_object(
    target: Any, filename: str | Callable[[Any], str], savefun: Callable[..., None] | None = None, **kwargs: Any
) -> Any:
    """An extension that saves one object; see `snapshot`."""
    return snapshot(savefun, filename, target=target, **kwargs)


def snapshot(
    savefun: Callable[..., None] | None = None,
    filename: str | Callable[[Any], str] = "snapshot_iter_{.updater.iteration}",
    *,
    target: Any = None,
    condition: Callable[[], bool] | None = None,
    writer: Callable[..., None] | None = None,
    snapshot_on_error: bool = False,
    n_retains: int = -1,
    num_retain: int | None = None,
    autoload: bool = False,
) -> Any:
    """An extension that saves the trainer, once an epoch by default.

    Args:
        savefun: function (path, dictionary) that writes the file, `save_npz` by default (TypeError with `writer`).
        filename: name of the file in the trainer's folder, formatted with the trainer; or a function of the trainer.
        target: the object to save instead of the trainer.
        condition: function that returns whether to save.
        writer: see `snapshot_writers`.
        snapshot_on_error: save also when the training fails.
        n_retains: the number of newest files to keep; -1 for all (`num_retain` is the same).
        autoload: load the newest file, if any, before the training.
    """
    if savefun is not None and writer is not None:
        raise TypeError("savefun and writer arguments cannot be specified together.")
    if writer is None:
        writer = SimpleWriter(serializers.save_npz if savefun is None else savefun)
    if num_retain is not None:
        warnings.warn("Argument `num_retain` is deprecated. Please use `n_retains` instead", DeprecationWarning)
        n_retains = num_retain
    return _Snapshot(target, condition, writer, filename, snapshot_on_error, n_retains, autoload)


def _always() -> bool:
    return True


class _Snapshot(Extension):
    trigger = (1, "epoch")
    # After all other extensions, because it stores their results.
    priority = -100

    def __init__(
        self,
        target: Any,
        condition: Callable[[], bool] | None,
        writer: Callable[..., None] | None,
        filename: str | Callable[[Any], str],
        snapshot_on_error: bool,
        n_retains: int,
        autoload: bool,
    ) -> None:
        self._target = target
        self.condition = _always if condition is None else condition
        self.writer: Any = writer
        self.filename: Any = filename
        self._snapshot_on_error = snapshot_on_error
        self.n_retains = n_retains
        self.autoload = autoload

    def initialize(self, trainer: "Trainer") -> None:
        target = trainer if self._target is None else self._target
        if self.autoload:
            latest = _find_latest_snapshot(self.filename, trainer.out)
            if latest is not None:
                serializers.load_npz(os.path.join(trainer.out, latest), target)
            if is_debug():
                found = f"Snapshot loaded from {os.path.join(trainer.out, latest)}" if latest else ""
                print(found or f"No snapshot file that matches {self.filename} was found")
        if self.n_retains > 0 and isinstance(self.filename, str) and hasattr(self.writer, "_add_cleanup_hook"):

            def remove_old() -> None:
                for name in _find_stale_snapshots(self.filename, trainer.out, self.n_retains):
                    os.remove(os.path.join(trainer.out, name))

            self.writer._add_cleanup_hook(remove_old)

    def on_error(self, trainer: "Trainer", exc: Exception, tb: TracebackType | None) -> None:
        if self._snapshot_on_error:
            self._save(trainer)

    def __call__(self, trainer: "Trainer") -> None:
        if self.condition():
            self._save(trainer)

    def _save(self, trainer: "Trainer") -> None:
        arrays = serializers.serialize(trainer if self._target is None else self._target)
        name = self.filename(trainer) if callable(self.filename) else self.filename.format(trainer)
        self.writer(name, trainer.out, arrays)

    def finalize(self) -> None:
        if hasattr(self.writer, "finalize"):
            self.writer.finalize()


def _find_snapshot_files(fmt: str, path: str) -> list[tuple[float, str]]:
    """Time and name of each file of a folder that matches the pattern before the first "{" and after the last "}"."""
    start, end = fmt.split("{")[0], fmt.split("}")[-1]
    names = [name for name in os.listdir(path) if name.startswith(start) and name.endswith(end)]
    full = {name: os.path.join(path, name) for name in names}
    return sorted((os.stat(full[name]).st_mtime, name) for name in names if os.path.isfile(full[name]))


def _find_latest_snapshot(fmt: str, path: str) -> str | None:
    """Name of the newest file that fits the pattern, None if there is none."""
    files = _find_snapshot_files(fmt, path)
    return files[-1][1] if files else None


def _find_stale_snapshots(fmt: str, path: str, n_retains: int) -> list[str]:
    """Names of the files that fit the pattern, but the newest ones."""
    files = _find_snapshot_files(fmt, path)
    return [name for _, name in files[: max(len(files) - n_retains, 0)]]
