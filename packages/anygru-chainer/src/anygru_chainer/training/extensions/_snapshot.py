"""Snapshots of a training."""

import os
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ...configuration import is_debug
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
        target: the object to save instead of the trainer.
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
    if num_retain is not None:
        warnings.warn("Argument `num_retain` is deprecated. Please use `n_retains` instead", DeprecationWarning)
        n_retains = num_retain
    return _Snapshot(target, condition, writer, filename, snapshot_on_error, n_retains, autoload)


def _always() -> bool:
    return True


class _Snapshot(Extension):
    trigger = (1, "epoch")
    # After all others, whose results it holds.
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
                npz.load_npz(os.path.join(trainer.out, latest), target)
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
        arrays = npz.serialize(trainer if self._target is None else self._target)
        name = self.filename(trainer) if callable(self.filename) else self.filename.format(trainer)
        self.writer(name, trainer.out, arrays)

    def finalize(self) -> None:
        if hasattr(self.writer, "finalize"):
            self.writer.finalize()


def _find_snapshot_files(fmt: str, path: str) -> list[tuple[float, str]]:
    """Time and name of each file in a folder whose name fits the pattern before the first "{" and after the last "}"."""
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
