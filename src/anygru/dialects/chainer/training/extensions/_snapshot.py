"""Snapshots of a training."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ...serializers import npz
from ..extension import Extension
from .snapshot_writers import SimpleWriter

if TYPE_CHECKING:
    from ..trainer import Trainer

__all__ = ["snapshot", "snapshot_object"]


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
        target: what to save instead of the trainer.
        condition: function that says whether to save.
        writer: see `snapshot_writers`.
        snapshot_on_error: save also when the training fails.
        n_retains: how many of the newest files to keep; -1 for all (`num_retain` is the same).
        autoload: load the newest file before the training, if there is one.
    """
    if savefun is not None and writer is not None:
        raise TypeError("savefun and writer arguments cannot be specified together.")
    if writer is None:
        writer = SimpleWriter(npz.save_npz if savefun is None else savefun)
    n_retains = n_retains if num_retain is None else num_retain
    return _Snapshot(target, condition, writer, filename, snapshot_on_error, n_retains, autoload)


class _Snapshot(Extension):
    trigger = (1, "epoch")
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
        self.condition = condition if condition is not None else lambda: True
        self.writer: Any = writer
        self.filename: Any = filename
        self._snapshot_on_error = snapshot_on_error
        self.n_retains = n_retains
        self.autoload = autoload

    def initialize(self, trainer: Trainer) -> None:
        target = trainer if self._target is None else self._target
        if self.autoload:
            files = _saved_files(self.filename, trainer.out)
            if files:
                npz.load_npz(files[-1], target)
        if self.n_retains > 0 and isinstance(self.filename, str) and hasattr(self.writer, "_add_cleanup_hook"):

            def remove_old() -> None:
                for path in _saved_files(self.filename, trainer.out)[: -self.n_retains]:
                    os.remove(path)

            self.writer._add_cleanup_hook(remove_old)

    def on_error(self, trainer: Trainer, exc: Exception, tb: TracebackType | None) -> None:
        if self._snapshot_on_error:
            self._save(trainer)

    def __call__(self, trainer: Trainer) -> None:
        if self.condition():
            self._save(trainer)

    def _save(self, trainer: Trainer) -> None:
        arrays = npz.serialize(trainer if self._target is None else self._target)
        name = self.filename(trainer) if callable(self.filename) else self.filename.format(trainer)
        self.writer(name, trainer.out, arrays)

    def finalize(self) -> None:
        if hasattr(self.writer, "finalize"):
            self.writer.finalize()


def _saved_files(pattern: str, folder: str) -> list[str]:
    """Paths of the files whose names fit the pattern, oldest first."""
    start, end = pattern.split("{")[0], pattern.split("}")[-1]
    names = [name for name in os.listdir(folder) if name.startswith(start) and name.endswith(end)]
    paths = [os.path.join(folder, name) for name in names]
    return sorted((path for path in paths if os.path.isfile(path)), key=lambda path: (os.stat(path).st_mtime, path))
