"""The options of `anygru forecast`: their words, what they may be, and what they ask for."""

import argparse
from typing import TYPE_CHECKING

from anygru.extend import UsageError

if TYPE_CHECKING:
    from .pipeline import Options
    from .tables.parts import Columns
    from .training import Plan

FOLDER = "runs/forecast"
_MOST = 1 << 20
_LIMITS = {"horizon": (1, _MOST), "folds": (1, _MOST), "context": (1, _MOST), "hidden": (1, _MOST), "steps": (1, _MOST),
           "threads": (1, 4096), "seed": (0, _MOST), "last": (1, 1 << 40)}  # fmt: skip
_OF_MODEL = (
    "time",
    "by",
    "target",
    "known",
    "past",
    "gaps",
    "country",
    "season",
    "horizon",
    "folds",
    "hidden",
    "context",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a table, in long or wide form: CSV, Parquet, Excel or JSON; - for standard input (default: generated data)",
    )
    table = parser.add_argument_group("the table")
    _times(table)
    _table(table)
    forecast = parser.add_argument_group("the forecast")
    _forecast(forecast)
    _methods(forecast)
    forecast.add_argument(
        "--model", metavar="DIR", help="forecast FILE with the model in this folder, without training"
    )
    forecast.add_argument("--update", action="store_true", help="with --model: go on training with FILE first")
    _training(parser.add_argument_group("the training"))
    parser.add_argument("--out", metavar="DIR", help=f"folder of the results (default: {FOLDER}, or that of --model)")
    parser.add_argument("--no-progress", action="store_true", help="no progress bar")


def _times(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--time",
        metavar="COLUMN",
        help="column of the times, or several, as date,hour (default: the first, or the only one with dates)",
    )
    group.add_argument(
        "--time-format",
        metavar="FORMAT",
        help="format of the times, as %%d.%%m.%%Y; excel: days as Excel counts them (default: found by trying)",
    )
    group.add_argument(
        "--day-first", action=argparse.BooleanOptionalAction, help="how to read 01/02/2024, where nothing else decides"
    )
    group.add_argument(
        "--zone",
        metavar="PLACE",
        help="where the times were taken, as Europe/Berlin, if they do not say it (default: clocks do not change)",
    )
    group.add_argument(
        "--decimal-comma",
        action=argparse.BooleanOptionalAction,
        help="how to read 1.110 and 1,110, where no other number of the column decides",
    )
    group.add_argument("--encoding", metavar="NAME", help="encoding of CSV, as cp1251 (default: found from its bytes)")


def _table(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--by",
        "--group",
        metavar="COLUMN",
        help="column that tells series apart, or several, as store,item (default: there is one series)",
    )
    _columns(group, "target", "to forecast (default: all numbers)")
    _columns(group, "known", "known ahead, as prices: rows of the future have them, and no value to forecast")
    _columns(group, "past", "known only once a step is over, as the weather")
    group.add_argument(
        "--country", metavar="CODE", help="country, region or exchange whose holidays count, as DE, DE-BY or NYSE"
    )
    group.add_argument(
        "--gaps",
        choices=("error", "fill", "zero", "ignore"),
        help="what to do where rows or values are missing: stop, repeat the values before, take 0 (nothing was sold), or "
        "count rows that have values, and not time (default: error)",
    )
    group.add_argument(
        "--last",
        type=int,
        metavar="N",
        help="use the newest N rows of each series (default: all; fewer of tables with more than a million rows)",
    )


def _forecast(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("--horizon", type=int, metavar="N", help="steps to forecast (default: a season)")
    group.add_argument(
        "--season",
        metavar="N[,N]",
        help="steps of each season, as 24,168; 1: none (default: found in the times and values)",
    )
    group.add_argument(
        "--folds", type=int, metavar="N", help="forecasts of each series in the back-test (default: up to 8, by length)"
    )


def _methods(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--use",
        choices=("average", "best", "gru"),
        help="what forecasts; average: the median of the methods that the back-test cannot tell from the best; best: the best "
        "alone (default: average)",
    )
    group.add_argument("--best", action="store_const", const="best", dest="use", help="the same as --use best")
    group.add_argument(
        "--rivals",
        choices=("auto", "slow", "simple"),
        default="auto",
        help="methods beside the GRU; auto: AutoETS, AutoTheta, MSTL and, without a season, AutoARIMA, where statsforecast is "
        "installed; slow: AutoARIMA with a season, too; simple: none of these (default: %(default)s)",
    )
    group.add_argument(
        "--rival-seconds",
        type=float,
        metavar="X",
        help="seconds for the back-test of each of these methods (default: 20, or a part of --minutes)",
    )


def _training(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--minutes",
        type=float,
        metavar="X",
        help="minutes for the whole run, half of them for the training (default: 1 for the training)",
    )
    group.add_argument("--seconds", type=float, metavar="X", help="the same in seconds")
    group.add_argument(
        "--steps", type=int, metavar="N", help="train exactly N steps (default: until validation gets no better)"
    )
    group.add_argument("--context", type=int, metavar="N", help="steps that the GRU reads (default: 2 seasons)")
    group.add_argument("--hidden", type=int, metavar="N", help="hidden size of the GRU (default: 32)")
    group.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of weights and windows (default: %(default)s)"
    )
    group.add_argument(
        "--threads",
        type=int,
        default=1,
        metavar="N",
        help="threads that train (default: %(default)s; the model is small)",
    )


def _columns(group: "argparse._ArgumentGroup", name: str, words: str) -> None:
    group.add_argument(
        f"--{name}", action="append", default=[], metavar="COLUMN[,COLUMN]", help=f"columns {words}; may be repeated"
    )


def check(args: argparse.Namespace) -> None:
    """Raise UsageError if an option is out of its bounds, or does not go with another."""
    for name, (least, most) in _LIMITS.items():
        value = getattr(args, name)
        if value is not None and not least <= value <= most:
            raise UsageError(f"--{name} must be from {least} to {most}, got {value}")
    if args.out == "":
        raise UsageError("--out is empty; it names the folder of the results")
    _seasons(args)
    if args.minutes is not None and args.seconds is not None:
        raise UsageError("--minutes and --seconds both limit the time; give one of them")
    for name in ("minutes", "seconds", "rival_seconds"):
        value = getattr(args, name)
        if value is not None and not 0 < value < 1e9:
            raise UsageError(f"--{name.replace('_', '-')} must be above 0, got {value}")
    if args.file is None and (args.time or args.by or args.target or args.known or args.past):
        raise UsageError("--time, --by, --target, --known and --past name columns of a FILE, and none is given")
    if args.model is None:
        if args.update:
            raise UsageError("--update goes on with a model; name its folder with --model")
        return
    if args.file is None:
        raise UsageError("--model needs the FILE to forecast")
    given = [f"--{name}" for name in _OF_MODEL if getattr(args, name)]
    if given:
        raise UsageError(f"--model has these from its training; leave out {', '.join(given)}")


def _names(found: list[str]) -> tuple[str, ...]:
    return tuple(name for each in found for name in each.split(",") if name)


def _seasons(args: argparse.Namespace) -> tuple[int, ...] | None:
    try:
        season = None if args.season is None else tuple(int(each) for each in args.season.split(","))
    except ValueError:
        season = (0,)
    if season is not None and not all(1 <= each <= _MOST for each in season):
        raise UsageError(f"--season must be whole numbers from 1 to {_MOST}, as 24 or 24,168, got {args.season}")
    return season


def columns_of(args: argparse.Namespace) -> "Columns":
    from .tables.parts import Columns

    return Columns.of(
        args,
        target=_names(args.target),
        known=_names(args.known),
        past=_names(args.past),
        gaps=args.gaps or "error",
    )


def options(args: argparse.Namespace) -> "Options":
    from .pipeline import Options

    use, rival_seconds = args.use or "average", _shares(args)[1]
    return Options(_seasons(args), args.horizon, args.folds, args.country, args.rivals, rival_seconds, use, plan(args))


def plan(args: argparse.Namespace) -> "Plan":
    from .training import Plan

    return Plan(args.steps, _shares(args)[0], args.hidden or 32, args.context, args.seed)


def _shares(args: argparse.Namespace) -> tuple[float, float]:
    """Seconds for the training and for each rival."""
    from .pipeline import shares

    return shares(args.seconds if args.minutes is None else 60 * args.minutes, args.rival_seconds)
