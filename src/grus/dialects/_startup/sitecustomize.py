"""Run by every Python process that `grus run` starts, because `grus run` puts this folder in front of PYTHONPATH.

It installs the import hook, takes the folder out of `sys.path` again, and then runs the `sitecustomize` that would have
run without it, if there is one.
"""

import importlib
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _load(file_name: str):  # type: ignore[no-untyped-def]
    """A module of the folder above, loaded by its path: importing `grus` would import torch into every process."""
    path = os.path.join(os.path.dirname(_HERE), file_name + ".py")
    spec = importlib.util.spec_from_file_location("_grus" + file_name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _start() -> None:
    if os.environ.get("GRUS_RUN"):
        _load("_finder").install()
    if os.environ.get("GRUS_ACCELERATE"):
        _load("_accelerated").install()


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
