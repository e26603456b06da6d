"""anygru: one GRU for PyTorch that is fast on CPUs, takes ragged batches, and runs code of other frameworks (dialects).

Every public name is imported when it is first used, so that `anygru --help` or `anygru inspect` need not wait for torch. A module
must not have the name of a public function: importing the one would hide the other.
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import backends as backends
    from . import checkpoints as checkpoints
    from . import dialects as dialects
    from . import errors as errors
    from . import functional as functional
    from . import layers as layers
    from . import onnx as onnx
    from . import parallel as parallel
    from .checkpoints import load_checkpoint as load_checkpoint
    from .checkpoints import save_checkpoint as save_checkpoint
    from .dialects import from_dialect as from_dialect
    from .errors import AnygruError as AnygruError
    from .errors import ArgumentError as ArgumentError
    from .errors import ArgumentTypeError as ArgumentTypeError
    from .errors import BackendError as BackendError
    from .errors import CheckpointError as CheckpointError
    from .facts import formula as formula
    from .facts import gates as gates
    from .facts import quantization as quantization
    from .facts import weights as weights
    from .layers.gru import GRU as GRU
    from .layers.gru import FrozenGRU as FrozenGRU
    from .layers.gru import FrozenGRUCell as FrozenGRUCell
    from .layers.gru import GRUCell as GRUCell
    from .layers.stream import Stream as Stream
    from .patching.accelerate import accelerate as accelerate
    from .patching.accelerate import restore as restore
    from .patching.explain import Explanation as Explanation
    from .patching.explain import explain as explain
    from .patching.freeze import freeze as freeze

__version__ = "0.1.0"

_process = os.getpid()
"""The native module is loaded later, maybe in a forked child, which must not use its parent's OpenMP threads."""

_HOME = {
    "GRU": "layers",
    "GRUCell": "layers",
    "FrozenGRU": "layers",
    "FrozenGRUCell": "layers",
    "freeze": "patching.freeze",
    "Stream": "layers",
    "accelerate": "patching.accelerate",
    "restore": "patching.accelerate",
    "explain": "patching.explain",
    "Explanation": "patching.explain",
    "load_checkpoint": "checkpoints",
    "save_checkpoint": "checkpoints",
    "from_dialect": "dialects",
    "AnygruError": "errors",
    "ArgumentError": "errors",
    "ArgumentTypeError": "errors",
    "BackendError": "errors",
    "CheckpointError": "errors",
}
_MODULES = {
    name: name for name in ("backends", "checkpoints", "dialects", "errors", "functional", "layers", "onnx", "parallel")
} | {name: f"facts.{name}" for name in ("formula", "gates", "quantization", "weights")}

__all__ = ["__version__", "functional", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f".{_MODULES[name]}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})
