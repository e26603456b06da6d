"""The lines of source stay within `budget.toml`. As a script: lower the budget to the present counts."""

from pathlib import Path
from typing import Any

import pytest
from documents import ROOT, files

BUDGET = ROOT / "budget.toml"
PARTS = {
    **{path.parent.name: (path, ".py") for path in sorted(ROOT.glob("packages/*/src"))},
    "C++": (ROOT / "packages/anygru/csrc", ".cpp", ".hpp"),
    "tests": (ROOT, ".py"),
    "benchmarks": (ROOT / "benchmarks", ".py"),
}


def counts() -> dict[str, int]:
    """The lines of each part. Tests of all packages count, without recorded answers."""
    found = {}
    for part, (folder, *suffixes) in PARTS.items():
        paths = files(folder, *suffixes)
        if part == "tests":
            paths = [path for path in paths if "tests" in path.relative_to(ROOT).parts and "data" not in path.parts]
        found[part] = sum(path.read_bytes().count(b"\n") for path in paths)
    return found


def budget() -> dict[str, Any]:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 cannot read TOML")
    return tomllib.loads(BUDGET.read_text())


def limits(budget: dict[str, Any]) -> dict[str, int]:
    """The budget with the lines that were granted for a user."""
    found = dict(budget["lines"])
    for each in budget.get("raised", ()):
        assert len(each["user"].split()) >= 3, f"{each}: name the user"
        found[each["part"]] += each["lines"]
    return found


def test_source_stays_within_its_budget() -> None:
    found, most = counts(), limits(budget())
    assert found.keys() == most.keys()
    over = {part: f"{count} lines, budget {most[part]}" for part, count in found.items() if count > most[part]}
    assert over == {}, "remove lines, or name the user in budget.toml"


def test_the_budget_follows_the_source_down() -> None:
    found = counts()
    loose = {
        part: f"{found[part]} lines, budget {most}"
        for part, most in limits(budget()).items()
        if most > 1.05 * found[part]
    }
    assert loose == {}, "run python tests/test_budget.py"


def test_a_budget_rises_for_a_user_only() -> None:
    raised = {"lines": {"anygru": 100}, "raised": [{"part": "anygru", "lines": 20, "user": "people who train on GPUs"}]}
    assert limits(raised) == {"anygru": 120}
    raised["raised"][0]["user"] = ""
    with pytest.raises(AssertionError, match="name the user"):
        limits(raised)


def lower(path: Path = BUDGET) -> None:
    """Write the present counts where they are below the budget."""
    old = limits(budget()) if "=" in path.read_text().partition("[lines]")[2] else {}
    head = path.read_text().partition("[lines]")[0].partition("\n[[raised]]")[0].rstrip() + "\n\n"
    rows = (f'"{part}" = {min(count, old.get(part, count))}\n' for part, count in counts().items())
    path.write_text(f"{head}[lines]\n{''.join(rows)}")


if __name__ == "__main__":
    lower()
