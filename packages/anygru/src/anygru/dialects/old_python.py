"""Python as scripts of the originals' time know it: names and modules of the standard library that are gone since.

The originals ran under Python 3.8 at the latest. `install` brings back the names that their scripts use and that Python
removed up to 3.13, for code of the script only: the standard library and installed packages see Python as it is, so that
those which ask whether `imp` is there are not misled. Names of Python 2 are not among them: a script that asks for
`itertools.izip` wants to know which Python it is.

This file uses nothing but the standard library: the start-up file loads it by its path, before the script is run, because
scripts import `collections` and `imp` before they import a framework.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from types import FrameType, ModuleType
from typing import Any

_ABSTRACT = (
    "AsyncGenerator AsyncIterable AsyncIterator Awaitable ByteString Callable Collection Container Coroutine Generator "
    "Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping MutableSequence MutableSet "
    "Reversible Sequence Set Sized ValuesView"
)
# Module -> old name -> "module:name" of the present one.
NAMES: dict[str, dict[str, str]] = {
    # removed in 3.10
    "collections": {name: f"collections.abc:{name}" for name in _ABSTRACT.split()},
    # removed in 3.11
    "asyncio": {"coroutine": "types:coroutine"},
    "inspect": {"getargspec": "old_names:getargspec", "ArgSpec": "old_names:ArgSpec"},
    # removed in 3.9
    "base64": {"decodestring": "base64:decodebytes", "encodestring": "base64:encodebytes"},
    "fractions": {"gcd": "old_names:gcd"},
    # removed in 3.8, and what it counted on Unix
    "time": {"clock": "time:process_time"},
    # removed in 3.7
    "os": {"errno": "errno:"},
    # removed in 3.12
    "configparser": {"SafeConfigParser": "configparser:ConfigParser"},
    "locale": {"format": "locale:format_string"},
    # removed in 3.0
    "string": {
        "letters": "string:ascii_letters",
        "lowercase": "string:ascii_lowercase",
        "uppercase": "string:ascii_uppercase",
        "maketrans": "old_names:maketrans",
        **{
            name: f"old_names:{name}"
            for name in ("atof", "atoi", "join", "lower", "replace", "split", "strip", "upper")
        },
    },
}
# Modules that are gone: imp and distutils since 3.12, pipes since 3.13.
MODULES = ("distutils", "imp", "pipes")
_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "old_modules")
_asks_for_script: Callable[[FrameType | None], bool]
_importer: Callable[[FrameType | None], FrameType | None]


def install(whose: Any) -> None:
    """Bring the old Python back for the script, in this process; `whose` is the module `whose.py`."""
    global _asks_for_script, _importer
    _asks_for_script, _importer = whose.asks_for_script, whose.importer
    for name in NAMES:
        if name in sys.modules:
            _complete(sys.modules[name])
    sys.meta_path.insert(0, _Completing())
    sys.meta_path.append(_Removed())


def _complete(module: ModuleType) -> None:
    """Let a module give its old names to the script."""
    old = NAMES[module.__name__]
    present = vars(module).get("__getattr__")

    def __getattr__(name: str) -> Any:
        if name in old and _asks_for_script(sys._getframe(1)):
            return _value(old[name])
        if present is not None:
            return present(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name, obj=module)

    module.__getattr__ = __getattr__  # type: ignore[method-assign]


def _value(place: str) -> Any:
    module, _, name = place.partition(":")
    found = _load("_anygru_old_names", "old_names.py") if module == "old_names" else importlib.import_module(module)
    return getattr(found, name) if name else found


def _load(name: str, *path: str) -> ModuleType:
    """A file of the folder of old modules, under a name of its own."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, os.path.join(_FOLDER, *path))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
    return sys.modules[name]


class _Completing(importlib.abc.MetaPathFinder):
    """Completes the modules of `NAMES` that are imported later, by their own loaders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(fullname, path) if fullname in NAMES else None
        loader: Any = None if spec is None else spec.loader
        if not isinstance(loader, importlib.machinery.SourceFileLoader):
            return None

        def exec_module(module: ModuleType) -> None:
            del loader.__dict__["exec_module"]
            loader.exec_module(module)
            if module.__name__ == fullname:
                _complete(module)

        loader.__dict__["exec_module"] = exec_module
        return spec


class _Removed(importlib.abc.MetaPathFinder):
    """Finds the modules that are gone, when the script imports them and nothing else has found them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in MODULES:
            return None
        if not _asks_for_script(_importer(sys._getframe(1))):
            return None
        file = os.path.join(_FOLDER, *fullname.split("."))
        folder = os.path.isdir(file)
        file = os.path.join(file, "__init__.py") if folder else file + ".py"
        if not os.path.exists(file):
            return None
        spec = importlib.util.spec_from_file_location(fullname, file, loader=_ScriptsLoader(fullname, file))
        if spec is not None and folder:
            spec.submodule_search_locations = []  # no other finder shall find what is in it
        return spec


class _ScriptsLoader(importlib.machinery.SourceFileLoader):
    """Loads a module that has names for the script only."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _ScriptsModule(spec.name)


class _ScriptsModule(ModuleType):
    """A module that is gone for everybody but the script: others, who find it in `sys.modules`, find nothing in it."""

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("__"):
            frame = _importer(sys._getframe(1))
            inside = frame is not None and frame.f_code.co_filename.startswith(_FOLDER)
            if not inside and not _asks_for_script(frame):
                module = super().__getattribute__("__name__")
                raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=self)
        return super().__getattribute__(name)
