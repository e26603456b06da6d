"""Whose code asks: what old NumPy and old Python give to the script and to nobody else.

This file uses nothing but the standard library: the start-up file loads it by its path.
"""

import functools
import importlib.util
import os
import sysconfig
from types import FrameType

VARIABLE = "ANYGRU_DIALECTS"
_IMPORT_SYSTEM = ("importlib", "importlib._bootstrap", "importlib._bootstrap_external")


@functools.cache
def is_of_script(path: str) -> bool:
    """Whether a file belongs to the script: it is neither of the standard library nor of a package nor of anygru."""
    return not path.startswith(("<frozen", "<__array_function__", *_packages()))


@functools.cache
def _packages() -> tuple[str, ...]:
    """The folders of the standard library, of installed packages, of anygru and of its dialects, which may lie elsewhere."""
    folders = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders.append(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    for entry in os.environ.get(VARIABLE, "").split():
        package = entry.partition("=")[2].partition(".")[0]
        spec = importlib.util.find_spec(package)
        folders += spec.submodule_search_locations or [] if spec is not None else []
    return tuple(folders)


def asks_for_script(frame: FrameType | None) -> bool:
    """Whether a frame runs code of the script."""
    return frame is not None and is_of_script(frame.f_globals.get("__file__") or frame.f_code.co_filename)


def importer(frame: FrameType | None) -> FrameType | None:
    """The frame that imports something, behind those of the import system."""
    while frame is not None and frame.f_globals.get("__name__") in _IMPORT_SYSTEM:
        frame = frame.f_back
    return frame
