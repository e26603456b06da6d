"""Forecasts of frames in Python: `forecast` in one call, `Forecaster` to keep the model, its scores and its pictures."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from anygru.errors import AnygruError
from anygru.extend import UsageError

from . import pictures, pipeline, results, saved
from .backtest import Scores
from .pipeline import Options, Result
from .problem import Problem
from .tables import clock, files
from .tables.parts import Columns, id_of
from .tables.table import Table, of_frame
from .training import Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WHERE = "the frame"


class NotFitted(AnygruError):
    """A forecaster has not been fitted to a frame yet."""


def forecast(frame: Any, horizon: int | None = None, **options: Any) -> Any:
    """Forecast a frame: `Forecaster(horizon=horizon, ...).fit(frame).predict()`; the options are explained there."""
    return Forecaster(horizon=horizon, **options).fit(frame).predict()


@dataclass
class Forecaster:
    """Trains a GRU on the series of a frame and forecasts them, or forecasts with rivals that do as well or better.

    horizon: steps to forecast; None: a season, or as far as the known columns reach.
    known: columns whose future is in the frame, in rows that have no value to forecast.
    past: columns that are known only after a step.
    by: the column that tells series apart, or several.
    time: the column of times, or several, as date and hour; None: the first, or the only one with dates.
    target: columns to forecast; none: all numbers that have no other part.
    country: adds its holidays, as the package `holidays` names countries: "DE", "US", "DE-BY".
    season: steps of a season, or several; None: found from the times and the values.
    folds: of the back-test; None: as many as a quarter of the series holds, up to 8.
    gaps: "error", "fill", "zero" or "ignore": what to do about missing rows and values.
    time_format, day_first: how times that are texts are read, where that is not plain.
    decimal_comma: how numbers that are texts are read, where that is not plain.
    zone: the place of times without a zone, as "Europe/Berlin": its clocks are set back and forward.
    last: rows of each series that are used, the newest; None: all, and of long tables the last (`recent.MOST_ROWS`).
    use: "average", "best" or "gru": the method that forecasts; see --use of the command.
    rivals: "auto", "slow" (AutoARIMA with a season, too) or "simple" (nothing of statsforecast).
    steps: of training; None: until validation no longer improves, or its time is over.
    minutes: for all, half of it for training; None: a minute for training, and 20 seconds for each rival.
    hidden, seed: of the network.
    """

    horizon: int | None = None
    known: Sequence[str] = ()
    past: Sequence[str] = ()
    by: str | Sequence[str] | None = None
    time: str | Sequence[str] | None = None
    target: str | Sequence[str] = ()
    country: str | None = None
    season: int | Sequence[int] | None = None
    folds: int | None = None
    gaps: str = "error"
    time_format: str | None = None
    day_first: bool | None = None
    decimal_comma: bool | None = None
    zone: str | None = None
    last: int | None = None
    use: str = "average"
    rivals: str = "auto"
    steps: int | None = None
    minutes: float | None = None
    hidden: int = 32
    seed: int = 0
    result_: Result | None = field(default=None, init=False, repr=False)
    _state: "_State | None" = field(default=None, init=False, repr=False)

    def fit(self, frame: Any) -> "Forecaster":
        """Train on a frame of polars or pandas in long form, test beside rivals, and forecast what follows it.

        Raises:
            UsageError: the frame cannot be forecast, or an argument cannot be used; the message says why.
        """
        options = self._options()
        table = of_frame(files.of_any_frame(frame), self._columns(), _WHERE)
        result = pipeline.run(table, options)
        self.result_ = result
        self._state = _State(result.model, result.problem, result.future, results.pages(result), frame)
        return self

    def predict(self, frame: Any = None) -> Any:
        """Return what follows the fitted frame, or another one, as a frame of the same kind.

        Its columns are those of the groups and the times, `channel` where several are forecast, and quantiles (q0.05 to
        q0.95; q0.5 is the median). Times have the type and the zone of those of the frame, if these are no texts.
        """
        state = self._fitted()
        if frame is None:
            return _like(state.frame, state.problem, state.future)
        problem, future = pipeline.again(state.model, _newer(frame, state))
        return _like(frame, problem, future)

    def update(self, frame: Any, steps: int | None = None) -> "Forecaster":
        """Go on training with a frame that has newer rows, and forecast what follows it."""
        state = self._fitted()
        table = _newer(frame, state)
        plan = Plan(steps=steps, seconds=self._shares()[0], seed=self.seed)
        problem, future = pipeline.again(state.model, table, plan)
        self._state = _State(state.model, problem, future, _parts(problem, future), frame)
        return self

    @property
    def scores_(self) -> dict[str, Scores]:
        """The back-test of each method, by its name."""
        if self.result_ is None:
            raise NotFitted("this Forecaster has no back-test; call fit(frame) first")
        return {each.name: each.scores for each in self.result_.tested}

    def plot(self) -> "Figure":
        """Return a figure of Matplotlib: the last values, the back-test, and the forecast with its 80 % bands."""
        state = self._fitted()
        return pictures.figure(state.problem, state.parts, next(iter(state.future)))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model into a folder, for `Forecaster.load` and `anygru forecast --model`."""
        state = self._fitted()
        os.makedirs(folder, exist_ok=True)
        saved.save(os.fspath(folder), state.model, state.problem.table)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "Forecaster":
        """Return the forecaster of a folder; `predict` and `update` take the frame."""
        model, columns, steps = saved.load(os.fspath(folder))
        found = cls(horizon=model.horizon, **columns.said() | {"country": model.calendar.country})
        problem = Problem(Table((), columns.target, steps, columns), model.horizon, 0, model.seasons)
        found._state = _State(model, problem, {}, [], None)
        return found

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments, as scikit-learn asks for them."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}

    def set_params(self, **params: Any) -> "Forecaster":
        """Change arguments, as scikit-learn does."""
        for name, value in params.items():
            if name not in self.get_params():
                raise UsageError(f"Forecaster has no argument {name!r}; it has {', '.join(self.get_params())}")
            setattr(self, name, value)
        return self

    def _fitted(self) -> "_State":
        if self._state is None:
            raise NotFitted("this Forecaster is not fitted; call fit(frame) first")
        return self._state

    def _columns(self) -> Columns:
        if isinstance(self.known, str) or isinstance(self.past, str):
            raise UsageError("known and past are lists of columns, and got a str")
        target = (self.target,) if isinstance(self.target, str) else tuple(self.target)
        known, past = tuple(self.known), tuple(self.past)
        time, by = (None if each is None else ",".join([each] if isinstance(each, str) else each)
                    for each in (self.time, self.by))  # fmt: skip
        return Columns.of(self, time=time, by=by, target=target, known=known, past=past)

    def _options(self) -> Options:
        season = (self.season,) if isinstance(self.season, int) else None if self.season is None else tuple(self.season)
        if not all(isinstance(each, int | np.integer) and each > 0 for each in season or ()):
            raise UsageError(f"season must be whole numbers from 1, as 24 or (24, 168), got {self.season!r}")
        choices = {"use": pipeline.USES, "rivals": pipeline.RIVALS, "gaps": ("error", "fill", "zero", "ignore")}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise UsageError(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")
        for name in ("horizon", "folds", "steps", "hidden", "last"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int | np.integer) or value < 1):
                raise UsageError(f"{name} must be a whole number from 1, got {value!r}")
        seconds, rival_seconds = self._shares()
        plan = Plan(self.steps, seconds, self.hidden, seed=self.seed)
        return Options(season, self.horizon, self.folds, self.country, self.rivals, rival_seconds, self.use, plan)

    def _shares(self) -> tuple[float, float]:
        if self.minutes is not None and not 0 < self.minutes < 1e7:
            raise UsageError(f"minutes must be above 0, got {self.minutes}")
        return pipeline.shares(None if self.minutes is None else 60 * self.minutes, None)


@dataclass(frozen=True)
class _State:
    model: pipeline.Model
    problem: Problem
    future: dict[str, np.ndarray]
    parts: list[results.Part]
    frame: Any


def _newer(frame: Any, state: _State) -> Table:
    """The series of another frame than the fitted one; UsageError if its steps are others."""
    table = of_frame(files.of_any_frame(frame), state.problem.table.columns, _WHERE)
    clock.same(state.problem.table.clock, table.clock, _WHERE)
    return table


def _parts(problem: Problem, future: dict[str, np.ndarray]) -> list[results.Part]:
    found = next(iter(future.values()))
    return [(n, len(each), found[n]) for n, each in enumerate(problem.table.series)]


def _like(frame: Any, problem: Problem, future: dict[str, np.ndarray]) -> Any:
    """Return a forecast as a frame of the same kind, with times of the same type."""
    polars = files.needed("polars", "a forecast of a frame")
    given = files.of_any_frame(frame)
    result = _with_ids(_frame(problem, next(iter(future.values()))), problem.table.columns.by, given, polars)
    name = problem.table.columns.time or "time"
    wanted = given.schema.get(name)
    if name in result.columns and isinstance(wanted, polars.Datetime) and result.schema[name].is_temporal():
        column = result[name].cast(polars.Datetime(wanted.time_unit, getattr(result.schema[name], "time_zone", None)))
        if wanted.time_zone is not None:
            aware = column if column.dtype.time_zone else column.dt.replace_time_zone(wanted.time_zone)
            column = aware.dt.convert_time_zone(wanted.time_zone)
        result = result.with_columns(column.alias(name))
    return files.like(frame, result)


def _with_ids(result: Any, by: str | None, given: Any, polars: Any) -> Any:
    """The result with the columns that tell series apart as the given frame has them: their types, and each its own."""
    if by is None:
        return result
    names = [by] if by in given.columns else by.split(",")
    if not set(names) <= set(given.columns):
        return result
    ids = given.select(polars.struct(names).alias("ids"), id_of(names).alias(by)).unique(by)
    found = result.join(ids, on=by, how="left", maintain_order="left")
    return found.select(polars.col("ids").struct.unnest(), polars.exclude(by, "ids"))


def _frame(problem: Problem, future: np.ndarray) -> Any:
    """Return quantiles [series, horizon, C, quantiles] as a frame of polars in long form."""
    polars = files.needed("polars", "a forecast of a frame")
    table = problem.table
    clock, columns, channels = table.clock, table.columns, table.channels
    parts = []
    for number, series in enumerate(table.series):
        times = clock.later(series.times[-1], problem.horizon)
        for channel, name in enumerate(channels):
            found: dict[str, Any] = {} if columns.by is None else {columns.by: [series.name] * problem.horizon}
            found[columns.time or "time"] = _times(times, clock.kind, clock.zone, polars)
            if len(channels) > 1:
                found["channel"] = [name] * problem.horizon
            found |= {level: future[number][:, channel, q].copy() for q, level in enumerate(results.LEVELS)}
            parts.append(polars.DataFrame(found))
    return polars.concat(parts)


def _times(times: np.ndarray, kind: str, zone: str, polars: Any) -> Any:
    if kind == "date":
        return polars.Series(times.astype("datetime64[us]")).cast(polars.Date)
    if kind == "time":
        found = polars.Series(times.astype("datetime64[us]"))
        if zone == "Z" or "/" in zone:
            found = found.dt.replace_time_zone("UTC")
        return found.dt.convert_time_zone(zone) if "/" in zone else found
    return polars.Series(times.tolist())
