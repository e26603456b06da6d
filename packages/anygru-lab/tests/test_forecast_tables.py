"""Tables as people have them: dates and numbers of many forms, gaps, covariates, frames; and errors for what has no reading."""

import datetime
import re

import numpy as np
import pytest

from anygru.cli import UsageError
from anygru_lab.forecasting import seasons
from anygru_lab.forecasting.calendar import Calendar
from anygru_lab.forecasting.tables import clock, delimited, files, formats, numerals, recent, table, times
from anygru_lab.forecasting.tables.parts import Columns

polars = pytest.importorskip("polars")


def write(path, rows, header="day,city,power,heat"):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def read(path, **columns):
    found = files.read(str(path))
    return table.of_frame(found.frame, Columns(**columns), repr(str(path)), found.decimal_comma)


def dated(rows, head="day,sold", number=12, join=","):
    """A file's text: a row of each day of 2024, with what `rows` makes of its number."""
    lines = [join.join([f"2024-01-{n + 1:02}", *map(str, rows(n))]) for n in range(number)]
    return "\n".join([head, *lines]) + "\n"


def sold(n):
    return (5 + n * n % 7,)


def moments(*texts, **options):
    return times.read(polars.Series("t", texts), "column 't' of 'x.csv'", **options)


# Times


def test_times_may_be_in_any_column_that_alone_holds_dates(tmp_path):
    rows = [("A", 5 + n % 3, f"1/{n + 1}/2024", f"2024-02-{n + 1:02}") for n in range(20)]
    path = write(tmp_path / "a.csv", [row[:3] for row in rows], "shop,sold,when")
    found = read(path)
    assert found.columns.time == "when"
    assert str(found.series[0].times[-1])[:10] == "2024-01-20"
    assert "times are those of 'when'" in found.describe()
    both = write(tmp_path / "b.csv", rows, "shop,sold,when,paid")
    with pytest.raises(
        UsageError, match="the columns 'when', 'paid' of .* hold dates; name that of the times with --time"
    ):
        read(both)
    first = write(tmp_path / "c.csv", [(row[3], row[1], row[2]) for row in rows], "paid,sold,when")
    assert read(first).columns.time == "paid"
    counted = write(tmp_path / "d.csv", [(n, row[1]) for n, row in enumerate(rows)], "step,sold")
    assert read(counted).columns.time == "step"


def test_the_index_that_pandas_writes_is_not_forecast(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"day": [f"2024-01-{n + 1:02}" for n in range(20)], "sold": [n % 3 for n in range(20)]})
    frame.to_csv(tmp_path / "a.csv")
    assert read(tmp_path / "a.csv").channels == ("sold",)


def test_parts_of_the_times_are_not_forecast(tmp_path):
    days = [datetime.date(2023, 12, 20) + datetime.timedelta(n) for n in range(30)]
    rows = [(day, day.year - 2011, day.month, day.isoweekday() % 7, 5 + n * n % 7) for n, day in enumerate(days)]
    found = read(write(tmp_path / "t.csv", rows, "dteday,yr,mnth,weekday,cnt"))
    assert found.channels == ("cnt",)
    assert "not forecast, since they are parts of the times: 'yr', 'mnth', 'weekday'" in found.describe()
    assert read(tmp_path / "t.csv", target=("mnth", "cnt")).channels == ("mnth", "cnt")
    assert read(write(tmp_path / "t.csv", rows, "dteday,yr,mnth,sold,cnt")).channels == ("sold", "cnt")


def test_flags_are_not_forecast_beside_values(tmp_path):
    (tmp_path / "t.csv").write_text(dated(lambda n: (n % 2, n * n), "day,promo,sold"))
    assert read(tmp_path / "t.csv").channels == ("sold",)
    assert "'promo'" in read(tmp_path / "t.csv").describe()
    assert read(tmp_path / "t.csv", target=("sold", "promo")).channels == ("sold", "promo")


def test_rows_before_the_first_value_and_after_the_last_are_left_out(tmp_path):
    rows = [(f"2024-01-{n + 1:02}", "NA" if n < 3 else n * n) for n in range(20)]
    found = read(write(tmp_path / "t.csv", rows, "day,sold"))
    assert (len(found.series[0]), found.remarks) == (17, ("left out 3 rows before the first value",))
    assert found.clock.texts(found.series[0].times[:1]) == ["2024-01-04"]
    for gaps in ("error", "fill"):
        found = read(write(tmp_path / "t.csv", [*rows, ("2024-01-21", ""), ("2024-01-22", "")], "day,sold"), gaps=gaps)
        late = "left out 2 rows after the last value (--known names columns of the future)"
        assert (len(found.series[0]), found.remarks[-1]) == (17, late)
    with pytest.raises(UsageError, match="lacks 1 value, the first in row 19"):
        read(write(tmp_path / "t.csv", [*rows[:-2], ("2024-01-19", ""), rows[-1]], "day,sold"))
    zeros = read(write(tmp_path / "t.csv", [*rows, ("2024-01-21", "")], "day,sold"), gaps="zero")
    assert zeros.series[0].values[[0, -1], 0].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-31 24:00", datetime.datetime(2024, 2, 1)),
        ("2024-01-31", datetime.datetime(2024, 1, 31)),
        ("2024/1/5", datetime.datetime(2024, 1, 5)),
        ("31.01.2024", datetime.datetime(2024, 1, 31)),
        ("01/31/2023", datetime.datetime(2023, 1, 31)),
        ("1/31/23", datetime.datetime(2023, 1, 31)),
        ("31/1/2023 13:05", datetime.datetime(2023, 1, 31, 13, 5)),
        ("Jan 05 2024 01:00 PM", datetime.datetime(2024, 1, 5, 13)),
        ("January 5, 2024", datetime.datetime(2024, 1, 5)),
        ("Fri, 05 Jan 2024 07:30:00", datetime.datetime(2024, 1, 5, 7, 30)),
        ("5-Jan-24", datetime.datetime(2024, 1, 5)),
        ("Jan-24", datetime.datetime(2024, 1, 1)),
        ("Jan '24", datetime.datetime(2024, 1, 1)),
        ("Sept 2024", datetime.datetime(2024, 9, 1)),
        ("Mar 2024", datetime.datetime(2024, 3, 1)),
        ("2024-03", datetime.datetime(2024, 3, 1)),
        ("20230131", datetime.datetime(2023, 1, 31)),
        ("20230131 0:15", datetime.datetime(2023, 1, 31, 0, 15)),
        ("20230131 05", datetime.datetime(2023, 1, 31, 5)),
        ("20230131T051500", datetime.datetime(2023, 1, 31, 5, 15)),
        ("2023-01-31 05:15:00,250", datetime.datetime(2023, 1, 31, 5, 15, 0, 250_000)),
        ("Tue Jan 31 05:15:00 2023", datetime.datetime(2023, 1, 31, 5, 15)),
        ("31JAN2023:05:15:00", datetime.datetime(2023, 1, 31, 5, 15)),
        ("2023-Jan-31", datetime.datetime(2023, 1, 31)),
        ("2023M02", datetime.datetime(2023, 2, 1)),
        ("2Q2023", datetime.datetime(2023, 4, 1)),
        ("Q2/2023", datetime.datetime(2023, 4, 1)),
        ("Q2'23", datetime.datetime(2023, 4, 1)),
        ("Q2-99", datetime.datetime(1999, 4, 1)),
        ("2023-W05-2", datetime.datetime(2023, 1, 31)),
        ("W5/2023", datetime.datetime(2023, 1, 30)),
        ("2023 W5", datetime.datetime(2023, 1, 30)),
        ("2024-01-05T01:00:00", datetime.datetime(2024, 1, 5, 1)),
        ("2024-01-05 01:00:00.250", datetime.datetime(2024, 1, 5, 1, 0, 0, 250_000)),
        ("01/31/2023 1:05 pm", datetime.datetime(2023, 1, 31, 13, 5)),
        ("01/31/2023 1 p.m.", datetime.datetime(2023, 1, 31, 13)),
        ("2024-Q2", datetime.datetime(2024, 4, 1)),
        ("2024 Q3", datetime.datetime(2024, 7, 1)),
        ("Q4 2024", datetime.datetime(2024, 10, 1)),
        ("2024-W05", datetime.datetime(2024, 1, 29)),
        ("1949-Jan", datetime.datetime(1949, 1, 1)),
        ("FY23 Q2", datetime.datetime(2023, 4, 1)),
        ("Q2 FY2023", datetime.datetime(2023, 4, 1)),
        ("2023-01-30/2023-02-05", datetime.datetime(2023, 1, 30)),
        ("2023-01-30 - 2023-02-05", datetime.datetime(2023, 1, 30)),
        ("FQ2 2023", datetime.datetime(2023, 4, 1)),
        ("FQ2-23", datetime.datetime(2023, 4, 1)),
        ("2Q FY23", datetime.datetime(2023, 4, 1)),
        ("2023/24-Q2", datetime.datetime(2023, 4, 1)),
        ("Q2 2023/2024", datetime.datetime(2023, 4, 1)),
        ("2023H2", datetime.datetime(2023, 7, 1)),
        ("2023-S1", datetime.datetime(2023, 1, 1)),
        ("2023年1月31日", datetime.datetime(2023, 1, 31)),
        ("2023년 1월", datetime.datetime(2023, 1, 1)),
        ("31. Januar 2023", datetime.datetime(2023, 1, 31)),
        ("Mrz 2023", datetime.datetime(2023, 3, 1)),
        ("31 de enero de 2023", datetime.datetime(2023, 1, 31)),
        ("déc. 2023", datetime.datetime(2023, 12, 1)),
        ("ago/2023", datetime.datetime(2023, 8, 1)),
        ("maart 2023", datetime.datetime(2023, 3, 1)),
    ],
)
def test_dates_as_people_write_them(text, expected):
    found = moments(text)
    assert found.values[0].astype(datetime.datetime) == expected
    assert found.kind == ("date" if expected.time() == datetime.time() else "time")
    fiscal = f"fiscal quarters read as those of the calendar, {text} = 2023-04-01"
    assert found.remark == (fiscal if "Q" in text and re.search(r"F|/\d\d(?!\d\d$)|23/2024", text) else "")


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (20230131, "2023-01-31"),
        (202301, "2023-01-01"),
        (2023013105, "2023-01-31T05:00:00"),
        (202301310530, "2023-01-31T05:30:00"),
        (20230131053001, "2023-01-31T05:30:01"),
        (1_700_000_000_000_000_000, "2023-11-14T22:13:20"),
        (1_700_000_000, "2023-11-14T22:13:20"),
        (1_700_000_000_000, "2023-11-14T22:13:20"),
        (1_700_000_000_000_000, "2023-11-14T22:13:20"),
    ],
)
def test_numbers_that_are_times(number, expected):
    assert moments(number).values[0] == np.datetime64(expected, "us")
    assert moments(str(number)).values[0] == np.datetime64(expected, "us")
    assert str(number)[:6] in moments(number).remark or "since 1970" in moments(number).remark


def test_other_numbers_are_numbers():
    assert moments(1949, 1950).kind == "number"
    assert moments(20231331, 20231332).kind == "number"  # no month
    assert moments(202313, 202314).kind == "number"
    assert moments(2020, 2021).kind == "number"
    assert moments("3", "4").values.tolist() == [3, 4]


def test_offsets_are_kept_where_all_are_one_and_utc_where_they_change():
    one = moments("2024-01-05T01:00:00+01:00", "2024-01-05T02:00:00+01:00")
    assert (one.zone, str(one.values[0])) == ("+01:00", "2024-01-05T01:00:00.000000")
    two = moments("2024-03-31T01:00:00+01:00", "2024-03-31T03:00:00+02:00")
    assert (two.zone, np.diff(two.values)[0]) == ("Z", np.timedelta64(1, "h"))
    assert moments("2024-01-05 01:00 UTC").zone == "Z"


@pytest.mark.parametrize(
    ("form", "zone"),
    [
        ("2024-01-05 {}:00 CET", "+01:00"),
        ("05.01.2024 {}:00 +0100", "+01:00"),
        ("2024-01-05T{}:00+01", "+01:00"),
        ("2024-01-05T{}:00:00+01:00[Europe/Berlin]", "+01:00"),
        ("Fri Jan 05 2024 {}:00:00 GMT+0100 (CET)", "+01:00"),
        ("01/05/2024 {}:00 AM EST", "-05:00"),
        ("20240105T{}0000Z", "Z"),
    ],
)
def test_zones_as_people_write_them(form, zone):
    found = moments(form.format("07"), form.format("08"), day_first=not form.startswith("01/"))
    assert [str(each)[:16] for each in found.values] == ["2024-01-05T07:00", "2024-01-05T08:00"]
    assert (found.kind, found.zone) == ("time", zone)


def test_hours_over_a_change_of_clocks_are_equally_far_apart_and_days_keep_their_dates():
    for texts in (
        ["2024-03-31 01:00 Europe/Berlin", "2024-03-31 03:00 Europe/Berlin"],
        ["2024-03-31 01:00 CET", "2024-03-31 03:00 CEST"],
        ["31.03.2024 01:00 +01:00", "31.03.2024 03:00 +02:00"],
    ):
        found = moments(*texts)
        assert [str(each)[:16] for each in found.values] == ["2024-03-31T00:00", "2024-03-31T01:00"]
        assert found.zone == ("Europe/Berlin" if "/" in texts[0] else "Z")
    for texts in (
        ["2024-03-31 00:00 Europe/Berlin", "2024-04-01 00:00 Europe/Berlin"],
        ["2024-03-31T00:00+01:00", "2024-04-01T00:00+02:00"],
    ):
        found = moments(*texts)
        assert (found.kind, found.zone, str(found.values[1])[:10]) == ("date", "", "2024-04-01")
    with pytest.raises(UsageError, match="holds '2024-03-31 02:00 Europe/Berlin', a time that clocks skip there"):
        moments("2024-03-31 01:00 Europe/Berlin", "2024-03-31 02:00 Europe/Berlin")
    with pytest.raises(UsageError, match="names the zone 'Europe/Nowhere', which is not known"):
        moments("2024-03-31 01:00 Europe/Nowhere", "2024-03-31 02:00 Europe/Nowhere")
    with pytest.raises(UsageError, match="holds '2024-01-01 01:00 UTC', which does not fit"):
        moments("2024-01-01 00:00", "2024-01-01 01:00 UTC")


def test_a_year_of_two_digits_may_be_first():
    with pytest.raises(UsageError, match=r"'24-01-02' is 2002-01-24 \(%d-%m-%y\) or 2024-01-02 \(%y-%m-%d\); say which "
                       "with --day-first or --time-format '%y-%m-%d'"):  # fmt: skip
        moments("24-01-02", "24-01-03")
    with pytest.raises(UsageError, match="in three ways.*--day-first, --no-day-first or --time-format"):
        moments("10/11/12")
    assert str(moments("24-01-02", form="%y-%m-%d").values[0])[:10] == "2024-01-02"
    assert str(moments("24-01-02", "24-01-03", day_first=True).values[0])[:10] == "2002-01-24"
    assert str(moments("13.01.24", "14.01.24").values[0])[:10] == "2024-01-13"  # years do not change from row to row
    assert str(moments("99-01-31", "99-02-28").values[0])[:10] == "1999-01-31"


def test_days_of_excel_are_told_and_read_where_it_is_said():
    assert "(45292 = 2024-01-01), --time-format excel" in moments(45292, 45293).remark
    found = moments(45292.041666666, 45292.083333333, form="excel")
    assert [str(each) for each in found.values] == ["2024-01-01T01:00:00.000000", "2024-01-01T02:00:00.000000"]
    assert moments("45292", form="excel").kind == "date"
    with pytest.raises(UsageError, match="holds 'x', which is no day of Excel"):
        moments("x", form="excel")


def test_a_date_with_two_readings_is_an_error_that_shows_both():
    with pytest.raises(UsageError) as error:
        moments("1/5/23", "1/6/23")
    assert "'1/5/23' is 2023-01-05 (%m/%d/%y) or 2023-05-01 (%d/%m/%y)" in str(error.value)
    assert "--day-first or --no-day-first" in str(error.value)
    assert str(moments("1/5/23", "1/6/23", day_first=True).values[0])[:10] == "2023-05-01"
    assert str(moments("1/5/23", "1/6/23", day_first=False).values[0])[:10] == "2023-01-05"
    assert str(moments("1/5/23", "1/13/23").values[0])[:10] == "2023-01-05"  # the second date decides
    assert str(moments("5/5/23", "6/6/23").values[0])[:10] == "2023-05-05"  # both readings are the same


def test_a_date_that_fits_no_format_is_named_and_no_row_is_moved():
    with pytest.raises(
        UsageError, match=r"holds '2024-13-01', which does not fit the format '%Y-%m-%d' of the first row"
    ):
        moments("2024-01-01", "2024-13-01")
    with pytest.raises(UsageError, match=r"holds '12\|05:2024', which is of no format that is known.*--time-format"):
        moments("12|05:2024", "12|06:2024")
    assert str(moments("12|05:2024", form="%d|%m:%Y").values[0])[:10] == "2024-05-12"
    with pytest.raises(UsageError, match="holds '5', which is not of --time-format"):
        moments("5", form="%Y")
    words = moments("week 9", "week 10")
    assert (words.kind, words.values.tolist()) == ("word", ["week 9", "week 10"])
    assert "as the file has them" in words.remark


def test_us_dates_are_in_the_order_of_time_and_not_of_words(tmp_path):
    rows = [[f"{month}/15/2023", "a", month, 0] for month in (10, 2, 1, 12, 9, 11)]
    found = read(write(tmp_path / "t.csv", rows), by="city", gaps="ignore")
    assert found.series[0].values[:, 0].tolist() == [1, 2, 9, 10, 11, 12]


@pytest.mark.parametrize(
    ("texts", "expected", "said"),
    [
        (["2009/10", "2010/11"], [2009, 2010], "2009/10 = 2009"),
        (["2009-2010", "2010-2011"], [2009, 2010], "2009-2010 = 2009"),
        (["FY99", "FY00"], [1999, 2000], "FY99 = 1999"),
        (["0:00", "0:15", "24:30"], [0, 900, 88_200], "0:00 = 0 seconds"),
    ],
)
def test_years_that_begin_later_and_clocks_without_a_day_are_numbers(texts, expected, said):
    found = moments(*texts)
    assert (found.values.tolist(), found.kind, found.remark) == (expected, "number", f"times read as {said}")


def test_months_are_no_years_that_begin_later():
    assert moments("2010/11", "2010/12").kind == "date"


@pytest.mark.parametrize("texts", [("1949.000", "1949.083", "1949.167"), ("1949.042", "1949.125", "1949.208")])
def test_years_with_fractions_are_months(texts):
    for found in (moments(*texts), times.read(polars.Series("t", list(map(float, texts))), "t")):
        assert [str(each)[:10] for each in found.values] == ["1949-01-01", "1949-02-01", "1949-03-01"]
        assert found.remark.endswith("= 1949-01")
    assert moments("1949.1", "1949.2", "1949.3").kind == "number"


@pytest.mark.parametrize(
    "ends", [("2015-01-30", "2015-02-27", "2015-03-31"), ("2015-01-02", "2015-02-02", "2015-03-03")]
)
def test_working_days_at_an_end_of_each_month_are_months(ends):
    values = np.array(ends, "datetime64[us]")
    found = clock.find([values], "date", "", "error")
    assert (found.unit, found.step, found.last) == ("months", 1, ends[0] == "2015-01-30")
    assert clock.places(values, found, "t", "error").tolist() == [0, 1, 2]


def test_hours_of_a_place_whose_clocks_are_set(tmp_path):
    local = [f"2024-10-27 {hour:02}:00" for hour in (0, 1, 2, 2, 3, 4)] * 2
    path = write(tmp_path / "t.csv", [(each, "ab"[n // 6], n, n) for n, each in enumerate(local)])
    found = read(path, by="city", zone="Europe/Berlin")
    assert found.clock.texts(found.series[1].times)[1:4] == [
        "2024-10-27 01:00:00+02:00",
        "2024-10-27 02:00:00+02:00",
        "2024-10-27 02:00:00+01:00",
    ]
    assert found.series[1].values[:, 0].tolist() == [6, 7, 8, 9, 10, 11]
    spring = write(tmp_path / "s.csv", [(f"2024-03-31 {hour:02}:00", "a", hour, 1) for hour in (0, 1, 3, 4)])
    found = read(spring, zone="Europe/Berlin")
    assert len(found.series[0]) == 4
    early = found.clock.later(found.series[0].times[0], 3)  # of the forecast of an origin before the change
    assert found.clock.texts(early) == [f"2024-03-31 {hour}:00:00{zone}" for hour, zone in
                                        (("01", "+01:00"), ("03", "+02:00"), ("04", "+02:00"))]  # fmt: skip
    hours = Calendar(hours=True).features(found.clock, found.series[0].times)
    naive = clock.Clock("time", 3.6e9)
    at_three = Calendar(hours=True).features(naive, np.array(["2024-03-31T03:00"], "datetime64[us]"))
    assert np.allclose(hours[2], at_three[0])  # a course of the day follows the clocks
    for texts, given in ((["2024-03-31T00:00Z", "2024-03-31T01:00Z"], "Z"), (["2024-03-31T02:00+02:00"] * 2, "+02:00")):
        path = write(tmp_path / "u.csv", [(each, "ab"[n], n, 1) for n, each in enumerate(texts)])
        found = read(path, by="city", zone="Europe/Berlin")
        assert found.clock.texts(found.series[0].times) == ["2024-03-31 01:00:00+01:00"], given
        with pytest.raises(UsageError, match="--zone 'Europe/Bonn' is not known; name a place"):
            read(path, by="city", zone="Europe/Bonn")
    dates = write(tmp_path / "e.csv", [(f"2024-03-{day}", "a", day, 1) for day in (29, 30, 31)])
    with pytest.raises(UsageError, match="--zone 'Bonn' is not known; name a place"):
        read(dates, zone="Bonn")
    days = write(tmp_path / "d.csv", [(f"2024-03-{day} 06:00", "a", day, 1) for day in (29, 30, 31)])
    found = read(days, zone="Europe/Berlin")
    assert found.clock.texts(found.clock.later(found.series[0].times[-1], 1)) == ["2024-04-01 06:00:00"]
    with pytest.raises(UsageError, match="lacks 1 row.*if clocks were set forward there, name their place with --zone"):
        read(spring)
    with pytest.raises(UsageError, match="--zone 'Europe/Bonn' is not known; name a place"):
        read(spring, zone="Europe/Bonn")


def test_hours_of_opening_keep_no_times_where_rows_are_counted(tmp_path):
    rows = [(f"2024-01-{day + 1:02} {hour:02}:00", "a", hour, day) for day in range(20) for hour in range(8, 18)]
    found = read(write(tmp_path / "t.csv", rows), target=("power",), gaps="ignore")
    assert found.clock.texts(found.clock.later(found.series[0].times[-1], 1)) == ["2024-01-20 17:00:00 + 1"]
    assert "times are names only, since a tenth of the steps and more have no row" in found.remarks
    assert [each.season for each in seasons.find(found.series, found.clock) if each.found] == [10]


def test_columns_that_tell_rows_apart_are_named(tmp_path):
    rows = [(f"2024-01-{n + 1:02}", s, i, n * s + i) for s in (1, 2) for i in (1, 2, 3) for n in range(20)]
    path = write(tmp_path / "t.csv", rows, "day,store,item,sold")
    with pytest.raises(UsageError, match=r"name the column that tells series apart with --by: --by store,item$"):
        read(path)
    found = read(path, by="store,item")
    assert [each.name for each in found.series][:4] == ["1, 1", "1, 2", "1, 3", "2, 1"]
    assert found.channels == ("sold",)
    months = write(tmp_path / "m.csv", [(2020 + n // 12, n % 12 + 1, n) for n in range(48)], "YR,MON,x")
    with pytest.raises(UsageError, match=r"if the times are in several columns, name all, as --time YR,MON$"):
        read(months)
    assert read(months, time="YR,MON").clock.name() == "1 month"
    floats = write(
        tmp_path / "f.csv", [(f"{2000 + n // 4}.0", f"{n % 4 + 1}.0", n / 3) for n in range(20)], "year,quarter,x"
    )
    with pytest.raises(UsageError, match=r"name all, as --time year,quarter$"):
        read(floats)
    assert read(floats, time="year,quarter").clock.name() == "3 months"


def test_weeks_and_quarters_in_a_column_of_their_own_are_no_months(tmp_path):
    for part, most, step in (("week", 12, "7 days"), ("Quarter", 4, "3 months")):
        path = write(tmp_path / "t.csv", [(2020, n + 1, n) for n in range(most)], f"year,{part},x")
        assert read(path, time=f"year,{part}").clock.name() == step


def test_the_times_are_in_the_column_named_so_where_the_first_holds_words(tmp_path):
    rows = [(name, name[:3], 2000 + n, n) for name in ("Chad", "Chile") for n in range(20)]
    found = read(write(tmp_path / "t.csv", rows, "Entity,Code,Year,life"), by="Entity")
    assert (found.columns.time, found.channels) == ("Year", ("life",))
    made = write(tmp_path / "m.csv", [("2024-05-05", f"2024-01-{n + 1:02}", n % 5) for n in range(20)], "updated,day,x")
    assert read(made).columns.time == "day"
    last = write(tmp_path / "l.csv", [(n * n % 11 + 0.5, n % 7, 1947 + n) for n in range(16)], "employed,army,YEAR")
    assert read(last).columns.time == "YEAR"


# Numbers


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["$1,110.50", "-$3"], [1110.5, -3]),
        (["1.110,50", "3,25"], [1110.5, 3.25]),
        (["1,110", "20"], [1110, 20]),
        (["NA", "2", "n/a", "", "-", "NaN", "Inf"], [None, 2, None, None, None, None, None]),
        (["(1,000)", "12 %", "1 000"], [-1000, 12, 1000]),
        (["1,000.5-", "5-", "7"], [-1000.5, -5, 7]),
        (["€ 3", "4 EUR", "Rs. 5"], [3, 4, 5]),
        (["1,23,003", "₹ 12,00,000.50", "-5"], [123003, 1200000.5, -5]),
        (["1.234.567", "5"], [1234567, 5]),
        (["5.5K", "(3 k)", "2M", "1.5B", "7"], [5500, -3000, 2e6, 1.5e9, 7]),
    ],
)
def test_numbers_as_people_write_them(texts, expected):
    assert numerals.read(polars.Series("x", texts)).values.to_list() == expected


def test_what_is_no_number_is_named_and_thousands_are_told():
    assert numerals.read(polars.Series("x", ["1", "one"])).wrong == "one"
    assert numerals.read(polars.Series("x", ["1", "1,1,1"])).wrong == "1,1,1"
    assert numerals.read(polars.Series("x", ["5", "1,110"])).remark == "'x' read as '1,110' = 1110"
    assert numerals.read(polars.Series("x", ["5", "5.5K"])).remark == "'x' read as '5.5K' = 5500"
    assert numerals.read(polars.Series("x", ["1,23,003", "1,000"]), decimal_comma=None).values.to_list() == [
        123003,
        1000,
    ]
    assert numerals.read(polars.Series("x", ["1,110"]), decimal_comma=True).values.to_list() == [1.11]


def test_missing_values_are_an_error_that_names_the_way_out(tmp_path):
    path = write(tmp_path / "t.csv", [[1, "a", "$1,5", 1], [2, "a", "NA", 3]])
    path.write_text('day,power\n1,"$1,110.50"\n2,NA\n3,\n4,$2\n')
    with pytest.raises(
        UsageError, match="column 'power' of .* lacks 2 values, the first in row 2 .*--gaps fill repeats"
    ):
        read(path)
    found = read(path, gaps="fill")
    assert found.series[0].values[:, 0].tolist() == [1110.5, 1110.5, 1110.5, 2]
    assert "filled 2 values" in found.remarks


# Tables


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_groups_of_a_table_are_series_in_the_order_of_time(tmp_path, kind):
    rows = [
        [f"2024-01-{day:02}", city, 10 * day, -day]
        for city in ("b", "a")
        for day in (3, 1, 2)
        if (day, city) != (3, "a")
    ]
    path = write(tmp_path / "t.csv", rows)
    if kind == "parquet":
        polars.read_csv(path, try_parse_dates=True).write_parquet(tmp_path / "t.parquet")
        path = tmp_path / "t.parquet"
    found = read(path, by="city")
    assert found.channels == ("power", "heat")
    assert [(e.name, e.values.tolist(), found.clock.texts(e.times)) for e in found.series] == [
        ("a", [[10, -1], [20, -2]], ["2024-01-01", "2024-01-02"]),
        ("b", [[10, -1], [20, -2], [30, -3]], ["2024-01-01", "2024-01-02", "2024-01-03"]),
    ]
    assert found.describe() == "2 series of 2 to 3 steps of 1 day, channels power, heat"
    assert read(path, time="day", by="city", target=("heat",)).series[0].values.shape == (2, 1)


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([[1, "a", 2, 3]], {"by": "town"}, "has no column 'town'; it has 'day', 'city', 'power', 'heat'"),
        (
            [[1, "a", 2, 3]],
            {"target": ("city",)},
            "column 'city' of .* cannot be forecast: it holds 'a', which is no number",
        ),
        ([[1, "a", "", 3], [2, "a", "", 3]], {}, "column 'power' of .* has no values at all"),
        ([[1, "a", 2, 3], [2, "a", 1e200, 3]], {}, r"column 'power' of .* holds 1e\+200, and 1e\+100 is the most"),
        ([[1, "a", 2, 3], [2, "a", 1e200, 3]], {"gaps": "fill"}, r"holds 1e\+200, and 1e\+100 is the most"),
        (
            [[1, "a", 2, 3], [1, "a", 2, 3]],
            {"by": "city"},
            "the time '1' occurs twice in a; keep one .*several columns, name all, as --time date,hour$",
        ),
        ([[1, "a", 2, 3], [1, "b", 2, 3]], {}, "the time '1' occurs twice in .*with --by"),
        ([[1, "a", 2, 3], ["", "a", 2, 3]], {}, "column 'day' of .* lacks 1 value, the first in row 2"),
        ([[1, "a", 2, 3]], {"known": ("power",), "target": ("power",)}, "'power' of .* has another part already"),
        ([[1, "a", 2, 3], [2, "b", 2, 3]], {"time": "power"}, "the time '2' occurs twice"),
        ([], {}, "has no rows"),
    ],
)
def test_a_table_that_cannot_be_forecast_is_named(tmp_path, rows, options, words):
    with pytest.raises(UsageError, match=words):
        read(write(tmp_path / "t.csv", rows), **options)


@pytest.mark.parametrize(
    "text",
    [
        "t,power,heat\n1,1.5,2\n2,2.5,3\n",
        "t;power;heat\n1;1,5;2\r\n2;2,5;3\r\n",
        "t\tpower\theat\n1\t1.5\t2\n2\t2.5\t3\n",
        "t|power|heat\n1|1.5|2\n2|2.5|3\n",
    ],
)
def test_fields_end_with_commas_semicolons_tabs_or_bars(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    found = read(tmp_path / "t.csv")
    assert (found.channels, found.series[0].values.tolist()) == (("power", "heat"), [[1.5, 2], [2.5, 3]])


def test_a_column_of_words_is_left_out_and_named(tmp_path):
    found = read(write(tmp_path / "t.csv", [[1, "x", 1, 2], [2, "y", 1, 3]]))
    assert found.channels == ("power", "heat")
    assert found.remarks == ("not forecast, since they hold no numbers: 'city'",)


def days(*numbers, month=1):
    return [[f"2024-{month:02}-{day:02}", "a", day, -day] for day in numbers]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (days(1, 2, 4, 5, 8, 9, 10), "lacks 3 rows, the first at 2024-01-03 (a step is 1 day); --gaps fill repeats"),
        ([[t, "a", 1, 2] for t in (10, 20, 30, 50)], "lacks 1 row, the first at 40 (a step is 10)"),
        ([[t, "a", 1, 2] for t in (0.1, 0.2, 0.3, 0.5)], "lacks 1 row, the first at 0.4 (a step is 0.1)"),
        ([[t, "a", 1, 2] for t in (1, 2, 3, 3.5)], "not equally far apart: 3.5 follows 3, and a step is 1;"),
        (
            [[f"2024-01-01 {t}:00", "a", 1, 2] for t in ("00:00", "00:15", "00:30", "01:00")],
            "lacks 1 row, the first at 2024-01-01 00:45:00 (a step is 15 minutes)",
        ),
        (
            [[f"2024-{m:02}-01", "a", 1, 2] for m in (1, 2, 3, 5)],
            "lacks 1 row, the first at 2024-04-01 (a step is 1 month)",
        ),
        (
            [[f"2024-{day}", "a", 1, 2] for day in ("03-31", "06-30", "12-31")],
            "lacks 1 row, the first at 2024-09-30 (a step is 3 months)",
        ),
    ],
)
def test_a_missing_row_is_named(tmp_path, rows, words):
    with pytest.raises(UsageError, match=re.escape(words)):
        read(write(tmp_path / "t.csv", rows))


@pytest.mark.parametrize(
    "given",
    [
        ["2023-11-30", "2023-12-31", "2024-01-31", "2024-02-29"],  # ends of months
        ["2020-05-01", "2021-05-01", "2022-05-01"],
        ["2024-01-01T00:00:00Z", "2024-01-01T01:00:00Z", "2024-01-01T01:59:59Z"],  # a clock that is not exact
        [f"2024-01-{day:02}" for day in (1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 15)],  # days of trade
        [3, 1, 2],
        [7],
    ],
)
def test_equal_steps_miss_no_rows(tmp_path, given):
    found = read(write(tmp_path / "t.csv", [[t, "a", 1, 2] for t in given]))
    assert len(found.series[0]) == len(given)
    assert not any("filled" in each for each in found.remarks)


def test_gaps_are_filled_with_the_row_before_or_ignored(tmp_path):
    rows = [*days(1, 3, 4, 5), ["2024-01-06", "a", "", 0], *days(31), *[[d, "b", p, h] for d, _, p, h in days(8, 9)]]
    rows[5][0] = "2024-01-07"
    path = write(tmp_path / "t.csv", rows)
    found = read(path, by="city", gaps="fill")
    assert found.remarks == ("filled 1 row", "filled 1 value")
    assert found.series[0].values.tolist() == [[1, -1], [1, -1], [3, -3], [4, -4], [5, -5], [5, 0], [31, -31]]
    assert found.clock.texts(found.series[0].times) == [f"2024-01-0{day}" for day in range(1, 8)]
    counted = read(path, by="city", gaps="ignore")
    assert counted.series[0].values[:, 0].tolist() == [1, 3, 4, 5, 31]
    assert counted.remarks[1] == "left out 1 row without values"
    assert read(path, by="city", target=("heat",), gaps="ignore").series[0].values.tolist() == [
        [-1], [-3], [-4], [-5], [0], [-31],
    ]  # fmt: skip
    months = write(tmp_path / "m.csv", [[f"2024-{day}", "a", 1, 2] for day in ("01-31", "02-29", "03-31", "05-31")])
    filled = read(months, gaps="fill")
    assert filled.clock.texts(filled.series[0].times)[3] == "2024-04-30"
    path = write(tmp_path / "n.csv", [[t, "a", 1, 2] for t in (1, 2, 3, 1000)])
    with pytest.raises(UsageError, match="lacks 996 rows, the first at 4: more than it has.*--gaps ignore counts"):
        read(path, gaps="fill")


def test_what_was_not_sold_is_zero(tmp_path):
    rows = [("2024-01-01", "a", 5, 1), ("2024-01-04", "a", "", 2), ("2024-01-08", "a", 3, 3)]
    rows += [("2024-01-03", "b", 2, 1), ("2024-01-04", "b", 1, 2)]
    found = read(write(tmp_path / "t.csv", rows), by="city", target=("power",), past=("heat",), gaps="zero")
    assert found.clock.name() == "1 day"
    assert [each.values[:, 0].tolist() for each in found.series] == [[5, 0, 0, 0, 0, 0, 0, 3], [2, 1]]
    assert found.series[0].past[:, 0].tolist() == [1, 1, 1, 2, 2, 2, 2, 3]
    assert "filled 5 rows with 0; filled 1 value with 0" in found.describe()
    far = write(tmp_path / "far.csv", [("2024-01-01", "a", 1, 1), ("2024-01-02", "a", 1, 1), ("2204-01-02", "a", 1, 1)])
    with pytest.raises(UsageError, match="too many to fill"):
        read(far, gaps="zero", target=("power",))


def test_known_columns_reach_beyond_the_last_value(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("day,sales,promo,kind,rain\n1,5,0,a,1\n2,6,1,b,2\n3,7,0,a,3\n4,,1,a,\n5,,1,b,\n")
    found = read(path, target=("sales",), known=("promo", "kind"), past=("rain",))
    assert found.known == ("promo", "kind=a", "kind=b")
    assert found.series[0].values[:, 0].tolist() == [5, 6, 7]
    assert found.series[0].known.tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0], [1, 1, 0], [1, 0, 1]]
    assert found.series[0].past.tolist() == [[1], [2], [3]]


def test_too_many_columns_are_one_line(tmp_path):
    names = [f"c{number}" for number in range(200_000)]
    path = tmp_path / "wide.csv"
    path.write_text(",".join(["t", *names]) + "\n" + ",".join("1" for _ in range(200_001)) + "\n")
    with pytest.raises(UsageError, match=r"has 200,001 columns, and 10,000 are the most; write the table in long form"):
        read(path)
    path.write_text(",".join(["t", *names[:100]]) + "\n" + ",".join("1" for _ in range(101)) + "\n")
    with pytest.raises(UsageError, match="has 99 columns to forecast, and at most 64 are forecast together"):
        read(path, by="c0")


def test_a_small_file_of_a_huge_table_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "MOST_BYTES", 1 << 20)
    polars.select(polars.repeat(0, 4_000_000, dtype=polars.Int8).alias("a")).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(UsageError, match="holds 4,000,000 numbers, more than fit into"):
        files.read(str(tmp_path / "t.parquet"))
    monkeypatch.setattr(delimited, "MOST_COLUMNS", 2)
    polars.DataFrame({name: [1] for name in "tab"}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(UsageError, match="has 3 columns, and 2 are the most"):
        files.read(str(tmp_path / "t.parquet"))


@pytest.mark.parametrize("order", [1, -1])
def test_of_long_tables_the_last_rows_of_each_series_are_used(monkeypatch, order):
    monkeypatch.setattr(recent, "MOST_ROWS", 20)
    monkeypatch.setattr(recent, "ENOUGH", 5)
    days = polars.Series([f"2024-01-{day:02}" for day in range(1, 31)])
    frame = polars.concat([polars.DataFrame({"day": days, "shop": name, "sold": range(30)}) for name in "ba"])
    found = table.of_frame(frame[::order], Columns(by="shop"), "x")
    assert [each.values[:, 0].tolist() for each in found.series] == [list(range(20, 30))] * 2
    assert "the last 10 of up to 30 rows of each series are used; --last N takes more" in found.describe()
    assert len(table.of_frame(frame[::order], Columns(by="shop", last=30), "x").series[0]) == 30
    alone = table.of_frame(frame[:30][::order], Columns(target=("sold",), last=7), "x")
    assert alone.series[0].values[:, 0].tolist() == list(range(23, 30))
    assert "the last 7 of 30 rows are used" in alone.describe()
    many = polars.concat([frame.with_columns(shop=polars.col("shop") + str(n)) for n in range(9)])
    assert {len(each) for each in table.of_frame(many, Columns(by="shop"), "x").series} == {5}
    mixed = frame.sample(fraction=1.0, shuffle=True, seed=0)
    with pytest.raises(UsageError, match="not in the order of time.*sort it by 'day', or take all rows with --last 30"):
        table.of_frame(mixed, Columns(by="shop"), "x")


@pytest.mark.parametrize(
    ("name", "head", "rows", "last"),
    [
        ("date,hour", "date,hour,x", [("2024-01-01", n + 1, n) for n in range(24)], "2024-01-02T00:00"),
        ("date,time", "date,x,time", [("1/13/2024", n, f"{n}:30") for n in range(9)], "2024-01-13T08:30"),
        ("year,month", "year,month,x", [(2020 + n // 12, n % 12 + 1, n) for n in range(30)], "2022-06-01T00:00"),
        ("y,m,d,h", "y,m,d,h,x", [(2024, 2, 28 + n // 24, n % 24, n) for n in range(30)], "2024-02-29T05:00"),
    ],
)
def test_times_may_be_in_several_columns(tmp_path, name, head, rows, last):
    found = read(write(tmp_path / "t.csv", rows, head), time=name)
    assert str(found.series[0].times[-1])[:16] == last
    assert (found.channels, found.columns.time, found.clock.name()[:2]) == (("x",), name, "1 ")


def test_days_of_a_place_keep_their_dates_and_a_time_that_occurs_twice_has_its_zone():
    days = polars.datetime_range(
        datetime.datetime(2024, 3, 29), datetime.datetime(2024, 4, 3), "1d", time_zone="Europe/Berlin", eager=True
    )
    for frame in (
        polars.DataFrame({"t": days, "x": range(6)}),
        polars.DataFrame({"t": days, "x": range(6)}).to_pandas(),
    ):
        found = table.of_frame(files.of_any_frame(frame), Columns(), "x")
        assert found.clock.name() == "1 day"
        assert str(found.series[0].times[-1])[:10] == "2024-04-03"
    hours = polars.Series("t", ["2024-01-01 00:00", "2024-01-01 01:00", "2024-01-01 01:00"])
    frame = polars.DataFrame({"t": hours.str.to_datetime(time_zone="Europe/Berlin"), "x": range(3)})
    with pytest.raises(
        UsageError, match=r"the time '2024-01-01 01:00:00\+01:00' occurs twice in x; keep one row of each time"
    ):
        table.of_frame(frame, Columns(), "x")


def test_times_that_many_series_share_are_read_once(tmp_path, monkeypatch):
    seen = []
    plain = times._plain
    monkeypatch.setattr(times, "_plain", lambda column: (seen.append(len(column)), plain(column))[1])
    rows = [(f"2024-01-{day + 1:02}", shop, day * day) for shop in "cab" for day in (3, 1, 2, 0)]
    found = read(write(tmp_path / "t.csv", rows, "day,shop,sold"), by="shop", time="day")
    assert max(seen) == 4
    assert [(each.name, each.values[:, 0].tolist()) for each in found.series] == [(n, [0, 1, 4, 9]) for n in "abc"]


@pytest.mark.parametrize("last", ["2024-12-31T23:00", "31/12/2024 11:00 PM", "2024-12-31T23:00Z", "soon"])
def test_many_times_are_read_as_few_are(monkeypatch, last):
    monkeypatch.setattr(times, "MANY", 3)
    texts = [f"2024-01-01T0{hour}:00" for hour in range(8)]
    if last == "soon":
        with pytest.raises(UsageError, match="holds 'soon', which does not fit the format '%Y-%m-%d %H:%M'"):
            moments(*texts, last)
        return
    dates = last.startswith("31")
    texts = [f"0{day}/12/2024 1:05 PM" for day in range(1, 9)] if dates else texts
    texts = [f"{each}Z" for each in texts] if last.endswith("Z") else texts
    quick = moments(*texts, last)
    monkeypatch.setattr(times, "MANY", 100)
    slow = moments(*texts, last)
    assert (quick.values == slow.values).all()
    assert quick[1:] == slow[1:]


def test_many_times_of_one_format_are_read_at_once(monkeypatch):
    monkeypatch.setattr(times, "MANY", 3)
    monkeypatch.setattr(times, "_plain", lambda column: (column, "") if len(column) == 3 else pytest.fail("all rows"))
    assert moments(*(f"2024-01-{day:02}T05:00" for day in range(1, 30))).values[-1] == np.datetime64("2024-01-29T05")


def test_what_counts_rows_is_told_and_can_be_forecast(tmp_path):
    (tmp_path / "t.csv").write_text(dated(lambda n: (7 + n, *sold(n)), "day,id,sold"))
    assert "not forecast, since they count the rows: 'id'" in read(tmp_path / "t.csv").remarks
    assert read(tmp_path / "t.csv", target=("id",)).channels == ("id",)
    (tmp_path / "t.csv").write_text(dated(lambda n: (7 + n,)))
    assert read(tmp_path / "t.csv").channels == ("sold",)


@pytest.mark.parametrize(
    ("texts", "comma", "expected"),
    [
        (["1.100", "900"], True, [1100, 900]),
        (["1.100", "900"], False, [1.1, 900]),
        (["1.100", "900,5"], None, [1100, 900.5]),
        (["1.100", "0.5"], None, [1.1, 0.5]),
        (["1,100", "12,5"], False, [1.1, 12.5]),
        (["1,100", "2.25"], True, [1100, 2.25]),
    ],
)
def test_the_decimal_mark_is_the_one_that_some_number_shows(texts, comma, expected):
    assert numerals.read(polars.Series("x", texts), comma).values.to_list() == expected


def test_thousands_with_points_beside_decimal_commas_are_whole(tmp_path):
    text = dated(lambda n: (f"1.{n:03}", f"{n * n},5"), "day;sold;price", join=";")
    (tmp_path / "t.csv").write_text(text)
    assert read(tmp_path / "t.csv").series[0].values[2].tolist() == [1002, 4.5]
    (tmp_path / "t.csv").write_text(text.replace(",5", ""))
    assert read(tmp_path / "t.csv", decimal_comma=True).series[0].values[2].tolist() == [1002, 4]
    covered = read(tmp_path / "t.csv", target=("price",), past=("sold",), decimal_comma=True)
    assert covered.series[0].past[2].tolist() == [1002]


# The clock


def texts_after(kind, step, time, **more):
    found = clock.Clock(kind, step, **more)
    return found.texts(found.later(time, 3))


def test_times_go_on():
    day, hour = 86_400_000_000, 3_600_000_000
    at = np.datetime64("2024-02-28", "us")
    assert texts_after("date", day, at) == ["2024-02-29", "2024-03-01", "2024-03-02"]
    assert texts_after("date", 1, np.datetime64("2024-01-31", "us"), unit="months", last=True) == [
        "2024-02-29",
        "2024-03-31",
        "2024-04-30",
    ]
    assert texts_after("date", 1, at, unit="weekdays") == ["2024-02-29", "2024-03-01", "2024-03-04"]
    assert texts_after("time", hour, np.datetime64("2024-01-01T23:00", "us"), zone="Z") == [
        "2024-01-02 00:00:00Z",
        "2024-01-02 01:00:00Z",
        "2024-01-02 02:00:00Z",
    ]
    assert texts_after("number", 1, np.int64(9)) == ["10", "11", "12"]
    assert texts_after("word", 0, "w9") == ["w9 + 1", "w9 + 2", "w9 + 3"]


# Frames


def test_frames_of_pandas_become_those_of_polars():
    pandas = pytest.importorskip("pandas")
    index = pandas.date_range("2024-01-01", periods=3, freq="h", tz="Europe/Berlin", name="when")
    frame = pandas.DataFrame({"x": [1.0, None, 3.0], "shop": ["a", None, "b"]}, index=index)
    found = files.of_any_frame(frame)
    assert found.columns == ["when", "x", "shop"]
    assert found["when"][0] == datetime.datetime(2023, 12, 31, 23, tzinfo=datetime.timezone.utc)
    assert found["shop"].to_list() == ["a", None, "b"]
    back = files.like(frame, found)
    assert type(back) is pandas.DataFrame
    with pytest.raises(UsageError, match="frame must be a DataFrame of polars or pandas, with its times, got list"):
        files.of_any_frame([1])


def test_empty_lines_are_no_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("day,sold\n2024-01-01,1\n\n2024-01-02,2\n\n\n")
    assert read(path).series[0].values.ravel().tolist() == [1, 2]
    path.write_text("day,sold\n\n")
    with pytest.raises(UsageError, match="has no rows"):
        read(path)


def test_one_row_has_no_step(tmp_path):
    (tmp_path / "t.csv").write_text("day,sold\n2024-01-01,3\n")
    assert read(tmp_path / "t.csv").describe() == "1 series of 1 step, sold"
