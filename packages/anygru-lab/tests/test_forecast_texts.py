"""Tables as programs print them and portals export them: parted by spaces, drawn, with comments above and notes below."""

import pytest

from anygru.cli import UsageError
from anygru_lab.forecasting.tables import files, table
from anygru_lab.forecasting.tables.parts import Columns

pytest.importorskip("polars")


def read(tmp_path, text, **columns):
    path = tmp_path / "table.txt"
    path.write_text(text)
    found = files.read(str(path))
    made = table.of_frame(found.frame, Columns(**columns), "'table.txt'", found.decimal_comma)
    return made, found.remark


def printed(head, row, number=30):
    """A text with a line for each day."""
    return head + "\n" + "".join(row(f"2023-01-{n + 1:02}", n) + "\n" for n in range(number))


SPACED = {
    "aligned": printed("date        temp", lambda day, n: f"{day}  {n / 2:4.1f}"),
    "one space": printed("date temp", lambda day, n: f"{day} {n / 2}"),
    "names of two words": printed("day         low temp", lambda day, n: f"{day}  {n / 2:8.1f}"),
    "hours": printed("time              temp", lambda day, n: f"{day} 05:00  {n / 2:4.1f}"),
    "rows counted": printed("        date  temp", lambda day, n: f"{n:<2} {day}  {n / 2:4.1f}"),
    "a title and a line": printed(
        "Station 5, Rome\n\ndate        temp\n----------  ----", lambda d, n: f"{d}  {n / 2:4.1f}"
    ),
    "decimal commas": printed("date        temp", lambda day, n: f"{day}  {n / 2:4.1f}".replace(".", ",")),
    "a database's": printed("    date    | temp\n------------+------", lambda d, n: f" {d} | {n / 2:4.1f}")
    + "(30 rows)\n",
    "Markdown": printed("| date | temp |\n|------|-----:|", lambda day, n: f"| {day} | {n / 2} |"),
    "comments": printed("# From Rome, Italy.\n# To use it, ask.\n#\ndate,temp", lambda day, n: f"{day},{n / 2}"),
    "names in a comment": printed("# From Rome\n#date,temp", lambda day, n: f"{day},{n / 2}"),
    "notes": printed("date,temp", lambda day, n: f"{day},{n / 2}") + "\nSource: the office\nNote: revised\n",
}


@pytest.mark.parametrize("kind", SPACED)
def test_texts_that_programs_print(tmp_path, kind):
    found, remark = read(tmp_path, SPACED[kind])
    assert found.series[0].values[:, 0].tolist() == [n / 2 for n in range(30)]
    assert found.clock.step == 86_400_000_000
    left_out = {"a database's": "left out below the table: '(30 rows)'",
                "notes": "left out below the table: 'Source: the office' ..."}  # fmt: skip
    assert remark == left_out.get(kind, "")


def test_fields_parted_by_spaces_may_be_empty_or_hold_spaces(tmp_path):
    text = printed("date        city      rain", lambda d, n: f"{d}  New York  {'' if n == 9 else f'{n:4d}'}")
    found, _ = read(tmp_path, text, gaps="fill")
    assert found.channels == ("rain",)
    assert found.series[0].values[8:11, 0].tolist() == [8, 8, 10]


def test_fields_parted_by_spaces_that_are_no_table_are_refused(tmp_path):
    ragged = printed("date temp rain", lambda day, n: f"{day} {n}" + f" {n * 1000}" * (n != 9))
    with pytest.raises(UsageError, match="parted by spaces, and its lines do not all have as many as the names"):
        read(tmp_path, ragged)
    with pytest.raises(UsageError, match="holds values and no names"):
        read(tmp_path, printed("2022-12-31 5", lambda day, n: f"{day} {n}"))
    with pytest.raises(UsageError, match="it has one column"):
        read(tmp_path, printed("time", lambda day, n: f"{day} 05:00"))


def test_rows_of_the_future_are_no_notes(tmp_path):
    text = printed("day,sold,promo", lambda day, n: f"{day},{n % 5 if n < 25 else ''},{n % 2}")
    found, remark = read(tmp_path, text, known=("promo",))
    assert (len(found.series[0]), len(found.series[0].known), remark) == (25, 30, "")
    _, remark = read(tmp_path, printed("day,sold", lambda day, n: f"{day},{n % 5 if n < 25 else ''}"), gaps="fill")
    assert remark == ""
