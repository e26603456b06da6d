"""Check what is in wheels: python3 .ci/wheel_contents.py wheelhouse/*.whl

A wheel has at most 3 MB, one package with its types and licence, and the modules that its entry points name. The core's wheel
also has the native module and no C++, the licences of what is linked in, and a bill of materials (PEP 770).
"""

import configparser
import json
import re
import sys
import zipfile
from pathlib import Path

LARGEST = 3_000_000
LICENCES = ("LICENSE", "nanobind.txt", "robin_map.txt")
LINKED_IN = {"nanobind", "robin_map"}


def faults(wheel: Path) -> list[str]:
    """What is wrong with a wheel, a line each; none if it may be published."""
    found = []
    package = wheel.name.split("-")[0]
    if wheel.stat().st_size > LARGEST:
        found.append(f"it has {wheel.stat().st_size} bytes, more than {LARGEST}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        found += [f"it has {name}" for name in names if not name.startswith((f"{package}/", f"{package}-"))]
        if f"{package}/py.typed" not in names:
            found.append(f"it lacks {package}/py.typed")
        for licence in LICENCES if package == "anygru" else LICENCES[:1]:
            if not any(".dist-info/licenses/" in name and name.endswith(f"/{licence}") for name in names):
                found.append(f"it lacks the licence {licence}")
        for module in _entry_points(archive):
            path = module.replace(".", "/")
            if not {f"{path}.py", f"{path}/__init__.py"} & set(names):
                found.append(f"an entry point names {module}, which it lacks")
        if package == "anygru":
            found += _native_faults(archive)
    return found


def _entry_points(archive: zipfile.ZipFile) -> list[str]:
    """The modules that they name."""
    entries = configparser.ConfigParser(delimiters="=")
    for name in archive.namelist():
        if name.endswith(".dist-info/entry_points.txt"):
            entries.read_string(archive.read(name).decode())
    return [value.split(":")[0] for section in entries.sections() for value in entries[section].values()]


def _native_faults(archive: zipfile.ZipFile) -> list[str]:
    names = archive.namelist()
    found = []
    if not any(re.fullmatch(r"anygru/_native\S*\.(so|pyd)", name) for name in names):
        found.append("it has no native module")
    found += [f"it has {name}" for name in names if "csrc" in name or name.endswith((".cpp", ".hpp"))]
    bills = [json.loads(archive.read(name)) for name in names if ".dist-info/sboms/" in name]
    named = {part["name"] for bill in bills if bill["bomFormat"] == "CycloneDX" for part in bill["components"]}
    if named != LINKED_IN:
        found.append(f"its bill of materials names {sorted(named)} instead of {sorted(LINKED_IN)}")
    return found


if __name__ == "__main__":
    lines = [f"{path}: {fault}" for path in sys.argv[1:] for fault in faults(Path(path))]
    sys.exit("\n".join(lines) or (None if sys.argv[1:] else "no wheel was given"))
