"""Measured figures have one place, `benchmarks/`: elsewhere a section with a time or a speed links to its measurement."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FIGURE = re.compile(
    r"\d\s(?:ms|µs|us|ns|milliseconds|microseconds|nanoseconds|GB/s|GFLOP/s)\b"
    r"|\d\s*(?:times|%)\s+(?:as\s+(?:fast|long|slow)|faster|slower|longer|less\s+time|the\s+time)\b"
)
SOURCE = re.compile(r"\]\([^)]*benchmarks/|benchmarks\.md|`benchmarks/")
PAGES = [
    path
    for pattern in (
        "*.md", "docs/*.md", "docs/names/*.md", "packages/*/*.md", "packages/*/docs/*.md", "packages/*/src/**/*.md",
    )
    for path in sorted(ROOT.glob(pattern))
    if path.name != "CHANGELOG.md"
]  # fmt: skip


def without_a_source(text: str) -> list[str]:
    """The figures of a page in sections that do not link to a measurement. Blocks of code are no prose."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    sections = re.split(r"^#+ .*$", prose, flags=re.MULTILINE)
    return [found[0] for each in sections if not SOURCE.search(each) for found in FIGURE.finditer(each)]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_figure_of_a_page_is_near_its_measurement(page: Path) -> None:
    assert without_a_source(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("package", sorted(ROOT.glob("packages/*/src")), ids=lambda path: path.parent.name)
def test_a_figure_of_a_docstring_is_near_its_measurement(package: Path) -> None:
    found = []
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not FIGURE.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                found += [
                    (
                        path.name,
                        node.name if hasattr(node, "name") else "",
                        *without_a_source(ast.get_docstring(node) or ""),
                    )
                ]
    assert [each for each in found if len(each) > 2] == []


def test_a_figure_without_a_source_is_found() -> None:
    assert without_a_source("# A\nIt takes 3 ms.\n# B\n2.5 times as fast, see [results](../benchmarks/x.md).\n") == [
        "3 ms"
    ]
    assert without_a_source("It is 20 %\nfaster.\n```\n3 ms\n```\n") == ["0 %\nfaster"]
