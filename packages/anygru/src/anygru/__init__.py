"""anygru: one GRU for PyTorch that is fast on CPUs, takes ragged batches, and runs code of other frameworks (dialects).

Every public name is imported when it is first used, so that `anygru --help` or `anygru inspect` need not wait for
torch. A module must not have the name of a public function: an import of the module would hide the function. Type
checkers and editors read `__init__.pyi`, which has the same names without `__getattr__`, so that they flag a misspelt
name.
"""

import importlib
import os
from typing import Any

__version__ = "0.1.0"

_process = os.getpid()
"""The native module is loaded later, maybe in a forked child, which must not use its parent's OpenMP threads."""

_HOME = {
    "GRU": "layers", "GRUCell": "layers", "CellLayer": "layers.own_cells", "FrozenGRU": "layers",
    "FrozenGRUCell": "layers", "freeze": "patching.freeze", "freeze_aware": "patching.freeze", "Stream": "layers",
    "stepper": "layers.stepper", "Stepper": "layers", "SessionPool": "layers", "Session": "layers",
    "accelerate": "patching.accelerate", "restore": "patching.accelerate", "export_c": "c_export",
    "explain": "patching.explain", "Explanation": "patching.explain", "load_checkpoint": "checkpoints",
    "save_checkpoint": "checkpoints", "from_dialect": "dialects", "AnygruError": "errors", "ArgumentError": "errors",
    "ArgumentTypeError": "errors", "BackendError": "errors", "CheckpointError": "errors",
}  # fmt: skip
_PARTS = ("backends", "c_export", "checkpoints", "dialects", "errors", "functional", "layers", "onnx", "parallel")
_MODULES = dict(zip(_PARTS, _PARTS, strict=True)) | {
    name: f"facts.{name}" for name in ("formula", "gates", "quantization", "weights")
}

__all__ = ["__version__", "functional", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f".{_MODULES[name]}", __name__)
    near = importlib.import_module(".errors", __name__).near
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{near(name, __dir__())}", name=name)


def __dir__() -> list[str]:
    return sorted({*__all__, "dialects", "onnx", "parallel"})
