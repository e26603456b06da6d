"""Experiments with anygru: the commands `train`, `sample`, `forecast` and `bench`, and forecasts in Python.

`forecast` and `Forecaster` are imported when they are first used, so that commands start quickly.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .forecasting.api import Forecaster as Forecaster
    from .forecasting.api import forecast as forecast

__all__ = ["Forecaster", "forecast"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .forecasting import api

    globals().update({each: getattr(api, each) for each in __all__})
    return globals()[name]
