"""Decide which code sees removed names of NumPy and Python: programs written for an original framework.

These are the script and the installed packages that require an original framework.

This file imports the standard library only: the start-up file loads it by path.
"""

import functools
import importlib.util
import os
import re
import sysconfig
from types import FrameType

VARIABLE = "ANYGRU_DIALECTS"
_IMPORT_SYSTEM = ("importlib", "importlib._bootstrap", "importlib._bootstrap_external")


_INSTALLED = re.compile(r"(.*?[/\\](?:site|dist)-packages)[/\\]([^/\\]+)")
# A requirement of a distribution, and not of one of its extras alone; in wheels' METADATA or in eggs' requires.txt.
_REQUIRES = re.compile(
    r"^(?:Requires-Dist: *)?(?:chainer|chainermn|mxnet|oneflow|paddlepaddle)(?:[-_](?:cu\d+\w*|gpu|mkl|native))?"
    r"(?![\w.-])(?!.*\bextra\b)",
    re.IGNORECASE | re.MULTILINE,
)


@functools.cache
def is_of_script(path: str) -> bool:
    """Whether a file belongs to the script: it is neither of the standard library nor of a package nor of anygru.

    A package that requires an original is a program for it, as the script is.
    """
    installed = _INSTALLED.match(path)
    if installed is not None:
        return installed[2].partition(".")[0] in _programs(installed[1])
    return not path.startswith(("<frozen", "<__array_function__", *_packages()))


@functools.cache
def _programs(folder: str) -> frozenset[str]:
    """The modules of the distributions in a folder that require an original."""
    found: set[str] = set()
    for entry in os.listdir(folder) if os.path.isdir(folder) else ():
        facts, requirements, files = os.path.join(folder, entry), "METADATA", "RECORD"
        if entry.endswith(".egg-info"):
            requirements, files = "requires.txt", "top_level.txt"
        elif not entry.endswith(".dist-info"):
            continue
        # The text of METADATA, which may quote anything, follows an empty line; extras of requires.txt a bracket.
        head = re.split(r"\n\n|^\[", _text(facts, requirements), maxsplit=1, flags=re.MULTILINE)[0]
        if _REQUIRES.search(head):
            found.update(re.split(r"[/.,]", line, maxsplit=1)[0] for line in _text(facts, files).splitlines())
    return frozenset(found)


def _text(*path: str) -> str:
    try:
        with open(os.path.join(*path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:  # missing in some distributions
        return ""


@functools.cache
def _packages() -> tuple[str, ...]:
    """The folders of the standard library, of installed packages, of anygru and of its dialects (possibly elsewhere)."""
    folders = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders.append(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    for entry in os.environ.get(VARIABLE, "").split():
        package = entry.partition("=")[2].partition(".")[0]
        spec = importlib.util.find_spec(package)
        folders += spec.submodule_search_locations or [] if spec is not None else []
    return tuple(folders)


def is_called_by_script(frame: FrameType | None) -> bool:
    """Whether a frame runs code of the script."""
    return frame is not None and is_of_script(frame.f_globals.get("__file__") or frame.f_code.co_filename)


def importer(frame: FrameType | None) -> FrameType | None:
    """The frame that runs an import statement, without the frames of the import system."""
    while frame is not None and frame.f_globals.get("__name__") in _IMPORT_SYSTEM:
        frame = frame.f_back
    return frame
