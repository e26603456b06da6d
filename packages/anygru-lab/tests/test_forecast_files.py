"""Tables in files: encodings, formats, packed files and pipes, CSV of many forms; and one line for what is no table."""

import bz2
import gzip
import io
import json
import lzma
import os
import threading
import zipfile

import pytest

from anygru.cli import UsageError
from anygru_lab.forecasting.tables import files, table
from anygru_lab.forecasting.tables.parts import Columns

polars = pytest.importorskip("polars")


def read(path, encoding=None):
    found = files.read(str(path), encoding)
    return table.of_frame(found.frame, Columns(), repr(str(path)), found.decimal_comma)


def dated(rows, head="day,sold", number=12, join=","):
    """A file's text: a row of each day of 2024, with what `rows` makes of its number."""
    lines = [join.join([f"2024-01-{n + 1:02}", *map(str, rows(n))]) for n in range(number)]
    return "\n".join([head, *lines]) + "\n"


def sold(n):
    return (5 + n * n % 7,)


def written(write):
    write(out := io.BytesIO())
    return out.getvalue()


def zipped(*members):
    with zipfile.ZipFile(out := io.BytesIO(), "w") as archive:
        for name, text in members:
            archive.writestr(name, text)
    return out.getvalue()


def workbook(text):
    """The least files of a workbook whose first sheet has the texts of a CSV file, and whose second one is empty."""
    office, package = (f"http://schemas.openxmlformats.org/{kind}/2006" for kind in ("officeDocument", "package"))
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    cell = '<c t="inlineStr"><is><t>{}</t></is></c>', "<c><v>{}</v></c>"
    rows = "".join(
        f"<row>{''.join(cell[each.isdecimal()].format(each) for each in line.split(','))}</row>"
        for line in text.splitlines()
    )
    sheets = "".join(f'<sheet name="s{n}" sheetId="{n}" r:id="r{n}"/>' for n in (1, 2))
    links = "".join(
        f'<Relationship Id="r{n}" Type="{office}/relationships/worksheet" Target="worksheets/{n}.xml"/>' for n in (1, 2)
    )
    book = f'<workbook xmlns="{main}" xmlns:r="{office}/relationships"><sheets>{sheets}</sheets></workbook>'
    yield (
        "_rels/.rels",
        (
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r" '
            f'Type="{office}/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>'
        ),
    )
    yield "xl/workbook.xml", book
    yield "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{package}/relationships">{links}</Relationships>'
    yield "xl/worksheets/1.xml", f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>'
    yield "xl/worksheets/2.xml", f'<worksheet xmlns="{main}"><sheetData/></worksheet>'


def formats():
    text = dated(sold).encode()
    frame = polars.read_csv(text, try_parse_dates=True)
    yield "parquet", written(frame.write_parquet)
    yield "feather", written(frame.write_ipc)
    yield "ndjson", written(frame.write_ndjson)
    yield "json", written(frame.write_json)
    yield "xlsx", zipped(*workbook(text.decode()))
    yield from {"gz": gzip.compress(text, mtime=0), "bz2": bz2.compress(text), "xz": lzma.compress(text)}.items()
    yield "zip", zipped(("t.csv", text.decode()))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (dated(sold, "День,Продажи").encode("cp1251"), "is not UTF-8; name its encoding with --encoding, as cp1251"),
        (dated(sold, "day,売上 of the day").encode("shift_jis"), "is not UTF-8 or Windows-1252; name its encoding"),
        (dated(sold).encode("utf-16")[:-1], "it is not utf-16; name its encoding"),
        (b"\0\1\2\3,\0" + dated(sold).encode(), "it is no text"),
        (b'{"day": "2024-01-01", "sold": [}\n', "cannot read"),
        (dated(sold).replace(",", "").encode(), "has one column; .* that end with commas, semicolons, tabs or bars"),
        (gzip.compress(dated(sold).encode(), mtime=0)[:-9], "cannot read .* ended before"),
        (zipped(("a.csv", dated(sold)), ("b.csv", dated(sold))), "holds 2 files; unpack it"),
        (b"PK\3\4 and nothing", "cannot read"),
        (
            b"month,sold\n" + b"".join(b"%02d/2024,5\n" % month for month in range(1, 9)) + b"Total 2024,40\n",
            "holds 'Total 2024', which does not fit the format '%m/%Y' of the first row; remove its row",
        ),
        (dated(sold).replace("\n", "\r").encode(), "its lines end with a carriage return alone"),
        (
            b"Sales, 2024\n\n" + dated(lambda n: (n, n), "day,sold,left").encode(),
            "more fields than the first one, .* remove what is above the names",
        ),
        (dated(sold).encode() + b"2024-01-13,4,5\n", "more fields than the first one"),
        (dated(sold).partition("\n")[2].encode(), r"holds values and no names \(2024-01-01, 5\)"),
        (dated(lambda n: (n, n), "day,sold,sold").encode(), "has several columns 'sold'; give each a name of its own"),
        (b"month,sold\nJan 2024,5\nFeb 2024,6\nMaa 2024,7\n", "holds 'Maa 2024', which does not fit"),
        (dated(lambda n: (str(n % 2 > 0).lower(),), "day,open").encode(), "--target open takes them as 1 and 0"),
        (dated(lambda n: (f"1.{n:03}",), "day;sold", join=";").encode(), r"'1.000' .* --decimal-comma or --no-decimal"),
        (b"<table><tr><td>day</td></tr></table>", "is HTML or XML, .* save it as CSV"),
        (b"day,hour,x\n" + b"".join(b"2024-01-01,%d,%d\n" % (n, n) for n in range(9)), "name all, as --time"),
        (b"t,x\n" + b"2024-10-27 02:00,1\n" * 2, "clocks were set back there, name their place with --zone"),
    ],
)
def test_what_is_no_table_yet_is_one_line_with_the_way_out(tmp_path, data, words):
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(UsageError, match=words):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_encodings_are_found(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes(dated(sold, "Tag\tStück in €", join="\t").encode(encoding))
    found = read(tmp_path / "t.csv")
    assert (found.channels, len(found.series[0])) == (("Stück in €",), 12)
    assert ("Windows-1252" in files.read(str(tmp_path / "t.csv")).remark) == (encoding == "cp1252")


def test_an_encoding_can_be_named(tmp_path):
    (tmp_path / "t.csv").write_bytes(dated(sold, "День,Продажи").encode("cp1251"))
    assert files.read(str(tmp_path / "t.csv"), "cp1251").frame.columns == ["День", "Продажи"]
    with pytest.raises(UsageError, match="it is not ascii; name its encoding"):
        files.read(str(tmp_path / "t.csv"), "ascii")
    with pytest.raises(UsageError, match="--encoding nothing is none that Python knows"):
        files.read(str(tmp_path / "t.csv"), "nothing")


@pytest.mark.parametrize(("kind", "data"), list(formats()))
def test_formats_are_told_by_their_bytes(tmp_path, kind, data):
    if kind == "xlsx":
        pytest.importorskip("fastexcel")
    (tmp_path / "t").write_bytes(data)
    found = read(tmp_path / "t")
    assert (found.channels, len(found.series[0]), found.clock.name()) == (("sold",), 12, "1 day")
    assert (files.read(str(tmp_path / "t")).remark == "of 2 sheets, 's1' is read") == (kind == "xlsx")


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="the system has no names of open pipes")
def test_the_pipe_of_a_shell_is_read():
    end, other = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(other, dated(sold).encode()), os.close(other)))
    writer.start()
    try:
        assert len(read(f"/dev/fd/{end}").series[0]) == 12
    finally:
        writer.join()
        os.close(end)


@pytest.mark.parametrize(
    "text",
    [
        dated(sold),
        "\ufeff" + dated(sold),
        "sep=;\n" + dated(sold, "day;sold", join=";"),
        dated(sold, "day , sold "),
        dated(lambda n: (*sold(n), ""), "day,sold,"),
        dated(lambda n: (7 + n, *sold(n)), "day,id,sold"),
        "\n".join(f"{n or 'row'},{line}" for n, line in enumerate(dated(sold).splitlines())),
        "Sales of 2024\n\n# by shop\n" + dated(lambda n: (f"{sold(n)[0]},0",), "day;sold", join=";"),
        dated(lambda n: (f"{sold(n)[0]}.0",), '"day";"sold"', join=";"),
        "\n".join([(lines := dated(sold).splitlines())[0], *reversed(lines[1:])]),
    ],
    ids=["plain", "mark", "sep", "spaces", "comma", "keys", "rows", "commas", "quoted", "descending"],
)
def test_one_table_in_many_forms(tmp_path, text):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    found = read(tmp_path / "t.csv")
    assert found.channels == ("sold",)
    assert found.series[0].values[:, 0].tolist() == [sold(n)[0] for n in range(12)]
    assert str(found.series[0].times[-1])[:10] == "2024-01-12"


def test_titles_above_and_totals_below(tmp_path):
    table = dated(lambda n: (*sold(n), n % 5), "day,sold,left")
    above = "Sales of 2024,,\n,,\n"
    below = "Grand total,99,99\n,,\nSource: the till,,\n"
    by_year = ("Data Source,World Indicators,\n\nCountry,Code," + ",".join(map(str, range(1960, 1980))) + ",\n"
               + "".join(f"C{n},x{n}," + ",".join(str(n * year) for year in range(20)) + ",\n" for n in range(3)))  # fmt: skip
    for text, found in ((table, sold), (above + table + below, sold)):
        for name, data in (("t.csv", text.encode()), ("t.xlsx", zipped(*workbook(text)))):
            (tmp_path / name).write_bytes(data)
            assert read(tmp_path / name).channels == ("sold", "left"), name
            assert read(tmp_path / name).series[0].values[:, 0].tolist() == [found(n)[0] for n in range(12)]
            said = files.read(str(tmp_path / name)).remark
            assert ("left out below the table: 'Grand total' ..." in said) == (text != table)
    (tmp_path / "t.csv").write_text(
        "Retail sales, adjusted\nSource: the office\n\n" + dated(sold)
    )  # as many fields as names
    assert read(tmp_path / "t.csv").channels == ("sold",)
    (tmp_path / "t.csv").write_text(by_year)
    assert read(tmp_path / "t.csv").series[2].values[:, 0].tolist() == [2 * n for n in range(20)]
    (tmp_path / "t.csv").write_text(",sold\n" + dated(sold).partition("\n")[2])  # as pandas writes an index
    assert len(read(tmp_path / "t.csv").series[0]) == 12


def test_the_names_of_a_workbook(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(zipped(*workbook(dated(lambda n: (n, n), "day,sold,sold"))))
    with pytest.raises(UsageError, match="has several columns 'sold'"):
        read(tmp_path / "t.xlsx")
    (tmp_path / "t.xlsx").write_bytes(zipped(*workbook("shop,2021,2022,2023\na,1,2,3\nb,4,5,6\n")))
    assert read(tmp_path / "t.xlsx").clock.texts(read(tmp_path / "t.xlsx").series[1].times) == ["2021", "2022", "2023"]


LEVELS = {
    "of an index": (",A,A,B\n,sold,left,sold\nday,,,", ("A sold", "A left", "B sold")),
    "without its name": (",A,A,B\n,sold,left,sold", ("A sold", "A left", "B sold")),
    "joined cells": (",A,,B\nday,sold,left,sold", ("A sold", "A left", "B sold")),
    "of one share": ("Price,Close,High,Volume\nTicker,X,X,X\nDate,,,", ("Close", "High", "Volume")),
}


@pytest.mark.parametrize("kind", LEVELS)
def test_names_in_several_rows(tmp_path, kind):
    head, names = LEVELS[kind]
    text = dated(lambda n: (*sold(n), n * n % 5, n * n % 11), head)
    (tmp_path / "t.csv").write_text(text)
    (tmp_path / "t.xlsx").write_bytes(zipped(*workbook(text)))
    for name in ("t.csv", "t.xlsx"):
        assert read(tmp_path / name).channels == names
        assert read(tmp_path / name).series[0].values[:, 0].tolist() == [sold(n)[0] for n in range(12)]


def test_rows_of_words_below_the_names_are_no_names(tmp_path):
    for first, rows in ((("Aruba,ABW", ",,,"), 11), (("Aruba,ABW", ",NA,NA,NA"), 11)):
        lines = [f"C{n},x," + ",".join(str(n * year % 7) for year in range(3)) for n in range(11)]
        text = "Country,Code,2020,2021,2022\n" + "".join(first) + "\n" + "\n".join(lines) + "\n"
        (tmp_path / "t.csv").write_text(text)
        assert len(read(tmp_path / "t.csv").series) == rows
        assert "left out 1 series without values" in read(tmp_path / "t.csv").describe()


def test_json_with_all_columns_or_all_rows_in_one_object(tmp_path):
    frame = polars.read_csv(dated(sold).encode()).to_dict(as_series=False)
    rows = [dict(zip(frame, row, strict=True)) for row in zip(*frame.values(), strict=True)]
    by_row = {name: {str(n): each for n, each in enumerate(values)} for name, values in frame.items()}
    for content in (frame, by_row, {"data": rows}):
        (tmp_path / "t.json").write_text(json.dumps(content))
        assert read(tmp_path / "t.json").series[0].values[:, 0].tolist() == [sold(n)[0] for n in range(12)]


@pytest.mark.parametrize(("head", "hour"), [("HE", "{}"), ("HourEnding", "{:02}:00")])
def test_hours_in_a_column_of_their_own_are_no_series(tmp_path, head, hour):
    lines = [f"2024-01-{n // 24 + 1:02},{hour.format(n % 24 + 1)},{n % 24 + n / 100}" for n in range(240)]
    (tmp_path / "t.csv").write_text(f"Date,{head},Load\n" + "\n".join(lines) + "\n")
    with pytest.raises(UsageError, match=f"if the times are in several columns, name all, as --time Date,{head}$"):
        read(tmp_path / "t.csv")
