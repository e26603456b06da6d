"""Packages that an extra brings: imported when they are needed; where one is missing, the error says how to install it."""

import importlib
from typing import Any

from anygru.extend import UsageError


def needed(package: str, purpose: str, extra: str, index: str = "anygru-lab") -> Any:
    """Import a package; UsageError that names the extra, for those who install from an index and from a clone.

    Args:
        package: to import.
        purpose: what needs it, for the error.
        extra: of anygru-lab, that brings it.
        index: the package whose extra of that name people know from the index.
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        name = package.rpartition(".")[2]
        raise UsageError(
            f"{purpose} needs the package {name}: pip install '{index}[{extra}]', or from a clone: "
            f"pip install 'packages/anygru-lab[{extra}]'"
        ) from None
