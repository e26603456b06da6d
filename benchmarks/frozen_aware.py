"""Measure the error that int8 weights add to a model trained for them, and to a model trained without them.

    python benchmarks/frozen_aware.py [--hidden N] [--steps N] [--seeds N]

A layer learns to predict a chaotic series (a logistic map with noise). Training then continues from the same weights for a tenth
of the steps, once as before and once with `anygru.freeze_aware`; both results are frozen. An error is the root mean square of the
prediction error as a share of the series' deviation, on unseen data; the change is the greatest difference between the outputs of
the trained layer and the frozen one.
"""

import argparse
import copy
import math

import torch
from torch import Tensor, nn

import anygru


class Forecast(nn.Module):
    """Predict the next value of a series [T, B, 1]."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.gru = anygru.GRU(1, hidden)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.gru(x)[0])
        return out


def series(steps: int, batch: int, seed: int) -> Tensor:
    """Return [T, B, 1]: a logistic map with noise."""
    generator = torch.Generator().manual_seed(seed)
    value, values = torch.rand(batch, generator=generator), []
    for _ in range(steps + 20):
        value = 3.8 * value * (1 - value)
        values.append(value)
    return torch.stack(values[20:]).unsqueeze(-1) + 0.02 * torch.randn(steps, batch, 1, generator=generator)


def train(model: Forecast, steps: int, rate: float, seed: int) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for step in range(steps):
        x = series(65, 32, 1000 * seed + step)
        optimizer.zero_grad()
        (model(x[:-1]) - x[1:]).square().mean().backward()
        optimizer.step()


@torch.no_grad()
def error(model: Forecast, x: Tensor) -> float:
    """Return the error in percent."""
    return 100 * math.sqrt((model(x[:-1]) - x[1:]).square().mean() / x.var())


@torch.no_grad()
def change(one: nn.Module, other: nn.Module, x: Tensor) -> float:
    return float((one(x) - other(x)).abs().max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden", type=int, default=48)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    unseen = series(201, 64, 10**9)
    print("| seed | trained for | error as trained, % | error frozen, % | greatest change |\n|---|---|---:|---:|---:|")
    for seed in range(args.seeds):
        torch.manual_seed(seed)
        first = Forecast(args.hidden)
        train(first, args.steps, 3e-3, seed)
        for weights in ("float32", "bfloat16", "int8"):
            model = copy.deepcopy(first)
            anygru.freeze_aware(model, weights)
            train(model, args.steps // 10, 3e-4, seed + args.seeds)
            for stored in ("bfloat16", "int8") if weights == "float32" else (weights,):
                frozen = copy.deepcopy(model)
                report = anygru.freeze(frozen, stored)
                assert len(report.changed) == 1, report
                row = (error(model, unseen), error(frozen, unseen), change(model, frozen, unseen))
                print(
                    f"| {seed} | {weights}, frozen in {stored} | {row[0]:.3f} | {row[1]:.3f} | {row[2]:.1e} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
