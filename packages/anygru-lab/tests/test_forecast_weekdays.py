"""Days of business: weeks with days off, holidays found or known, and the days of the forecast."""

import datetime

import numpy as np
import pytest

from anygru.cli import UsageError
from anygru_lab.forecasting import saved, seasons
from anygru_lab.forecasting.tables import clock, table
from anygru_lab.forecasting.tables.parts import Columns

polars = pytest.importorskip("polars")
MONDAY = datetime.date(2023, 10, 2)


def frame(days, off=(), number=120, **more):
    """A row for each of so many days on these days of the week (Monday is 0), but those that are off."""
    dates = [MONDAY + datetime.timedelta(n) for n in range(number)]
    dates = [each for each in dates if each.weekday() in days and str(each) not in off]
    return polars.DataFrame({"day": dates, "sold": [float(n % 7) for n in range(len(dates))]} | more)


def read(frame, **columns):
    return table.of_frame(frame, Columns(**columns), "t")


def after(found, steps=5):
    return found.clock.texts(found.clock.later(found.series[0].times[-1], steps))


@pytest.mark.parametrize(
    ("days", "name", "year", "last", "next_days"),
    [
        (range(5), "1 weekday", 261, 116, ["2024-01-26", "2024-01-29"]),
        (range(6), "1 day of Mon Tue Wed Thu Fri Sat", 313, 118, ["2024-01-29", "2024-01-30"]),
        ((6, 0, 1, 2, 3), "1 day of Mon Tue Wed Thu Sun", 261, 116, ["2024-01-28", "2024-01-29"]),
        ((2, 5), "1 day of Wed Sat", 104, 118, ["2024-01-31", "2024-02-03"]),
    ],
)
def test_weeks_with_days_off(days, name, year, last, next_days):
    found = read(frame(days, number=last))
    assert found.clock.name() == name
    assert found.remarks == ()
    assert after(found, 2) == next_days
    assert [season for season, _ in seasons.candidates(found.clock)] == [len(tuple(days)), year]


def test_days_that_are_on_every_weekday_or_on_one_or_are_few_are_no_business_days():
    assert read(frame(range(7))).clock.name() == "1 day"
    assert read(frame((3,))).clock.name() == "7 days"
    with pytest.raises(UsageError, match="lacks 2 rows, the first at 2023-10-08"):
        read(frame(range(6), number=15))  # two Sundays may be chance


OFF = ("2023-10-03", "2023-12-25", "2023-12-26", "2024-01-01")  # the holidays of Germany on weekdays


def test_weekdays_without_rows_are_holidays_if_they_are_few_and_no_series_has_them():
    found = read(frame(range(5), OFF))
    assert len(found.series[0]) == 82
    assert found.remarks == (
        "4 weekdays without values taken for holidays, the first 2023-10-03 (--gaps fill repeats the values before, --country "
        "leaves out later ones)",
    )
    assert [str(each)[:10] for each in found.series[0].times[:2]] == ["2023-10-02", "2023-10-04"]
    filled = read(frame(range(5), OFF), gaps="fill")
    assert (len(filled.series[0]), filled.remarks) == (86, ("filled 4 rows",))
    shut = tuple(str(MONDAY + datetime.timedelta(n)) for n in range(4, 25))
    with pytest.raises(UsageError, match="lacks 15 rows, the first at 2023-10-06"):
        read(frame(range(5), shut))  # too many
    two = polars.concat([frame(range(5), OFF), frame(range(5), (*OFF, "2023-10-10"))])
    two = two.with_columns(polars.Series("shop", ["a"] * 82 + ["b"] * 81))
    with pytest.raises(UsageError, match="'b' in t lacks 1 row, the first at 2023-10-10"):
        read(two, by="shop")
    assert len(read(two.filter(polars.col("shop") == "b"), by="shop").series[0]) == 81


def test_rows_without_values_on_holidays_are_left_out_as_other_missing_values_are_not():
    empty = frame(range(5)).with_columns(
        polars.when(polars.col("day").cast(str).is_in(OFF)).then(None).otherwise("sold").alias("sold")
    )
    assert len(read(empty).series[0]) == 82
    both = empty.with_columns(left=polars.Series([float(n % 5) for n in range(86)]))
    with pytest.raises(UsageError, match="column 'sold' of t lacks 4 values"):
        read(both)


def test_holidays_of_a_country_after_the_table_have_no_steps():
    pytest.importorskip("holidays")
    until = frame(range(5), OFF, number=80)  # the 2023-12-20
    assert after(read(until, country="DE"), 4) == ["2023-12-21", "2023-12-22", "2023-12-27", "2023-12-28"]
    assert after(read(until, country="DE", gaps="fill"), 4)[2] == "2023-12-25"  # filled holidays have steps
    assert after(read(until), 3)[2] == "2023-12-25"
    found = read(
        frame(range(5), ("2023-11-23", "2023-12-05"), number=80), country="NYSE"
    )  # Thanksgiving, and another day
    assert "1 of them are none of NYSE, the first 2023-12-05" in found.remarks[0]
    assert after(found, 3)[2] == "2023-12-26"
    found = read(frame(range(5), number=80), country="DE")
    assert found.remarks == ("rows are on holidays of DE, the first on 2023-10-03, so that later ones have steps, too",)
    assert after(found, 3)[2] == "2023-12-25"
    with pytest.raises(UsageError, match="--country ZZ has no holidays .* of exchanges such as NYSE"):
        read(until, country="ZZ")


def test_a_clock_with_holidays_is_saved():
    made = clock.Clock("date", 1, "weekdays", off=("2023-10-03",), country="DE", week="1111110")
    assert clock.Clock(**saved._tuples({**vars(made), "off": list(made.off)})) == made
    times = np.array(["2023-10-02", "2023-10-04"], "datetime64[us]")
    assert clock.distances(times, made).tolist() == [1.0]
