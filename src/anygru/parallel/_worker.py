"""Set up a worker of `anygru.parallel.launch` before its script runs: its traceback is kept for the launcher.

This file stands alone, on the standard library: the start-up file of `anygru run` loads it by its path. The launcher
finds the traceback in torchrun's error file and shows it with the rank; else torchrun knows an exit status only.
"""

import json
import os
import sys
import time
import traceback
from types import TracebackType

LAUNCHER = "ANYGRU_LAUNCHER"  # the launcher's process id: children of the workers inherit the variables, not the role
LOGS = "ANYGRU_WORKER_LOGS"  # a folder: each worker writes its output to `workerlog.<local rank>` in it


def install() -> None:
    """Set up the worker, if the launcher itself started this process."""
    if os.environ.get(LAUNCHER) != str(os.getppid()):
        return
    if os.environ.get(LOGS):
        _write_to(os.path.join(os.environ[LOGS], f"workerlog.{os.environ['LOCAL_RANK']}"))
    if os.environ.get("TORCHELASTIC_ERROR_FILE"):
        sys.excepthook = _show_and_keep


def _write_to(path: str) -> None:
    """Send standard output and standard error to the end of a file."""
    log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


def _show_and_keep(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.__excepthook__(kind, error, trace)
    shown = "".join(traceback.format_exception(kind, error, trace))
    now = time.time_ns()
    extra = {"py_callstack": shown, "timestamp": str(now // 10**9)}
    record = {"message": {"message": f"{kind.__name__}: {error}", "extraInfo": extra}, "time_ns": now}
    with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
        json.dump(record, file)
