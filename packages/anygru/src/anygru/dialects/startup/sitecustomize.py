"""Run by every Python process that `anygru run` starts, because `anygru run` puts this folder in front of PYTHONPATH.

It installs the import hook and the names that Python removed, removes this folder from `sys.path`, and then runs the next
`sitecustomize` on the path, if any.
"""

import importlib
import importlib.util
import os
import sys
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
_ANYGRU = os.path.dirname(os.path.dirname(_HERE))


def _load(*path: str) -> Any:
    """Load a file of anygru as a separate module, so that `anygru` is not in `sys.modules` of processes that do not use it."""
    name = "_anygru_" + path[-1].removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, os.path.join(_ANYGRU, *path))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _start() -> None:
    if os.environ.get("ANYGRU_RUN"):
        _load("dialects", "old_python.py").install(_load("dialects", "callers.py"))
        _load("dialects", "finder.py").install()
    if os.environ.get("ANYGRU_ACCELERATE"):
        _load("patching", "hook.py").install()
    if os.environ.get("ANYGRU_LAUNCHER"):
        _load("parallel", "_worker.py").install()


def _run_the_next_sitecustomize() -> None:
    this = sys.modules.pop(__name__)
    try:
        importlib.import_module(__name__)
    except ImportError as error:
        if error.name != __name__:
            raise
    finally:
        sys.modules.setdefault(__name__, this)


sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
_start()
_run_the_next_sitecustomize()
