"""The environment variables that enable the dialects in a Python process and in the processes that it starts."""

import os
from collections.abc import Mapping
from pathlib import Path

from .finder import VARIABLE, roots

STARTUP = Path(__file__).resolve().parent / "startup"


def environment(base: Mapping[str, str], *, accelerate: bool = False) -> dict[str, str]:
    """Return `base` with the variables that let Python processes import the dialects by their original names.

    Python imports `sitecustomize` from PYTHONPATH when it starts; the folder prepended there has a `sitecustomize` that
    installs the import hook and then runs the next one on the path. `accelerate` also lets each process call
    `anygru.accelerate()` when it has imported torch.
    """
    changed = dict(base)
    before = [entry for entry in base.get("PYTHONPATH", "").split(os.pathsep) if entry and Path(entry) != STARTUP]
    changed["PYTHONPATH"] = os.pathsep.join([str(STARTUP), *before])
    changed["ANYGRU_RUN"] = "1"
    changed[VARIABLE] = " ".join(f"{name}={package}" for name, package in roots().items())
    if accelerate:
        changed["ANYGRU_ACCELERATE"] = "1"
    return changed
