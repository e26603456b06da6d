"""grus: one GRU for PyTorch, fast on CPUs, at home with ragged batches, fluent in other frameworks' dialects."""

from __future__ import annotations

from typing import Any

from . import functional as functional
from .accelerate import accelerate as accelerate
from .accelerate import restore as restore
from .errors import ArgumentError as ArgumentError
from .errors import ArgumentTypeError as ArgumentTypeError
from .errors import BackendError as BackendError
from .errors import CheckpointError as CheckpointError
from .errors import GrusError as GrusError
from .explain import Explanation as Explanation
from .explain import explain as explain
from .layers import GRU as GRU
from .layers import GRUCell as GRUCell
from .streaming import Stream as Stream

__version__ = "0.1.0"

_LAZY = {
    "load_checkpoint": "checkpoints",
    "save_checkpoint": "checkpoints",
    "from_dialect": "dialects",
}


def __getattr__(name: str) -> Any:
    """What needs more than torch and NumPy is imported when first used."""
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
