"""Processes that a dialect's program forks compute, as they do with the originals.

A forked child has the memory of OpenMP's team and none of its threads. What the originals compute with knows of forks; torch
waits for the threads forever.
"""

import ctypes
import os
from functools import cache

_SOFT = 1
"""`omp_pause_soft`: the threads end, and what the program has set stays."""


@cache
def survive() -> None:
    """From now on end the team before each fork: parent and child start one of their own when they next need it.

    OpenMP 5 has a function for that, in GCC's library since 9. Without it a child computes with one thread.
    """
    if not hasattr(os, "register_at_fork"):
        return
    try:
        pause = ctypes.CDLL(None).omp_pause_resource_all
    except AttributeError:
        os.register_at_fork(after_in_child=_with_one_thread)
    else:
        os.register_at_fork(before=lambda: pause(_SOFT))


def _with_one_thread() -> None:
    import torch  # not at the top: commands that only need the names of dialects do not wait for it

    torch.set_num_threads(1)
