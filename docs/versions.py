"""Writes `versions.md`: what the core's tests did with each torch. python docs/versions.py RUN.xml ...

The arguments are the reports that `make test-oldest` leaves in `build/versions`, one for each torch, all of one state of the
tests. With `--here` it prints the versions that the running Python has, under which pytest files its report.
"""

import platform
import re
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

PAGE = Path(__file__).with_name("versions.md")
HEAD = """# Tests with each torch

The short tests of the core, passed and skipped. `docs/versions.py` wrote this page from the reports
of the runs; `CONTRIBUTING.md` at the root of the repository tells how to renew it, and
[Install](install.md) what users miss with an older torch.

"""


class Run(NamedTuple):
    versions: dict[str, str]
    """Of torch, NumPy and Python."""
    passed: int
    skipped: Counter[str]
    """How many tests were skipped for each reason."""


def here() -> str:
    """The versions of torch, NumPy and Python, such as "torch 2.4.1, NumPy 1.26.4, Python 3.10"."""
    import numpy
    import torch

    python = ".".join(platform.python_version_tuple()[:2])
    return f"torch {torch.__version__.partition('+')[0]}, NumPy {numpy.__version__}, Python {python}"


def reason(skipped: ElementTree.Element) -> str:
    """Why a test was skipped. Of a whole file pytest tells it in the text, as a tuple of file, line and reason."""
    if skipped.get("message") != "collection skipped":
        return skipped.get("message", "")
    return re.search(r"Skipped: (.*?)['\"]\)$", skipped.text or "")[1].replace("\\'", "'")


def read(path: Path) -> Run:
    """The outcome that a report holds; ValueError if a test failed, since the page has no place for that."""
    suite = ElementTree.parse(path).getroot().find("testsuite")
    if bad := int(suite.get("failures")) + int(suite.get("errors")):
        raise ValueError(f"{path}: {bad} tests failed; the page is written from runs that pass")
    skipped = Counter(reason(each) for each in suite.iter("skipped"))
    versions = dict(each.split(" ") for each in suite.get("name").split(", "))
    return Run(versions, int(suite.get("tests")) - skipped.total(), skipped)


def page(runs: list[Run]) -> str:
    """The table: a column for each torch, a row for each reason, first those that differ from torch to torch."""
    runs = sorted(runs, key=lambda run: [int(part) for part in run.versions["torch"].split(".")])
    reasons = {
        each: [run.skipped[each] for run in runs] for each in sorted(set().union(*(run.skipped for run in runs)))
    }
    rows = [
        *([name, *(run.versions[name] for run in runs)] for name in ("torch", "NumPy", "Python")),
        ["**passed**", *(f"**{run.passed}**" for run in runs)],
        ["**skipped**", *(f"**{run.skipped.total()}**" for run in runs)],
        *([each, *counts] for each, counts in reasons.items() if len(set(counts)) > 1),
        *([each, *counts] for each, counts in reasons.items() if len(set(counts)) == 1),
    ]
    lines = ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    lines.insert(1, "| --- |" + " ---: |" * len(runs))
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--here"]:
        print(here())
    else:
        PAGE.write_text(page([read(Path(each)) for each in sys.argv[1:]]))
