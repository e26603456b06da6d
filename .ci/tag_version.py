"""Fail unless a tag such as v0.1.0 names the version of every package: python3 .ci/tag_version.py TAG"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def versions() -> dict[str, str]:
    """The version of each package; the core's is in its source."""
    found = {path.parent.name: path.read_text() for path in sorted(ROOT.glob("packages/*/pyproject.toml"))}
    found["anygru"] = (ROOT / "packages/anygru/src/anygru/__init__.py").read_text()
    return {
        name: match[1]
        for name, text in found.items()
        if (match := re.search(r'^(?:__version__|version) = "(.*)"$', text, re.MULTILINE))
    }


def main() -> None:
    wrong = {name: version for name, version in versions().items() if f"v{version}" != sys.argv[1]}
    if wrong:
        sys.exit(f"the tag is {sys.argv[1]}, and these packages have another version: {wrong}")


if __name__ == "__main__":
    main()
