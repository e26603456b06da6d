"""The import hook of `anygru run`: `import paddle` gives the module `anygru_paddle` itself.

A dialect is a package with an entry point in the group `anygru.dialects`: the name is the import name of the original, the
value the package that answers for it. `anygru run` reads the entry points once and hands them on in the environment, because
reading them takes longer than the rest of the start-up.

This file imports the standard library only: the start-up file of every process that a script starts loads it by path,
and no other module of anygru is loaded before a dialect is imported.
"""

import functools
import importlib
import importlib.abc
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import CodeType, FrameType, ModuleType
from typing import Any

VARIABLE = "ANYGRU_DIALECTS"
PACKAGE = "anygru.dialects"
# The originals that anygru's own packages answer for, and the extra that installs each.
EXTRAS = {"paddle": "paddle", "oneflow": "oneflow", "mxnet": "mxnet", "chainer": "chainer"}
EXTRAS |= {"chainermn": "chainer", "chainerx": "chainer"}


@functools.cache
def roots() -> dict[str, str]:
    """The installed dialects: import name of the original -> package, such as "paddle" -> "anygru_paddle"."""
    handed_on = os.environ.get(VARIABLE)
    if handed_on is not None:
        return dict(entry.split("=") for entry in handed_on.split())
    from importlib.metadata import entry_points  # slow to import; not needed under `anygru run`

    return {point.name: point.value for point in entry_points(group="anygru.dialects")}


def actual_name(name: str) -> str:
    """The name of the module that answers for a name of the original: "anygru_paddle.nn" for "paddle.nn"."""
    root, dot, rest = name.partition(".")
    return roots().get(root, root) + dot + rest


def original_name(module: str) -> str:
    """The opposite: "chainermn.datasets" for "anygru_chainer.chainermn.datasets"."""
    fitting = [(package, root) for root, package in roots().items() if (module + ".").startswith(package + ".")]
    package, root = max(fitting, key=lambda each: len(each[0]))
    return root + module.removeprefix(package)


class DialectFinder(importlib.abc.MetaPathFinder):
    """Finds `paddle`, `paddle.nn`, ... in the installed dialects, before the search for an installed original."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root = fullname.partition(".")[0]
        if fullname == "anygru":
            return _package_behind_a_script()
        if root not in roots():
            if root in EXTRAS and not _is_question(sys._getframe(1)) and importlib.util.find_spec("anygru") is not None:
                raise ModuleNotFoundError(missing(root), name=fullname)
            return None
        # An interpreter without anygru, started by a script, keeps its own packages.
        if importlib.util.find_spec("anygru") is None:
            return None
        actual = actual_name(fullname)
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
        # The import system returns the entry of sys.modules after this call and drops the module that it created.
        sys.modules[module.__name__] = importlib.import_module(self.actual)
        _name_loaded_modules(module.__name__, self.actual)
        if os.environ.get("ANYGRU_RUN"):
            importlib.import_module(f"{PACKAGE}.old_numpy").install()

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


def _package_behind_a_script() -> ModuleSpec | None:
    """The spec of the package if a file `anygru.py` next to the script shadows it; None if the usual search finds it."""
    first = PathFinder.find_spec("anygru")
    if first is None or first.submodule_search_locations is not None:
        return None
    others = [finder.find_spec("anygru", None) for finder in sys.meta_path if not isinstance(finder, DialectFinder)]
    behind = [PathFinder.find_spec("anygru", [entry]) for entry in sys.path]
    found = (spec for spec in (*others, *behind) if spec is not None and spec.submodule_search_locations is not None)
    return next(found, None)


def install() -> None:
    """Let this process import the dialects by their original names. A second call changes nothing."""
    roots()  # reading the entry points imports modules, for which the finder would ask for them
    # Compared by name: the start-up file loads its own copy of this module.
    if not any(type(finder).__name__ == DialectFinder.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, DialectFinder())


def missing(root: str) -> str:
    """The error message for an original if its dialect is not installed."""
    command = importlib.import_module("anygru.errors").how_to_install(EXTRAS[root])
    return f"the {EXTRAS[root]} dialect is not installed; it comes with: {command}"


def _is_question(frame: FrameType | None) -> bool:
    """Whether `importlib.util.find_spec` runs the search, which must return None instead of raising an error."""
    while frame is not None and frame.f_globals.get("__name__") in (__name__, "importlib._bootstrap"):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == "importlib.util"


def _find(actual: str) -> ModuleSpec | None:
    """The spec of a module of the dialects, or None if there is no such file."""
    try:
        return importlib.util.find_spec(actual)
    except ModuleNotFoundError as error:
        if error.name is not None and (actual + ".").startswith(error.name + "."):
            return None
        raise


def _name_loaded_modules(name: str, actual: str) -> None:
    """Give `actual` and the modules that came in with it their original names: `import paddle` also loads `paddle.nn`."""
    importlib.import_module(f"{PACKAGE}.stand_ins").cover(actual)
    for loaded, module in list(sys.modules.items()):
        if (loaded + ".").startswith(actual + ".") and not getattr(module.__spec__, "_initializing", False):
            original = name + loaded[len(actual) :]
            sys.modules.setdefault(original, module)
            _name_classes(module, loaded, original)


def _name_classes(module: ModuleType, loaded: str, original: str) -> None:
    """Set the original's name as `__module__` of the classes of a module: programs print `type(x)` and compare `__module__`."""
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == loaded:
            value.__module__ = original


def _module_without_file(fullname: str) -> ModuleType:
    """The parent module's answer for an import path that has no file: a stand-in, or the names of another module.

    Raises ModuleNotFoundError, with the dialect's reason, if it gives nothing or no module.
    """
    parent, _, child = fullname.rpartition(".")
    if not parent:
        raise ModuleNotFoundError(f"the package {actual_name(fullname)} of a dialect is missing", name=fullname)
    stand_ins = importlib.import_module(f"{PACKAGE}.stand_ins")
    if stand_ins.is_below_refused(fullname):
        return stand_ins.stand_in_module(fullname)
    try:
        found = stand_ins.refuser(parent)(child)
    except ImportError as error:
        raise ModuleNotFoundError(str(error), name=fullname) from None
    except AttributeError as error:
        raise ModuleNotFoundError(str(error), name=fullname) from None
    if not isinstance(found, ModuleType):
        raise ModuleNotFoundError(f"{fullname} is a name in the module {parent}, not a module", name=fullname)
    return found
