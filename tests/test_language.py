"""The project's private idiom stays rare: six patterns, counted in docstrings and in the pages of the documentation.

A reader stumbles over "what is counted lies in attributes" where "counters are public attributes" says the same.
"""

import ast
import re
from pathlib import Path

import pytest
from documents import PAGES

ROOT = Path(__file__).resolve().parents[1]
PATTERNS = (
    r"\b[Ww]hat (?:\w+ ){0,3}(?:is|are|was|were|has|have)\b",
    r"\b[Tt]he ones? that\b",
    r"\b(?:one|once|a number|a line|a row|a name|a file|bytes|names) an? "
    r"(?:process|sample|step|row|file|name|layer|call|line|model|module|sequence)\b",
    r"\banew\b",
    r", else\b",
    r"\b(?:stands?|lies|lie) (?:in|beside|behind|under|below|above|there|here|at|on|for)\b",
)
MOST = 1.0
"""Matches per 1,000 words."""
ROOMS = sorted(ROOT.glob("packages/*/src"))


def docstrings(folder: Path) -> str:
    found = []
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                found.append(ast.get_docstring(node) or "")
    return "\n".join(found)


def prose(page: Path) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)


def marks(text: str) -> list[str]:
    return [match[0] for pattern in PATTERNS for match in re.finditer(pattern, text)]


def share(text: str) -> float:
    return 1000 * len(marks(text)) / max(1, len(re.findall(r"[A-Za-z']+", text)))


@pytest.mark.parametrize("folder", ROOMS, ids=lambda path: path.parent.name)
def test_docstrings_are_plain(folder: Path) -> None:
    text = docstrings(folder)
    assert share(text) <= MOST, f"{len(marks(text))} marks: {sorted(set(marks(text)))}"


def test_pages_are_plain() -> None:
    text = "\n".join(prose(page) for page in PAGES)
    assert share(text) <= MOST, f"{len(marks(text))} marks: {sorted(set(marks(text)))}"


def test_the_idiom_would_be_seen() -> None:
    assert marks("what is counted lies in attributes; one a process, else the one that counts begins anew") == [
        "what is",
        "the one that",
        "one a process",
        "anew",
        ", else",
        "lies in",
    ]
