"""Restore names of the standard library that Python removed after the original frameworks were released.

The originals ran under Python 3.8 at the latest. `install` restores names that Python removed up to 3.13, for code of the
script only: the standard library and installed packages see Python unchanged. Names of Python 2 are not restored, because
scripts use names such as `itertools.izip` to detect Python's version. Importing a removed module raises an error that names
the package which installs it.

This file imports the standard library only: the start-up file loads it by path before the script runs, because scripts
import `collections` before they import a framework.
"""

import functools
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
    # removed in 3.8; on Unix it measured processor time
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
# Modules that Python removed: the version, and the package that installs the module. torch requires setuptools.
MODULES = {"distutils": ("3.12", "setuptools"), "imp": ("3.12", "zombie-imp"), "pipes": ("3.13", "standard-pipes")}
_OLD_NAMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "old_names.py")
_is_called_by_script: Callable[[FrameType | None], bool]
_importer: Callable[[FrameType | None], FrameType | None]


def install(callers: Any) -> None:
    """Restore the removed names for the script, in this process; `callers` is the module `callers.py`."""
    global _is_called_by_script, _importer
    _is_called_by_script, _importer = callers.is_called_by_script, callers.importer
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
        if name in old and _is_called_by_script(sys._getframe(1)):
            return _value(old[name])
        if present is not None:
            return present(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name, obj=module)

    module.__getattr__ = __getattr__  # type: ignore[method-assign]


def _value(place: str) -> Any:
    module, _, name = place.partition(":")
    found = _old_names() if module == "old_names" else importlib.import_module(module)
    return getattr(found, name) if name else found


@functools.cache
def _old_names() -> ModuleType:
    """The module `old_names.py`, loaded by its path."""
    spec = importlib.util.spec_from_file_location("_anygru_old_names", _OLD_NAMES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    """Explains to the script how to install a removed module; it is the last finder."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname in MODULES and _is_called_by_script(_importer(sys._getframe(1))):
            version, package = MODULES[fullname]
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: Python {version} removed it; pip install {package}", name=fullname
            )
        return None
