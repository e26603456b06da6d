"""Keep torch usable in processes that a dialect's program forks, as the originals are.

A forked child inherits the memory of OpenMP's team, but not its threads. The originals' thread pools handle forks; torch waits
for the threads forever.
"""

import ctypes
import os
from functools import cache

_SOFT = 1
"""`omp_pause_soft`: the threads end, and settings of the program are kept."""


@cache
def survive() -> None:
    """End the team before each later fork: parent and child start a new team when they need it.

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
