"""Holidays of countries and of exchanges, by the package `holidays`."""

from datetime import date
from functools import lru_cache
from typing import Any

import numpy as np

from anygru import extend
from anygru.extend import UsageError


def between(country: str, first: np.datetime64 | np.ndarray, last: np.datetime64 | np.ndarray) -> np.ndarray:
    """Return the holidays of a country in the years of two days, sorted."""
    years = range(
        *(int(day.astype("datetime64[Y]").astype(np.int64)) + 1970 + n for n, day in enumerate((first, last)))
    )
    return np.array(sorted({day for year in years for day in of_year(country, year)}), "datetime64[D]")


@lru_cache(maxsize=1000)
def of_year(country: str, year: int) -> list[date]:
    """Return the holidays of a year; UsageError if the country has none in the package."""
    package: Any = extend.needed("holidays", "--country", "forecast")
    code, _, part = country.partition("-")
    for found in (package.country_holidays, package.financial_holidays):
        try:
            return list(found(code, subdiv=part or None, years=year))
        except NotImplementedError:
            pass
    raise UsageError(
        f"--country {country} has no holidays in the package holidays; it takes codes such as DE, US or DE-BY, and of "
        "exchanges such as NYSE"
    )
