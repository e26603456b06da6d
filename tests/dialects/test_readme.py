"""The tables of `dialects/README.md`: where a name is."""

import functools
import importlib
import re
from pathlib import Path

import pytest

from anygru import dialects

ROOT = Path(dialects.__file__).parent
PAGE = (ROOT / "README.md").read_text()
NAMED = re.findall(r"\| `([\w.]+)` in `([\w./]+)` \| `(.+?)` \|", PAGE)


def test_every_place_in_the_table_exists() -> None:
    header, _, *rows = re.search(r"(?:^\|.*\n)+", PAGE[PAGE.index("## Where a name is") :], re.MULTILINE)[
        0
    ].splitlines()
    places = [ROOT / name.strip().lower() for name in header.split("|")[2:-1]]
    assert len(rows) > 10
    for row in rows:
        for place, cell in zip(places, row.split("|")[2:-1], strict=True):
            assert [path for path in re.findall(r"`([\w./]+)`", cell) if not (place / path).exists()] == []


@pytest.mark.parametrize(("name", "file", "text"), NAMED, ids=[name for name, _, _ in NAMED])
def test_a_name_is_where_the_table_says(name: str, file: str, text: str) -> None:
    assert re.search(rf"(?<!\w){re.escape(text)}(?!\w)", (ROOT / file).read_text())
    dialect, *path = name.split(".")
    functools.reduce(getattr, path, importlib.import_module(f"anygru.dialects.{dialect}"))
