"""`imp`, gone since Python 3.12: what scripts used of it, by `importlib`."""

import importlib.machinery
import importlib.util
import os
import sys
from importlib import reload as reload
from types import ModuleType
from typing import Any

SEARCH_ERROR, PY_SOURCE, PY_COMPILED, C_EXTENSION, PY_RESOURCE, PKG_DIRECTORY, C_BUILTIN, PY_FROZEN = range(8)


def new_module(name: str) -> ModuleType:
    """A new, empty module, which is not in `sys.modules`."""
    return ModuleType(name)


def get_suffixes() -> list[tuple[str, str, int]]:
    """(suffix, mode, kind) of the files that can be imported."""
    machinery = importlib.machinery
    kinds = [(machinery.EXTENSION_SUFFIXES, "rb", C_EXTENSION), (machinery.SOURCE_SUFFIXES, "r", PY_SOURCE)]
    kinds.append((machinery.BYTECODE_SUFFIXES, "rb", PY_COMPILED))
    return [(suffix, mode, kind) for suffixes, mode, kind in kinds for suffix in suffixes]


def find_module(name: str, path: Any = None) -> tuple[Any, str, tuple[str, str, int]]:
    """(open file, path, (suffix, mode, kind)) of a module; a package has no file. ImportError if there is none."""
    for folder in sys.path if path is None else path:
        package = os.path.join(folder, name)
        if os.path.isfile(os.path.join(package, "__init__.py")):
            return None, package, ("", "", PKG_DIRECTORY)
        for suffix, mode, kind in get_suffixes():
            file = os.path.join(folder, name + suffix)
            if os.path.isfile(file):
                encoding = None if "b" in mode else "utf-8"
                return open(file, mode, encoding=encoding), file, (suffix, mode, kind)
    if path is None and name in sys.builtin_module_names:
        return None, name, ("", "", C_BUILTIN)
    raise ImportError(f"No module named {name!r}", name=name)


def load_source(name: str, pathname: str, file: Any = None) -> ModuleType:
    """Run a source file as the module `name`, again if it is loaded already."""
    return _load(name, pathname, None)


def load_package(name: str, path: str) -> ModuleType:
    """Run a folder as the package `name`."""
    return _load(name, os.path.join(path, "__init__.py"), [path])


def load_dynamic(name: str, path: str, file: Any = None) -> ModuleType:
    """Load an extension module."""
    return _load(name, path, None)


load_compiled = load_source


def load_module(name: str, file: Any, filename: str, details: tuple[str, str, int]) -> ModuleType:
    """Load what `find_module` has found (ImportError for a kind of module that is not known)."""
    kind = details[2]
    if kind == PKG_DIRECTORY:
        return load_package(name, filename)
    if kind == C_BUILTIN:
        return importlib.import_module(name)
    if kind in (PY_SOURCE, PY_COMPILED, C_EXTENSION):
        return _load(name, filename, None)
    raise ImportError(f"Don't know how to import {name} (type code {kind})", name=name)


def _load(name: str, path: str, folders: list[str] | None) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=folders)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no file of a module", name=name, path=path)
    module = sys.modules.get(name) or importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return sys.modules[name]


def is_builtin(name: str) -> int:
    """1 if a module is built into the interpreter; 0 otherwise."""
    return int(name in sys.builtin_module_names)


def acquire_lock() -> None:
    """Nothing: modules have locks of their own since Python 3.3."""


def release_lock() -> None:
    """Nothing, as `acquire_lock`."""


def lock_held() -> bool:
    """False: there is no lock for all imports."""
    return False
