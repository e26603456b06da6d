"""The import hook of `anygru run --accelerate`: `anygru.accelerate()` is called as soon as torch is imported.

Like the finder of the dialects, this file imports only the standard library. A process that never imports torch pays
nothing, and torch still obeys environment variables that a program sets before it imports torch.
"""

import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class AfterImport(importlib.abc.MetaPathFinder):
    """Finds `name` as the other finders do, and lets `action` run when the module has been loaded."""

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self.name = name
        self.action = action

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(fullname, path, target) if finder is not self else None
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _ActingLoader(spec.loader, self.action)
                return spec
        return None


class _ActingLoader(importlib.abc.Loader):
    """Loads as `loader` does, then acts. The module keeps `loader` as its own."""

    def __init__(self, loader: importlib.abc.Loader, action: Callable[[], None]) -> None:
        self.loader = loader
        self.action = action

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.action()


def _import_anygru() -> None:
    """After torch. Where anygru itself imported torch this changes nothing: anygru is loading, and its own turn comes."""
    if importlib.util.find_spec("anygru") is not None:
        importlib.import_module("anygru")


def _accelerate() -> None:
    """After anygru."""
    sys.modules["anygru"].accelerate()


def install() -> None:
    """Call `anygru.accelerate()` in this process when it imports torch."""
    sys.meta_path.insert(0, AfterImport("torch", _import_anygru))
    sys.meta_path.insert(0, AfterImport("anygru", _accelerate))
