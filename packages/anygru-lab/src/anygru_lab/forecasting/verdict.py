"""The scores of a back-test in words: a table, and which method is best."""

import numpy as np

from .backtest import AVERAGE
from .generated import Process
from .pipeline import GRU, Result


def table_of_scores(result: Result) -> list[str]:
    """Return the scores as lines, and a sentence on which method is best."""
    width = max(len(each.name) for each in result.tested)
    lines = [f"{'':{width}}  error   CRPS  in band"]
    for each in sorted(result.tested, key=lambda each: each.scores.error):
        mark = "  <- this forecast" if each.name == result.used else ""
        lines.append(
            f"{each.name:{width}}  {each.scores.error:5.3f}  {each.scores.crps:5.3f}  {each.scores.coverage:7.1%}{mark}"
        )
    return [*lines, verdict(result)]


def verdict(result: Result) -> str:
    """Say which method is best, plainly where it is not the GRU, and which one the forecast is."""
    alone = [each for each in result.tested if each.name not in (AVERAGE, Process.name)]
    first = min(alone, key=lambda each: each.scores.error)
    gru = next(each for each in result.tested if each.name == GRU)
    if first.scores.error == max(each.scores.error for each in alone):
        said = "all methods are equally good here"
    elif first.name == GRU:
        said = "the GRU is the best single method here"
    else:
        more = gru.scores.error / first.scores.error - 1 if first.scores.error else np.inf
        much = (
            f"is {more:.0%} larger"
            if more < 1
            else f"is {more + 1:.1f} times as large"
            if more < 100
            else "is far larger"
        )
        said = f"the GRU is not the best here: {first.name} is, and the GRU's error {much}"
    parts = f" of {', '.join(result.model.chosen)}" if len(result.model.chosen) > 1 else ""
    return f"{said}; the forecast is by: {result.used}{parts}"
