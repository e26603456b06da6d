"""The tables of `docs/dialects.md`: where a name is."""

import functools
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs/dialects.md").read_text()


def folder(dialect: str) -> Path:
    return ROOT / f"packages/anygru-{dialect}/src"


NAMED = re.findall(r"\| `([\w.]+)` in `([\w./]+)` \| `(.+?)` \|", PAGE)


def test_every_place_in_the_table_exists() -> None:
    header, _, *rows = re.search(r"(?:^\|.*\n)+", PAGE[PAGE.index("## Where a name is") :], re.MULTILINE)[
        0
    ].splitlines()
    places = [folder(name := cell.strip().lower()) / f"anygru_{name}" for cell in header.split("|")[2:-1]]
    assert len(rows) > 10
    for row in rows:
        for place, cell in zip(places, row.split("|")[2:-1], strict=True):
            assert [path for path in re.findall(r"`([\w./]+)`", cell) if not (place / path).exists()] == []


@pytest.mark.parametrize(("name", "file", "text"), NAMED, ids=[name for name, _, _ in NAMED])
def test_a_name_is_where_the_table_says(name: str, file: str, text: str) -> None:
    assert re.search(rf"(?<!\w){re.escape(text)}(?!\w)", (folder(name.partition(".")[0]) / file).read_text())
    dialect, *path = name.split(".")
    functools.reduce(getattr, path, importlib.import_module(f"anygru_{dialect}"))
