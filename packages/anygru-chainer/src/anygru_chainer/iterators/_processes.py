"""Processes that the dialect starts: forked, as in Chainer, where there is fork."""

import multiprocessing
import warnings
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess


def context() -> BaseContext:
    """The start method that the program has set; by default fork, where there is fork."""
    method = multiprocessing.get_start_method(allow_none=True)
    if method is None and "fork" in multiprocessing.get_all_start_methods():
        method = "fork"
    return multiprocessing.get_context(method)


def start(process: BaseProcess) -> None:
    """Start a process."""
    with warnings.catch_warnings():
        # Python 3.12 warns about a fork in a process with threads; torch's threads are safe (`anygru.dialects.forks`).
        warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
        process.start()
