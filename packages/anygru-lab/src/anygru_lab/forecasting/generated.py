"""Generated data: demand by the hour in six cities, by a process whose own forecasts show the best that is possible."""

import numpy as np

from .problem import QUANTILES, Problem
from .tables.clock import Clock
from .tables.table import Series, Table

STEPS = (24 * 180, 24 * 240, 24 * 150, 24 * 210, 24 * 300, 24 * 120)
SEASON = 24
NOISE = 0.25
LIMIT = 3.0
FUTURES = 2000  # simulated from each origin
_HOUR = 3_600_000_000


def generated() -> Table:
    """Generate series whose best forecast is known, see `simulate`; the same ones every time."""
    random = np.random.default_rng(0)
    series = []
    for number, steps in enumerate(STEPS):
        deviation = np.zeros((1, 2))
        values = np.empty((steps, 2))
        for step in range(steps):
            deviation = advance(deviation, random)
            values[step] = shape(number, step) + scale(number) * deviation[0]
        times = np.datetime64("2024-01-01", "us") + np.arange(steps) * np.timedelta64(_HOUR, "us")
        series.append(Series(f"city {number + 1}", values, times, np.zeros((steps, 0)), np.zeros((steps, 0))))
    return Table(tuple(series), ("power", "heat"), Clock("time", _HOUR))


def scale(number: int) -> float:
    """Return the size of a city, by which everything in it is multiplied."""
    return 10.0 * 2.0**number


def shape(number: int, step: int) -> np.ndarray:
    """Return what a city would need without deviations: a daily course, for each channel."""
    day = 2 * np.pi * (step / SEASON + 0.05 * number)
    return scale(number) * np.array([6 + 2 * np.sin(day) + 0.7 * np.sin(2 * day), 4 + 1.5 * np.cos(day)])


def advance(deviation: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return deviations [n, 2] one step later: a relaxation oscillator, which a linear model cannot follow.

    An excess grows by 8 % a step until it exceeds `LIMIT`, and then turns into a deficit, half of which is left after each step.
    """
    kept = np.where(deviation > LIMIT, -1.0, np.where(deviation > 0, 1.08, 0.5))
    return np.asarray(kept * deviation + NOISE * random.standard_normal(deviation.shape))


def simulate(number: int, values: np.ndarray, horizon: int, count: int, seed: int) -> np.ndarray:
    """Return what the process may do next: [count, horizon, 2], from the last of the values [steps, 2] of a city."""
    random = np.random.default_rng(seed)
    steps = len(values)
    deviation = np.repeat((values[-1:] - shape(number, steps - 1)) / scale(number), count, axis=0)
    futures = np.empty((count, horizon, 2))
    for h in range(horizon):
        deviation = advance(deviation, random)
        futures[:, h] = shape(number, steps + h) + scale(number) * deviation
    return futures


class Process:
    """The generating process as a method; none can beat it except by chance."""

    name = "the process itself"
    refits = True

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def forecast(self, numbers: np.ndarray, origins: np.ndarray) -> np.ndarray:
        """See `rivals.Method`."""
        return np.stack([self._one(int(n), int(o)) for n, o in zip(numbers, origins, strict=True)])

    def _one(self, number: int, origin: int) -> np.ndarray:
        values = self.problem.table.series[number].values[:origin]
        futures = simulate(number, values, self.problem.horizon, FUTURES, origin)
        return np.moveaxis(np.quantile(futures, QUANTILES, axis=0), 0, -1)
