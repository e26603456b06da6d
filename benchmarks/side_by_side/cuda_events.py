"""Time calls on a GPU."""

import time
from collections.abc import Callable


def timed(call: Callable[[], object], seconds: float, least: int = 1) -> list[float]:
    """Return the seconds of each call by CUDA events that begin on an idle GPU, which includes the cost of launches."""
    import torch

    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        first.record()
        call()
        last.record()
        last.synchronize()
        times.append(first.elapsed_time(last) / 1e3)
    return times
