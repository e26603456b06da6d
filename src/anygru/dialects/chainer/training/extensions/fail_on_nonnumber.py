"""Stopping at NaN."""

from __future__ import annotations

from typing import Any

from ...training.extension import Extension


class FailOnNonNumber(Extension):
    """Raises RuntimeError when a parameter is NaN or infinite."""

    def __call__(self, trainer: Any) -> None:
        for name, optimizer in trainer.updater.get_all_optimizers().items():
            for param in optimizer.target.params():
                if param.array is not None and not bool(param.xp.isfinite(param.array).all()):
                    raise RuntimeError(f"Kill the process since parameters in optimizer '{name}' diverge. R.I.P.")
