"""Forecasts beside the automatic models of statsforecast: six processes that anybody can generate, and small public tables.

    python benchmarks/forecasting.py                    # all tables, one after another
    python benchmarks/forecasting.py hourly monthly     # some of them
    python benchmarks/forecasting.py --renew retail     # in the committed results, what the command forecasts now
    python benchmarks/forecasting.py --write            # renew the table of docs/forecasting.md from the committed results

Each method forecasts the same three origins of the same series (the folds of the back-test); the error is the MASE of the
median. `default` is what `anygru forecast` writes without options: as the models of statsforecast, it is run on the table up
to each origin, with its own back-test there. Needs anygru[forecast].
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from anygru_lab.forecasting import pipeline
from anygru_lab.forecasting.backtest import Places
from anygru_lab.forecasting.pipeline import GRU, Options
from anygru_lab.forecasting.problem import MIDDLE, Problem
from anygru_lab.forecasting.tables.clock import Clock
from anygru_lab.forecasting.tables.table import Series, Table
from anygru_lab.forecasting.training import Plan

ROOT = Path(__file__).resolve().parent.parent
PAGE, RESULTS = ROOT / "docs" / "forecasting.md", ROOT / "benchmarks" / "results" / "forecasting.json"
BEGIN, END = "<!-- forecasts -->\n", "<!-- end of forecasts -->\n"
TITLES = {
    "hourly": "hours with a day and a week",
    "retail": "daily retail with promotions and holidays",
    "monthly": "months with growth",
    "intermittent": "intermittent demand",
    "broken": "a trend that breaks",
    "short": "1,000 short series",
    "air": "AirPassengers",
    "sunspots": "sunspots",
    "nile": "the Nile",
    "co2": "CO2 by the week",
    "macrodata": "US gross domestic product",
}
HOUR, DAY = 3_600_000_000, 86_400_000_000
FOLDS = 3
MODELS = ("AutoETS", "AutoTheta", "AutoARIMA", "MSTL")


def times(clock: Clock, steps: int) -> np.ndarray:
    if clock.kind == "number":
        return np.arange(steps)
    if clock.unit == "months":
        return (np.datetime64("2010-01") + round(clock.step) * np.arange(steps)).astype("datetime64[us]")
    return np.datetime64("2020-01-06", "us") + np.arange(steps) * np.timedelta64(int(clock.step), "us")


def table(values: list[np.ndarray], clock: Clock, known: list[np.ndarray] | None = None) -> Table:
    series = []
    for number, each in enumerate(values):
        covariates = np.zeros((len(each), 0)) if known is None else known[number]
        series.append(
            Series(f"s{number}", each[:, None], times(clock, len(each)), covariates, np.zeros((len(each), 0)))
        )
    names = () if known is None else ("promo",)
    return Table(tuple(series), ("y",), clock, known=names)


def hourly() -> Table:
    """Ten weeks of hours with a daily course, a weekend effect, and noise that lasts for hours."""
    random = np.random.default_rng(1)
    hour = np.arange(24 * 70)
    weekend = hour // 24 % 7 > 4
    course = 100 + 30 * np.sin(2 * np.pi * hour / 24) * np.where(weekend, 0.5, 1.0) - 15 * weekend
    return table([course + lasting(random, len(hour), 0.8, 4)], Clock("time", HOUR))


def retail() -> Table:
    """Three years of days in five shops: a week, a year, promotions that are known ahead, and closed holidays."""
    random = np.random.default_rng(2)
    steps, values, known = 3 * 365, [], []
    for shop in range(5):
        day = np.arange(steps)
        week = np.array([1.0, 0.95, 0.95, 1.0, 1.2, 1.5, 0.6])[day % 7]
        year = 1 + 0.15 * np.sin(2 * np.pi * (day - 80) / 365.25)
        promo = (random.random(steps // 7 + 6) < 0.2).repeat(7)[: steps + 14].astype(float)
        holiday = np.isin(day % 365, (0, 90, 120, 276, 359, 360))
        sales = 200 * (shop + 1) * week * year * (1 + 0.4 * promo[:steps]) * np.exp(lasting(random, steps, 0.5, 0.06))
        values.append(np.where(holiday, 0.2 * sales, sales))
        known.append(promo[:, None])
    return table(values, Clock("date", DAY), known)


def monthly() -> Table:
    """Ten years of months with growth and a yearly course that grows with it."""
    random = np.random.default_rng(3)
    values = []
    for _ in range(4):
        month = np.arange(120)
        course = 1 + 0.25 * np.sin(2 * np.pi * month / 12 + random.uniform(0, 6)) + 0.1 * np.cos(np.pi * month / 3)
        values.append(100 * np.exp(0.008 * month + np.cumsum(0.02 * random.standard_normal(120))) * course)
    return table(values, Clock("date", 1, "months"))


def intermittent() -> Table:
    """Spare parts: most days none, demand of a few pieces now and then, in twenty series."""
    random = np.random.default_rng(4)
    there = [random.random(300) < random.uniform(0.2, 0.5) for _ in range(20)]
    return table([np.where(each, 1.0 + random.poisson(3, 300), 0.0) for each in there], Clock("date", DAY))


def broken() -> Table:
    """A yearly course on a trend that turns down after two thirds of the months."""
    random = np.random.default_rng(5)
    month = np.arange(144)
    trend = np.where(month < 96, 2.0 * month, 192 - 1.5 * (month - 96))
    values = 200 + trend + 20 * np.sin(2 * np.pi * month / 12) + lasting(random, 144, 0.6, 4)
    return table([values], Clock("date", 1, "months"))


def short() -> Table:
    """1,000 short series of weeks with courses of four kinds, of many sizes."""
    random = np.random.default_rng(6)
    values = []
    for number in range(1000):
        week = np.arange(random.integers(40, 70))
        course = np.sin(2 * np.pi * week / 13 + number % 4) * (1 + number % 3) / 4
        values.append(np.exp(random.normal(3, 1)) * (3 + course + lasting(random, len(week), 0.6, 0.3)))
    return table(values, Clock("number", 1))


def lasting(random: np.random.Generator, steps: int, kept: float, size: float) -> np.ndarray:
    """Noise of which a share is kept from step to step."""
    found = size * random.standard_normal(steps)
    for step in range(1, steps):
        found[step] += kept * found[step - 1]
    return found


def air() -> Table:
    """AirPassengers, as statsforecast ships it."""
    from statsforecast.utils import AirPassengers

    return table([np.asarray(AirPassengers, dtype=float)], Clock("date", 1, "months"))


def of_statsmodels(name: str, column: str, clock: Clock, thin: int = 1) -> Callable[[], Table]:
    """A table that statsmodels ships."""

    def read() -> Table:
        from statsmodels import datasets

        data = getattr(datasets, name).load_pandas().data
        values = np.asarray(data[column], dtype=float)
        values = values[np.isfinite(values)][::thin]
        return table([values], clock)

    read.__doc__ = f"{name} of statsmodels."
    return read


YEAR = Clock("date", 12, "months")
TABLES: dict[str, Callable[[], Table]] = {
    "hourly": hourly,
    "retail": retail,
    "monthly": monthly,
    "intermittent": intermittent,
    "broken": broken,
    "short": short,
    "air": air,
    "sunspots": of_statsmodels("sunspots", "SUNACTIVITY", YEAR),
    "nile": of_statsmodels("nile", "volume", YEAR),
    "co2": of_statsmodels("co2", "co2", Clock("date", 7 * DAY)),
    "macrodata": of_statsmodels("macrodata", "realgdp", Clock("date", 3, "months")),
}
HORIZONS = {"hourly": 48, "retail": 14, "intermittent": 14, "short": 8, "sunspots": 11, "nile": 5, "co2": 26}


def cut(full: Table, steps: int) -> Table:
    """The table without the last steps of each series, whose known covariates stay."""
    series = tuple(
        Series(each.name, each.values[:-steps], each.times[:-steps], each.known, each.past[:-steps])
        for each in full.series
    )
    return Table(series, full.channels, full.clock, known=full.known)


def measured(name: str, minutes: float, seed: int) -> dict[str, float | str]:
    """Errors of all methods on the last folds, and of what the command would have chosen before them."""
    full = TABLES[name]()
    begin = time.monotonic()
    options = Options(
        horizon=HORIZONS.get(name),
        folds=FOLDS,
        rivals="slow",
        rival_seconds=600,
        plan=Plan(seconds=60 * minutes, seed=seed),
    )
    scored = without_the_last(full, name)
    result = pipeline.run(scored, options)
    seconds = time.monotonic() - begin
    errors = {each.name: each.scores.error for each in result.tested}
    best = min(errors[model] for model in MODELS if model in errors)
    coverage = next(each.scores.coverage for each in result.tested if each.name == GRU)
    return {**errors, **of_the_command(scored, result.problem, options.plan, best), "best of statsforecast": best,
            "GRU in band": coverage, "seconds": seconds}  # fmt: skip


def without_the_last(full: Table, name: str) -> Table:
    """The covariates of retail end with its values: they are known ahead for the folds only."""
    return cut(full, HORIZONS[name]) if full.known else full


def of_the_command(scored: Table, problem: Problem, plan: Plan, best: float) -> dict[str, float | str]:
    """The error of the command without options, which is run on the table up to each fold of the problem."""
    usual = Options(horizon=problem.horizon, plan=plan)
    runs = [pipeline.run(cut(scored, (FOLDS - fold) * problem.horizon), usual) for fold in range(FOLDS)]
    error = at_each_origin(Places.of(problem), runs)
    by = "; ".join(" + ".join(each.model.chosen) for each in runs)
    return {"default": error, "by": by, "default / best": error / best}


def renewed(name: str, row: dict[str, Any], minutes: float, seed: int) -> dict[str, Any]:
    """A row of the results with what the command forecasts now; the back-test of single methods does not depend on it."""
    scored = without_the_last(TABLES[name](), name)
    problem, _ = pipeline.prepared(scored, Options(horizon=HORIZONS.get(name), folds=FOLDS))
    plan = Plan(seconds=60 * minutes, seed=seed)
    return row | of_the_command(scored, problem, plan, row["best of statsforecast"])


def at_each_origin(places: Places, runs: list[pipeline.Result]) -> float:
    """The error of what each run forecasts after the end of its table, in the places and units of a back-test."""
    errors = []
    for fold, run in enumerate(runs):
        mine = places.folds == fold
        found = run.future[run.used][places.numbers[mine], ..., MIDDLE]
        errors.append(np.abs(found - places.actual[mine]) / places.units[mine])
    return float(np.concatenate(errors).mean())


def table_of(results: dict[str, dict[str, Any]]) -> str:
    """The table of docs/forecasting.md."""
    lines = [
        "| data | default | GRU | best of AutoETS, AutoTheta, AutoARIMA, MSTL | default / best |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, row in results.items():
        least = min((model for model in MODELS if model in row), key=lambda model: row[model])
        known = f"{row['GRU']:.3f} | {row[least]:.3f} ({least}) | {row['default / best']:.2f}"
        lines.append(f"| {TITLES[name]} | {row['default']:.3f} | {known} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """docs/forecasting.md with the table of the committed results."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return f"{before}{BEGIN}\n{table_of(json.loads(RESULTS.read_text()))}\n{END}{rest.partition(END)[2]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("tables", nargs="*", help=f"of {', '.join(TABLES)} (default: all)")
    parser.add_argument("--minutes", type=float, default=1.0, help="of training, for each table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a JSON file for the results")
    parser.add_argument(
        "--write", action="store_true", help="renew the table of docs/forecasting.md, and measure nothing"
    )
    parser.add_argument("--renew", action="store_true", help="of the committed results, what the command forecasts")
    args = parser.parse_args()
    if args.write:
        PAGE.write_text(page())
        return
    torch.set_num_threads(1)
    for name in args.tables or TABLES if args.renew else ():
        rows = json.loads(RESULTS.read_text())
        rows[name] = renewed(name, rows[name], args.minutes, args.seed)
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
        print(f"{name:12}  default {rows[name]['default']:.3f} ({rows[name]['by']})  "
              f"default / best {rows[name]['default / best']:.3f}", flush=True)  # fmt: skip
    if args.renew:
        return
    found = {}
    for name in args.tables or TABLES:
        found[name] = measured(name, args.minutes, args.seed)
        row = found[name]
        print(f"{name:12}  GRU {row['GRU']:.3f}  default {row['default']:.3f} ({row['by']})  "
              f"{'  '.join(f'{model} {row[model]:.3f}' for model in MODELS if model in row)}  "
              f"default / best {row['default / best']:.3f}  in band {row['GRU in band']:.0%}  {row['seconds']:.0f} s",
              flush=True)  # fmt: skip
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
