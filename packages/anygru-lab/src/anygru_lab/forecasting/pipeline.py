"""From a table to its forecast: seasons, training, back-test beside rivals, calibration, the choice, and what comes next."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from anygru.extend import UsageError, count

from . import backtest, conformal, seasons, statistical, training
from .backtest import AVERAGE, Places, Tested
from .calendar import Calendar
from .model import Network, forecast
from .problem import Problem, usual_folds, usual_horizon
from .rivals import Linear, Method, Rule, simple
from .seasons import Finding
from .store import Store, choose_logs
from .tables.table import Table
from .training import Notice, Plan

GRU = "GRU"
USES = ("average", "best", "gru")
RIVALS = ("auto", "slow", "simple")
BETWEEN = 1000  # forecasts of the GRU that calibrate its bands, beside those of the folds
MOST_TRAINING, MOST_OF_A_RIVAL = 60.0, 20.0  # seconds
TRAINING = 0.5  # of the time for all
OF_A_RIVAL = 0.05  # there are up to six, and the last training takes its part


def shares(seconds: float | None, rival_seconds: float | None) -> tuple[float, float]:
    """Return the time for the training and for the back-test of each rival: parts of that for all, if it is limited."""
    if seconds is None:
        return MOST_TRAINING, MOST_OF_A_RIVAL if rival_seconds is None else rival_seconds
    return TRAINING * seconds, min(MOST_OF_A_RIVAL, OF_A_RIVAL * seconds) if rival_seconds is None else rival_seconds


@dataclass(frozen=True)
class Options:
    """How to forecast; the names are those of the command's options."""

    season: tuple[int, ...] | None = None
    horizon: int | None = None
    folds: int | None = None
    country: str | None = None
    rivals: str = "auto"
    rival_seconds: float = MOST_OF_A_RIVAL
    use: str = "average"
    plan: Plan = field(default_factory=Plan)


@dataclass(frozen=True)
class Model:
    """A trained network with all that a forecast of other rows needs.

    chosen: the methods whose median is the forecast: one of them, or those of the average.
    factors: of the bands, by the name of the method.
    """

    network: Network
    calendar: Calendar
    seasons: tuple[int, ...]
    logs: tuple[bool, ...]
    chosen: tuple[str, ...]
    factors: dict[str, np.ndarray]
    steps: int

    @property
    def horizon(self) -> int:
        return self.network.shape.horizon


class Gru:
    """The network as a method: its forecasts of the series of a store."""

    name = GRU
    refits = False

    def __init__(self, network: Network, store: Store) -> None:
        self.network, self.store = network, store

    def forecast(self, numbers: np.ndarray, origins: np.ndarray) -> np.ndarray:
        """See `rivals.Method`."""
        scaled = forecast(self.network, self.store, numbers, origins)
        return np.stack([self.store.scales[n].unscaled(each) for n, each in zip(numbers, scaled, strict=True)])


@dataclass(frozen=True)
class Result:
    """All that a run has found.

    future: quantiles [series, horizon, C, quantiles] after the end of the data, by method: the chosen one and the GRU.
    """

    problem: Problem
    findings: list[Finding]
    model: Model
    places: Places
    tested: list[Tested]
    used: str
    future: dict[str, np.ndarray]
    why: str


Tell = Callable[[str], None]
Show = Callable[[Notice], None]


def prepared(table: Table, options: Options) -> tuple[Problem, list[Finding]]:
    """Find the seasons, and decide how far to forecast and from which origins the forecasts are tested."""
    findings: list[Finding] = []
    found = options.season
    if found is None:
        findings = seasons.find(table.series, table.clock)
        found = tuple(each.season for each in findings if each.found)
    found = tuple(sorted({each for each in found if each > 1}))
    ahead = _known_ahead(table)
    horizon = options.horizon or usual_horizon(table.series, found[0] if found else 1, ahead)
    if ahead is not None and ahead < horizon:
        raise UsageError(
            f"the --known columns tell {count(ahead, 'step')} after the last value, and --horizon is {horizon}: add rows "
            "with their times and the known columns, and no value to forecast"
        )
    folds = options.folds or usual_folds(table.series, horizon)
    return Problem(table, horizon, folds, found).check(), findings


def _known_ahead(table: Table) -> int | None:
    """Return how many steps ahead the known covariates are told; None if there are none."""
    if not table.known:
        return None
    ahead = min(len(each.known) - len(each) for each in table.series)
    if not ahead:
        raise UsageError(
            f"the --known columns {', '.join(table.known)} end with the last value: add rows of the future with their "
            "times and the known columns, and no value to forecast"
        )
    return ahead


def run(table: Table, options: Options, tell: Tell = lambda line: None, show: Show = lambda notice: None) -> Result:
    """Train, test beside rivals, choose and forecast.

    Args:
        table: the series.
        options: how.
        tell: gets lines about the findings.
        show: gets the progress of training and back-test.
    """
    problem, findings = prepared(table, options)
    calendar = Calendar.of(table.clock, table.series, problem.seasons, options.country)
    logs = choose_logs([each.values[: problem.first_origin(n)] for n, each in enumerate(table.series)], problem.season)
    ends = [problem.first_origin(n) for n in range(len(table.series))]
    store = Store(table.series, ends, table.clock, calendar, problem.seasons, problem.horizon, logs)
    network = training.make(store, ends, len(table.channels), options.plan)
    trained = training.train(network, store, ends, options.plan, show)
    places = Places.of(problem)
    gru = Gru(network, store)
    if len(problem.long) < len(table.series):
        lacking = len(table.series) - len(problem.long)
        tell(f"left out of the back-test: {lacking:,} series of fewer than {problem.least} steps")
    rivals = _rivals(problem, options, gru, ends, tell)
    nearby = backtest.quarters(problem)
    tested = _tested(problem, gru, rivals, places, nearby, show)
    for each in rivals:
        if isinstance(each, statistical.Statistical) and each.failures:
            tell(
                f"{each.name} could not be fitted {count(each.failures, 'time')}, where the last value is its forecast"
            )
    modelled = any(isinstance(each, statistical.Statistical) for each in rivals)
    rules = [each.name for each in rivals if isinstance(each, Rule)] if modelled else []
    doubted = (GRU,) if problem.short else ()
    average, names = backtest.averaged(tested, places, rules, doubted, nearby)
    best = backtest.best(tested).name
    tested += [average] if len(names) > 1 else []
    used = {"best": best, "average": AVERAGE if len(names) > 1 else names[0], "gru": GRU}[options.use]
    factors = {each.name: each.factor for each in tested}
    model = Model(
        network, calendar, problem.seasons, logs, names if used == AVERAGE else (used,), factors, trained.steps
    )
    future = _future(model, problem, options.plan)
    return Result(problem, findings, model, places, tested, used, future, trained.why)


def _rivals(problem: Problem, options: Options, gru: Gru, ends: list[int], tell: Tell) -> list[Method]:
    """Return the methods beside the GRU; those that are left out are told."""
    rivals: list[Method] = simple(problem, [season for season, _ in seasons.candidates(problem.table.clock)])
    linear = Linear(problem, gru.store, ends)
    rivals += [linear] if linear.usable else []
    if options.rivals != "simple":
        rivals += statistical.rivals(problem, options.rival_seconds, options.rivals == "slow", tell)
    return rivals


def _tested(
    problem: Problem, gru: Gru, rivals: list[Method], places: Places, nearby: Places | None, show: Show
) -> list[Tested]:
    """Test the GRU and its rivals."""
    other = backtest.between(problem, BETWEEN)
    more = None if other is None else (other, gru.forecast(other.numbers, other.origins))
    tested = [backtest.tried(gru, places, more, nearby)]
    for number, each in enumerate(rivals, 1):
        show(Notice(number, number / len(rivals), None, f"back-test of {each.name}"))
        tested.append(backtest.tried(each, places, nearby=nearby))
    return tested


def _future(model: Model, problem: Problem, plan: Plan) -> dict[str, np.ndarray]:
    """Learn from the last steps, too, and forecast what follows them."""
    table = problem.table
    ends = [len(each) for each in table.series]
    store = Store(table.series, ends, table.clock, model.calendar, problem.seasons, problem.horizon, model.logs)
    steps = int(training.AGAIN * model.steps)
    if steps:
        training.learn(model.network, store, ends, plan, steps, plan.seconds)
    return following(model, problem, store)


def following(model: Model, problem: Problem, store: Store) -> dict[str, np.ndarray]:
    """Return the calibrated forecasts after the end of each series: those of the GRU, and of the chosen method."""
    numbers = np.arange(len(problem.table.series))
    origins = np.array([len(each) for each in problem.table.series])
    found = {name: _method(name, model, problem, store).forecast(numbers, origins) for name in {GRU, *model.chosen}}
    if len(model.chosen) > 1:
        found[AVERAGE] = backtest.middle([found[name] for name in model.chosen])
    wanted = [AVERAGE if len(model.chosen) > 1 else model.chosen[0], GRU]
    return {name: conformal.applied(found[name], model.factors[name], problem.floor) for name in dict.fromkeys(wanted)}


def _method(name: str, model: Model, problem: Problem, store: Store) -> Method:
    if name == GRU:
        return Gru(model.network, store)
    if name == Linear.name:
        return Linear(problem, store, [len(each) for each in problem.table.series])
    if name in statistical.MODELS + statistical.OF_FEW + statistical.SLOW_MODELS:
        return statistical.Statistical(name, problem)
    return next(
        each for each in simple(problem, [s for s, _ in seasons.candidates(problem.table.clock)]) if each.name == name
    )


def again(model: Model, table: Table, plan: Plan | None = None) -> tuple[Problem, dict[str, np.ndarray]]:
    """Forecast other rows with a trained model; with a plan it first learns from them.

    Raises:
        UsageError: the rows do not fit the model.
    """
    shape = model.network.shape
    if len(table.channels) != shape.channels:
        raise UsageError(f"the model forecasts {shape.channels} columns, and the table has {len(table.channels)}")
    ahead = _known_ahead(table)
    if ahead is not None and ahead < model.horizon:
        raise UsageError(
            f"the --known columns tell {ahead} steps after the last value; the model needs {model.horizon}"
        )
    shortest = min(table.series, key=len)
    if len(shortest) <= shape.base:
        raise UsageError(
            f"the series {shortest.name!r} has {count(len(shortest), 'step')}; the model needs {shape.base + 1}, more than "
            "a season"
        )
    if any((each.values[:, logged] <= 0).any() for each in table.series for logged in [np.array(model.logs)]):
        raise UsageError("the model was trained on values above 0, and the table has others; train a new one")
    problem = Problem(table, model.horizon, 0, model.seasons)
    ends = [len(each) for each in table.series]
    store = Store(table.series, ends, table.clock, model.calendar, model.seasons, model.horizon, model.logs)
    if (store.calendar.shape[1], store.known.shape[1], store.past.shape[1]) != shape.features:
        raise UsageError("the table has other covariates than the one that the model was trained on")
    if plan is not None:
        steps = plan.steps or max(20, int(training.AGAIN * model.steps))
        training.learn(model.network, store, ends, plan, steps, plan.seconds)
    return problem, following(model, problem, store)
