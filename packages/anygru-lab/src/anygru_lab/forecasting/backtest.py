"""The back-test: forecasts from several origins at the end of each series, scored by what came; and the choice by them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from . import conformal
from .problem import FOLDS, HIGH, LOW, MIDDLE, QUANTILES, Problem
from .rivals import Method

AVERAGED = 3  # methods at most, whose median is one more
NEAR = 1.3  # times the error of the best, usually: other methods do not help it
DOUBT = 1.2  # times the error of a network that has learned from few values: it says less about what comes next
FAR = 2.0  # times the least error: such a method is out; and a rule this much better than all models takes their place
FEW = 4  # series that are tested from more origins than those of the folds
QUARTERS = 4  # origins to a horizon then
EARLIER = 16  # of them at most before the first fold
SEEN = 8  # steps beside two seasons that are before all of them, and half of the series
ROUNDS = 50  # of fitting levels of methods and origins in turn
TINY = 1e-3  # of the seasonal naive error: less is no difference
STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
"""Standard errors that a mean of 2, 3, ... differences exceeds by chance in one of 20 cases (t distribution, two-sided)."""
LARGE = 1.96  # the same for more differences
AVERAGE = "median of the best"


@dataclass(frozen=True)
class Scores:
    """Means over all tested series, channels, origins and steps ahead.

    error, crps: of the median, and the continuous ranked probability score (from the quantiles); both in units of the
        in-sample error of the seasonal naive forecast (MASE, Hyndman and Koehler 2006).
    coverage: the share of values between the quantiles 0.1 and 0.9, ideally 0.8; each fold's bands are calibrated on the
        others.
    raw_coverage: the same without calibration.
    """

    error: float
    crps: float
    coverage: float
    raw_coverage: float


@dataclass(frozen=True)
class Tested:
    """What a method forecast in the back-test, and how it did.

    quantiles: [origins, horizon, C, quantiles], calibrated on the other folds.
    factor: of its bands after the end of the data, calibrated on all folds.
    raw: as quantiles, before calibration.
    errors: the mean error of the median from each origin: those of the folds, and those that `quarters` adds; NaN where the
        method had learned from the steps after one.
    near: forecasts from the origins that `quarters` adds, before calibration; NaN as above.
    """

    name: str
    quantiles: np.ndarray
    raw: np.ndarray
    factor: np.ndarray
    scores: Scores
    errors: np.ndarray
    near: np.ndarray | None = None


@dataclass(frozen=True)
class Places:
    """Where a back-test forecasts: series, origin and fold of each, what came, and the least that channels can be."""

    numbers: np.ndarray
    origins: np.ndarray
    folds: np.ndarray
    actual: np.ndarray
    units: np.ndarray
    floor: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> "Places":
        """The origins of the folds."""
        return cls.at(problem, [(n, o, f) for n in problem.tested for f, o in enumerate(problem.origins(n))])

    @classmethod
    def at(cls, problem: Problem, places: Sequence[tuple[int, int, int]]) -> "Places":
        """The numbers of series, origins and folds."""
        numbers, origins, folds = np.array(places).T
        actual = np.stack([problem.actual(int(n), int(o)) for n, o in zip(numbers, origins, strict=True)])
        units = {n: problem.unit(n) for n in set(numbers.tolist())}
        return cls(numbers, origins, folds, actual, np.stack([units[int(n)] for n in numbers])[:, None],
                   problem.floor)  # fmt: skip

    def where(self, kept: np.ndarray) -> "Places":
        """Some of the places."""
        return replace(
            self, numbers=self.numbers[kept], origins=self.origins[kept], folds=self.folds[kept],
            actual=self.actual[kept], units=self.units[kept],
        )  # fmt: skip


def tried(
    method: Method, places: Places, more: tuple[Places, np.ndarray] | None = None, nearby: Places | None = None
) -> Tested:
    """Score a method.

    Args:
        method: to be tested.
        places: of the back-test.
        more: other places with forecasts of the method there, that help to calibrate its bands: those that share no step
            with a fold.
        nearby: other places whose errors help to compare methods, and calibrate those that have no `more`.
    """
    raw = method.forecast(places.numbers, places.origins)
    if nearby is None:
        return of_quantiles(method.name, raw, places, more)
    near = np.full((len(nearby.folds), *raw.shape[1:]), np.nan)
    can = (nearby.folds > 0) | method.refits
    if can.any():
        there = nearby.where(can)
        near[can] = method.forecast(there.numbers, there.origins)
    found = of_quantiles(method.name, raw, places, more or (nearby, near))
    errors = np.concatenate([found.errors, _by_origin(_errors(near, nearby), nearby)])
    return replace(found, errors=errors, near=near)


def of_quantiles(name: str, raw: np.ndarray, places: Places, more: tuple[Places, np.ndarray] | None = None) -> Tested:
    """Calibrate and score forecasts at the places."""
    calibrated = np.empty_like(raw)
    for fold in np.unique(places.folds):
        mine = places.folds == fold
        factor = conformal.factors(*_without(fold, raw, places, more))
        calibrated[mine] = conformal.applied(raw[mine], factor, places.floor)
    factor = conformal.factors(*_without(None, raw, places, more))
    scores = _scores(calibrated, raw, places)
    return Tested(name, calibrated, raw, factor, scores, _by_origin(_errors(raw, places), places))


def _without(
    fold: int | None, raw: np.ndarray, places: Places, more: tuple[Places, np.ndarray] | None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Forecasts and values that may calibrate a fold: none of them reaches into its steps; and horizons that they span."""
    kept = places.folds != fold if fold is not None else np.ones(len(places.folds), bool)
    if more is None:
        return raw[kept], places.actual[kept], int(kept.sum())
    other, found = more
    # The folds of `more` are the distance of an origin from the first fold in steps; see `between`.
    horizon = raw.shape[1]
    apart = np.isfinite(found).all((1, 2, 3))
    if fold is not None:
        apart &= np.abs(other.folds - fold * horizon) >= horizon
    numbers = np.concatenate([places.numbers[kept], other.numbers[apart]])
    spans = np.concatenate([places.folds[kept], other.folds[apart] // horizon])
    actual = np.concatenate([places.actual[kept], other.actual[apart]])
    count = len(set(zip(numbers.tolist(), spans.tolist(), strict=True)))
    return np.concatenate([raw[kept], found[apart]]), actual, count


def between(problem: Problem, most: int) -> Places | None:
    """Places between the origins of the folds, at most so many; `folds` holds their steps after the first origin."""
    places = [
        (n, problem.first_origin(n) + step, step)
        for n in problem.tested
        for step in range(1, (problem.folds - 1) * problem.horizon)
        if step % problem.horizon
    ]
    if not places:
        return None
    chosen = np.unique(np.linspace(0, len(places) - 1, min(len(places), most)).astype(int))
    return Places.at(problem, [places[each] for each in chosen])


def quarters(problem: Problem) -> Places | None:
    """Places between the folds and before them, a quarter of the horizon apart, where few and short series have few folds.

    `folds` holds their steps after the first origin; those below 0 are for methods that are fitted again at each origin.
    """
    if problem.folds >= FOLDS or len(problem.tested) > FEW:
        return None
    span = (problem.folds - 1) * problem.horizon
    apart = max(1, problem.horizon // QUARTERS)
    seen = 2 * max(problem.seasons, default=1) + SEEN
    before = min(problem.first_origin(n) - max(seen, len(problem.table.series[n]) // 2) for n in problem.tested)
    end = -1 - min(max(0, before), EARLIER * apart)
    steps = [step for step in range(span, end, -apart) if step < 0 or step % problem.horizon]
    places = [(n, problem.first_origin(n) + step, step) for n in problem.tested for step in steps]
    return Places.at(problem, places) if places else None


def _scores(calibrated: np.ndarray, raw: np.ndarray, places: Places) -> Scores:
    levels = np.array(QUANTILES)
    error = np.abs(calibrated[..., MIDDLE] - places.actual) / places.units
    distance = places.actual[..., None] - calibrated
    loss = 2 * np.maximum(levels * distance, (levels - 1) * distance).mean(-1) / places.units
    return Scores(
        float(error.mean()), float(loss.mean()), _coverage(calibrated, places), _coverage(raw, places)
    )  # fmt: skip


def _coverage(quantiles: np.ndarray, places: Places) -> float:
    return float(((quantiles[..., LOW] <= places.actual) & (places.actual <= quantiles[..., HIGH])).mean())


def averaged(
    tested: Sequence[Tested],
    places: Places,
    rules: Sequence[str] = (),
    doubted: Sequence[str] = (),
    nearby: Places | None = None,
) -> tuple[Tested, tuple[str, ...]]:
    """The median, quantile by quantile, of the methods that are about as good as the best, as one more, and their names.

    The least error of a few folds is often luck, and the median of methods that are about as good is rarely worse than they
    are; a mean would follow a single one that goes astray.
    The best is the one whose error is usually the least in relation to the others, see `_usual`. So an origin that no method
    could forecast from, as that before a break, counts as any other, and does not decide for the method that had luck there;
    but those with `FAR` times the least mean error are out. Of those within `NEAR` the folds must not tell that they are
    worse: errors are compared in pairs, fold by fold. A single origin tells nothing: all models forecast then, unless a rule
    is `FAR` better than they are.

    Args:
        tested: the methods.
        places: of the folds.
        rules: names of methods that models have as special cases: they forecast only where they are `FAR` better than these.
        doubted: names of methods whose errors count `DOUBT` times.
        nearby: other places that they were tested at; they help to calibrate.
    """
    usual = _usual(tested)
    usual |= {name: usual[name] + np.log(DOUBT) for name in doubted}
    models = [each for each in tested if each.name not in rules]
    if models and min(usual[each.name] for each in models) <= min(usual.values()) + np.log(FAR):
        tested = models
    ordered = sorted(tested, key=lambda each: usual[each.name])
    all_of_them = len(places.origins) == 1 and bool(rules) and tested is models
    chosen = ordered if all_of_them else _about_as_good(ordered, usual, places)
    found = [each.near for each in chosen if each.near is not None]
    # Those that learned from these steps are left out: the bands of the others are about as good as those of all.
    found = [each for each in found if np.isfinite(each).all()] or found
    more = (nearby, middle(found)) if nearby is not None and found else None
    return of_quantiles(AVERAGE, middle([each.raw for each in chosen]), places, more), tuple(
        each.name for each in chosen
    )


def _about_as_good(ordered: Sequence[Tested], usual: dict[str, float], places: Places) -> list[Tested]:
    """The first of the methods, in the order of their usual error, and those that may be as good."""
    for kind in ("error", "crps"):  # bands, too, may go astray alone
        least = min(getattr(each.scores, kind) for each in ordered)
        ordered = [each for each in ordered if getattr(each.scores, kind) <= FAR * least] or ordered
    first = ordered[0]
    near = [each for each in ordered if usual[each.name] <= usual[first.name] + np.log(NEAR)]
    return [each for each in near if each is first or _alike(each, first, places)][:AVERAGED]


def _usual(tested: Sequence[Tested]) -> dict[str, float]:
    """The logarithm of each method's usual error: its mean over the origins, as if all methods had been tested from all.

    Each logarithm is taken for the sum of a level of the method and one of the origin (least squares, in turns): some origins
    are hard for all, and not every method can be tested from each.
    """
    found = np.log(np.stack([each.errors for each in tested]) + TINY)
    there = np.isfinite(found)
    found, level = np.where(there, found, 0), np.zeros(len(tested))
    for _ in range(ROUNDS):
        origin = (there * (found - level[:, None])).sum(0) / there.sum(0)
        level = (there * (found - origin)).sum(1) / there.sum(1)
    return {each.name: float(its) for each, its in zip(tested, level, strict=True)}


def middle(raw: Sequence[np.ndarray]) -> np.ndarray:
    """The forecast of several methods together."""
    return np.asarray(np.median(raw, axis=0))


def _alike(one: Tested, first: Tested, places: Places) -> bool:
    more = _errors(one.raw, places) - _errors(first.raw, places)
    if len(more) == 1:
        return True
    apart = STUDENT[len(more) - 2] if len(more) < len(STUDENT) + 2 else LARGE
    return float(more.mean()) <= apart * float(more.std(ddof=1)) / len(more) ** 0.5


def _errors(raw: np.ndarray, places: Places) -> np.ndarray:
    """The mean error of the median at each place."""
    distance = np.abs(raw[..., MIDDLE] - places.actual) / places.units
    return np.asarray(distance.reshape(len(raw), -1).mean(1))


def _by_origin(errors: np.ndarray, places: Places) -> np.ndarray:
    """The mean error over the series, for each origin."""
    return np.array([errors[places.folds == fold].mean() for fold in np.unique(places.folds)])


def best(tested: Sequence[Tested]) -> Tested:
    """The method of the least error."""
    return min(tested, key=lambda each: each.scores.error)
