"""The native module, or an ImportError with the reason why this process cannot load it."""

import importlib
from pathlib import Path

__all__ = ["native"]


def _is_sub_interpreter() -> bool:
    for name in ("_interpreters", "_xxsubinterpreters"):  # since Python 3.13, and before
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        return bool(interpreters.get_current() != interpreters.get_main())
    return False


def _reason(error: ImportError, folder: Path) -> str:
    """The text of an import that failed, and the builds for other Pythons that were found."""
    others = sorted(path.name for path in folder.glob("_native*.*") if path.suffix in (".so", ".pyd"))
    if isinstance(error, ModuleNotFoundError) and others:
        return f"it was built for another Python: {', '.join(others)}"
    return str(error)


# Its types are global: a second load would replace the types of the main interpreter, and calls there would fail.
if _is_sub_interpreter():
    raise ImportError("this is a sub-interpreter, and it works in the main interpreter of a process only")
try:
    import anygru._native as native  # unlike `from .. import`, it distinguishes a missing module from a broken module
except ImportError as error:  # no compiler when anygru was installed, or a build for another Python
    raise ImportError(_reason(error, Path(__file__).parents[1])) from error
