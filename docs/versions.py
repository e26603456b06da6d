"""Writes `versions.md`: what the core's tests did with each torch and each Python. python docs/versions.py RUN.xml ...

The arguments are the reports that `make test-versions` and `make test-wheel` leave in `build/versions`, all of one state of the
core. With `--here` it prints what the running Python has, under which pytest files its report.
"""

import json
import platform
import re
import subprocess
import sys
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

PAGE = Path(__file__).with_name("versions.md")
HEAD = """# Tests with each torch and Python

The short tests of the core, passed and skipped; a wheel was built from the sdist and tested without its
source. `docs/versions.py` wrote this page from the reports of runs of one state of the core
(`git rev-parse HEAD:packages/anygru` begins with {core}); `CONTRIBUTING.md` at the root of the repository
explains how to update it, and [Install](install.md) lists the limits of older versions of torch.

"""


class Run(NamedTuple):
    versions: dict[str, str]
    """Of torch, NumPy and Python; `anygru` is "clone" or "wheel"."""
    core: str
    """The state of the core: git's hash of its folder."""
    passed: int
    skipped: Counter[str]
    """How many tests were skipped for each reason."""


def core() -> str:
    """Git's hash of the core's folder as it is committed. Commits that leave the core alone have the same."""
    command = ["git", "rev-parse", "--short=12", "HEAD:packages/anygru"]
    return subprocess.run(command, cwd=PAGE.parent, capture_output=True, text=True, check=True).stdout.strip()


def here(state: str) -> str:
    """What is tested, such as "torch 2.4.1, NumPy 1.26.4, Python 3.10, anygru clone, core 0123456789ab"."""
    import numpy
    import torch

    python = ".".join(platform.python_version_tuple()[:2])
    installed = json.loads(metadata.distribution("anygru").read_text("direct_url.json") or "{}")
    source = "clone" if "dir_info" in installed else "wheel"
    released = torch.__version__.partition("+")[0]
    return f"torch {released}, NumPy {numpy.__version__}, Python {python}, anygru {source}, core {state}"


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
    return Run(versions, versions.pop("core"), int(suite.get("tests")) - skipped.total(), skipped)


def order(run: Run) -> tuple[str | list[int], ...]:
    """Clones by their torch, then wheels by their Python."""
    numbers = ([int(part) for part in run.versions[name].split(".")] for name in ("torch", "Python"))
    return (run.versions["anygru"], *numbers)


def page(runs: list[Run]) -> str:
    """The table: a column for each run, a row for each reason, first those that differ from run to run."""
    states = {run.core for run in runs}
    if len(states) > 1:
        raise ValueError(f"the runs are of several states of the core: {', '.join(sorted(states))}")
    runs = sorted(runs, key=order)
    reasons = {
        each: [run.skipped[each] for run in runs] for each in sorted(set().union(*(run.skipped for run in runs)))
    }
    rows = [
        *([name, *(run.versions[name] for run in runs)] for name in ("torch", "NumPy", "Python", "anygru")),
        ["**passed**", *(f"**{run.passed}**" for run in runs)],
        ["**skipped**", *(f"**{run.skipped.total()}**" for run in runs)],
        *([each, *counts] for each, counts in reasons.items() if len(set(counts)) > 1),
        *([each, *counts] for each, counts in reasons.items() if len(set(counts)) == 1),
    ]
    lines = ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    lines.insert(1, "| --- |" + " ---: |" * len(runs))
    return HEAD.format(core=states.pop()) + "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1] == "--here":
        print(here(sys.argv[2] if sys.argv[2:] else core()))
    else:
        PAGE.write_text(page([read(Path(each)) for each in sys.argv[1:]]))
