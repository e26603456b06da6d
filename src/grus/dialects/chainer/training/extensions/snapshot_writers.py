"""How snapshots reach the disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

from ...serializers.npz import save_npz


class Writer:
    """Called with (file name, folder, dictionary of arrays)."""

    def __init__(self) -> None:
        self._cleanup_hooks: list[Callable[[], None]] = []

    def __call__(self, filename: str, outdir: str, target: dict[str, Any]) -> None:
        raise NotImplementedError

    def add_cleanup_hook(self, hook: Callable[[], None]) -> None:
        """Call a function after each snapshot."""
        self._cleanup_hooks.append(hook)

    def finalize(self) -> None:
        """Called after the training."""


class SimpleWriter(Writer):
    """Writes at once, to a temporary file that is then renamed.

    Args:
        savefun: function (path, dictionary) that writes the file.
        kwds: keywords for it.
    """

    def __init__(self, savefun: Callable[..., None] = save_npz, **kwds: Any) -> None:
        super().__init__()
        self._savefun = savefun
        self._kwds = kwds

    def __call__(self, filename: str, outdir: str, target: dict[str, Any]) -> None:
        path = os.path.join(outdir, filename)
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with tempfile.TemporaryDirectory(dir=os.path.dirname(path) or ".") as folder:
            temporary = os.path.join(folder, os.path.basename(path))
            self._savefun(temporary, target, **self._kwds)
            os.replace(temporary, path)
        for hook in self._cleanup_hooks:
            hook()
