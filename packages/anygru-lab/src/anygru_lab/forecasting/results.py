"""What a forecast leaves behind: rows for other programs, scores, pictures, a page, and the model."""

import csv
import json
import os
from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from anygru.extend import open_for_replace

from . import page, pictures, saved
from .pipeline import Model, Result
from .problem import QUANTILES, Problem

LEVELS = [f"q{level}" for level in QUANTILES]
HEAD = ["series", "time", "channel", "part", "after", "step", "value"]
ROUNDING = 1e-12  # of a level: a band as narrow is none
FORECAST, BACKTEST = "forecast", "back-test"


def write(folder: str, result: Result, lines: list[str]) -> list[str]:
    """Write all results into a folder; return the paths, the most useful first.

    Args:
        folder: exists.
        result: of a run.
        lines: the command's report, for the page.
    """
    problem = result.problem
    drawn = pictures.forecast(problem, pages(result), result.used)
    bars = pictures.scores({each.name: each.scores for each in result.tested}, result.used)
    for name, picture in (("forecast.png", drawn), ("scores.png", bars)):
        with open_for_replace(os.path.join(folder, name)) as out:
            out.write(picture)
    with open_for_replace(os.path.join(folder, "forecast.html"), "w") as out:
        out.write(page.written(result, drawn, bars, lines))
    write_rows(os.path.join(folder, "forecast.csv"), problem, pages(result))
    scores = {each.name: asdict(each.scores) for each in result.tested}
    with open_for_replace(os.path.join(folder, "scores.json"), "w") as out:
        json.dump({"used": result.used, "horizon": problem.horizon, "folds": problem.folds, "seasons": problem.seasons,
                   "scores": scores}, out, indent=1)  # fmt: skip
    saved.save(folder, result.model, problem.table)
    names = ("forecast.html", "forecast.png", "forecast.csv", "scores.json", saved.NAME)
    return [os.path.join(folder, name) for name in names]


def write_again(folder: str, problem: Problem, model: Model, future: dict[str, np.ndarray]) -> list[str]:
    """Write the forecast of a model that was trained before, which has no back-test."""
    used = next(iter(future))
    parts = [(n, len(each), future[used][n]) for n, each in enumerate(problem.table.series)]
    with open_for_replace(os.path.join(folder, "forecast.png")) as out:
        out.write(pictures.forecast(problem, parts, used))
    write_rows(os.path.join(folder, "forecast.csv"), problem, parts)
    saved.save(folder, model, problem.table)
    return [os.path.join(folder, name) for name in ("forecast.png", "forecast.csv", saved.NAME)]


Part = tuple[int, int, np.ndarray]
"""The number of a series, an origin, and quantiles [horizon, C, quantiles] of what follows."""


def pages(result: Result) -> list[Part]:
    """Return the forecasts of the method in use, those of the back-test first."""
    tested = next(each for each in result.tested if each.name == result.used)
    places = zip(result.places.numbers.tolist(), result.places.origins.tolist(), tested.quantiles, strict=True)
    found: list[Part] = [(n, o, quantiles) for n, o, quantiles in places]
    future = result.future[result.used]
    return found + [(n, len(each), future[n]) for n, each in enumerate(result.problem.table.series)]


def rows(problem: Problem, parts: list[Part]) -> Iterator[list[object]]:
    """Yield a row for each step ahead of each forecast and channel, with the columns of `HEAD` and `LEVELS`."""
    table = problem.table
    for number, origin, quantiles in sorted(parts, key=lambda part: part[:2]):
        series = table.series[number]
        ended = origin == len(series)
        times = table.clock.later(series.times[-1], problem.horizon) if ended else series.times[origin:]
        texts, after = (
            table.clock.texts(times[: problem.horizon]),
            table.clock.texts(series.times[origin - 1 : origin])[0],
        )
        for step in range(problem.horizon):
            for channel, name in enumerate(table.channels):
                value = "" if ended else f"{series.values[origin + step, channel]:.10g}"
                place = [series.name, texts[step], name, FORECAST if ended else BACKTEST, after, step + 1, value]
                yield [*place, *_texts(quantiles[step, channel])]


def _texts(quantiles: np.ndarray) -> list[str]:
    """Write quantiles with six digits, or with as many more as tell the band from its level."""
    width, size = float(np.ptp(quantiles)), float(np.abs(quantiles).max())
    more = int(np.log10(size / width)) if ROUNDING * size < width < size else 0
    return [f"{each:.{min(6 + more, 16)}g}" for each in quantiles]


def write_rows(path: str, problem: Problem, parts: list[Part]) -> None:
    with open_for_replace(path, "w") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*HEAD, *LEVELS])
        writer.writerows(rows(problem, parts))
