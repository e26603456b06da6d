"""How well `anygru forecast` chooses, on public series that it was not made for: those of the competitions M1 and M3.

    python benchmarks/forecast_choice.py M3.rda M1.rda --cache forecasts --minutes 45    # go on with the forecasts
    python benchmarks/forecast_choice.py --cache forecasts --half test         # what the choices are worth
    python benchmarks/forecast_choice.py --cache forecasts --table macrodata   # the same on a table of forecasting.py

The files are those of https://github.com/robjhyndman/Mcomp (data/). From each of three origins of a series all methods of the
default command forecast one horizon, after their own back-test before it; their forecasts are kept in `--cache`, and choices
are compared on them. Rules were looked for on one half of the series, and the other half tells what they are worth. Needs
anygru[forecast] and the package rdata.
"""

import argparse
import pickle
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forecasting
import numpy as np
import torch

from anygru.extend import UsageError
from anygru_lab.forecasting import backtest, pipeline, statistical, training
from anygru_lab.forecasting.backtest import Places, Tested
from anygru_lab.forecasting.calendar import Calendar
from anygru_lab.forecasting.pipeline import GRU, Options
from anygru_lab.forecasting.problem import MIDDLE
from anygru_lab.forecasting.rivals import Rule
from anygru_lab.forecasting.store import Store, choose_logs
from anygru_lab.forecasting.tables.clock import Clock
from anygru_lab.forecasting.tables.table import Table

KINDS = {  # the step, the horizon of the competition, and the least length that three origins need
    "yearly": (forecasting.YEAR, 6, 36),
    "quarterly": (Clock("date", 3, "months"), 8, 60),
    "monthly": (Clock("date", 1, "months"), 12, 108),
    "other": (Clock("number", 1), 8, 60),
}
TURNS = ("yearly", "quarterly", "monthly", "other", "quarterly", "monthly", "yearly", "quarterly", "monthly", "other",
         "monthly", "quarterly")  # fmt: skip
FOLDS, TINY, CLOSE = 3, 1e-3, 1.02
SHRINKING = 2.0  # origins that count as much as knowing nothing
WEIGHING = 2.0


@dataclass(frozen=True)
class Run:
    """What all methods forecast from one origin, after their back-test, and what came.

    future: the medians [1, horizon, 1] by method, and those of models that are too slow for a back-test.
    """

    tested: list[Tested]
    places: Places
    nearby: Places | None
    rules: tuple[str, ...]
    doubted: tuple[str, ...]
    future: dict[str, np.ndarray]
    actual: np.ndarray
    unit: np.ndarray

    def error(self, forecast: np.ndarray) -> float:
        return float((np.abs(forecast - self.actual) / self.unit).mean())


def series(files: list[Path]) -> dict[str, list[tuple[str, np.ndarray]]]:
    """The series that are long enough, of each kind, in an order of chance."""
    import rdata

    found: dict[str, list[tuple[str, np.ndarray]]] = {kind: [] for kind in KINDS}
    for file in files:
        for name, each in rdata.read_rda(file)[file.stem].items():
            values = np.concatenate([np.asarray(each[part], float).ravel() for part in ("x", "xx")])
            kind = str(np.ravel(each["period"])[0]).lower()
            if len(values) >= KINDS[kind][2]:
                found[kind].append((f"{file.stem}-{name}", values))
    random = np.random.default_rng(0)
    return {kind: [each[n] for n in random.permutation(len(each))] for kind, each in found.items()}


def forecasts(full: Table, horizon: int | None) -> list[Run]:
    """What all methods forecast from three origins."""
    problem, _ = pipeline.prepared(full, Options(horizon=horizon, folds=FOLDS))
    horizon, unit, values = problem.horizon, problem.unit(0), full.series[0].values[:, 0]
    return [
        forecast_of(forecasting.cut(full, (FOLDS - fold) * horizon), horizon, values, unit) for fold in range(FOLDS)
    ]


def forecast_of(table: Table, horizon: int, values: np.ndarray, unit: np.ndarray) -> Run:
    """What all methods forecast after the end of a table; the network learns as in the command."""
    options = Options(horizon=horizon)
    problem, _ = pipeline.prepared(table, options)
    calendar = Calendar.of(table.clock, table.series, problem.seasons, None)
    first, end = problem.first_origin(0), len(table.series[0])
    logs = choose_logs([table.series[0].values[:first]], problem.season)

    def stored(end: int) -> Store:
        return Store(table.series, [end], table.clock, calendar, problem.seasons, horizon, logs)

    store = stored(first)
    network = training.make(store, [first], 1, options.plan)
    trained = training.train(network, store, [first], options.plan, lambda notice: None)
    gru = pipeline.Gru(network, store)
    rivals = pipeline._rivals(problem, options, gru, [first], lambda line: None)
    places, nearby = Places.of(problem), backtest.quarters(problem)
    tested = pipeline._tested(problem, gru, rivals, places, nearby, lambda notice: None)
    store = stored(end)
    if steps := int(training.AGAIN * trained.steps):
        training.learn(network, store, [end], options.plan, steps, 60)
    names = tuple(each.name for each in tested)
    model = pipeline.Model(network, calendar, problem.seasons, logs, names, {}, trained.steps)
    methods = [pipeline._method(name, model, problem, store) for name in names]
    methods += [
        statistical.Statistical(name, problem)
        for name in forecasting.MODELS
        if name not in names and (name != "MSTL" or problem.seasons)
    ]
    future = {each.name: each.forecast(np.zeros(1, int), np.array([end]))[..., MIDDLE] for each in methods}
    rules = tuple(each.name for each in rivals if isinstance(each, Rule))
    doubted = (GRU,) if problem.short else ()
    return Run(tested, places, nearby, rules, doubted, future, values[None, end : end + horizon, None], unit)


def renew(files: list[Path], cache: Path, minutes: float) -> None:
    """Forecast series that are not in the cache, kinds in turns, until the time is over."""
    found, turn = {kind: iter(each) for kind, each in series(files).items()}, 0
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        kind, turn = TURNS[turn % len(TURNS)], turn + 1
        name, values = next(found[kind], ("", np.zeros(0)))
        path = cache / f"{kind}_{name}.pkl"
        if not name or path.exists():
            continue
        try:
            runs = forecasts(forecasting.table([values], KINDS[kind][0]), KINDS[kind][1])
        except UsageError:  # too short at the first origin, with the season that was found there
            runs = []
        keep(path, runs)
        print(kind, name, flush=True)


def keep(path: Path, runs: list[Run]) -> None:
    path.write_bytes(pickle.dumps([vars(run) for run in runs]))


Choice = Callable[[Run], np.ndarray]


def command(run: Run) -> np.ndarray:
    """What the command chooses."""
    names = backtest.averaged(run.tested, run.places, run.rules, run.doubted, run.nearby)[1]
    return backtest.middle([run.future[name] for name in names])


def best_few(run: Run) -> np.ndarray:
    """The same, with the best few after a single origin, too."""
    usual = backtest._usual(run.tested)
    usual |= {name: usual[name] + np.log(backtest.DOUBT) for name in run.doubted}
    ordered = sorted(models(run), key=lambda each: usual[each.name])
    if usual[ordered[0].name] > min(usual.values()) + np.log(backtest.FAR):
        ordered = sorted(run.tested, key=lambda each: usual[each.name])
    chosen = backtest._about_as_good(ordered, usual, run.places)
    return backtest.middle([run.future[each.name] for each in chosen])


def models(run: Run) -> list[Tested]:
    return [each for each in run.tested if each.name not in run.rules]


def mean_of_models(run: Run) -> np.ndarray:
    """The mean of all its models."""
    return np.asarray(np.mean([run.future[each.name] for each in models(run)], axis=0))


def mean_of_four(run: Run) -> np.ndarray:
    """The mean of the four models of statsforecast."""
    return np.asarray(np.mean([run.future[name] for name in forecasting.MODELS if name in run.future], axis=0))


def by_shrunk_errors(run: Run) -> np.ndarray:
    """The mean of all its models, weighted by errors that few origins shrink."""
    usual, folds = backtest._usual(run.tested), len(set(run.places.folds))
    middle = np.median([usual[each.name] for each in models(run)])
    weights, found = [], []
    for each in models(run):
        origins = folds + (np.isfinite(each.errors).sum() - folds) / backtest.QUARTERS  # that share no step
        shrunk = (usual[each.name] - middle) * origins / (origins + SHRINKING)
        weights.append(np.exp(-WEIGHING * shrunk))
        found.append(run.future[each.name])
    return np.asarray(np.average(found, axis=0, weights=weights))


def alone(name: str) -> Choice:
    """A model; without a season, AutoETS is in the place of MSTL."""

    def choice(run: Run) -> np.ndarray:
        return run.future.get(name, run.future["AutoETS"])

    choice.__doc__ = f"{name} alone."
    return choice


CHOICES: tuple[Choice, ...] = (
    command, best_few, mean_of_models, by_shrunk_errors, mean_of_four, *map(alone, (*forecasting.MODELS, GRU)),
)  # fmt: skip


def kept(cache: Path, half: str) -> Iterator[tuple[str, list[Run]]]:
    for path in sorted(cache.glob("*.pkl")):
        whose = path.stem if path.stem in forecasting.TABLES else ("learn", "test")[zlib.crc32(path.stem.encode()) % 2]
        runs: list[dict[str, Any]] = pickle.loads(path.read_bytes()) if whose == half else []
        if runs:
            yield path.stem, [Run(**run) for run in runs]


def summary(cache: Path, half: str) -> list[str]:
    """The lines of a table: each choice beside the best of the four models, which is known only afterwards."""
    found = dict(kept(cache, half))
    least = {
        name: max(TINY, min(
            np.mean([run.error(run.future[model]) for run in runs])
            for model in forecasting.MODELS if all(model in run.future for run in runs)
        )) for name, runs in found.items()
    }  # fmt: skip
    single = [(name, run) for name, runs in found.items() for run in runs if len(run.places.origins) == 1]
    few = np.array([np.log(TINY + run.error(best_few(run))) for _, run in single])
    lines = [
        f"| choice | error / best of four, {len(found)} series | at most {CLOSE} | error / best few, "
        f"{len(single)} back-tests of one origin |",
        "| --- | ---: | ---: | ---: |",
    ]
    for choice in CHOICES:
        ratios = [np.mean([run.error(choice(run)) for run in runs]) / least[name] for name, runs in found.items()]
        more = np.array([np.log(TINY + run.error(choice(run))) for _, run in single]) - few
        by_series = [more[[name == each for each, _ in single]].mean() for name in dict.fromkeys(n for n, _ in single)]
        said = str(choice.__doc__).split("\n")[0].rstrip(".")
        lines.append(
            f"| {said} | {np.exp(np.mean(np.log(ratios))):.3f} | {np.mean(np.array(ratios) <= CLOSE):.0%} | "
            + (
                f"{np.exp(more.mean()):.3f} ± {np.std(by_series, ddof=1) / len(by_series) ** 0.5:.3f} |"
                if single
                else " |"
            )
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="M3.rda M1.rda")
    parser.add_argument("--cache", type=Path, required=True, help="a folder for the forecasts")
    parser.add_argument("--minutes", type=float, default=0.0, help="of forecasting series that are not in it")
    parser.add_argument("--half", choices=("learn", "test"), default="learn")
    parser.add_argument("--table", choices=forecasting.TABLES, help="in the place of a half; of a single series")
    parser.add_argument("--out", type=Path, help="a file for the lines, which are printed, too")
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    args.cache.mkdir(parents=True, exist_ok=True)
    if args.minutes:
        renew(args.files, args.cache, args.minutes)
    if args.table and not (path := args.cache / f"{args.table}.pkl").exists():
        keep(path, forecasts(forecasting.TABLES[args.table](), forecasting.HORIZONS.get(args.table)))
    lines = summary(args.cache, args.table or args.half)
    print("\n".join(lines))
    if args.out:
        begin = f"`benchmarks/forecast_choice.py` wrote this, of the {args.half} half of the series of M1 and M3."
        args.out.write_text("\n".join([begin, "", *lines]) + "\n")


if __name__ == "__main__":
    main()
