"""The import hook of `anygru run`: `import paddle` gives the module `anygru.dialects.paddle` itself.

This file stands alone, on the standard library: the start-up file of every process that a script starts loads it by its
path, and nothing of anygru (which means nothing of torch) is imported before a dialect is asked for.
"""

import importlib
import importlib.abc
import importlib.util
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
            raise ModuleNotFoundError(_why_missing(fullname), name=fullname)
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
    """Give `actual` and the modules that came in with it their original names, and a refusal for what they lack.

    `import paddle` brings in `paddle.nn` too. A module with hints of its own for what it lacks keeps them.
    """
    from anygru.dialects._not_covered import refuser

    for loaded, module in list(sys.modules.items()):
        if (loaded + ".").startswith(actual + ".") and not getattr(module.__spec__, "_initializing", False):
            original = name + loaded[len(actual) :]
            sys.modules.setdefault(original, module)
            if "__getattr__" not in vars(module):
                vars(module)["__getattr__"] = refuser(name.partition(".")[0], original)


def _why_missing(fullname: str) -> str:
    """What the parent package says about a name that it does not have."""
    parent, _, child = fullname.rpartition(".")
    if not parent:
        return f"this anygru has no {fullname} dialect"
    from anygru.dialects._not_covered import NotCoveredError, not_covered

    try:
        getattr(sys.modules[parent], child)
    except NotCoveredError as error:
        return str(error)
    except AttributeError:
        return str(not_covered(fullname.partition(".")[0], fullname))
    return f"No module named {fullname!r}: it is a name in the module {parent}, not a module"
