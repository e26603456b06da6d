"""Measure the cost of resets, decay, layer norm, zoneout, recurrent dropout and other activations, and a rollout with resets
against torch.

Variants take turns in one process; ratios are medians of the ratios of neighbouring turns. For a rollout the time of its products
at the speed of the multiply-add units (`units.cpp`, one thread) is a lower bound for float32.

    python benchmarks/modifiers.py [--threads 1] [--seconds 2] [--only WORD] [--json FILE]
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable

import torch
from frozen_limits import PER_TURN, TURNS, compiled

import anygru
from anygru.facts.formula import ACTIVATIONS

SIZE = (100, 16, 128, 128)  # steps, batch, input size, hidden size
ROLLOUTS = [(32, 8, 32, 64), (32, 16, 64, 128), (32, 64, 64, 128)]
EPISODES_END = 7
"""Steps of a rollout before which some episode has ended, so that rl_games cuts it into eight calls."""


def turns(first: Callable[[], object], other: Callable[[], object], seconds: float) -> dict[str, float]:
    """Return milliseconds per call of both, and the ratio of the second to the first."""
    times: tuple[list[float], list[float]] = ([], [])
    for work in (first, other):
        for _ in range(3):
            work()
    started = time.perf_counter()
    while time.perf_counter() - started < seconds or len(times[0]) < 5:
        for own, work in zip(times, (first, other), strict=True):
            before = time.perf_counter()
            work()
            own.append((time.perf_counter() - before) * 1e3)
    ratios = [b / a for a, b in zip(*times, strict=True)]
    return {
        "first_ms": round(statistics.median(times[0]), 3),
        "other_ms": round(statistics.median(times[1]), 3),
        "ratio": round(statistics.median(ratios), 3),
        "ratio_of_least": round(min(times[1]) / min(times[0]), 3),
    }


def call(work: str, layer: torch.nn.Module, x: torch.Tensor, **given: object) -> Callable[[], object]:
    def infer() -> None:
        with torch.no_grad():
            layer(x, **given)

    def train() -> None:
        layer.zero_grad()
        layer(x, **given)[0].sum().backward()

    layer.train(work == "training")
    return infer if work == "inference" else train


def variants() -> dict[str, tuple[dict[str, object], Callable[[], dict[str, object]]]]:
    """Return options of the layer and arguments of the call by name."""
    steps, batch, _, hidden = SIZE
    resets = torch.rand(steps, batch) < 0.05
    return {
        "resets": ({}, lambda: {"resets": resets}),
        "decay": ({}, lambda: {"decay": torch.rand(steps, batch, hidden)}),
        "decay of the step": ({}, lambda: {"decay": torch.rand(steps, batch, 1)}),
        "norm": ({"norm": "layer"}, dict),
        "zoneout": ({"zoneout": 0.1}, dict),
        "recurrent dropout on the state": ({"recurrent_dropout": 0.2}, dict),
        "recurrent dropout on the candidate": ({"recurrent_dropout": 0.2, "recurrent_dropout_on": "candidate"}, dict),
        "gradient_clipping": ({"gradient_clipping": 1.0}, dict),
        "return_states": ({}, lambda: {"return_states": True}),
        **{f"activation {name}": ({"activation": name}, dict) for name in ACTIVATIONS if name != "tanh"},
        "gate_activation hardsigmoid": ({"gate_activation": "hardsigmoid"}, dict),
    }


def cost(name: str, reset: str, work: str, seconds: float) -> dict[str, float]:
    steps, batch, features, hidden = SIZE
    options, given = variants()[name]
    x = torch.randn(steps, batch, features)
    plain = call(work, anygru.GRU(features, hidden, reset=reset), x)
    return turns(plain, call(work, anygru.GRU(features, hidden, reset=reset, **options), x, **given()), seconds)


def rollout(size: tuple[int, int, int, int], work: str, seconds: float) -> dict[str, float]:
    """Compute as rl_games' `RnnWithDones`: one call of torch's layer for each stretch between ends of episodes."""
    steps, batch, features, hidden = size
    generator = torch.Generator().manual_seed(0)
    ends = torch.zeros(steps, batch, dtype=torch.bool)
    for step in (torch.randperm(steps - 1, generator=generator)[:EPISODES_END] + 1).tolist():
        ends[step, torch.randint(batch, (2,), generator=generator)] = True
    theirs = torch.nn.GRU(features, hidden)
    ours = anygru.GRU(features, hidden)
    ours.load_state_dict(theirs.state_dict())
    x, h_0 = torch.randn(steps, batch, features), torch.randn(1, batch, hidden)

    class Cut(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru = theirs

        def forward(self, x: torch.Tensor, h_0: torch.Tensor, done: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            kept = 1.0 - done.float()
            cuts = [0, *(kept[1:] == 0.0).any(dim=1).nonzero().squeeze(1).add(1).tolist(), steps]
            outputs, state = [], h_0
            for first, last in zip(cuts, cuts[1:], strict=False):
                output, state = self.gru(x[first:last], state * kept[first].view(1, -1, 1))
                outputs.append(output)
            return torch.cat(outputs), state

    with torch.no_grad():
        difference = (Cut()(x, h_0, ends)[0] - ours(x, h_0, resets=ends)[0]).abs().max().item()
    assert difference < 1e-5, difference
    return turns(call(work, ours, x, h_0=h_0, resets=ends), call(work, Cut(), x, h_0=h_0, done=ends), seconds)


def multiply_adds_a_second() -> float:
    """Return operations per second of one thread; a multiply-add counts as two."""
    with tempfile.TemporaryDirectory() as folder:
        units = compiled(folder)
        return TURNS * PER_TURN["float32"] / min(units.multiply_adds(TURNS) for _ in range(200))


def operations(size: tuple[int, int, int, int], work: str) -> float:
    """Return the operations of a rollout's products, without a gradient of the input."""
    steps, batch, features, hidden = size
    once = 2.0 * steps * batch * 3 * hidden
    return once * (features + hidden) + (once * (features + 2 * hidden) if work == "training" else 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--only", default="", help="variants with this word in the name")
    parser.add_argument("--reset", default="after,before")
    parser.add_argument("--json", help="write the figures there")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    found = {}
    for reset in args.reset.split(","):
        for name in variants():
            for work in ("inference", "training"):
                if args.only in name:
                    found[f"{name}, {work}, {reset}"] = cost(name, reset, work, args.seconds)
    speed = multiply_adds_a_second()
    for size in ROLLOUTS if args.only in "rollout" else ():
        for work in ("inference", "training"):
            found[f"rollout {size} against torch, {work}"] = {
                **rollout(size, work, args.seconds),
                "products_ms": round(operations(size, work) / speed * 1e3, 3),
            }
    for name, figures in found.items():
        print(f"{name:60} {figures}", flush=True)
    if args.json:
        with open(args.json, "w") as file:
            figures = {"size": SIZE, "threads": args.threads, "gflops": round(speed / 1e9, 1), "figures": found}
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
