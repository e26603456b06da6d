"""The pictures of the benchmarks show the committed results."""

import runpy
from pathlib import Path

PICTURES = Path(__file__).resolve().parent.parent / "benchmarks" / "pictures.py"


def test_pictures_are_those_of_the_results() -> None:
    found = runpy.run_path(str(PICTURES))["pictures"]()
    assert len(found) == 13
    for path, picture in found.items():
        assert path.read_text() == picture, f"python benchmarks/pictures.py draws {path.name} anew"


def test_tables_of_the_page_are_those_of_the_results() -> None:
    found = runpy.run_path(str(PICTURES))
    page = found["README"].read_text()
    assert all(page.count(f"<!-- table: {name} -->\n\n|") == 1 for name in found["TABLES"])
    assert page == found["page"](), "python benchmarks/pictures.py renews the tables"


def test_the_readme_states_the_bound_of_the_results() -> None:
    sentence = runpy.run_path(str(PICTURES))["bound"]("amd_zen4")
    assert sentence in (PICTURES.parents[1] / "README.md").read_text()


def test_the_table_of_libraries_matches_the_results() -> None:
    found = runpy.run_path(str(PICTURES.with_name("libraries.py")))
    assert found["PAGE"].read_text() == found["page"](), "python benchmarks/libraries.py --table renews the table"


def test_the_script_of_the_readme_prints_the_numbers_of_the_page() -> None:
    """MXNet 1.9.1 prints the same numbers with this seed (recorded)."""
    root = PICTURES.parents[1]
    block = runpy.run_path(str(root / "docs/images/run.py"))["block"]()
    assert block in (root / "docs/run.md").read_text()
    assert all(
        line in (root / "docs/images/run.svg").read_text() for line in block.splitlines() if line.startswith("[")
    )
