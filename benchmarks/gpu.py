"""GRUs on a GPU: layers of ours beside torch.nn.GRU, which is cuDNN's, as a table in Markdown.

    python benchmarks/gpu.py > benchmarks/results/MACHINE/gpu.md

Milliseconds a call in float32 without tf32, by CUDA events from an idle GPU on, so that what a call costs in Python counts:
medians of 0.4 s each, one after the other in one process.
"""

import statistics
import time
from collections.abc import Callable

import torch

import anygru
from anygru.functional import gru

SIZES = ((1, 32, 256), (100, 1, 128), (100, 32, 128), (100, 32, 512), (50, 64, 1024), (20, 512, 512))
"""(steps, batch, input and hidden size)"""
COLUMNS = ("torch.nn.GRU", "anygru.GRU", "loose weights", "accelerated", "triton", "reset before", "torch / anygru.GRU")


def milliseconds(call: Callable[[], object], seconds: float = 0.4) -> float:
    for _ in range(5):
        call()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        first.record()
        call()
        last.record()
        last.synchronize()
        times.append(first.elapsed_time(last))
    return statistics.median(times)


def row(steps: int, batch: int, size: int, train: bool) -> list[float]:
    """Times in the order of `COLUMNS`."""
    input = torch.randn(steps, batch, size, device="cuda", requires_grad=train)
    upstream = torch.randn(steps, batch, size, device="cuda")
    layer, accelerated = (torch.nn.GRU(size, size, device="cuda") for _ in range(2))
    anygru.accelerate(accelerated)
    layers = [layer, anygru.GRU(size, size, device="cuda"), accelerated]
    layers += [
        anygru.GRU(size, size, device="cuda", backend="triton"),
        anygru.GRU(size, size, device="cuda", reset="before"),
    ]
    calls = [(lambda each=each: each(input)[0], list(each.parameters())) for each in layers]
    loose = [weight.detach().clone().requires_grad_(train) for weight in layer.parameters()]
    calls.insert(2, (lambda: gru(input, None, loose)[0], loose))
    found = []
    for call, weights in calls:

        def step(call: Callable[[], torch.Tensor] = call, weights: list[torch.Tensor] = weights) -> None:
            if train:
                torch.autograd.grad(call(), [input, *weights], upstream)
            else:
                with torch.no_grad():
                    call()

        found.append(milliseconds(step))
    return found


def main() -> None:
    torch.backends.cudnn.allow_tf32 = False
    print(f"# GRUs on {torch.cuda.get_device_name()}\n\n- torch: {torch.__version__}\n\nMilliseconds a call.\n")
    print("| cell | " + " | ".join(COLUMNS) + " |\n| --- |" + " ---: |" * len(COLUMNS))
    for size in SIZES:
        for train in (False, True):
            times = row(*size, train)
            cells = [*(f"{each:.3f}" for each in times), f"{times[0] / times[1]:.2f}"]
            name = "T={} B={} H={}".format(*size) + (", training" if train else "")
            print("| " + " | ".join((name, *cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
