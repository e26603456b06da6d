"""Compare layers and cells with torch's on a GPU; prints Markdown rows for `results/MACHINE/gpu.md`.

    python benchmarks/gpu.py

Times are milliseconds per call in float32 without TF32, by CUDA events that begin on an idle GPU and include Python's overhead.
The implementations take three turns in one process; the output has medians. Results are compared with torch's before timing.
"""

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import torch
from side_by_side.cuda_events import timed

import anygru

LAYERS = ((1, 32, 256), (100, 1, 128), (100, 32, 128), (100, 32, 512), (50, 64, 1024), (20, 512, 512))
"""Steps T, sequences B, and H for hidden and input size."""
CELLS = ((32, 256), (512, 512))
"""(B, H) of single steps."""
SECONDS = 0.12
"""Seconds per turn."""


def row(name: str, kinds: dict[str, torch.nn.Module], *inputs: torch.Tensor, train: bool) -> str:
    """Return a line of the table: all times, and the ratios of torch to anygru."""
    calls, expected = {}, None
    for kind, module in kinds.items():
        calls[kind] = (
            trained(module, inputs) if train else torch.no_grad()(lambda module=module: first_of(module(*inputs)))
        )
        found = calls[kind]()
        found = found if isinstance(found, tuple) else (found,)
        expected = expected or found
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3 * float(other.abs().max()))
    turns = [{kind: timed(call, SECONDS, least=5) for kind, call in calls.items()} for _ in range(3)]
    times = {kind: 1e3 * statistics.median(statistics.median(turn[kind]) for turn in turns) for kind in kinds}
    theirs, *ours = times.values()
    figures = [f"{value:.3f}" for value in times.values()] + [f"{theirs / value:.2f}" for value in ours]
    return f"| {name}{', training' if train else ''} | " + " | ".join(figures) + " |"


def first_of(found: Any) -> torch.Tensor:
    result: torch.Tensor = found[0] if isinstance(found, tuple) else found
    return result


def trained(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> Callable[[], tuple[torch.Tensor, ...]]:
    """Run forward and backward, with gradients of input and weights."""
    given = [inputs[0].clone().requires_grad_(), *inputs[1:]]
    wanted = [given[0], *module.parameters()]

    def call() -> tuple[torch.Tensor, ...]:
        output = first_of(module(*given))
        return torch.autograd.grad(output, wanted, torch.ones_like(output))

    return call


def alike(theirs: torch.nn.Module, ours: torch.nn.Module, accelerated: torch.nn.Module) -> dict[str, torch.nn.Module]:
    for module in (ours, accelerated):
        module.load_state_dict(theirs.state_dict())
    anygru.accelerate(accelerated)
    return {"torch": theirs, "anygru": ours, "accelerated": accelerated}


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    print(f"# GRUs on {torch.cuda.get_device_name()}\n\n- torch: {torch.__version__}\n")
    print("| call | torch.nn | anygru | accelerated | torch / anygru | torch / accelerated |")
    print("| --- |" + " ---: |" * 5)
    for train in (False, True):
        for steps, batch, size in LAYERS:
            kinds = alike(*(kind(size, size).cuda() for kind in (torch.nn.GRU, anygru.GRU, torch.nn.GRU)))
            input = torch.randn(steps, batch, size, device="cuda")
            print(row(f"T={steps} B={batch} H={size}", kinds, input, train=train), flush=True)
        for batch, size in CELLS:
            kinds = alike(*(kind(size, size).cuda() for kind in (torch.nn.GRUCell, anygru.GRUCell, torch.nn.GRUCell)))
            input, h = (torch.randn(batch, size, device="cuda") for _ in range(2))
            print(row(f"cell B={batch} H={size}", kinds, input, h, train=train), flush=True)


if __name__ == "__main__":
    main()
