"""Statistical models of the package statsforecast as rivals, where it is installed: AutoETS, AutoTheta, MSTL, AutoARIMA."""

import importlib
import importlib.util
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import backtest
from .problem import MIDDLE, QUANTILES, Problem

MOST_STEPS = 3000  # of the past that a model reads; more take minutes and change little
SLOWEST = {"AutoETS": 60, "AutoTheta": 60, "AutoARIMA": 12}  # steps of a season that they can take in seconds
WARM = 30  # steps of a fit that is not timed: the first one loads code
PROBE = 200  # steps of the first that is; one of thousands may take minutes
LEVELS = (90, 80, 60, 40, 20)  # of the bands between quantiles that are as far from the median
MODELS = ("AutoETS", "AutoTheta", "MSTL")
OF_FEW = ("MSTL damped", "MSTL recent")  # where few steps show a season: a trend that ends, and one that has changed
RECENT = 0.4  # of the values, that the second one reads,
LEAST_RECENT = 4  # and as many seasons at least
SLOW_MODELS = ("AutoARIMA",)  # where there is a season: one fit takes seconds


def installed() -> bool:
    return importlib.util.find_spec("statsforecast") is not None


class Statistical:
    """A model of statsforecast, fitted again for each series, channel and origin."""

    def __init__(self, name: str, problem: Problem) -> None:
        self.name, self.problem, self.horizon = name, problem, problem.horizon
        self.failures = 0
        self.refits = True

    def forecast(self, numbers: np.ndarray, origins: np.ndarray) -> np.ndarray:
        """See `rivals.Method`."""
        return np.stack([self._one(int(n), int(o)) for n, o in zip(numbers, origins, strict=True)])

    def _one(self, number: int, origin: int) -> np.ndarray:
        read = min(origin, MOST_STEPS)
        if self.name == "MSTL recent":
            read = min(read, max(LEAST_RECENT * max(self.problem.seasons) + backtest.SEEN, int(RECENT * read)))
        values = self.problem.table.series[number].values[origin - read : origin]
        return np.stack([self.fitted(values[:, c]) for c in range(values.shape[1])], axis=1)

    def fitted(self, values: np.ndarray) -> np.ndarray:
        """Quantiles [horizon, quantiles] of what follows the values of a channel."""
        if np.ptp(values) == 0:
            return np.full((self.horizon, len(QUANTILES)), values[-1])
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found = self._model(len(values)).forecast(y=values, h=self.horizon, level=list(LEVELS))
            except Exception:  # of many kinds, by model; the failures are counted and told
                self.failures += 1
                return np.full((self.horizon, len(QUANTILES)), values[-1])
        columns = [found[f"lo-{level}"] for level in LEVELS] + [found["mean"]]
        columns += [found[f"hi-{level}"] for level in reversed(LEVELS)]
        quantiles = np.stack(columns, axis=-1)
        middle = quantiles[:, MIDDLE : MIDDLE + 1]
        quantiles = np.where(np.isfinite(quantiles), quantiles, middle)
        quantiles = np.where(np.isfinite(quantiles), quantiles, values[-1])
        return np.sort(quantiles, axis=-1)

    def _model(self, steps: int) -> Any:
        models: Any = importlib.import_module("statsforecast.models")

        seasons = [each for each in self.problem.seasons if 2 * each < steps]
        if self.name.startswith("MSTL"):
            # Without a season that fits, its model of the trend alone is left; MSTL refuses a season of 1.
            trend = models.AutoETS(model="ZZN", damped=True if self.name == "MSTL damped" else None)
            return models.MSTL(season_length=seasons, trend_forecaster=trend) if seasons else trend
        seasons = seasons or [1]
        return getattr(models, self.name)(season_length=seasons[0])


def rivals(problem: Problem, seconds: float, slow: bool, tell: Callable[[str], None]) -> list[Statistical]:
    """Return the models whose back-test fits into the time, by a fit or two of each; say which are left out.

    Args:
        problem: what to forecast.
        seconds: for the back-test of each model.
        slow: whether slow models are tried where there is a season, too.
        tell: gets a line for each model that would take longer.
    """
    if not installed():
        return []
    importlib.import_module("statsforecast.models")  # takes seconds, which are none of the first model's
    found = []
    few = OF_FEW if problem.short else ()
    for name in MODELS + few + SLOW_MODELS:
        if name.startswith("MSTL") and not problem.seasons:
            continue
        if name in SLOW_MODELS and problem.seasons and not slow:
            tell(f"{name} is left out: with a season it takes long (--rivals slow)")
            continue
        model = Statistical(name, problem)
        if problem.season > SLOWEST.get(name, problem.season):
            tell(f"{name} is left out: a season of {problem.season} steps takes it too long")
            continue
        expected, whole = _expected(model, seconds)
        model.refits = whole <= seconds  # otherwise it is not tested from the earlier origins
        if expected > seconds:
            tell(f"{name} is left out: its back-test would take about {expected:,.0f} s (--rival-seconds)")
            continue
        found.append(model)
    return found


def _expected(model: Statistical, seconds: float) -> tuple[float, float]:
    """Estimate the seconds of a back-test without the earlier origins of `backtest.quarters`, and with them.

    They come from fits of the longest series, of its end first; above `seconds` they may be rough.
    """
    problem = model.problem
    lengths = {number: min(problem.first_origin(number), MOST_STEPS) for number in problem.tested}
    more = backtest.quarters(problem)
    steps = np.zeros(0) if more is None else more.folds
    origins = problem.folds * len(lengths) + (steps > 0).sum()
    channels = len(problem.table.channels)
    total = sum(lengths.values()) / len(lengths) * channels * np.array([origins, origins + (steps < 0).sum()])
    number = max(lengths, key=lengths.__getitem__)
    values = problem.table.series[number].values[: problem.first_origin(number), 0]
    found = np.zeros(2)
    model.fitted(values[-WARM:])
    for read in sorted({min(PROBE, lengths[number]), lengths[number]}):
        begin = time.process_time()  # which does not depend on what else the machine does
        model.fitted(values[-read:])
        found = (time.process_time() - begin) / read * total
        if found[0] > seconds:
            break
    model.failures = 0
    return float(found[0]), float(found[1])
