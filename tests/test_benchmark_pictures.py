"""The pictures of the benchmarks show the committed results."""

import runpy
from pathlib import Path

PICTURES = Path(__file__).resolve().parent.parent / "benchmarks" / "pictures.py"


def test_pictures_are_those_of_the_results() -> None:
    found = runpy.run_path(str(PICTURES))["pictures"]()
    assert len(found) == 13
    for path, picture in found.items():
        assert path.read_text() == picture, f"python benchmarks/pictures.py draws {path.name} anew"


def test_the_table_of_libraries_matches_the_results() -> None:
    found = runpy.run_path(str(PICTURES.with_name("libraries.py")))
    assert found["PAGE"].read_text() == found["page"](), "python benchmarks/libraries.py --table renews the table"
