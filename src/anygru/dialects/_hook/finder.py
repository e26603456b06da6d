"""The import hook of `anygru run`: `import paddle` gives the module `anygru.dialects.paddle` itself.

This file stands alone, on the standard library: the start-up file of every process that a script starts loads it by its
path, and nothing of anygru is imported before a dialect is asked for. What it then needs of anygru it takes from the face of
the package `anygru.dialects`.
"""

import importlib
import importlib.abc
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

NAMES = ("paddle", "oneflow", "mxnet", "chainer")
PACKAGE = "anygru.dialects"
# Import names that live inside a dialect: ChainerMN and ChainerX are top-level packages that come with Chainer.
INSIDE = {name: f"{PACKAGE}.chainer.{name}" for name in ("chainermn", "chainerx")}
ROOTS = {name: f"{PACKAGE}.{name}" for name in NAMES} | INSIDE


class DialectFinder(importlib.abc.MetaPathFinder):
    """Finds `paddle`, `paddle.nn`, ... in `anygru.dialects`, before an installed original is looked for."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root, dot, rest = fullname.partition(".")
        # An interpreter without anygru, started by a script, keeps its own packages.
        if root not in ROOTS or importlib.util.find_spec("anygru") is None:
            return None
        actual = ROOTS[root] + dot + rest
        found = sys.modules.get(actual) or _find(actual)
        if found is None:
            return ModuleSpec(fullname, _GivenLoader(_module_without_file(fullname)), is_package=True)
        spec = ModuleSpec(fullname, _AliasLoader(actual), origin=getattr(found, "origin", None))
        locations = getattr(found, "submodule_search_locations", None) or getattr(found, "__path__", None)
        if locations is not None:
            spec.submodule_search_locations = list(locations)
        return spec


class _AliasLoader(importlib.abc.InspectLoader):
    """Puts the module `actual` into `sys.modules` under a second name; `python -m` asks it for the code."""

    def __init__(self, actual: str) -> None:
        self.actual = actual

    def exec_module(self, module: ModuleType) -> None:
        # The import system hands over what stands in sys.modules after this call, so the module it made is forgotten.
        sys.modules[module.__name__] = importlib.import_module(self.actual)
        _name_loaded_modules(module.__name__, self.actual)
        if os.environ.get("ANYGRU_RUN"):
            importlib.import_module(f"{PACKAGE}._hook.old_numpy").install()

    def get_code(self, fullname: str) -> CodeType | None:
        return self._actual_loader().get_code(self.actual)

    def get_source(self, fullname: str) -> str | None:
        return self._actual_loader().get_source(self.actual)

    def get_filename(self, fullname: str) -> str:
        return self._actual_loader().get_filename(self.actual)

    def is_package(self, fullname: str) -> bool:
        return self._actual_loader().is_package(self.actual)

    def _actual_loader(self) -> Any:
        spec = importlib.util.find_spec(self.actual)
        assert spec is not None, self.actual
        return spec.loader


class _GivenLoader(importlib.abc.Loader):
    """Gives a module that exists already."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is complete."""


def install() -> None:
    """Let this process import the dialects by their original names. A second call changes nothing."""
    # Compared by name: the start-up file loads its own copy of this module.
    if not any(type(finder).__name__ == DialectFinder.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, DialectFinder())


def _find(actual: str) -> ModuleSpec | None:
    """The spec of a module of the dialects, or None if there is no such file."""
    try:
        return importlib.util.find_spec(actual)
    except ModuleNotFoundError as error:
        if error.name is not None and (actual + ".").startswith(error.name + "."):
            return None
        raise


def _name_loaded_modules(name: str, actual: str) -> None:
    """Give `actual` and the modules that came in with it their original names: `import paddle` brings in `paddle.nn` too."""
    importlib.import_module(PACKAGE).cover(actual)
    for loaded, module in list(sys.modules.items()):
        if (loaded + ".").startswith(actual + ".") and not getattr(module.__spec__, "_initializing", False):
            sys.modules.setdefault(name + loaded[len(actual) :], module)


def _module_without_file(fullname: str) -> ModuleType:
    """The parent module's answer for an import path that has no file: a stand-in, or the names of another module.

    Raises ModuleNotFoundError, with the dialect's reason, if it gives nothing or no module.
    """
    parent, _, child = fullname.rpartition(".")
    if not parent:
        raise ModuleNotFoundError(f"this anygru has no {fullname} dialect", name=fullname)
    dialects = importlib.import_module(PACKAGE)
    if dialects.is_below_refused(fullname):
        return dialects.stand_in_module(fullname)
    try:
        found = dialects.refuser(parent)(child)
    except ImportError as error:
        raise ModuleNotFoundError(str(error), name=fullname) from None
    except AttributeError as error:
        raise ModuleNotFoundError(str(error), name=fullname) from None
    if not isinstance(found, ModuleType):
        raise ModuleNotFoundError(f"{fullname} is a name in the module {parent}, not a module", name=fullname)
    return found
