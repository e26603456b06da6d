"""Tables in wide form: a column for each time, as banks of statistics and competitions publish them, or for each series."""

import pytest

from anygru.cli import UsageError
from anygru_lab.forecasting.tables import files, table
from anygru_lab.forecasting.tables.parts import Columns

polars = pytest.importorskip("polars")


def value(series, step):
    return 100 * series + step + step % 3


def written(path, head, row, series=3, steps=12):
    """A file with a row for each series."""
    lines = [row(n, [str(value(n, step)) for step in range(steps)]) for n in range(series)]
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


def read(path, **columns):
    found = files.read(str(path))
    return table.of_frame(found.frame, Columns(**columns), repr(str(path)), found.decimal_comma)


def names(form, steps=12, start=1):
    return ",".join(form.format(n) for n in range(start, start + steps))


def plain(n, values):
    return ",".join([f"S{n}", *values])


@pytest.mark.parametrize(
    ("head", "first", "step"),
    [
        ("V1," + names("V{}", start=2), "2", "1"),
        ('"id",' + names('"{}"'), "1", "1"),
        ("id," + names("d_{}"), "1", "1"),
        ("Country," + names("{}", start=1990), "1990", "1"),
        ("Country," + names("X{}", start=1990), "1990", "1"),
        ("Country," + names("{0} [YR{0}]", start=1990), "1990", "1"),
        ("shop," + names("2024-01-{:02}"), "2024-01-01", "1 day"),
        ("shop," + names("1/{}/24", start=10), "2024-01-10", "1 day"),
        ("shop," + ",".join(f"{year}-Q{quarter}" for year in range(2000, 2003) for quarter in range(1, 5)),
         "2000-01-01", "3 months"),
        ("shop," + names("2024M{:02}"), "2024-01-01", "1 month"),
        ("shop," + ",".join(f"Q{quarter} FY{year}" for year in range(20, 23) for quarter in range(1, 5)),
         "2020-01-01", "3 months"),
        ("respondent," + names("q{}"), "1", "1"),
    ],
)  # fmt: skip
def test_a_column_for_each_time(tmp_path, head, first, step):
    found = read(written(tmp_path / "t.csv", head, plain))
    assert [each.name for each in found.series] == ["S0", "S1", "S2"]
    assert found.series[2].values[:, 0].tolist() == [value(2, n) for n in range(12)]
    assert found.clock.texts(found.series[0].times[:1]) == [first]
    assert found.clock.name() == step
    assert "are read as" in found.describe()


def test_series_of_a_wide_table_begin_and_end_where_they_have_values(tmp_path):
    def row(n, values):
        return ",".join([f"S{n}", *[""] * n, *values[n : 12 - 2 * n], *[".."] * 2 * n])

    found = read(written(tmp_path / "t.csv", "V1," + names("V{}", start=2), row, series=4))
    assert [len(each) for each in found.series] == [12, 9, 6, 3]
    assert found.series[3].values[:, 0].tolist() == [value(3, n) for n in (3, 4, 5)]
    path = written(
        tmp_path / "u.csv", "V1," + names("V{}", start=2), lambda n, v: f"S{n}," + ",".join(v if n else [""] * 12)
    )
    assert (len(read(path).series), "left out 1 series without values" in read(path).describe()) == (2, True)


def test_several_columns_tell_the_rows_of_a_wide_table_apart(tmp_path):
    def row(n, values):
        return ",".join(["P" if n == 1 else "", f"C{n // 2}", f"{n}.5", *values])

    path = written(tmp_path / "t.csv", "Province,Country,Lat," + names("1/{}/20", start=20), row)
    assert [each.name for each in read(path).series] == ["(none), C0", "(none), C1", "P, C0"]
    assert "left out: 'Lat'" in read(path).describe()
    assert len(read(path, by="Province,Country").series) == 3
    path = written(tmp_path / "u.csv", "Country," + names("{}", start=1990), lambda n, v: ",".join(["same", *v]))
    with pytest.raises(UsageError, match="named by times, and no others tell its rows apart"):
        read(path)


MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def test_times_may_be_half_in_the_rows_and_half_in_the_names(tmp_path):
    path = tmp_path / "t.csv"
    rows = [",".join([str(2020 + y), *(str(value(y, m)) for m in range(12)), "99"]) for y in range(3)]
    rows[2] = rows[2].split(",", 8)[0] + "," + ",".join(rows[2].split(",")[1:8]) + "," * 6  # the year is not over
    path.write_text(",".join(["Year", *MONTHS, "Mean"]) + "\n" + "\n".join(rows) + "\n")
    found = read(path)
    assert (len(found.series), len(found.series[0])) == (1, 31)
    assert found.series[0].values[12:15, 0].tolist() == [value(1, n) for n in range(3)]
    assert found.clock.texts(found.series[0].times[-1:]) == ["2022-07-01"]
    assert "left out: 'Mean'" in found.describe()

    rows = [",".join([month, *(str(value(y, m)) for y in range(3))]) for m, month in enumerate(MONTHS)]
    path.write_text("Month,2020,2021,2022\n" + "\n".join(rows) + "\n")
    found = read(path)
    assert found.series[0].values[12:15, 0].tolist() == [value(1, n) for n in range(3)]
    assert found.clock.name() == "1 month"

    german = ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
              "Dezember"]  # fmt: skip
    path.write_text(
        "Monat,2020,2021,2022\n"
        + "\n".join(",".join([g, *r.split(",")[1:]]) for g, r in zip(german, rows, strict=True))
        + "\n"
    )
    assert read(path).clock.name() == "1 month"
    path.write_text(",".join(["Jahr", *german]) + "\n2020" + ",1" * 12 + "\n2021" + ",2" * 12 + "\n")
    assert read(path).clock.texts(read(path).series[0].times[-1:]) == ["2021-12-01"]

    rows = [",".join(["AB"[n // 3], str(2020 + n % 3), *(str(value(n, q)) for q in range(4))]) for n in range(6)]
    path.write_text("shop,year,Q1,Q2,Q3,Q4\n" + "\n".join(rows) + "\n")
    found = read(path)
    assert [each.name for each in found.series] == ["A", "B"]
    assert found.clock.texts(found.series[1].times[-1:]) == ["2022-10-01"]

    for head, first in ((names("H{}", 24), "2024-01-01 01:00:00"), (names("{:02}:00", 24, 0), "2024-01-01 00:00:00")):
        rows = [",".join([f"2024-01-0{d + 1}", *(str(value(d, h)) for h in range(24))]) for d in range(3)]
        path.write_text(f"Date,{head}\n" + "\n".join(rows) + "\n")
        found = read(path)
        assert found.clock.name() == "1 hour"
        assert found.clock.texts(found.series[0].times[:1]) == [first]
        assert found.series[0].values[23:25, 0].tolist() == [value(0, 23), value(1, 0)]


def test_parts_of_times_may_be_counted_in_the_names(tmp_path):
    path = tmp_path / "t.csv"

    def table(head, rows, number):
        lines = [",".join([row, *(str(value(n, k)) for k in range(number))]) for n, row in enumerate(rows)]
        path.write_text(head + "\n" + "\n".join(lines) + "\n")
        return read(path)

    found = table("Year," + names("{}"), ["2020", "2021"], 12)
    assert found.clock.texts(found.series[0].times[[0, -1]]) == ["2020-01-01", "2021-12-01"]
    found = table("store,Year," + names("M{}"), ["2001,2020", "2001,2021", "2002,2020"], 12)
    assert [(each.name, len(each)) for each in found.series] == [("2001", 24), ("2002", 12)]
    found = table("Year," + names("W{}", 52), ["2021", "2022"], 52)
    assert (found.clock.name(), len(found.series[0])) == ("7 days", 104)
    rows = [f"2021,{month}" for month in (1, 2, 3)]
    lines = [",".join([row, *(str(k) if k < (31, 28, 31)[n] else "" for k in range(31))]) for n, row in enumerate(rows)]
    path.write_text("year,month," + names("{}", 31) + "\n" + "\n".join(lines) + "\n")
    found = read(path)
    assert (found.clock.name(), len(found.series[0])) == ("1 day", 90)
    assert found.series[0].values[58:60, 0].tolist() == [27, 0]


def test_rows_that_may_be_steps_or_series_are_refused(tmp_path):
    rows = [[str(n + 1), *(str(value(n, k)) for k in range(12))] for n in range(20)]
    path = tmp_path / "t.csv"

    def table(head, **columns):
        path.write_text(head + "\n" + "\n".join(map(",".join, rows)) + "\n")
        return read(path, **columns)

    with pytest.raises(UsageError, match="can be steps, .* or series: say which with --time shop or --by shop"):
        table("shop," + names("x{}"))
    assert len(table("shop," + names("x{}"), time="shop").channels) == 12
    assert len(table("shop," + names("x{}"), by="shop").series) == 20
    assert len(table("shop_id," + names("x{}")).series) == 20
    assert len(table("week," + names("x{}")).channels) == 12


def test_months_and_dates_that_the_rows_do_not_complete_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",".join(["shop", *MONTHS]) + "\na" + ",1" * 12 + "\nb" + ",2" * 12 + "\n")
    with pytest.raises(UsageError, match="named by times .*'Jan'.*in long form"):
        read(path)
    path.write_text("day,2020,2021,2022\n" + "".join(f"2024-01-{n + 1:02},1,2,3\n" for n in range(12)))
    with pytest.raises(UsageError, match="named by times .*'2020'.*in long form"):
        read(path)
    path.write_text("shop," + names("0{}/01/2024", 5) + "\na,1,2,3,4,5\n")
    with pytest.raises(UsageError, match="names of the columns .* can be read in two ways: '02/01/2024'"):
        read(path)
    path.write_text("Country,2020,2021,2022\na,1,2,3\nb,4,high,6\n")
    with pytest.raises(UsageError, match="are times, and hold 'high', which is no number"):
        read(path)


def test_numbered_columns_beside_times_are_channels(tmp_path):
    path = tmp_path / "t.csv"
    for time in ("2024-01-{:02}", "{}"):
        rows = [",".join([time.format(n + 1), *(str(value(n, k)) for k in range(12))]) for n in range(20)]
        path.write_text("t," + names("store_{}") + "\n" + "\n".join(rows) + "\n")
        assert len(read(path).channels) == 12
    path = written(tmp_path / "m4.csv", "V1," + names("V{}", start=2), plain)
    assert len(read(path, time="V1").channels) == 12


def test_many_columns_are_series_each_with_its_own_beginning(tmp_path):
    path = tmp_path / "t.csv"
    rows = [
        ",".join([f"2024-01-{n + 1:02}", *("" if n < k % 3 else str(value(k, n)) for k in range(100))])
        for n in range(20)
    ]
    path.write_text("day," + names("store_{}", 100) + "\n" + "\n".join(rows) + "\n")
    found = read(path)
    assert len(found.series) == 100
    assert "each of 100 columns is read as a series" in found.describe()
    by_name = {each.name: each for each in found.series}
    assert [len(by_name[f"store_{n}"]) for n in (1, 2, 3)] == [20, 19, 18]
    assert by_name["store_3"].values[:, 0].tolist() == [value(2, n) for n in range(2, 20)]
    again = read_again(path, found.columns)
    assert len(again.series) == 100


def read_again(path, columns):
    found = files.read(str(path))
    return table.of_frame(found.frame, columns, repr(str(path)), found.decimal_comma)


@pytest.mark.parametrize("head", ["Country,Code," + names("{}", 20, 1990), "V1,V2," + names("V{}", 20, 3)])
def test_a_model_of_a_wide_table_reads_such_tables(tmp_path, head):
    def row(n, values):
        return ",".join([f"S{n}", "x", *values])

    first = read(written(tmp_path / "t.csv", ",".join(head.split(",")[:14]), row))
    longer = written(tmp_path / "u.csv", head, row, steps=20)
    again = read_again(longer, first.columns)
    assert [(each.name, len(each)) for each in again.series] == [("S0", 20), ("S1", 20), ("S2", 20)]
    assert len(read(longer, by=first.columns.by).series) == 3


@pytest.mark.parametrize(("by", "time", "target"), [("unique_id", "ds", "y"), ("item_id", "timestamp", "target")])
def test_the_names_of_other_libraries(tmp_path, by, time, target):
    path = tmp_path / "t.csv"
    rows = [f"{n % 2},{n // 2 + 1},{value(n % 2, n // 2)},{n % 5}" for n in range(40)]
    path.write_text(f"{by},{time},{target},price\n" + "\n".join(rows) + "\n")
    found = read(path)
    assert [each.name for each in found.series] == ["0", "1"]
    assert found.channels == (target,)
    assert "'price' left out: --known names columns" in found.describe()
    assert read(path, known=("price",), by=by, time=time, target=(target,)).known == ("price",)


def test_flags_and_signs_for_missing_values_of_offices(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("geo," + names("{}", 5, 2000) + "\nAT,: ,1.5 p,2.5 b,3.5,4.5 ep\nBE,..,5,6,7,: c\n")
    found = read(path)
    assert [each.values[:, 0].tolist() for each in found.series] == [[1.5, 2.5, 3.5, 4.5], [5, 6, 7]]
