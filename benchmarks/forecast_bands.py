"""What the 80 % bands of `anygru forecast` hold, on data of known process.

After the last day of each series the process is drawn 100 times more from where the series has come to. What is told is the
share of these values within the band, so that no luck of a single future is in it. The standard error is that of the mean over
tables. A table of one series takes one to three seconds.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from anygru_lab.forecasting import pipeline
from anygru_lab.forecasting.pipeline import Options
from anygru_lab.forecasting.problem import HIGH, LOW
from anygru_lab.forecasting.tables.clock import Clock
from anygru_lab.forecasting.tables.table import Series, Table
from anygru_lab.forecasting.training import Plan

HORIZON, FUTURES, DAY = 12, 100, 86_400_000_000
WEEK = np.array([1.0, 0.95, 0.95, 1.0, 1.2, 1.5, 0.6])
Paths = tuple[np.ndarray, np.ndarray]  # [days] that are known, [FUTURES, HORIZON] that may follow


def lasting(random: np.random.Generator, days: int, keeps: float, size: float) -> Paths:
    """Noise of which each day keeps a part."""
    known, last = np.empty(days), 0.0
    for day in range(days):
        known[day] = last = keeps * last + size * random.standard_normal()
    future, row = np.empty((FUTURES, HORIZON)), np.full(FUTURES, last)
    for day in range(HORIZON):
        future[:, day] = row = keeps * row + size * random.standard_normal(FUTURES)
    return known, future


def formed(random: np.random.Generator, days: int, draw: Callable[..., np.ndarray]) -> Paths:
    """Values that do not depend on each other."""
    return draw(random, days), draw(random, (FUTURES, HORIZON))


def week(random: np.random.Generator, days: int) -> Paths:
    known, future = lasting(random, days, 0.7, 5)
    courses = 100 * WEEK[np.arange(days + HORIZON) % 7]
    return courses[:days] + known, courses[days:] + future


def walk(random: np.random.Generator, days: int) -> Paths:
    known, future = lasting(random, days, 1.0, 1)
    return 100 + known, 100 + future


def noise(random: np.random.Generator, days: int) -> Paths:
    return formed(random, days, lambda random, size: 50 + 5 * random.standard_normal(size))


def growth(random: np.random.Generator, days: int) -> Paths:
    known, future = lasting(random, days, 0.5, 0.05)
    trend = 100 * np.exp(0.004 * np.arange(days + HORIZON))
    return trend[:days] * np.exp(known), trend[days:] * np.exp(future)


def skewed(random: np.random.Generator, days: int) -> Paths:
    known, future = formed(random, days, lambda random, size: random.gamma(2, 0.5, size))
    courses = 100 * WEEK[np.arange(days + HORIZON) % 7]
    return courses[:days] * known, courses[days:] * future


def zeros(random: np.random.Generator, days: int) -> Paths:
    def draw(random: np.random.Generator, size: int | tuple[int, int]) -> np.ndarray:
        return np.where(random.random(size) < 0.35, 1.0 + random.poisson(3, size), 0.0)

    return formed(random, days, draw)


PROCESSES = {
    "a week, and noise that lasts (0.7)": week,
    "a walk": walk,
    "noise": noise,
    "growth of 0.4 % a day, and noise in its logarithm": growth,
    "a week, times gamma noise (shape 2)": skewed,
    "a third of the days 1 + Poisson (3), else 0": zeros,
}


def held(process: Callable[[np.random.Generator, int], Paths], days: int, count: int, seed: int, rivals: str) -> float:
    """The share of what may follow within the bands of a table of so many series, in per cent."""
    random = np.random.default_rng(seed)
    times = np.datetime64("2020-01-06", "us") + np.arange(days) * np.timedelta64(DAY, "us")
    drawn = [process(random, days) for _ in range(count)]
    none = np.zeros((days, 0))
    series = tuple(Series(str(number), known[:, None], times, none, none) for number, (known, _) in enumerate(drawn))
    table = Table(series, ("value",), Clock("date", DAY))
    result = pipeline.run(table, Options(horizon=HORIZON, rivals=rivals, plan=Plan(steps=30, seed=seed)))
    band = result.future[result.used][:, None, :, 0]
    future = np.stack([paths for _, paths in drawn])
    return 100 * float(((band[..., LOW] <= future) & (future <= band[..., HIGH])).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--days", type=int, default=400)
    parser.add_argument("--tables", type=int, default=40, help="of each process")
    parser.add_argument("--series", type=int, default=1, help="of each table")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--rivals", choices=pipeline.RIVALS, default="simple")
    parser.add_argument("--out", type=Path, help="a file for the lines, which are printed, too")
    args = parser.parse_args()
    torch.set_num_threads(1)
    lines = [
        f"| process | {args.days} days, {args.tables} tables of {args.series} series, seed {args.seed}, rivals {args.rivals} |",
        "| --- | ---: |",
    ]
    for name, process in PROCESSES.items():
        shares = [
            held(process, args.days, args.series, 1000 * args.seed + table, args.rivals) for table in range(args.tables)
        ]
        lines.append(f"| {name} | {np.mean(shares):.1f} ± {np.std(shares, ddof=1) / len(shares) ** 0.5:.1f} |")
        print(lines[-1], flush=True)
    if args.out:
        begin = (
            "`benchmarks/forecast_bands.py` wrote this: what the 80 % bands hold, "
            "in per cent with the standard error over tables."
        )
        args.out.write_text("\n".join([begin, "", *lines]) + "\n")


if __name__ == "__main__":
    main()
